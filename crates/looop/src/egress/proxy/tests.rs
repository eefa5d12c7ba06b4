//! The proxy at its end of a pair of sockets, with a real server behind it.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use looop_core::egress::Destination;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::*;
use crate::egress::tunnel::hand_over;

/// A proxy for these destinations, and what it records.
struct Proxy {
    control: OwnedFd,
    recorded: Receiver<Connection>,
}

impl Proxy {
    fn start(destinations: &[&str]) -> Self {
        let (control, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let list = destinations.iter().map(|entry| Destination::parse(entry).unwrap()).collect();
        let (sender, recorded) = channel();
        let record: Arc<dyn Fn(&Connection) + Send + Sync> = Arc::new(move |connection: &Connection| {
            sender.send(connection.clone()).unwrap();
        });
        threads::start("proxy", move || serve(&theirs, &Arc::new(Destinations(list)), &record).unwrap())
            .unwrap();
        Self { control, recorded }
    }

    fn connected(&self) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        hand_over(&self.control, &theirs).unwrap();
        ours
    }

    /// Sends a request and gives all that comes back.
    fn ask(&self, request: &str) -> String {
        let mut client = self.connected();
        client.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).unwrap();
        reply
    }
}

/// A server for one request: it replies with the head that it read.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    threads::start("server", move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
        }
        write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{head}").unwrap();
    })
    .unwrap();
    port
}

#[test]
fn a_granted_host_is_reached_by_both_kinds_of_request() {
    for tunnelled in [true, false] {
        let port = server();
        let proxy = Proxy::start(&[&format!("127.0.0.1:{port}")]);
        let request = if tunnelled {
            format!(
                "CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\nGET /a?b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
            )
        } else {
            format!(
                "GET http://127.0.0.1:{port}/a?b HTTP/1.1\r\nHost: elsewhere.example\r\nProxy-Authorization: x\r\nX: y\r\n\r\n"
            )
        };
        let reply = proxy.ask(&request);
        assert!(reply.contains("GET /a?b HTTP/1.1\r\n"), "{reply}");
        assert!(
            reply.contains(&format!("Host: 127.0.0.1:{port}\r\n")) && !reply.contains("elsewhere"),
            "{reply}"
        );
        assert!(!reply.contains("Proxy-") && reply.contains("X: y") != tunnelled, "{reply}");
        let Connection { host, verdict, .. } = proxy.recorded.recv().unwrap();
        assert_eq!(host, "127.0.0.1");
        assert!(matches!(verdict, Verdict::Passed { sent: 20.., received: 20.. }), "{verdict:?}");
    }
}

#[test]
fn what_was_not_granted_is_refused_with_what_would_grant_it() {
    let proxy = Proxy::start(&["a.example", "local.test:80", "127.0.0.1:9"]);
    for (request, status, reason) in [
        ("CONNECT b.example:443 HTTP/1.1\r\n\r\n", "403", "b.example is not granted (net = [\"b.example\"])"),
        ("CONNECT a.example:22 HTTP/1.1\r\n\r\n", "403", "a.example:22 is not granted"),
        ("GET http://a.example/ HTTP/1.1\r\n\r\n", "403", "a.example:80 is not granted"),
        ("CONNECT 127.0.0.1:9 HTTP/1.1\r\n\r\n", "502", "cannot be reached"),
        ("CONNECT a.example HTTP/1.1\r\n\r\n", "400", "names no host"),
        ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "400", "names no host"),
        ("GET https://a.example/ HTTP/1.1\r\n\r\n", "400", "names no host"),
        ("GET http:///x HTTP/1.1\r\n\r\n", "400", "names no host"),
        ("GET http://a.example@b.example/ HTTP/1.1\r\n\r\n", "403", "not granted"),
        ("\u{16}\u{3}\u{1} client hello\r\n\r\n", "400", "no request to a proxy"),
    ] {
        let reply = proxy.ask(request);
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status} ")) && reply.contains(reason),
            "{request}: {reply}"
        );
    }
    let long = format!("GET http://a.example/{} HTTP/1.1\r\n", "x".repeat(20_000));
    assert!(proxy.ask(&long).contains("longer than"));
    let kinds: Vec<Connection> = proxy.recorded.try_iter().collect();
    assert!(kinds.iter().all(|one| !matches!(one.verdict, Verdict::Passed { .. })), "{kinds:?}");
    assert_eq!(kinds.len(), 5, "{kinds:?}");
}

#[test]
fn a_client_that_says_nothing_is_nobodys_connection() {
    let proxy = Proxy::start(&[]);
    drop(proxy.connected());
    assert!(proxy.ask("CONNECT b.example:443 HTTP/1.1\r\n\r\n").contains("403"));
    assert_eq!(proxy.recorded.recv().unwrap().host, "b.example");
}
