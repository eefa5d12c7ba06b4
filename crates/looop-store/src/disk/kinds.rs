//! What the file system says about a file.

use std::ffi::OsString;

use rustix::fs::{FileType, Mode, RawMode, Stat};

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device, or something else that is never read.
    Other,
}

impl Kind {
    /// The kind in words, for messages.
    pub fn text(self) -> &'static str {
        match self {
            Self::File => "a regular file",
            Self::Dir => "a folder",
            Self::Link => "a link",
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Other => "a device",
        }
    }

    pub(super) fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Self::Other,
        }
    }
}

/// Times of a file that are older than this are not shown again by a later change.
const SETTLED_NS: i128 = 1_000_000_000;

/// What is known of a file without reading it. Two equal values mean that the file is unchanged, as long as both were
/// taken well after its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: RawMode,
    /// Owner.
    pub uid: u32,
    /// Last change of the content, in nanoseconds since the epoch.
    pub modified: i128,
    /// Last change of content or attributes, in nanoseconds since the epoch.
    pub changed: i128,
    /// Which file of the file system.
    pub inode: u128,
}

impl Meta {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            kind: Kind::of(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: Mode::from_raw_mode(stat.st_mode).as_raw_mode(),
            uid: stat.st_uid,
            modified: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
            changed: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
            inode: u128::from(stat.st_ino),
        }
    }

    /// Last change of the content, in milliseconds since the epoch.
    pub fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified / 1_000_000).unwrap_or(0)
    }

    /// Whether it had been left alone for so long at a moment in milliseconds since the epoch that any later change shows
    /// other times, however coarse the clock of the file system is.
    pub fn is_settled(&self, wall: i64) -> bool {
        i128::from(wall) * 1_000_000 - self.changed.max(self.modified) >= SETTLED_NS
    }

    /// Whether anybody may execute it.
    pub fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct Content {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What was known of it when it was opened.
    pub meta: Meta,
}

/// The end of a file.
#[derive(Clone, Debug)]
pub struct Tail {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// How long the whole file is.
    pub size: u64,
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name; it need not be UTF-8.
    pub name: OsString,
    /// What it stands for.
    pub kind: Kind,
}

/// The user that we run as, and that every file must belong to.
pub fn our_uid() -> u32 {
    // Asked once: a thousand goals are judged in one scan, and looop never changes its user.
    static US: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *US.get_or_init(|| rustix::process::geteuid().as_raw())
}
