//! The control socket's words: one JSON object a line, each with its version.

use std::io::{BufRead, Read, Write};

use looop_core::engine::io::{Reply, Request};
use looop_core::ledger::entry::Line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub(super) const VERSION: u32 = 1;
/// Longest line.
const MOST: u64 = 8 << 20;

/// What a verb says.
#[derive(Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) v: u32,
    pub(super) request: Request,
}

/// What the lock holder says.
#[derive(Serialize, Deserialize)]
pub(super) struct Word {
    pub(super) v: u32,
    #[serde(flatten)]
    pub(super) what: What,
}

/// The content of a word.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    /// The request was heard by this process, and may be carried out from here on.
    Heard(u32),
    /// The holder is leaving and the request was not begun: it can be made again.
    Leaving(u32),
    /// Something happened.
    Line(Box<Line>),
    /// The request is over.
    Reply(Box<Reply>),
    /// The request was not understood, or the log cannot be written; the text says what was done.
    Error(String),
}

/// Writes one line.
pub(super) fn send(stream: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    stream.write_all(&bytes)
}

/// Reads one line; `None` at the end of the stream.
pub(super) fn receive<T: DeserializeOwned>(reader: &mut impl BufRead) -> std::io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = reader.by_ref().take(MOST).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "the line is cut or too long"));
    }
    Ok(Some(serde_json::from_slice(&line)?))
}
