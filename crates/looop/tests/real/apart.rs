//! No way out: a test runs where there is nothing but loopback, and what asks for the way out is written down.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// Set in the test that runs apart.
const APART: &str = "LOOOP_TEST_APART";

/// Runs this test, which calls it first, once more in a network of its own that has loopback alone, and checks that it
/// passed there. True: that has been done. False: the test is the one that runs apart, or the kernel allows no such
/// network; then the gate has to see all that there is.
#[track_caller]
pub(crate) fn has_run_apart(test: &str) -> bool {
    if env::var_os(APART).is_some() || !is_allowed() {
        return false;
    }
    let mut inner = alone();
    inner.arg(env::current_exe().unwrap()).args(["--exact", test]).env(APART, "1");
    let output = inner.output().expect("bwrap runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("\ntest result: ok. 1 passed"), "{said}\n{stderr}");
    true
}

/// A command in a network of its own.
fn alone() -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--"]).stdin(Stdio::null());
    command
}

fn is_allowed() -> bool {
    let tried = alone().arg("true").output();
    let allowed = tried.is_ok_and(|output| output.status.success());
    if !allowed {
        std::io::stderr().write_all(b"no network of its own: the gate alone tells what goes out\n").unwrap();
    }
    allowed
}

/// The proxy that programs are told to go through for all that is not on loopback. It lets nobody pass and keeps what
/// they asked for.
pub(crate) struct Gate {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    /// A gate with nobody before it.
    pub(crate) fn shut() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        thread::spawn(move || listener.incoming().flatten().for_each(|caller| turn_away(&caller, &kept)));
        Self { port, asked }
    }

    /// The variables that send programs to it.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let here = format!("http://127.0.0.1:{}", self.port);
        let names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"];
        let around = ["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1".to_owned()));
        names.map(|name| (name, here.clone())).into_iter().chain(around).collect()
    }

    /// Where they wanted to go.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn turn_away(mut caller: &TcpStream, asked: &Mutex<Vec<String>>) {
    let mut line = String::new();
    // Who says nothing wanted something all the same.
    drop(BufReader::new(caller).read_line(&mut line));
    asked.lock().unwrap().push(line.trim_end().to_owned());
    drop(caller.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"));
}
