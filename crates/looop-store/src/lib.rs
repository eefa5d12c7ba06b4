//! Everything of looop that touches the profile's files.
//!
//! A [`Reader`] shows a profile and writes only letters and other files that have a lock of their own; the flock on `lock` turns it into a [`Writer`], and all that
//! changes the log, the journal or a policy file is a method of that type. Every call on the file system goes through
//! [`Disk`], so that a twin in memory can fail or cut any of them. Absent, unreadable and corrupt are three
//! different things everywhere, only regular files of bounded size are read, and the clock is an argument.

pub mod dir;
pub mod disk;
pub mod docs;
pub mod log;
pub mod mail;

mod act;
mod error;
mod journal;
mod lock;
mod numbers;
mod point;
mod runs;
mod snapshots;
mod undo;

pub use act::{PLAYBOOK_HISTORY, Recovered};
pub use dir::{OpenError, Reader};
pub use disk::{Disk, Files, Stored};
pub use error::StoreError;
pub use journal::{JOURNAL, JOURNAL_GENERATIONS};
pub use lock::{LockError, Writer};
pub use log::{AppendError, Log, LogError, LogSize, Repair};
pub use point::{POINTS, point};
pub use runs::{CutRun, RunBounds, RunFiles, run_folder};
pub use snapshots::{SnapshotCache, Snapshots};
pub use undo::kept_path;
