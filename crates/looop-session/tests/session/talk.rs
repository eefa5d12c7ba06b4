//! Talking to a live host: lines, frames, and waiting for what is printed.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{Ground, until};
use looop_session::{Launched, Size, Spec};
use serde_json::{Value, json};

/// Nothing takes longer, however busy the machine is.
const LONG: Duration = Duration::from_mins(5);

impl Ground {
    /// A spec that runs this shell text in a terminal.
    pub(crate) fn terminal_spec(&self, body: &str) -> Spec {
        let spec = self.spec(body).in_terminal(Size { cols: 80, rows: 24 });
        Spec { publish: false, ..spec }
    }

    /// Runs this shell text in a terminal.
    pub(crate) fn terminal(&self, body: &str) -> (PathBuf, Launched) {
        self.launch("s", &self.terminal_spec(body))
    }
}

/// A connection to a host.
pub(crate) struct Call(BufReader<UnixStream>);

impl Call {
    /// Connects, by a path that is never too long.
    pub(crate) fn to(folder: &Path) -> Self {
        let inside = fs::File::open(folder).unwrap();
        let path = format!("/proc/self/fd/{}/sock", std::os::fd::AsRawFd::as_raw_fd(&inside));
        // It may be being launched.
        let stream = until(folder, "a host that listens", || UnixStream::connect(&path).ok());
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self(BufReader::new(stream))
    }

    /// Says a line.
    pub(crate) fn say(&mut self, request: &Value) {
        let mut line = request.to_string();
        line.push('\n');
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
    }

    /// Hears a line.
    pub(crate) fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Says a line and hears the answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.say(request);
        self.hear()
    }

    /// Sends a frame.
    pub(crate) fn send(&mut self, kind: u8, payload: &[u8]) {
        let mut bytes = vec![kind];
        bytes.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
        bytes.extend(payload);
        self.0.get_mut().write_all(&bytes).unwrap();
    }

    /// The next frame; `None` once the host is gone.
    pub(crate) fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        match self.0.read_exact(&mut head) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return None,
            read => read.unwrap(),
        }
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.0.read_exact(&mut payload).unwrap();
        Some((head[0], payload))
    }

    /// Whether the host closed the call.
    pub(crate) fn is_over(&mut self) -> bool {
        self.0.read_to_end(&mut Vec::new()).unwrap() == 0
    }
}

/// One question on a line of its own.
pub(crate) fn ask(folder: &Path, request: &Value) -> Value {
    Call::to(folder).ask(request)
}

/// The screen now.
pub(crate) fn screen(folder: &Path) -> Value {
    ask(folder, &json!({"v": 2, "do": "screen"}))
}

/// The rows of a screen as one text, without blank ends.
pub(crate) fn text(screen: &Value) -> String {
    let rows: Vec<&str> =
        screen["lines"].as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect();
    rows.join("\n").trim_end().to_owned()
}

/// What is kept of the output, and the offset of its first byte.
pub(crate) fn transcript(folder: &Path) -> (u64, Vec<u8>) {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut archives: Vec<String> = names.filter(|name| name.starts_with("output-")).collect();
    archives.sort();
    let start = archives.first().map_or(0, |name| name[7..19].parse().unwrap());
    let mut bytes = Vec::new();
    for name in archives.iter().map(String::as_str).chain(["output.log"]) {
        bytes.extend(fs::read(folder.join(name)).unwrap());
    }
    (start, bytes)
}

/// Somebody who sees all that is printed, from the first byte on. For sessions that print little.
pub(crate) struct Follower {
    call: Call,
    pub(crate) seen: Vec<u8>,
}

impl Follower {
    pub(crate) fn of(folder: &Path) -> Self {
        let mut call = Call::to(folder);
        let reply = call.ask(&json!({"v": 2, "do": "attach", "watch": true, "repaint": false}));
        let at = usize::try_from(reply["at"].as_u64().unwrap()).unwrap();
        let seen = transcript(folder).1[..at].to_vec();
        Self { call, seen }
    }

    /// Waits until the output holds this. Returns all of it.
    pub(crate) fn until(&mut self, part: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.seen).into_owned();
            if text.contains(part) {
                return text;
            }
            match self.call.frame() {
                Some((b'o', bytes)) => self.seen.extend(bytes),
                Some((b's', _)) => {}
                other => panic!("{other:?} before {part:?} in {text:?}"),
            }
        }
    }

    /// All output until the end, and how it ended.
    pub(crate) fn into_end(mut self) -> (Vec<u8>, Value) {
        loop {
            match self.call.frame() {
                Some((b'o', bytes)) => self.seen.extend(bytes),
                Some((b'e', ended)) => return (self.seen, serde_json::from_slice(&ended).unwrap()),
                Some((b's', _)) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}
