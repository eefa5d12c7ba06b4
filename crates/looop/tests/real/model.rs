//! The scripted model server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A server with a folder of its own. It ends with this value, also when the test is killed, since then its standard
/// input ends.
pub(crate) struct Model {
    server: Child,
    input: Option<ChildStdin>,
    folder: TempDir,
    /// Where it listens: `http://127.0.0.1:<port>`.
    pub(crate) url: String,
}

impl Model {
    /// Starts a server.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/model/server.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("python3 runs");
        let mut port = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).expect("a port");
        let input = server.stdin.take();
        Self { server, input, folder, url: format!("http://127.0.0.1:{}", port.trim()) }
    }

    /// What was said to it in conversations, in order. What agents ask beside them, such as a title, is left out.
    pub(crate) fn heard(&self) -> Vec<String> {
        let requests = fs::read_to_string(self.folder.path().join("requests.jsonl")).unwrap_or_default();
        let requests = requests.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let talk = requests.filter(|request| request["side"] == false);
        talk.map(|request| request["said"].as_str().expect("a text").to_owned()).collect()
    }

    /// Whether this text was in any request.
    pub(crate) fn was_told(&self, text: &str) -> bool {
        let files =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()));
        files.into_iter().any(|file| file.unwrap().contains(text))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.input.take());
        let ended = self.server.wait();
        assert!(ended.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}
