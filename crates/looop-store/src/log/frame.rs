//! Lines of the log: JSON with a checksum in front.

use looop_core::ledger::entry::{LOG_VERSION, Line};
use looop_core::ledger::state::Ledger;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How every line begins; eight hex digits follow.
const OPEN: &[u8] = b"{\"c\":\"";
/// What follows the digits.
const CLOSE: &[u8] = b"\",";
const DIGITS: usize = 8;
/// Length of all that the checksum does not cover.
const FRAME: usize = OPEN.len() + DIGITS + CLOSE.len();

/// The first line of a file.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) seq: u64,
    pub(super) snapshot: Ledger,
}

#[derive(Serialize)]
struct HeadRef<'a> {
    v: u32,
    seq: u64,
    snapshot: &'a Ledger,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It does not match its checksum, as after a torn write.
    Torn,
    /// It does, and yet it is not understood.
    Unknown(String),
    /// Its version is newer than ours.
    Newer(u32),
}

/// A whole line, newline included.
pub(super) fn encode(line: &Line) -> Result<Vec<u8>, serde_json::Error> {
    framed(line)
}

/// The first line of a file, newline included.
pub(super) fn encode_head(ledger: &Ledger) -> Result<Vec<u8>, serde_json::Error> {
    framed(&HeadRef { v: LOG_VERSION, seq: ledger.seq, snapshot: ledger })
}

pub(super) fn framed(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::with_capacity(512);
    bytes.extend_from_slice(OPEN);
    bytes.extend_from_slice(&[b'0'; DIGITS]);
    bytes.push(b'"');
    let brace = bytes.len();
    serde_json::to_writer(&mut bytes, value)?;
    bytes[brace] = b',';
    let sum = checksum(&bytes[FRAME..]);
    bytes[OPEN.len()..OPEN.len() + DIGITS].copy_from_slice(&sum);
    bytes.push(b'\n');
    Ok(bytes)
}

fn checksum(bytes: &[u8]) -> [u8; DIGITS] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let hash = blake3::hash(bytes);
    let mut text = [0; DIGITS];
    for (at, byte) in hash.as_bytes()[..DIGITS / 2].iter().enumerate() {
        text[at * 2] = HEX[usize::from(byte >> 4)];
        text[at * 2 + 1] = HEX[usize::from(byte & 15)];
    }
    text
}

/// Whether a line without its newline matches its checksum.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() > FRAME
        && bytes.starts_with(OPEN)
        && bytes[OPEN.len() + DIGITS..].starts_with(CLOSE)
        && bytes[OPEN.len()..OPEN.len() + DIGITS] == checksum(&bytes[FRAME..])
}

/// Reads a line without its newline.
pub(super) fn decode(bytes: &[u8]) -> Result<Line, Flaw> {
    decode_framed(bytes)
}

/// Reads something with a checksum in front.
pub(super) fn decode_framed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Flaw> {
    if !is_whole(bytes) {
        return Err(Flaw::Torn);
    }
    serde_json::from_slice(bytes).map_err(|error| Flaw::Unknown(error.to_string()))
}

/// Reads the first line of a file.
pub(super) fn decode_head(bytes: &[u8]) -> Result<Head, Flaw> {
    if !is_whole(bytes) {
        return Err(Flaw::Torn);
    }
    let unknown = |error: serde_json::Error| Flaw::Unknown(error.to_string());
    match serde_json::from_slice::<Version>(bytes).map_err(unknown)?.v {
        newer if newer > LOG_VERSION => Err(Flaw::Newer(newer)),
        _ => serde_json::from_slice(bytes).map_err(unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use looop_core::ledger::entry::Entry;
    use looop_core::time::Stamp;

    fn line() -> Line {
        Line { seq: 7, at: Stamp { wall: 1, up: 2, boot: 3 }, idle: 0, entries: vec![Entry::Resumed] }
    }

    #[test]
    fn a_line_comes_back_and_is_plain_json() {
        let bytes = encode(&line()).unwrap();
        assert_eq!(bytes.last(), Some(&b'\n'));
        let body = &bytes[..bytes.len() - 1];
        assert_eq!(decode(body).unwrap(), line());
        let value: serde_json::Value = serde_json::from_slice(body).unwrap();
        assert_eq!(value["seq"], 7);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let bytes = encode(&line()).unwrap();
        let body = &bytes[..bytes.len() - 1];
        for at in 0..body.len() {
            assert_eq!(decode(&body[..at]).err(), Some(Flaw::Torn), "cut at {at}");
            let mut flipped = body.to_vec();
            flipped[at] ^= 1;
            assert_eq!(decode(&flipped).err(), Some(Flaw::Torn), "flipped at {at}");
        }
    }

    #[test]
    fn a_newer_snapshot_is_told_from_a_broken_one() {
        let newer = framed(&serde_json::json!({"v": 2, "seq": 1, "snapshot": {}})).unwrap();
        assert_eq!(decode_head(&newer[..newer.len() - 1]).err(), Some(Flaw::Newer(2)));
        let head = encode_head(&Ledger::default()).unwrap();
        assert_eq!(decode_head(&head[..head.len() - 1]).unwrap().seq, 0);
    }
}
