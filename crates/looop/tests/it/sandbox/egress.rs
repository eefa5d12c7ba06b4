//! A command in a box reaches the hosts of its grant, and no others.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use looop_core::model::outcome::Outcome;
use looop_sim::profile::write_program;

use super::ground::Ground;

/// Fetches a page and prints it, or what went wrong. An exit code of its own shows whose it is.
const FETCH: &str = "#!/usr/bin/python3
import sys, urllib.request
print(sys.stdin.read(), end='')
try:
    print(urllib.request.urlopen(sys.argv[1]).read().decode())
except Exception as error:
    print(error)
    sys.exit(3)
";

/// A profile with the program `fetch`, which is granted these hosts.
fn ground(net: &str) -> Ground {
    let ground = Ground::new("bwrap", "sandbox_tools = [\"~/bin\"]");
    std::fs::create_dir(ground.home().join("bin")).unwrap();
    write_program(&ground.home().join("bin/fetch"), FETCH);
    grant(&ground, net);
    ground
}

fn grant(ground: &Ground, net: &str) {
    let text = format!("[[grant]]\ncommand = [\"fetch\", \"*\"]\ntainted = \"allow\"\nnet = {net}\n");
    ground.profile.write("policy.toml", text);
}

/// What is printed when the decider fetches this.
fn fetched(ground: &Ground, url: &str) -> String {
    ground.shell(&format!("fetch {url}")).1
}

/// A server on the loopback of the machine, which tells of each request that it had.
fn server() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut line = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            lines.read_line(&mut line).unwrap();
            while lines.read_line(&mut String::new()).is_ok_and(|count| count > 2) {}
            sender.send(line).unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nherons")
                .unwrap();
        }
    });
    (port, asked)
}

#[test]
fn a_granted_host_is_reached_and_no_other() {
    let ((port, asked), (other, unasked)) = (server(), server());
    let ground = ground(&format!("[\"127.0.0.1:{port}\", \"granted.invalid\"]"));
    let said = fetched(&ground, &format!("http://127.0.0.1:{port}/a"));
    assert_eq!(said.trim(), "herons");
    assert!(asked.recv().unwrap().starts_with("GET /a "));
    for (url, reason) in [
        (format!("http://127.0.0.1:{other}/"), "Connection refused"),
        (format!("http://other.invalid:{other}/"), "is not granted (net = ["),
        ("https://other.invalid/".to_owned(), "other.invalid is not granted (net = [\"other.invalid\"])"),
        ("https://granted.invalid/".to_owned(), "granted.invalid:443 cannot be reached"),
        ("https://169.254.169.254/".to_owned(), "169.254.169.254 is not granted"),
    ] {
        let said = fetched(&ground, &url);
        assert!(said.contains(reason), "{url}: {said}");
    }
    assert!(unasked.try_recv().is_err());
    // The trap bites: with all of the network the other server is asked.
    grant(&ground, "\"open\"");
    let said = fetched(&ground, &format!("http://127.0.0.1:{other}/b"));
    assert_eq!(said.trim(), "herons");
    assert!(unasked.recv().unwrap().starts_with("GET /b "));
}

#[test]
fn whoever_is_not_granted_a_host_has_no_way_out() {
    let (port, asked) = server();
    let ground = ground(&format!("[\"127.0.0.1:{port}\"]"));
    // Not a plain command, so that it has no grant.
    let said = fetched(&ground, &format!("http://127.0.0.1:{port}/; true"));
    assert!(said.contains("Connection refused"), "{said}");
    assert!(asked.try_recv().is_err());
}

#[test]
fn how_it_ended_is_how_its_command_ended() {
    let ground = ground("[\"granted.invalid\"]");
    let (outcome, said) = ground.shell("fetch nothing");
    assert_eq!(said, "unknown url type: 'nothing'\n", "it reads nothing, and its own output is all there is");
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
}
