//! One connection to the socket.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use rustix::event::PollFlags;

use super::frame;
use super::outbox::Outbox;

/// A line or a frame is shorter.
const LONGEST: usize = (1 << 20) + (64 << 10);
/// How much is read at once.
const CHUNK: usize = 8 << 10;
/// A viewer who is this far behind loses its backlog.
const BACKLOG: usize = 1 << 20;

/// What a caller is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It says lines.
    Asking,
    /// Its last line is being worked on; the next one waits.
    Waiting {
        /// The version it speaks.
        version: u32,
        /// Whether it knows that a text may not be typed.
        echo: bool,
    },
    /// It sees all that is printed.
    Viewing {
        /// It may not type.
        watch: bool,
        /// It wants to see the whole screen whenever that changes at once.
        repaint: bool,
    },
    /// It is let go once it has all that we have for it.
    Leaving,
}

/// A whole thing that a caller said.
#[derive(Debug)]
pub(super) enum Said {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A frame.
    Frame(u8, Vec<u8>),
}

/// A connection. It ends with the host at the latest, so its end tells that the host is gone.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) number: u64,
    stream: UnixStream,
    heard: Vec<u8>,
    out: Outbox,
    role: Role,
    /// Whether there may be a whole thing in `heard`.
    fresh: bool,
    /// Whether it lost its backlog and waits for a repaint.
    stale: bool,
    /// Whether it hung up.
    gone: bool,
    /// Its process, as far as the kernel tells.
    peer: Option<i32>,
}

impl Caller {
    pub(super) fn new(number: u64, stream: UnixStream) -> Self {
        let (heard, out) = (Vec::new(), Outbox::default());
        // Whose process is not known is refused what takes a person.
        let (role, peer) = (Role::Asking, crate::peer(&stream).ok().flatten());
        Self { number, stream, heard, out, role, fresh: false, stale: false, gone: false, peer }
    }

    /// Its process, as far as the kernel tells.
    pub(super) fn peer(&self) -> Option<i32> {
        self.peer
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    pub(super) fn set_role(&mut self, role: Role) {
        (self.role, self.fresh) = (role, true);
    }

    pub(super) fn is_viewer(&self) -> bool {
        matches!(self.role, Role::Viewing { .. })
    }

    /// What to poll it for. A viewer is not heard while nothing more can be typed.
    pub(super) fn interest(&self, hear_viewers: bool) -> PollFlags {
        let hear = match self.role {
            Role::Asking => true,
            Role::Viewing { .. } => hear_viewers,
            Role::Waiting { .. } | Role::Leaving => false,
        };
        let mut flags = if hear { PollFlags::IN } else { PollFlags::empty() };
        flags.set(PollFlags::OUT, !self.out.is_empty());
        flags
    }

    /// Reads what is there, once.
    pub(super) fn hear(&mut self, found: PollFlags) {
        if found.intersects(PollFlags::IN) {
            match self.read() {
                Ok(0) => self.gone = true,
                Ok(_) => self.fresh = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.gone = true,
            }
        } else if found.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            // What it said before it hung up counts.
            while self.is_viewer() && self.heard.len() <= LONGEST && matches!(self.read(), Ok(1..)) {}
            (self.gone, self.fresh) = (true, true);
        }
    }

    /// Whether it hung up.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut chunk = [0_u8; CHUNK];
        let count = self.stream.read(&mut chunk)?;
        self.heard.extend_from_slice(&chunk[..count]);
        Ok(count)
    }

    /// The next whole thing it said.
    pub(super) fn take(&mut self) -> Option<Said> {
        if !self.fresh {
            return None;
        }
        let said = match self.role {
            Role::Asking => self.line(),
            Role::Viewing { .. } => self.frame(),
            Role::Waiting { .. } | Role::Leaving => return None,
        };
        self.fresh = said.is_some();
        // Whoever says too much at once is not understood.
        self.gone |= said.is_none() && self.heard.len() > LONGEST;
        if self.heard.is_empty() {
            self.heard = Vec::new();
        }
        said
    }

    fn line(&mut self) -> Option<Said> {
        let end = self.heard.iter().position(|byte| *byte == b'\n')?;
        let line = self.heard[..end].to_vec();
        self.heard.drain(..=end);
        Some(Said::Line(line))
    }

    fn frame(&mut self) -> Option<Said> {
        let (kind, length) = frame::head(&self.heard)?;
        self.gone |= length > LONGEST;
        let payload = self.heard.get(frame::HEAD..frame::HEAD.saturating_add(length))?.to_vec();
        self.heard.drain(..frame::HEAD + length);
        Some(Said::Frame(kind, payload))
    }

    /// Sends it something, however far it is behind.
    pub(super) fn send(&mut self, piece: Rc<[u8]>) {
        self.out.push(piece);
    }

    /// Sends a viewer something that it may miss if it does not keep up.
    pub(super) fn show(&mut self, piece: &Rc<[u8]>) {
        if self.stale {
            return;
        }
        self.out.push(Rc::clone(piece));
        if self.out.waiting() > BACKLOG {
            self.out.forget();
            self.stale = true;
        }
    }

    /// Whether it lost something and can take a repaint now.
    pub(super) fn wants_repaint(&self) -> bool {
        self.stale && self.out.is_empty()
    }

    /// Shows it the whole screen, instead of all that waits.
    pub(super) fn repaint(&mut self, piece: Rc<[u8]>) {
        self.out.forget();
        self.stale = false;
        self.out.push(piece);
    }

    /// Whether it lost something.
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Sends what it takes now.
    pub(super) fn flush(&mut self) {
        if !self.out.is_empty() && self.out.flush(&self.stream).is_err() {
            self.gone = true;
        }
    }

    /// Whether something waits to be sent.
    pub(super) fn has_mail(&self) -> bool {
        !self.gone && !self.out.is_empty()
    }

    /// Whether there is nothing more to do for it.
    pub(super) fn is_over(&self) -> bool {
        let silent = match self.role {
            Role::Asking | Role::Viewing { .. } => !self.fresh,
            Role::Waiting { .. } => true,
            Role::Leaving => return self.gone || self.out.is_empty(),
        };
        self.gone && silent
    }
}

impl AsFd for Caller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
