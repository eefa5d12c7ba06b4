//! What waits to be sent to one caller, who may be slow.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::rc::Rc;

/// Pieces, in order. A piece that was begun is always sent whole.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Rc<[u8]>>,
    /// How much of the first piece is sent.
    sent: usize,
    /// How much of all pieces is not.
    waiting: usize,
}

impl Outbox {
    pub(super) fn push(&mut self, piece: Rc<[u8]>) {
        self.waiting += piece.len();
        self.pieces.push_back(piece);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// How many bytes wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Drops all that is not begun.
    pub(super) fn forget(&mut self) {
        self.pieces.truncate(usize::from(self.sent > 0));
        self.waiting = self.pieces.front().map_or(0, |piece| piece.len() - self.sent);
    }

    /// Sends what the other side takes now.
    pub(super) fn flush(&mut self, mut to: impl Write) -> io::Result<()> {
        while let Some(piece) = self.pieces.front() {
            match to.write(&piece[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.sent += count;
                    self.waiting -= count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.sent == piece.len() {
                self.pieces.pop_front();
                self.sent = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes, then no more.
    struct Narrow(Vec<u8>, usize);

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.1).min(3);
            self.1 -= count;
            self.0.extend_from_slice(&bytes[..count]);
            if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_was_begun_is_sent_whole_and_the_rest_can_be_dropped() {
        for room in 0..12 {
            let mut outbox = Outbox::default();
            outbox.push(Rc::from(*b"first"));
            outbox.push(Rc::from(*b"second"));
            let mut narrow = Narrow(Vec::new(), room);
            outbox.flush(&mut narrow).unwrap();
            assert_eq!(outbox.waiting(), 11 - room.min(11));
            outbox.forget();
            outbox.push(Rc::from(*b"!"));
            narrow.1 = 100;
            outbox.flush(&mut narrow).unwrap();
            assert!(outbox.is_empty() && outbox.waiting() == 0);
            let expected = match room {
                0 => "!",
                1..=5 => "first!",
                _ => "firstsecond!",
            };
            assert_eq!(String::from_utf8(narrow.0).unwrap(), expected, "{room}");
        }
    }
}
