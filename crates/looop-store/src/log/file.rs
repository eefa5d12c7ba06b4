//! One file of the log: its name, its bytes, its lines.

use std::ops::Range;

use looop_core::ledger::entry::{LOG_VERSION, Line};

use super::error::LogError;
use super::frame::{Flaw, Head, decode, decode_head, is_whole};
use crate::disk::{Disk, Links, Stored, durable_write};
use crate::error::StoreError;

/// The folder of the log.
pub(super) const FOLDER: &str = "log";
/// Most bytes of one file that are read. A file is left for a new one long before.
pub(super) const READ_LIMIT: u64 = looop_core::bounds::LOG_READ as u64;

/// The path of the file whose first append has this number.
pub(super) fn path_of(first: u64) -> String {
    format!("{FOLDER}/{first:012}.jsonl")
}

/// The number that a file's name stands for, if it is a name of the log.
fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".jsonl")?;
    (digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The files of the log by the number of their first append, oldest first. Other names in the folder are none of it.
pub(super) fn files(disk: &dyn Disk) -> Result<Vec<u64>, LogError> {
    let unreadable = |source| LogError::Unreadable { path: FOLDER.to_owned(), source };
    let listed = disk.list(FOLDER).into_io().map_err(unreadable)?.unwrap_or_default();
    let mut found: Vec<u64> = listed.iter().filter_map(|listed| first_of(listed.name.to_str()?)).collect();
    found.sort_unstable();
    Ok(found)
}

/// One file, read whole.
pub(super) struct LogFile {
    pub(super) path: String,
    /// Which file of the file system it was.
    pub(super) inode: u128,
    bytes: Vec<u8>,
    /// Where the snapshot ends.
    body: usize,
    /// Where the last whole line ends.
    end: usize,
    /// Whether what follows is more than a torn line: bytes that were not synced are zeros.
    pub(super) hole: bool,
    /// How many bytes from the start need not be added up again.
    pub(super) folded: usize,
}

/// Reads a file and finds the end of its last whole line. Lines are not looked at yet, except the last one.
pub(super) fn load(disk: &dyn Disk, first: u64) -> Result<(LogFile, Head), LogError> {
    let path = path_of(first);
    let (bytes, inode) = match disk.read(&path, READ_LIMIT, Links::Refuse) {
        Stored::Value(content) => (content.bytes, content.meta.inode),
        Stored::Absent => return Err(unreadable(&path, std::io::ErrorKind::NotFound.into())),
        Stored::Unreadable(source) => return Err(unreadable(&path, source)),
        Stored::Corrupt(what) => return Err(LogError::Corrupt { path, line: 1, what }),
    };
    let body = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| at + 1);
    let head = decode_head(bytes[..body].strip_suffix(b"\n").unwrap_or_default());
    let head = head.map_err(|flaw| flawed(&path, 1, flaw))?;
    if head.seq != head.snapshot.seq || head.seq.checked_add(1) != Some(first) {
        return Err(LogError::Corrupt {
            path,
            line: 1,
            what: "the snapshot is of another append".to_owned(),
        });
    }
    let end = whole_end(&bytes, body);
    let hole = hole(&bytes, body, end);
    Ok((
        LogFile { path, inode, body, end: hole.unwrap_or(end), hole: hole.is_some(), folded: body, bytes },
        head,
    ))
}

fn unreadable(path: &str, source: std::io::Error) -> LogError {
    LogError::Unreadable { path: path.to_owned(), source }
}

/// Where the last whole line ends: a last line without its newline, or that does not match its checksum, is torn.
fn whole_end(bytes: &[u8], body: usize) -> usize {
    let end = bytes.iter().rposition(|b| *b == b'\n').map_or(body, |at| at + 1).max(body);
    if end == body || end < bytes.len() {
        return end;
    }
    let last = line_before(bytes, body, end);
    if is_whole(&bytes[last.start..last.end - 1]) { end } else { last.start }
}

/// Where the first line begins in which a loss of power left zeros, if all that follows it may be passed over.
///
/// What is appended without a sync may reach the disk in any order: a file system may have made the file longer and not
/// have written all of it, and that reads as zeros, which no line has. A sync makes all that came before it durable. So
/// behind a hole there is no line that was synced, except the last one, whose sync was under way: nothing that any of
/// these lines says was acted upon. A hole before a line that was synced is no work of a loss of power.
fn hole(bytes: &[u8], body: usize, end: usize) -> Option<usize> {
    // To look for a byte is much faster than to look for its place.
    let zero = bytes[body..end].contains(&0).then(|| bytes[body..end].iter().position(|b| *b == 0));
    let zero = body + zero.flatten()?;
    let start = bytes[..zero].iter().rposition(|b| *b == b'\n').map_or(body, |at| at + 1);
    let mut at = start;
    for line in bytes[start..end].split_inclusive(|b| *b == b'\n') {
        at += line.len();
        let unsynced = || decode(&line[..line.len() - 1]).is_ok_and(|line| !line.needs_sync());
        if at < bytes.len() && !line.contains(&0) && !unsynced() {
            return None;
        }
    }
    Some(start)
}

/// The line that ends at `end`, newline included.
fn line_before(bytes: &[u8], body: usize, end: usize) -> Range<usize> {
    let start = bytes[body..end - 1].iter().rposition(|b| *b == b'\n').map_or(body, |at| body + at + 1);
    start..end
}

fn flawed(path: &str, line: usize, flaw: Flaw) -> LogError {
    let path = path.to_owned();
    match flaw {
        Flaw::Newer(version) => LogError::Newer { path, version, known: LOG_VERSION },
        Flaw::Torn => LogError::Corrupt { path, line, what: "it does not match its checksum".to_owned() },
        Flaw::Unknown(what) => {
            LogError::Corrupt { path, line, what: format!("it is not understood: {what}") }
        }
    }
}

impl LogFile {
    /// Length of the snapshot.
    pub(super) fn head(&self) -> u64 {
        self.body as u64
    }

    /// Length of the longest line after the snapshot.
    pub(super) fn longest(&self) -> u64 {
        let lines = self.bytes[self.body..self.end].split_inclusive(|b| *b == b'\n');
        lines.map(|line| line.len() as u64).max().unwrap_or(0)
    }

    /// Length of the whole lines.
    pub(super) fn whole(&self) -> u64 {
        self.end as u64
    }

    /// Puts a fresh file with the whole lines in the place of this one, whose sync failed.
    pub(super) fn write_anew(&self, disk: &dyn Disk) -> Result<(), StoreError> {
        durable_write(disk, &self.path, &self.bytes[..self.end], 0o600)
    }

    /// Whether anything was appended to its snapshot.
    pub(super) fn has_lines(&self) -> bool {
        self.end > self.body
    }

    /// Bytes after the last whole line.
    pub(super) fn torn(&self) -> u64 {
        (self.bytes.len() - self.end) as u64
    }

    /// The first bytes, if they are whole lines.
    pub(super) fn bytes_to(&self, size: usize) -> Option<&[u8]> {
        let fits = (self.body..=self.end).contains(&size);
        self.bytes.get(..size).filter(|bytes| fits && bytes.ends_with(b"\n"))
    }

    /// Walks over the lines in order, which must be numbered from `after` without gaps, and returns the last number.
    pub(super) fn each(&self, after: u64, f: &mut dyn FnMut(Line)) -> Result<u64, LogError> {
        self.each_from(self.body, after, f)
    }

    /// The same from the line on that begins at an offset.
    pub(super) fn each_from(
        &self,
        start: usize,
        after: u64,
        f: &mut dyn FnMut(Line),
    ) -> Result<u64, LogError> {
        let number = |at: usize| self.bytes[..start].split_inclusive(|b| *b == b'\n').count() + at + 1;
        let mut last = after;
        let lines = self.bytes[start..self.end].split_inclusive(|b| *b == b'\n');
        for (at, bytes) in lines.enumerate() {
            let line =
                decode(&bytes[..bytes.len() - 1]).map_err(|flaw| flawed(&self.path, number(at), flaw))?;
            if Some(line.seq) != last.checked_add(1) {
                let what = format!("append {} follows {last}", line.seq);
                return Err(LogError::Corrupt { path: self.path.clone(), line: number(at), what });
            }
            last = line.seq;
            f(line);
        }
        Ok(last)
    }

    /// The last `most` lines, oldest first. Only these are looked at.
    pub(super) fn last(&self, most: usize) -> Result<Vec<Line>, LogError> {
        let mut found = Vec::new();
        let mut end = self.end;
        while found.len() < most && end > self.body {
            let range = line_before(&self.bytes, self.body, end);
            let number = || self.bytes[..range.end].split_inclusive(|b| *b == b'\n').count();
            let line = decode(&self.bytes[range.start..range.end - 1]);
            found.push(line.map_err(|flaw| flawed(&self.path, number(), flaw))?);
            end = range.start;
        }
        found.reverse();
        Ok(found)
    }
}
