//! What waits to be typed into a terminal whose program may not read.

use std::io;

use crate::pty::Pty;

/// More than this does not wait.
pub(super) const MOST: usize = 1 << 20;

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Typing {
    bytes: Vec<u8>,
    /// How much of it is typed.
    typed: usize,
}

impl Typing {
    /// How much waits.
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len() - self.typed
    }

    /// Whether there is room for so much.
    pub(super) fn has_room(&self, count: usize) -> bool {
        self.waiting().saturating_add(count) <= MOST
    }

    /// Appends. Callers see to it that there is room.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.typed);
        self.typed = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Types what the terminal takes now.
    pub(super) fn flush(&mut self, pty: &Pty) -> io::Result<()> {
        while self.waiting() > 0 {
            match pty.write(&self.bytes[self.typed..])? {
                0 => return Ok(()),
                count => self.typed += count,
            }
        }
        // Nothing is kept for an idle session.
        *self = Self::default();
        Ok(())
    }
}
