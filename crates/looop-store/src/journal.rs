//! The journal: one line a move, for people.

use looop_core::ledger::state::Ledger;

use crate::dir::Reader;
use crate::disk::{Disk, Stored, Tail};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// The journal's file.
pub const JOURNAL: &str = "journal.md";
/// Earlier journals that are kept, `journal.md.1` the youngest.
pub const JOURNAL_GENERATIONS: u32 = 4;
/// A journal that has grown to this makes room for a new one.
const FULL: u64 = 5 << 20;
/// How far back a line is looked for after a crash.
const LOOK_BACK: u64 = 64 << 10;
/// Most bytes of the end that are read to show lines.
const SHOWN: u64 = 1 << 20;

impl Reader {
    /// The last `most` lines, oldest first; a journal that has just been rotated is short.
    pub fn journal_tail(&self, most: usize) -> Stored<Vec<String>> {
        self.disk().read_tail(JOURNAL, SHOWN).map(|tail| {
            let lines = whole_lines(&tail);
            let skip = lines.len().saturating_sub(most);
            lines.into_iter().skip(skip).collect()
        })
    }

    /// Whether a line is among the last ones.
    pub fn journal_has(&self, line: &str) -> Result<bool, StoreError> {
        Ok(self.last_lines()?.iter().any(|have| have == line))
    }

    /// The last lines. Those that have just been rotated away count.
    fn last_lines(&self) -> Result<Vec<String>, StoreError> {
        let mut lines = Vec::new();
        for path in [generation(1), JOURNAL.to_owned()] {
            let tail = self.disk().read_tail(&path, LOOK_BACK).into_io().map_err(failed(&path, "read"))?;
            lines.extend(tail.map(|tail| whole_lines(&tail)).unwrap_or_default());
        }
        Ok(lines)
    }
}

/// The lines of a tail. Its first one is cut where the tail is not the whole file, its last one where a write was
/// torn; neither is a line.
fn whole_lines(tail: &Tail) -> Vec<String> {
    let text = String::from_utf8_lossy(&tail.bytes);
    let cut = usize::from((tail.bytes.len() as u64) < tail.size);
    text.split_inclusive('\n')
        .skip(cut)
        .filter_map(|line| line.strip_suffix('\n'))
        .map(str::to_owned)
        .collect()
}

impl Writer {
    /// Writes the lines that a crash or a full disk kept from the journal: those at the end of the ledger's that are
    /// not in the file, so that none is lost and none is doubled. Two moves of one minute may read the same; the ledger
    /// knows how often a line is meant to be.
    pub fn mend_journal(&self, ledger: &Ledger) -> Result<(), StoreError> {
        if ledger.journal.is_empty() {
            return Ok(());
        }
        self.close_line(ledger)?;
        let have = self.last_lines()?;
        let meant = |line: &String| ledger.journal.iter().filter(|other| *other == line).count();
        let mut missing: Vec<&String> = Vec::new();
        for line in ledger.journal.iter().rev() {
            let found = have.iter().filter(|other| *other == line).count()
                + missing.iter().filter(|other| **other == line).count();
            if found >= meant(line) {
                break;
            }
            missing.push(line);
        }
        for line in missing.into_iter().rev() {
            self.append_journal(line)?;
        }
        Ok(())
    }

    /// Ends a line of the ledger's that lacks nothing but its newline, because a write was torn right before it: else it
    /// would not be found, and be written again.
    fn close_line(&self, ledger: &Ledger) -> Result<(), StoreError> {
        let tail = self.disk().read_tail(JOURNAL, LOOK_BACK).into_io().map_err(failed(JOURNAL, "read"))?;
        let Some(tail) = tail else { return Ok(()) };
        let text = String::from_utf8_lossy(&tail.bytes);
        let last = text.rsplit('\n').next().unwrap_or_default();
        if ledger.journal.iter().any(|line| line == last) {
            put(self.disk(), "\n", tail.size)?;
        }
        Ok(())
    }

    /// Appends a line, given without its newline, in one write, and makes it durable.
    pub fn append_journal(&self, line: &str) -> Result<(), StoreError> {
        let disk = self.disk();
        let tail = disk.read_tail(JOURNAL, 1).into_io().map_err(failed(JOURNAL, "read"))?;
        let tail = match tail {
            Some(tail) if tail.size >= FULL => {
                rotate(disk)?;
                None
            }
            tail => tail,
        };
        let size = tail.as_ref().map_or(0, |tail| tail.size);
        let open_ended = tail.is_some_and(|tail| tail.bytes.last().is_some_and(|last| *last != b'\n'));
        let text = format!("{}{}\n", if open_ended { "\n" } else { "" }, line.replace(['\n', '\r'], " "));
        put(disk, &text, size)
    }
}

fn put(disk: &dyn Disk, text: &str, size: u64) -> Result<(), StoreError> {
    if let Err(error) = disk.append(JOURNAL, text.as_bytes()) {
        // Half a line is worse than none. If the cut fails too, the next line begins with a newline.
        drop(disk.truncate(JOURNAL, size));
        return Err(failed(JOURNAL, "written")(error));
    }
    point("store.journal-written");
    disk.sync_data(JOURNAL).map_err(failed(JOURNAL, "made durable"))?;
    if size == 0 {
        disk.sync_dir("").map_err(failed(JOURNAL, "made durable"))?;
    }
    Ok(())
}

/// Oldest first, so that a crash in between leaves a gap in the numbers and loses nothing but the oldest.
fn rotate(disk: &dyn Disk) -> Result<(), StoreError> {
    for number in (1..JOURNAL_GENERATIONS).rev() {
        let from = generation(number);
        if !disk.stat(&from).is_absent() {
            disk.rename(&from, &generation(number + 1)).map_err(failed(&from, "rotated"))?;
        }
    }
    disk.rename(JOURNAL, &generation(1)).map_err(failed(JOURNAL, "rotated"))?;
    point("store.journal-rotated");
    Ok(())
}

fn generation(number: u32) -> String {
    format!("{JOURNAL}.{number}")
}
