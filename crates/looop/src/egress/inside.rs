//! Inside the box: the loopback of the box leads to the proxy outside.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::outside::{Code, NOT_STARTED, run};
use super::tunnel::{hand_over, tunnel};
use crate::threads;

/// Where programs look for a proxy.
const PROXY: [&str; 6] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
/// What they are told besides: the loopback of the box needs no proxy, and node asks for being told.
const BESIDE: [&str; 3] =
    ["NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1"];

/// The hidden verb: `<ports> <word>…` runs a command of which all connections are handed over through stdin. `ports` are
/// those of servers on the loopback of the machine that were granted: they are found at the same port of the box.
pub(crate) fn inside(words: &[OsString]) -> Code {
    let failed = |error: io::Error| (NOT_STARTED, format!("it was not run: the way out of the box: {error}"));
    let [ports, argv @ ..] = words else {
        return Err((NOT_STARTED, "_inside <ports> <word>…".to_owned()));
    };
    let control = Arc::new(taken().map_err(failed)?);
    let port = listen(&control, &ports.to_string_lossy()).map_err(failed)?;
    let mut all: Vec<OsString> = vec!["env".into()];
    all.extend(PROXY.map(|name| OsString::from(format!("{name}=http://127.0.0.1:{port}"))));
    all.extend(BESIDE.map(OsString::from));
    all.extend(argv.iter().cloned());
    run(all)
}

/// Takes stdin away from the command: it reads nothing.
fn taken() -> io::Result<OwnedFd> {
    let control = io::stdin().as_fd().try_clone_to_owned()?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(control)
}

/// Listens for programs that know of proxies, and at each of these ports; gives the port of the first.
fn listen(control: &Arc<OwnedFd>, ports: &str) -> io::Result<u16> {
    for port in ports.split(',').filter(|port| !port.is_empty()) {
        let wrong = |_| io::Error::new(io::ErrorKind::InvalidInput, format!("{port} is no port"));
        let port: u16 = port.parse().map_err(wrong)?;
        serve(TcpListener::bind((Ipv4Addr::LOCALHOST, port))?, control, Some(port))?;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    serve(listener, control, None)?;
    Ok(port)
}

/// Passes on whatever comes until the box ends. `port`: the server on the machine's loopback that is meant.
fn serve(listener: TcpListener, control: &Arc<OwnedFd>, port: Option<u16>) -> io::Result<()> {
    let control = Arc::clone(control);
    let served = move || {
        // A listener that fails gets no connections any more: programs are told so by the kernel.
        while let Ok((client, _)) = listener.accept() {
            let control = Arc::clone(&control);
            // A connection that cannot be passed on is closed.
            drop(threads::start("forward", move || drop(pass(client, &control, port))));
        }
    };
    threads::start("forward", served).map_err(|failure| io::Error::other(failure.error))
}

fn pass(client: TcpStream, control: &OwnedFd, port: Option<u16>) -> io::Result<(u64, u64)> {
    let (mut ours, theirs) = UnixStream::pair()?;
    hand_over(control, &theirs)?;
    drop(theirs);
    if let Some(port) = port {
        write!(ours, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")?;
        let mut reply = Vec::new();
        while !reply.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            ours.read_exact(&mut byte)?;
            reply.push(byte[0]);
        }
        if !reply.starts_with(b"HTTP/1.1 200 ") {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
    }
    tunnel(client, ours)
}
