//! The words between a batch and whoever ordered it.
//!
//! In: one line of JSON, the request. Out: one line of JSON for each job, followed by the kept bytes of its standard
//! output and standard error; before it, for a job that streams, a line for each piece of one of its outputs, followed by
//! the piece; at last one line that says the pass is over. Each line says its version.

use std::io::{self, BufRead, Read};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Done, Order, Output};
use crate::Ended;

/// The version of both directions.
pub(super) const VERSION: u32 = 1;
/// No line is longer than this; an order for some thousand jobs with whole environments is far below.
const LONGEST_LINE: u64 = 256 << 20;

/// What goes in.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Request {
    pub(super) v: u32,
    pub(super) mark: String,
    pub(super) order: Order,
}

/// A line that comes out.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Head {
    pub(super) v: u32,
    #[serde(flatten)]
    pub(super) news: News,
}

/// What a line says.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum News {
    /// A job is done; its kept bytes follow.
    Job(JobHead),
    /// A job printed something; the bytes follow.
    Piece {
        index: usize,
        #[serde(default)]
        output: Output,
        bytes: u64,
    },
    /// The pass is over, nothing below lives, except these.
    Over { left: Vec<i32> },
}

/// A result without its bytes.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct JobHead {
    index: usize,
    ended: Ended,
    stdout: u64,
    stdout_total: u64,
    stderr: u64,
    stderr_total: u64,
    took: Duration,
}

/// What a reader gets.
#[derive(Debug)]
pub(super) enum Message {
    Job(usize, Done),
    Piece(usize, Output, Vec<u8>),
    Over(Vec<i32>),
}

/// Appends a result to `out`.
pub(super) fn put_done(out: &mut Vec<u8>, index: usize, done: &Done) -> io::Result<()> {
    let head = JobHead {
        index,
        ended: done.ended.clone(),
        stdout: done.stdout.len() as u64,
        stdout_total: done.stdout_total,
        stderr: done.stderr.len() as u64,
        stderr_total: done.stderr_total,
        took: done.took,
    };
    put_head(out, News::Job(head))?;
    out.extend_from_slice(&done.stdout);
    out.extend_from_slice(&done.stderr);
    Ok(())
}

/// Appends a piece of a job's output to `out`.
pub(super) fn put_piece(out: &mut Vec<u8>, index: usize, output: Output, piece: &[u8]) -> io::Result<()> {
    put_head(out, News::Piece { index, output, bytes: piece.len() as u64 })?;
    out.extend_from_slice(piece);
    Ok(())
}

/// Appends the end of the pass to `out`.
pub(super) fn put_over(out: &mut Vec<u8>, left: Vec<i32>) -> io::Result<()> {
    put_head(out, News::Over { left })
}

fn put_head(out: &mut Vec<u8>, news: News) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Head { v: VERSION, news })?;
    out.push(b'\n');
    Ok(())
}

/// Reads the next message; `None` at the end of the stream.
pub(super) fn read(from: &mut impl BufRead) -> io::Result<Option<Message>> {
    let Some(line) = read_line(from)? else { return Ok(None) };
    let head: Head = serde_json::from_slice(&line)?;
    check(head.v)?;
    let head = match head.news {
        News::Over { left } => return Ok(Some(Message::Over(left))),
        News::Piece { index, output, bytes } => {
            return Ok(Some(Message::Piece(index, output, read_bytes(from, bytes)?)));
        }
        News::Job(head) => head,
    };
    let stdout = read_bytes(from, head.stdout)?;
    let stderr = read_bytes(from, head.stderr)?;
    let (stdout_total, stderr_total) = (head.stdout_total, head.stderr_total);
    let done = Done { ended: head.ended, stdout, stdout_total, stderr, stderr_total, took: head.took };
    Ok(Some(Message::Job(head.index, done)))
}

/// Refuses what another version wrote.
pub(super) fn check(version: u32) -> io::Result<()> {
    if version == VERSION {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("version {version} is not {VERSION}")))
}

/// One line without its end; `None` at the end of the stream.
pub(super) fn read_line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if from.take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    match line.pop() {
        Some(b'\n') => Ok(Some(line)),
        Some(_) | None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn read_bytes(from: &mut impl BufRead, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if from.take(count).read_to_end(&mut bytes)? as u64 == count {
        return Ok(bytes);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done() -> Done {
        let (stdout, stderr) = (b"out\n{".to_vec(), b"\xff".to_vec());
        let (ended, took) = (Ended::Exited(3), Duration::from_micros(7));
        Done { ended, stdout, stdout_total: 900, stderr, stderr_total: 1, took }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        put_piece(&mut out, 4, Output::Stderr, b"{\xff\n").unwrap();
        put_done(&mut out, 4, &done()).unwrap();
        put_over(&mut out, vec![7]).unwrap();
        let mut from = &out[..];
        let piece = read(&mut from).unwrap();
        assert!(matches!(piece, Some(Message::Piece(4, Output::Stderr, piece)) if piece == b"{\xff\n"));
        assert!(matches!(read(&mut from).unwrap(), Some(Message::Job(4, read)) if read == done()));
        assert!(matches!(read(&mut from).unwrap(), Some(Message::Over(left)) if left == [7]));
        assert!(read(&mut from).unwrap().is_none());
    }

    #[test]
    fn a_cut_stream_is_an_error_and_not_a_result() {
        let mut out = Vec::new();
        put_done(&mut out, 4, &done()).unwrap();
        for cut in 1..out.len() {
            assert!(read(&mut &out[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn another_version_is_refused() {
        let error = read(&mut &b"{\"v\":2,\"over\":{\"left\":[]}}\n"[..]).unwrap_err();
        assert_eq!(error.to_string(), "version 2 is not 1");
    }
}
