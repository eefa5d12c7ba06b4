//! The trait: every way in which looop touches the profile's files.

use std::fmt;
use std::io;

use rustix::fs::RawMode;

use super::kinds::{Content, Listed, Meta, Tail};
use super::stored::Stored;

/// Whether a link may stand in for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// No: a link is unreadable.
    Refuse,
    /// Yes, as long as it leads to a place inside the profile.
    Inside,
}

/// A lock that is held until this is dropped.
pub struct Held(#[expect(dead_code, reason = "held for its drop")] Box<dyn Send + Sync>);

impl Held {
    /// Wraps whatever releases the lock when it is dropped.
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

/// What came of trying to lock.
#[derive(Debug)]
pub enum Locked {
    /// We hold it.
    Ours(Held),
    /// Somebody else does; the number is what they left in the file, as information only.
    Theirs(Option<u32>),
}

/// The calls we make on a file system. Each is one step: it can fail, and a crash can come before or after it.
///
/// Paths are relative to the profile. Nothing here follows a link out of it, blocks on a named pipe, or reads more
/// than it was told to.
pub trait Disk: Send + Sync {
    /// Reads a whole regular file of at most `limit` bytes.
    fn read(&self, path: &str, limit: u64, links: Links) -> Stored<Content>;

    /// Reads the last `limit` bytes of a regular file.
    fn read_tail(&self, path: &str, limit: u64) -> Stored<Tail>;

    /// Looks at a name without following it.
    fn stat(&self, path: &str) -> Stored<Meta>;

    /// Lists a folder, in no order.
    fn list(&self, dir: &str) -> Stored<Vec<Listed>>;

    /// Makes a folder that only we can enter. One that is there already is fine.
    fn make_dir(&self, path: &str) -> io::Result<()>;

    /// Makes a new file with exactly this mode and these bytes, not yet durable. Fails if the name is taken.
    fn create(&self, path: &str, bytes: &[u8], mode: RawMode) -> io::Result<()>;

    /// Appends in one write, not yet durable; makes the file 0600 if there is none.
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Makes a file durable with its attributes.
    fn sync(&self, path: &str) -> io::Result<()>;

    /// Makes a file's bytes and length durable.
    fn sync_data(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a folder durable.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;

    /// Renames, replacing what was there.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Renames, and fails with `AlreadyExists` if the new name is taken.
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;

    /// Cuts a file to a length.
    fn truncate(&self, path: &str, size: u64) -> io::Result<()>;

    /// Removes a name that is not a folder.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Removes a folder with all that is in it, following no link.
    fn remove_tree(&self, path: &str) -> io::Result<()>;

    /// Sets the time of a file's last change, in milliseconds since the epoch.
    fn touch(&self, path: &str, wall: i64) -> io::Result<()>;

    /// Tries to take the lock on a file, making the file if there is none, and leaves our process id in it.
    fn try_lock(&self, path: &str) -> io::Result<Locked>;
}
