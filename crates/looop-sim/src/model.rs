//! The scripted model server: a program that says on loopback what a test wants to hear.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A server with a folder of its own. It ends with this value, also when the test is killed, since then its standard
/// input ends.
pub struct Model {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    folder: TempDir,
    port: u16,
}

impl Model {
    /// Starts the server at this path, a Python script.
    pub fn start(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("python3");
        command.arg(script).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("python3 runs");
        let mut port = String::new();
        let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
        output.read_line(&mut port).expect("a port");
        let input = server.stdin.take();
        Self { server, input, output, folder, port: port.trim().parse().expect("a number") }
    }

    /// Where it listens, in this scenario: `http://127.0.0.1:<port>/s/<scenario>`.
    pub fn url(&self, scenario: &str) -> String {
        format!("http://127.0.0.1:{}/s/{scenario}", self.port)
    }

    /// From now on those who ask in the scenario `now` are in this one. In `offline` nobody listens.
    pub fn set_now(&mut self, scenario: &str) {
        let input = self.input.as_mut().expect("a pipe");
        writeln!(input, "now {scenario}").expect("it listens");
        let mut said = String::new();
        self.output.read_line(&mut said).expect("it answers");
        assert_eq!(said.trim_end(), scenario);
    }

    /// Where it writes down what it was asked.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// All requests in order: what was said, what was answered, sizes.
    pub fn requests(&self) -> Vec<Value> {
        let requests = fs::read_to_string(self.folder.path().join("requests.jsonl")).unwrap_or_default();
        requests.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The body of a request by its number, from 1.
    pub fn request(&self, number: usize) -> String {
        fs::read_to_string(self.folder.path().join(format!("{number:04}.json"))).expect("a request")
    }

    /// What was said to it in conversations, in order. What agents ask beside them, such as a title, is left out.
    pub fn heard(&self) -> Vec<String> {
        let talk = self.requests().into_iter().filter(|request| request["side"] == false);
        talk.map(|request| request["said"].as_str().expect("a text").to_owned()).collect()
    }

    /// Whether this text was in any request.
    pub fn was_told(&self, text: &str) -> bool {
        (1..=self.requests().len()).any(|number| self.request(number).contains(text))
    }

    /// What it charged for its answers, once so many of them are over: tokens `in`, `out` and `cached`, and how many
    /// `events` of each were taken.
    pub fn charged(&self, answers: usize) -> Vec<Value> {
        self.get(&format!("charged/{answers}"))
    }

    /// The same of all answers as far as they have come, once so many events were taken in all, or soon.
    pub fn so_far(&self, events: u64) -> Vec<Value> {
        self.get(&format!("taken/{events}"))
    }

    fn get(&self, what: &str) -> Vec<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let ask = format!("GET /{what} HTTP/1.1\r\nhost: model\r\nconnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("a list")
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.input.take());
        let ended = self.server.wait();
        assert!(ended.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}
