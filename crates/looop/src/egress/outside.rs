//! Outside the box: starts it, and serves its connections until it has ended.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use looop_core::egress::{Destination, Destinations};
use looop_session::{Part, pipeline};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::proxy::{Connection, Verdict, serve};
use crate::threads;

/// The exit code of a command, or the code and the reason where it was not run.
pub(crate) type Code = Result<u8, (u8, String)>;

/// What a shell says of a command that cannot be started.
pub(super) const NOT_STARTED: u8 = 126;

/// The words that run a box with a way out to these hosts. `inner` is this program by a path that the box shows; `boxed`
/// makes the words of the box from those of its command.
pub(crate) fn through(
    hosts: &[String],
    (outer, inner): (&Path, &Path),
    argv: Vec<OsString>,
    boxed: impl FnOnce(Vec<OsString>) -> Result<Vec<OsString>, String>,
) -> Result<Vec<OsString>, String> {
    let ports: Vec<String> = destinations(hosts)?
        .0
        .iter()
        .filter_map(Destination::loopback_port)
        .map(|port| port.to_string())
        .collect();
    let mut words: Vec<OsString> = vec![inner.into(), "_inside".into(), ports.join(",").into()];
    words.extend(argv);
    let boxed = boxed(words)?;
    let mut words: Vec<OsString> = vec![outer.into(), "_egress".into(), hosts.join(",").into()];
    words.extend(boxed);
    Ok(words)
}

fn destinations(hosts: &[String]) -> Result<Destinations, String> {
    hosts.iter().map(|host| Destination::parse(host)).collect::<Result<_, _>>().map(Destinations)
}

/// The hidden verb: `<hosts> <word>…` runs a box of which stdin is the way out. A connection that was not made is said
/// where the command complains: not every program repeats what a proxy says.
pub(crate) fn outside(words: &[OsString], complain: fn(&str)) -> Code {
    let failed = |reason: String| (NOT_STARTED, format!("it was not run: {reason}"));
    let [hosts, argv @ ..] = words else {
        return Err(failed("_egress <hosts> <word>…".to_owned()));
    };
    let hosts: Vec<String> = hosts.to_string_lossy().split(',').map(str::to_owned).collect();
    let destinations = Arc::new(destinations(&hosts).map_err(failed)?);
    let control = made().map_err(|error| failed(error.to_string()))?;
    start(control, &destinations, complain).map_err(failed)?;
    run(argv.to_vec())
}

/// A pair of sockets, of which one is stdin from now on.
fn made() -> rustix::io::Result<OwnedFd> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::stdio::dup2_stdin(&theirs)?;
    Ok(ours)
}

/// Runs a command to its end.
pub(super) fn run(argv: Vec<OsString>) -> Code {
    let cwd = std::env::current_dir().map_err(|error| (NOT_STARTED, format!("it was not run: {error}")))?;
    let mut complaints = Vec::new();
    let code =
        pipeline(&[Part { argv, cwd, without: Vec::new() }], &mut |text| complaints.push(text.to_owned()));
    if complaints.is_empty() { Ok(code) } else { Err((code, complaints.join("; "))) }
}

fn start(control: OwnedFd, destinations: &Arc<Destinations>, complain: fn(&str)) -> Result<(), String> {
    let destinations = Arc::clone(destinations);
    let record: Arc<dyn Fn(&Connection) + Send + Sync> =
        Arc::new(move |connection| match &connection.verdict {
            Verdict::Passed { .. } => {}
            Verdict::Refused { reason } | Verdict::Failed { reason } => complain(reason),
        });
    let served = move || {
        if let Err(error) = serve(&control, &destinations, &record) {
            complain(&format!("the way out of the box ended: {error}"));
        }
    };
    threads::start("egress", served).map_err(|failure| failure.error)
}
