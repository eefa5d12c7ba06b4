//! Appending to the log.

use std::sync::Arc;

use looop_core::bounds;
use looop_core::ledger::entry::Line;
use looop_core::ledger::state::Ledger;

use super::error::{AppendError, LogError};
use super::file::{FOLDER, LogFile, READ_LIMIT, files, path_of};
use super::fold;
use super::frame::{encode, encode_head};
use super::open::{Repair, cut, newest};
use crate::disk::{Disk, Held, Links, durable_write};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// A file to whose snapshot this was appended is left for a new one.
pub const LOG_FILE_SIZE: u64 = bounds::LOG_FILE as u64;
/// How many files are kept.
pub const LOG_FILES_KEPT: usize = 64;

/// Why the log must be opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Poison {
    /// A write or rename failed: the file may end in half a line.
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
    /// Length of the snapshot.
    head: u64,
    /// Length of the whole lines, the snapshot included.
    size: u64,
    /// Length of those whose fold is kept beside the file.
    folded: u64,
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
            head: 0,
            size: 0,
            folded: 0,
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
            head: 0,
            size: 0,
            folded: 0,
            last: 0,
            fresh: true,
            poison: None,
        };
        log.take_up(file, ledger);
        log
    }

    fn take_up(&mut self, file: &LogFile, ledger: &Ledger) {
        self.path.clone_from(&file.path);
        (self.head, self.size, self.folded) = (file.head(), file.whole(), file.folded as u64);
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
        // One that is too long now is so at every later time: this is no failure of the disk.
        if bytes.len() > bounds::LINE || self.size + bytes.len() as u64 > READ_LIMIT {
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

    /// Whether enough was appended to the snapshot to leave the file for a new one. What is written in all is so at most
    /// twice what is appended, however large the snapshot is.
    pub fn is_full(&self) -> bool {
        self.size.saturating_sub(self.head) >= LOG_FILE_SIZE.max(self.head)
    }

    /// Number of the last append.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Begins a new file with a snapshot of `ledger`, which must be the fold of all appends so far, and forgets the
    /// oldest files beyond those that are kept. One that cannot be removed is no reason to fail: it is returned, and
    /// tried again at the next rotation.
    pub fn rotate(&mut self, ledger: &Ledger) -> Result<Option<StoreError>, AppendError> {
        if self.poison.is_some() {
            return Err(AppendError::Poisoned);
        }
        if ledger.seq != self.last {
            return Err(AppendError::Gap { last: self.last, found: ledger.seq });
        }
        self.poison = Some(Poison::Sync);
        self.disk.sync_data(&self.path).map_err(failed(&self.path, "made durable"))?;
        self.poison = Some(Poison::Write);
        let left = self.path.clone();
        self.start_file(ledger)?;
        self.poison = None;
        Ok(fold::remove(&*self.disk, &left).and_then(|()| self.prune()).err())
    }

    /// Keeps the fold of what was appended so far beside the file, from time to time: whoever opens the log next need
    /// not add it up again. `ledger` must be that fold. That it cannot be kept is no reason to fail.
    pub fn keep_fold(&mut self, ledger: &Ledger) -> Option<StoreError> {
        let due = self.size.saturating_sub(self.folded) >= fold::EVERY.max(self.head);
        if !due || self.poison.is_some() || ledger.seq != self.last {
            return None;
        }
        self.folded = self.size;
        fold::write(&*self.disk, &self.path, self.size, ledger).err()
    }

    fn start_file(&mut self, ledger: &Ledger) -> Result<(), StoreError> {
        let path = path_of(ledger.seq + 1);
        let bytes = encode_head(ledger).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        durable_write(&*self.disk, &path, &bytes, 0o600)?;
        point("store.log-rotated");
        self.path = path;
        self.head = bytes.len() as u64;
        (self.size, self.folded) = (self.head, self.head);
        self.fresh = false;
        Ok(())
    }

    /// Removes the oldest files, in number and in bytes beyond what is kept.
    fn prune(&self) -> Result<(), StoreError> {
        let all =
            files(&*self.disk).map_err(|error| failed(FOLDER, "listed")(std::io::Error::other(error)))?;
        let mut total = 0;
        let kept = all.iter().rev().take(LOG_FILES_KEPT).take_while(|first| {
            let size = self.disk.stat(&path_of(**first)).value().map_or(0, |meta| meta.size);
            total += size;
            total == size || total <= bounds::LOG_TOTAL
        });
        let kept = kept.count();
        for first in &all[..all.len() - kept] {
            let path = path_of(*first);
            self.disk.remove(&path).map_err(failed(&path, "removed"))?;
            point("store.log-pruned");
        }
        Ok(())
    }

    /// Opens the log again after a failed append: half a line is cut off, and what is left is replayed. The ledger that
    /// comes back is the only true one.
    pub fn reopen(&mut self) -> Result<(Ledger, Repair), LogError> {
        if self.poison == Some(Poison::Sync) {
            self.write_anew()?;
        }
        let Some((file, ledger)) = newest(&*self.disk)? else {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(LogError::Unreadable { path: self.path.clone(), source });
        };
        let repair = cut(&*self.disk, &file).inspect_err(|_| {
            // The cut may have been made and not synced: the file is not trusted any more.
            self.poison = Some(Poison::Sync);
        })?;
        self.take_up(&file, &ledger);
        Ok((ledger, repair))
    }

    /// Puts a fresh file with the same lines in the place of the one whose sync failed: to sync it again would prove
    /// nothing, because the kernel forgets what it could not write.
    fn write_anew(&self) -> Result<(), StoreError> {
        let read = self.disk.read(&self.path, READ_LIMIT, Links::Refuse).into_io();
        let content = read.map_err(failed(&self.path, "read"))?;
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let whole = content.as_ref().and_then(|content| content.bytes.get(..size));
        let short = || failed(&self.path, "read")(std::io::ErrorKind::UnexpectedEof.into());
        durable_write(&*self.disk, &self.path, whole.ok_or_else(short)?, 0o600)
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("path", &self.path).field("last", &self.last).finish_non_exhaustive()
    }
}
