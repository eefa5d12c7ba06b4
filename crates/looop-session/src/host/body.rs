//! What a host has of its child: pipes or a terminal.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::Stdio;
use std::time::Duration;

use rustix::event::PollFlags;

use super::door::Door;
use super::folder::Folder;
use super::pipe::Pipe;
use super::spec::Spec;
use super::terminal::Terminal;

/// One of the two.
pub(super) enum Body {
    Pipe(Pipe),
    Terminal(Box<Terminal>),
}

impl Body {
    /// Makes what the spec asks for.
    pub(super) fn new(folder: &Folder, spec: &Spec, now: Duration) -> io::Result<Self> {
        Ok(match spec.terminal {
            Some(size) => Self::Terminal(Box::new(Terminal::new(folder, size, spec.output_keep, now)?)),
            None => Self::Pipe(Pipe::new(folder, spec.output_keep)?),
        })
    }

    /// The child's standard streams.
    pub(super) fn streams(&mut self) -> io::Result<[Stdio; 3]> {
        match self {
            Self::Pipe(pipe) => Ok(pipe.streams()),
            Self::Terminal(terminal) => terminal.streams(),
        }
    }

    /// The terminal, if it is one.
    pub(super) fn terminal(&mut self) -> Option<&mut Terminal> {
        match self {
            Self::Pipe(_) => None,
            Self::Terminal(terminal) => Some(terminal),
        }
    }

    /// What to poll, and for what.
    pub(super) fn fd(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match self {
            Self::Pipe(pipe) => pipe.fd().map(|fd| (fd, PollFlags::IN)),
            Self::Terminal(terminal) => {
                let typing = if terminal.is_typing() { PollFlags::OUT } else { PollFlags::empty() };
                terminal.fd().map(|fd| (fd, PollFlags::IN | typing))
            }
        }
    }

    /// Whether viewers may type more.
    pub(super) fn takes_input(&self) -> bool {
        match self {
            Self::Pipe(_) => true,
            Self::Terminal(terminal) => terminal.has_room(1),
        }
    }

    /// Reads what was printed, and says how much it was.
    pub(super) fn read(&mut self, folder: &Folder, door: &mut Door, now: Duration) -> io::Result<u64> {
        match self {
            Self::Pipe(pipe) => pipe.read(door, now).map(|count| count as u64),
            Self::Terminal(terminal) => terminal.read(folder, door, now),
        }
    }

    /// How much was printed in all.
    pub(super) fn total(&self) -> u64 {
        match self {
            Self::Pipe(pipe) => pipe.total(),
            Self::Terminal(terminal) => terminal.total(),
        }
    }

    /// When [`Body::show`] should be called.
    pub(super) fn due(&self) -> Option<Duration> {
        match self {
            Self::Pipe(pipe) => pipe.due(),
            Self::Terminal(_) => None,
        }
    }

    /// Brings the files up to date.
    pub(super) fn show(&mut self, folder: &Folder, now: Duration) {
        match self {
            Self::Pipe(pipe) => pipe.tail().show(folder, now),
            Self::Terminal(_) => {}
        }
    }

    /// What shows a viewer all at once.
    pub(super) fn repaint(&self) -> String {
        match self {
            Self::Pipe(_) => String::new(),
            Self::Terminal(terminal) => terminal.repaint(),
        }
    }

    /// Takes what was printed last, and leaves the files as they stay.
    pub(super) fn close(&mut self, folder: &Folder, door: &mut Door, now: Duration) -> io::Result<()> {
        match self {
            Self::Pipe(pipe) => {
                pipe.drain(door, now)?;
                pipe.tail().show(folder, now);
            }
            Self::Terminal(terminal) => {
                terminal.drain(folder, door, now)?;
                terminal.close(folder, door, now);
            }
        }
        Ok(())
    }
}
