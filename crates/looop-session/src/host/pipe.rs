//! The output of a child on pipes.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Stdio;
use std::time::Duration;

use super::door::Door;
use super::folder::Folder;
use super::tail::Tail;

/// How much is read at once.
const CHUNK: usize = 16 << 10;

/// One pipe for standard output and standard error, and the tail of what came through it.
#[derive(Debug)]
pub(super) struct Pipe {
    reader: PipeReader,
    writers: Option<[PipeWriter; 2]>,
    open: bool,
    tail: Tail,
}

impl Pipe {
    /// A pipe of whose output so much is kept.
    pub(super) fn new(folder: &Folder, keep: u64) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let writers = Some([writer.try_clone()?, writer]);
        Ok(Self { reader, writers, open: true, tail: Tail::new(folder, keep)? })
    }

    /// The child's standard streams.
    pub(super) fn streams(&mut self) -> [Stdio; 3] {
        match self.writers.take() {
            Some([stdout, stderr]) => [Stdio::null(), stdout.into(), stderr.into()],
            None => [Stdio::null(), Stdio::null(), Stdio::null()],
        }
    }

    /// What to poll for reading: nothing once all writers are gone.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.open.then(|| self.reader.as_fd())
    }

    /// Reads once from a pipe that is readable.
    pub(super) fn read(&mut self, door: &mut Door, now: Duration) -> io::Result<usize> {
        let mut chunk = Vec::with_capacity(CHUNK);
        let count = rustix::io::retry_on_intr(|| {
            rustix::io::read(&self.reader, rustix::buffer::spare_capacity(&mut chunk))
        })?;
        self.open = count > 0;
        self.tail.push(&chunk, now);
        door.show(&chunk);
        Ok(count)
    }

    /// Takes what is in the pipe now: whoever is spared may hold it open for ever.
    pub(super) fn drain(&mut self, door: &mut Door, now: Duration) -> io::Result<()> {
        // What we did not hand out would hold it open too.
        self.writers = None;
        let mut waiting = rustix::io::ioctl_fionread(&self.reader)?;
        while self.open && waiting > 0 {
            waiting = waiting.saturating_sub(self.read(door, now)? as u64);
        }
        Ok(())
    }

    pub(super) fn tail(&mut self) -> &mut Tail {
        &mut self.tail
    }

    /// When the file should follow.
    pub(super) fn due(&self) -> Option<Duration> {
        self.tail.due()
    }

    /// How much came in all.
    pub(super) fn total(&self) -> u64 {
        self.tail.total()
    }
}
