//! The lock as a type: who holds a [`Writer`] is the one writer of log, journal and policy files.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

use crate::dir::Reader;
use crate::disk::{Held, Kind, Locked, Stored, sweep_temps};
use crate::error::StoreError;

/// The file whose flock makes a writer. It is never removed: a second file of that name would be a second lock.
const LOCK: &str = "lock";
/// The lock of a pulse of looop 0.13 to 1.1.
const OLD_FOLDER: &str = ".lock";
const OLD_LOCK: &str = ".lock/lock";
/// Folders that only the writer makes temp files in.
const SWEPT: &[&str] =
    &["", "goals", "sensors", "schedules", "playbook.d", "undo.d", "snapshots", "log", "mail.d"];

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody holds it.
    #[error("the profile is in use{}", by(*pid))]
    Held {
        /// Who, as far as they said.
        pid: Option<u32>,
    },
    /// A pulse of an older looop runs in this profile.
    #[error("a pulse of an older looop is running in this profile")]
    OldPulse,
    /// The lock file cannot be used.
    #[error("{path} cannot be locked")]
    Unusable {
        /// Which file.
        path: String,
        /// Why.
        source: io::Error,
    },
}

fn by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" by process {pid}")).unwrap_or_default()
}

/// The one writer of a profile, for as long as it lives.
#[derive(Clone, Debug)]
pub struct Writer {
    reader: Reader,
    held: Arc<Vec<Held>>,
}

impl Reader {
    /// Tries to become the writer, once.
    pub fn lock(&self) -> Result<Writer, LockError> {
        let mut held = Vec::new();
        if self.has_folder(OLD_FOLDER) && is_there(self, OLD_LOCK) {
            held.push(take(self, OLD_LOCK)?.map_err(|_| LockError::OldPulse)?);
        }
        held.push(take(self, LOCK)?.map_err(|pid| LockError::Held { pid })?);
        Ok(Writer { reader: self.clone(), held: Arc::new(held) })
    }
}

impl Writer {
    /// Removes the temp files that interrupted writes left behind, and says how many. A folder that cannot be listed is
    /// passed over: whoever needs it names it.
    pub fn sweep(&self) -> Result<usize, StoreError> {
        let mut swept = 0;
        for folder in SWEPT {
            if let Stored::Value(_) = self.disk().list(folder) {
                swept += sweep_temps(self.disk(), folder)?;
            }
        }
        Ok(swept)
    }

    /// Keeps the lock for as long as what holds this, too.
    pub(crate) fn held(&self) -> Arc<Vec<Held>> {
        Arc::clone(&self.held)
    }
}

impl Deref for Writer {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

fn is_there(reader: &Reader, path: &str) -> bool {
    matches!(reader.disk().stat(path), Stored::Value(meta) if meta.kind == Kind::File)
}

fn take(reader: &Reader, path: &str) -> Result<Result<Held, Option<u32>>, LockError> {
    match reader.disk().try_lock(path) {
        Ok(Locked::Ours(held)) => Ok(Ok(held)),
        Ok(Locked::Theirs(pid)) => Ok(Err(pid)),
        Err(source) => Err(LockError::Unusable { path: path.to_owned(), source }),
    }
}
