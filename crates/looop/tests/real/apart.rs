//! No way out: a test runs where there is nothing but loopback, and what asks for the way out is written down.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::needs;

/// Set in the test that runs apart.
const APART: &str = "LOOOP_TEST_APART";

/// Runs this test, which calls it first, once more in a network of its own that has loopback alone, and checks that it
/// passed there. True: that has been done. False: the test is the one that runs apart, or the kernel allows no such
/// network; then the gate has to see all that there is.
#[track_caller]
pub(crate) fn has_run_apart(test: &str) -> bool {
    has_run(test, alone())
}

/// The same with a `/tmp` of its own, in which nobody but this test leaves anything.
#[track_caller]
pub(crate) fn has_run_alone(test: &str) -> bool {
    let mut command = Command::new("bwrap");
    command.args(["--dev-bind", "/", "/", "--tmpfs", "/tmp"]);
    for kept in kept() {
        command.arg("--bind").args([&kept, &kept]);
    }
    command.args(["--unshare-net", "--die-with-parent", "--"]).stdin(Stdio::null());
    // The folder for temporary files may be one that is not there.
    command.env("TMPDIR", "/tmp");
    has_run(test, command)
}

/// What a test needs although it may lie below `/tmp`: its own program and the binary, the fixtures, the agents.
fn kept() -> Vec<PathBuf> {
    let program = env::current_exe().unwrap();
    let target = program.ancestors().nth(2).unwrap().to_owned();
    vec![target, env!("CARGO_MANIFEST_DIR").into(), needs::agents()]
}

/// What lies in `/tmp` that is not one of these folders, where nobody but this test leaves anything. Elsewhere nothing is
/// known.
pub(crate) fn left_in_tmp(own: &[&Path]) -> Vec<String> {
    if env::var_os(APART).is_none() {
        return Vec::new();
    }
    let kept = kept();
    let known: Vec<&Path> = own.iter().copied().chain(kept.iter().map(PathBuf::as_path)).collect();
    let found = std::fs::read_dir("/tmp").unwrap().map(|entry| entry.unwrap().path());
    let mut left: Vec<String> = found
        .filter(|path| !known.iter().any(|known| known.starts_with(path)))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    left.sort();
    left
}

#[track_caller]
fn has_run(test: &str, mut inner: Command) -> bool {
    if env::var_os(APART).is_some() || !is_allowed() {
        return false;
    }
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
