//! Looking back over the log.

use looop_core::ledger::entry::Line;
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::{Form, Ledger};

use super::error::LogError;
use super::file::{files, load};
use crate::dir::Reader;

impl Reader {
    /// The last `most` appends, oldest first, from the newest two files.
    pub fn recent(&self, most: usize) -> Result<Vec<Line>, LogError> {
        let mut found = Vec::new();
        for first in files(self.disk())?.into_iter().rev().take(2) {
            let (file, _) = load(self.disk(), first)?;
            let mut older = file.last(most - found.len())?;
            older.append(&mut found);
            found = older;
            if found.len() == most {
                break;
            }
        }
        Ok(found)
    }

    /// Walks over every append that is kept, oldest first, one file in memory at a time.
    pub fn replay_all(&self, f: &mut dyn FnMut(&Line)) -> Result<(), LogError> {
        for first in files(self.disk())? {
            let (file, head) = load(self.disk(), first)?;
            file.each(head.seq, &mut |line| f(&line))?;
        }
        Ok(())
    }

    /// Checks that the files are without a gap and that each one's snapshot is the fold of the files before it, and
    /// returns the number of appends that are kept.
    pub fn verify_log(&self) -> Result<u64, LogError> {
        let mut before: Option<Ledger> = None;
        let mut appends = 0;
        for first in files(self.disk())? {
            let (file, head) = load(self.disk(), first)?;
            // Another version may have added the same entries up to something else.
            let same_rules = head.snapshot.form == Form::default();
            if before.as_ref().is_some_and(|before| same_rules && *before != head.snapshot) {
                let what = "the snapshot is not what the files before it add up to".to_owned();
                return Err(LogError::Corrupt { path: file.path, line: 1, what });
            }
            let mut ledger = head.snapshot;
            let last = file.each(head.seq, &mut |line| apply_line(&mut ledger, &line))?;
            appends += last - head.seq;
            before = Some(ledger).filter(|_| same_rules);
        }
        Ok(appends)
    }
}
