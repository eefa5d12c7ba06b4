//! Following the log: every append once and in order, and of each file only what is new.

use looop_core::ledger::entry::Line;
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::Ledger;

use super::error::LogError;
use super::file::{files, load, path_of};
use super::frame::decode;
use crate::dir::Reader;
use crate::disk::Stored;

/// How often the end of a file that grows meanwhile is tried.
const TRIES: usize = 5;

/// Somebody who follows the log. Lines that are not whole yet wait for the next time.
#[derive(Clone, Debug)]
pub struct LogTail {
    reader: Reader,
    /// The last append that was given, or passed over at the start.
    seq: u64,
    /// That append, unless it was passed over.
    last: Option<Line>,
    /// The fold of all that was read.
    ledger: Ledger,
    at: Option<Spot>,
}

/// How far the newest file was read.
#[derive(Clone, Copy, Debug)]
struct Spot {
    first: u64,
    inode: u128,
    /// Where the last whole line ends.
    end: u64,
}

/// What takes an append, with the ledger before it.
type Give<'a> = &'a mut dyn FnMut(&Ledger, &Line);

impl Reader {
    /// Follows the log after an append; `u64::MAX` is after all that there is.
    pub fn tail(&self, since: u64) -> LogTail {
        LogTail { reader: self.clone(), seq: since, last: None, ledger: Ledger::default(), at: None }
    }
}

impl LogTail {
    /// The last append that was given. After the first [`LogTail::more`] it is never beyond the end of the log.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The ledger after the last append that was read.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Gives every append that came since the last time.
    pub fn more(&mut self, give: &mut dyn FnMut(&Ledger, &Line)) -> Result<(), LogError> {
        // A file that was listed is there before its forerunner is read, so that the forerunner is read to its end.
        let listed = files(self.reader.disk())?;
        if let Some(newest) = listed.last() {
            self.catch_up(&listed, *newest, give)?;
        }
        // An append whose sync failed is taken back, and another one gets its number.
        self.seq = self.seq.min(self.ledger.seq);
        Ok(())
    }

    fn catch_up(&mut self, listed: &[u64], newest: u64, give: Give<'_>) -> Result<(), LogError> {
        match self.at {
            Some(at) if listed.contains(&at.first) => self.grown(at, give)?,
            // The file is gone, or none was read yet: begin with the one that holds the next append.
            Some(_) | None => {
                let holds = listed.iter().rev().find(|first| **first <= self.seq.saturating_add(1));
                self.enter(*holds.unwrap_or(&listed[0]), give)?;
            }
        }
        let behind = |at: Spot| listed.iter().find(|first| **first > at.first);
        while let Some(next) = self.at.filter(|at| at.first < newest).and_then(behind) {
            self.enter(*next, give)?;
        }
        Ok(())
    }

    /// Reads a file from its start.
    fn enter(&mut self, first: u64, give: Give<'_>) -> Result<(), LogError> {
        let (file, head) = load(self.reader.disk(), first)?;
        self.ledger = head.snapshot;
        file.each(head.seq, &mut |line| self.take(line, give))?;
        self.at = Some(Spot { first, inode: file.inode, end: file.whole() });
        Ok(())
    }

    /// Reads what came to the file since the last time. What does not fit there is read again from its start, which
    /// also tells what is wrong with it.
    fn grown(&mut self, at: Spot, give: Give<'_>) -> Result<(), LogError> {
        let path = path_of(at.first);
        let Stored::Value(meta) = self.reader.disk().stat(&path) else { return self.enter(at.first, give) };
        if meta.inode != at.inode || meta.size < at.end {
            return self.enter(at.first, give);
        }
        if meta.size == at.end {
            return Ok(());
        }
        let Some(bytes) = self.read_from(&path, at.end, meta.size) else { return self.enter(at.first, give) };
        let mut end = 0;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n").map(decode) {
                Some(Ok(line)) if line.seq == self.ledger.seq + 1 => {
                    self.take(line, give);
                    end += piece.len();
                }
                // The last line may be torn, or still be written.
                Some(Err(_)) | None if end + piece.len() == bytes.len() => break,
                Some(Ok(_) | Err(_)) | None => return self.enter(at.first, give),
            }
        }
        self.at = Some(Spot { end: at.end + end as u64, ..at });
        Ok(())
    }

    /// The bytes from an offset on, or nothing if the file does not hold still.
    fn read_from(&self, path: &str, from: u64, mut size: u64) -> Option<Vec<u8>> {
        for _ in 0..TRIES {
            let tail = self.reader.disk().read_tail(path, size.checked_sub(from)?).value()?;
            if tail.size - tail.bytes.len() as u64 == from {
                return Some(tail.bytes);
            }
            // It has grown meanwhile.
            size = tail.size;
        }
        None
    }

    fn take(&mut self, line: Line, give: Give<'_>) {
        let replaced = || line.seq == self.seq && self.last.as_ref().is_some_and(|last| *last != line);
        let is_new = line.seq > self.seq || replaced();
        if is_new {
            give(&self.ledger, &line);
            self.seq = line.seq;
        }
        apply_line(&mut self.ledger, &line);
        if is_new {
            self.last = Some(line);
        }
    }
}
