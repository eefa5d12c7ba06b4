//! A viewer of a session, for a poll loop: nothing here blocks.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::error::{ClientError, is_gone};
use super::frame::{self, Frame, Told};
use crate::Size;

/// How much is read at once.
const SCRATCH: usize = 16 << 10;
/// So much is heard before its frames are taken.
const MOST_HEARD: usize = 64 << 10;

/// An attached viewer.
#[derive(Debug)]
pub struct Attached {
    stream: UnixStream,
    heard: Vec<u8>,
    queue: Vec<u8>,
    at: u64,
    size: Option<Size>,
    open: bool,
}

impl Attached {
    pub(super) fn new(
        stream: UnixStream,
        heard: Vec<u8>,
        at: u64,
        size: Option<Size>,
    ) -> Result<Self, ClientError> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, heard, queue: Vec::new(), at, size, open: true })
    }

    /// The stream offset at which the frames begin.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The size that the session's terminal had then.
    pub fn size(&self) -> Option<Size> {
        self.size
    }

    /// Reads what is there; says whether the host is still there. Call it when the descriptor is readable.
    pub fn hear(&mut self) -> Result<bool, ClientError> {
        let mut chunk = [0; SCRATCH];
        while self.open {
            match self.stream.read(&mut chunk) {
                Ok(0) => self.open = false,
                Ok(count) => {
                    self.heard.extend_from_slice(&chunk[..count]);
                    // The frames are to be taken before more is read.
                    if self.heard.len() >= MOST_HEARD {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_gone(&error) => self.open = false,
                Err(error) => return Err(ClientError::Io(error)),
            }
        }
        Ok(self.open)
    }

    /// The next whole frame that was heard.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ClientError> {
        frame::take(&mut self.heard).map_err(|error| ClientError::Garbled(error.to_string()))
    }

    /// Whether the host is still there, as far as was heard.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Types bytes. They go out with [`Attached::flush`].
    pub fn input(&mut self, bytes: &[u8]) {
        frame::put(&mut self.queue, Told::Input(bytes));
    }

    /// Tells the size of the viewer's terminal. It goes out with [`Attached::flush`].
    pub fn resize(&mut self, size: Size) {
        frame::put(&mut self.queue, Told::Size(size));
    }

    /// Whether something waits to go out: then poll for writing.
    pub fn is_pending(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Writes as much as the host takes.
    pub fn flush(&mut self) -> Result<(), ClientError> {
        while self.open && !self.queue.is_empty() {
            match self.stream.write(&self.queue) {
                Ok(count) => drop(self.queue.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What it said before it went is still to be heard.
                Err(error) if is_gone(&error) => self.queue.clear(),
                Err(error) => return Err(ClientError::Io(error)),
            }
        }
        Ok(())
    }
}

impl AsFd for Attached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
