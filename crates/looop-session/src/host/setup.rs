//! A host's first steps: away from whoever launched it, with the lock in its hand.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::folder::{self, Folder};
use super::launch;
use super::spec::Stored;
use super::standing::{self, Loaded};
use crate::{point, sys};

/// What a host stands on.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) folder: Folder,
    pub(super) stored: Stored,
    /// Held until the process ends.
    pub(super) lock: File,
    /// Says when all that we were launched with is durable.
    go: PipeReader,
}

impl Ground {
    /// Waits until all that we were launched with is durable, and sees to it where whoever launched us died before.
    /// `false`: it cannot be made durable.
    pub(super) fn is_durable(&mut self) -> io::Result<bool> {
        let mut told = Vec::new();
        self.go.read_to_end(&mut told)?;
        if told.is_empty() {
            self.folder.sync_all()?;
        }
        Ok(told.is_empty() || told == launch::GO)
    }
}

/// Takes the lock from standard input, a pipe from standard output and nothing else from whoever launched us, leaves terminal, session and working directory, and reads the spec.
pub(super) fn detach(path: &Path) -> io::Result<Ground> {
    sys::close_inherited_descriptors()?;
    let lock: File = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?.into();
    let go: PipeReader = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?.into();
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    // Whoever leads a session already needs no new one.
    rustix::process::setsid().ok();
    let folder = Folder::open(path)?.ok_or(io::ErrorKind::NotFound)?;
    let meta = lock.metadata()?;
    if folder.identity(folder::LOCK)? != (meta.dev(), meta.ino()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "standard input is not the lock of this session",
        ));
    }
    point("host.locked");
    std::env::set_current_dir("/")?;
    Ok(Ground { stored: read_spec(&folder)?, folder, lock, go })
}

fn read_spec(folder: &Folder) -> io::Result<Stored> {
    match standing::load_spec(folder)? {
        Loaded::Value(stored) if stored.spec.is_known() => Ok(stored),
        Loaded::Value(_) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the version of the spec is unknown"))
        }
        Loaded::Corrupt(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
        Loaded::Absent => Err(io::ErrorKind::NotFound.into()),
    }
}
