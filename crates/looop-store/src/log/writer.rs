//! Appending to the log.

use std::sync::Arc;

use looop_core::ledger::entry::Line;
use looop_core::ledger::state::Ledger;

use super::error::{AppendError, LogError};
use super::file::{FOLDER, LogFile, READ_LIMIT, files, path_of};
use super::frame::{encode, encode_head};
use super::open::{Repair, cut, newest};
use crate::disk::{Disk, Held, durable_write};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// A file that has grown to this is left for a new one.
pub const LOG_FILE_SIZE: u64 = 5 << 20;
/// How many files are kept.
pub const LOG_FILES_KEPT: usize = 64;

/// Why the log must be opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Poison {
    /// A write or rename failed: the end of the file is unknown.
    Write,
    /// A sync failed: the kernel may have dropped the bytes and still show them, so the file is not trusted any more.
    Sync,
}

/// The log, open for appending. It keeps the profile's lock for as long as it lives.
pub struct Log {
    disk: Arc<dyn Disk>,
    #[expect(dead_code, reason = "held for its drop")]
    held: Arc<Vec<Held>>,
    path: String,
    /// Length of the whole lines.
    size: u64,
    /// Number of the last append.
    last: u64,
    /// Whether the file's name may not be durable yet: true until the first append.
    fresh: bool,
    poison: Option<Poison>,
}

impl Log {
    pub(super) fn begin(writer: &Writer, ledger: &Ledger) -> Result<Self, LogError> {
        if writer.disk().stat(FOLDER).is_absent() {
            writer.disk().make_dir(FOLDER).map_err(failed(FOLDER, "made"))?;
            writer.disk().sync_dir("").map_err(failed(FOLDER, "made durable"))?;
        }
        let mut log = Self {
            disk: writer.shared_disk(),
            held: writer.held(),
            path: String::new(),
            size: 0,
            last: ledger.seq,
            fresh: true,
            poison: None,
        };
        log.start_file(ledger)?;
        Ok(log)
    }

    pub(super) fn resume(writer: &Writer, file: &LogFile, ledger: &Ledger) -> Self {
        let mut log = Self {
            disk: writer.shared_disk(),
            held: writer.held(),
            path: String::new(),
            size: 0,
            last: 0,
            fresh: true,
            poison: None,
        };
        log.take_up(file, ledger);
        log
    }

    fn take_up(&mut self, file: &LogFile, ledger: &Ledger) {
        self.path.clone_from(&file.path);
        self.size = file.whole();
        self.last = ledger.seq;
        self.fresh = !file.has_lines();
        self.poison = None;
    }

    /// Appends one line in one write. With `sync` it is on the disk when this returns. After an error nothing is known
    /// about the end of the file: everything is refused until [`Log::reopen`].
    pub fn append(&mut self, line: &Line, sync: bool) -> Result<(), AppendError> {
        if self.poison.is_some() {
            return Err(AppendError::Poisoned);
        }
        if line.seq != self.last + 1 {
            return Err(AppendError::Gap { last: self.last, found: line.seq });
        }
        let bytes = encode(line).map_err(AppendError::Json)?;
        if self.size + bytes.len() as u64 > READ_LIMIT {
            return Err(AppendError::TooLong(bytes.len()));
        }
        self.put(&bytes, sync)?;
        self.size += bytes.len() as u64;
        self.last = line.seq;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8], sync: bool) -> Result<(), StoreError> {
        self.poison = Some(Poison::Write);
        if self.fresh {
            self.disk.sync_dir(FOLDER).map_err(failed(FOLDER, "made durable"))?;
            self.fresh = false;
        }
        self.disk.append(&self.path, bytes).map_err(failed(&self.path, "written"))?;
        point("store.log-written");
        if sync {
            self.poison = Some(Poison::Sync);
            self.disk.sync_data(&self.path).map_err(failed(&self.path, "made durable"))?;
            point("store.log-synced");
        }
        self.poison = None;
        Ok(())
    }

    /// Whether the file has grown enough to be left for a new one.
    pub fn is_full(&self) -> bool {
        self.size >= LOG_FILE_SIZE
    }

    /// Number of the last append.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Begins a new file with a snapshot of `ledger`, which must be the fold of all appends so far, and forgets the
    /// oldest files beyond those that are kept.
    pub fn rotate(&mut self, ledger: &Ledger) -> Result<(), AppendError> {
        if self.poison.is_some() {
            return Err(AppendError::Poisoned);
        }
        if ledger.seq != self.last {
            return Err(AppendError::Gap { last: self.last, found: ledger.seq });
        }
        self.poison = Some(Poison::Write);
        self.start_file(ledger).map_err(AppendError::Write)?;
        self.poison = None;
        self.prune().map_err(AppendError::Write)
    }

    fn start_file(&mut self, ledger: &Ledger) -> Result<(), StoreError> {
        let path = path_of(ledger.seq + 1);
        let bytes = encode_head(ledger).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        durable_write(&*self.disk, &path, &bytes, 0o600)?;
        point("store.log-rotated");
        self.path = path;
        self.size = bytes.len() as u64;
        self.fresh = false;
        Ok(())
    }

    /// The new file is in use already; an old one that cannot be removed is tried again at the next rotation.
    fn prune(&self) -> Result<(), StoreError> {
        let Ok(all) = files(&*self.disk) else { return Ok(()) };
        for first in &all[..all.len().saturating_sub(LOG_FILES_KEPT)] {
            let path = path_of(*first);
            self.disk.remove(&path).map_err(failed(&path, "removed"))?;
            point("store.log-pruned");
        }
        Ok(())
    }

    /// Opens the log again after a failed append: it is read anew, cut to the last line whose append succeeded, and
    /// replayed. The ledger that comes back is the only true one.
    ///
    /// After a failed sync the file itself is left: the ledger goes into a new file, whose bytes are all fresh, because
    /// the old one may show bytes that never reached the disk.
    pub fn reopen(&mut self) -> Result<(Ledger, Repair), LogError> {
        let poison = self.poison;
        self.undo(poison)?;
        let Some((file, ledger)) = newest(&*self.disk)? else {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(LogError::Unreadable { path: self.path.clone(), source });
        };
        let repair = cut(&*self.disk, &file)?;
        self.take_up(&file, &ledger);
        if poison == Some(Poison::Sync) {
            self.poison = poison;
            self.start_file(&ledger)?;
            self.poison = None;
        }
        Ok((ledger, repair))
    }

    /// Takes back the append that failed, so that what is replayed is what was said to be appended.
    fn undo(&self, poison: Option<Poison>) -> Result<(), LogError> {
        let Some(poison) = poison else { return Ok(()) };
        self.disk.truncate(&self.path, self.size).map_err(failed(&self.path, "repaired"))?;
        if poison == Poison::Write {
            self.disk.sync_data(&self.path).map_err(failed(&self.path, "repaired"))?;
        }
        point("store.log-cut");
        Ok(())
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("path", &self.path).field("last", &self.last).finish_non_exhaustive()
    }
}
