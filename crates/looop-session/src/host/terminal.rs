//! The terminal of a child: what it printed, what it shows, and what is typed into it.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::Stdio;
use std::time::Duration;

use super::door::Door;
use super::folder::{self, Folder};
use super::frame;
use super::typing::Typing;
use super::words::{self, Reply};
use crate::kernel::{self, Look, Reads};
use crate::pty::Pty;
use crate::screen::Screen;
use crate::transcript::Transcript;
use crate::{Shot, Size, keys};

/// How much is read in one turn.
const CHUNK: usize = 64 << 10;
/// A turn that read less than this was no flood: its buffer is given back.
const FLOOD: usize = 16 << 10;
/// How much is read after the end: more than a terminal holds back.
const DRAIN: u64 = 1 << 20;

/// A terminal.
pub(super) struct Terminal {
    pty: Pty,
    screen: Screen,
    transcript: Transcript,
    typing: Typing,
    buffer: Vec<u8>,
    /// When something was printed last, or when it started.
    printed: Duration,
}

impl Terminal {
    /// A terminal of this size of whose output so much is kept.
    pub(super) fn new(folder: &Folder, size: Size, keep: u64, now: Duration) -> io::Result<Self> {
        Ok(Self {
            pty: Pty::open(size)?,
            screen: Screen::new(size),
            transcript: Transcript::new(folder, keep)?,
            typing: Typing::default(),
            buffer: Vec::new(),
            printed: now,
        })
    }

    /// The child's standard streams.
    pub(super) fn streams(&self) -> io::Result<[Stdio; 3]> {
        let stream = || self.pty.for_child().map(Stdio::from);
        Ok([stream()?, stream()?, stream()?])
    }

    /// What to poll.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pty.fd()
    }

    /// Whether something waits to be typed.
    pub(super) fn is_typing(&self) -> bool {
        self.typing.waiting() > 0
    }

    /// Whether so much may be typed.
    pub(super) fn has_room(&self, count: usize) -> bool {
        self.typing.has_room(count)
    }

    pub(super) fn total(&self) -> u64 {
        self.transcript.total()
    }

    pub(super) fn size(&self) -> Size {
        self.screen.size()
    }

    /// Reads what was printed: into the transcript, onto the screen, and to the viewers. Says how much it was.
    pub(super) fn read(&mut self, folder: &Folder, door: &mut Door, now: Duration) -> io::Result<u64> {
        self.buffer.clear();
        self.buffer.reserve_exact(CHUNK);
        self.pty.read(&mut self.buffer);
        let count = self.buffer.len();
        if count > 0 {
            self.printed = now;
            self.transcript.push(folder, &self.buffer);
            let answers = self.screen.show(&self.buffer);
            if !answers.is_empty() && !door.has_terminal() && self.typing.has_room(answers.len()) {
                self.write(&answers)?;
            }
            door.show(&self.buffer);
        }
        if count < FLOOD {
            self.buffer = Vec::new();
        }
        Ok(count as u64)
    }

    /// Reads what was printed before the end. Whoever is spared may go on printing for ever.
    pub(super) fn drain(&mut self, folder: &Folder, door: &mut Door, now: Duration) -> io::Result<()> {
        let until = self.total() + DRAIN;
        while self.total() < until && self.read(folder, door, now)? > 0 {}
        Ok(())
    }

    /// Types what it takes now of what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.typing.flush(&self.pty)
    }

    /// Types this.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.typing.push(bytes);
        self.flush()
    }

    /// Types a text, as pasted if the program wants to know that.
    pub(super) fn paste(&mut self, text: &str) -> io::Result<()> {
        self.write(&kernel::paste_bytes(text, self.screen.brackets_paste()))
    }

    /// Presses a key. One that has no bytes was refused before.
    pub(super) fn press(&mut self, name: &str) -> io::Result<()> {
        self.write(&keys::bytes(name, self.screen.modes()).unwrap_or_default())
    }

    /// Whether this text stands at the cursor, and how what is typed there is read.
    pub(super) fn look(&self, tail: &str) -> Look {
        Look { reads: self.reads(), ..self.screen.look(tail) }
    }

    /// A program that reads single keys hides the cursor where it does not want a text, and leaves the echo to the
    /// terminal only where each key is a choice.
    fn reads(&self) -> Reads {
        match self.pty.line_modes() {
            Ok((true, true)) => Reads::Lines,
            Ok((false, false)) if self.screen.brackets_paste() => Reads::Pastes,
            Ok((false, false)) if !self.screen.hides_cursor() => Reads::Keys,
            Ok(_) | Err(_) => Reads::Blindly,
        }
    }

    /// Gives it another size and tells all viewers but one.
    pub(super) fn resize(&mut self, size: Size, door: &mut Door, but: Option<u64>) -> io::Result<()> {
        if size == self.screen.size() {
            return Ok(());
        }
        self.pty.resize(size)?;
        self.screen.resize(size);
        if door.count_viewers() > 0 {
            door.show_size(but, &frame::size_frame(size), &self.screen.repaint());
        }
        Ok(())
    }

    /// What repaints it.
    pub(super) fn repaint(&self) -> String {
        self.screen.repaint()
    }

    /// What is on the screen now.
    pub(super) fn shot(&self, ansi: bool, door: &Door, now: Duration) -> Shot {
        let quiet = now.saturating_sub(self.printed).as_millis();
        Shot {
            at: self.total(),
            quiet_ms: u64::try_from(quiet).unwrap_or(u64::MAX),
            viewers: door.count_viewers(),
            ..self.screen.shot(ansi)
        }
    }

    /// Leaves the last screen, and a transcript of the right length. Both are courtesies.
    pub(super) fn close(&self, folder: &Folder, door: &Door, now: Duration) {
        self.transcript.settle();
        let reply = Reply { shot: Some(self.shot(true, door, now)), ..Reply::done(words::NEWEST) };
        folder.replace(folder::SCREEN, &reply.line()).ok();
    }
}
