//! A viewer: the person's terminal on one side, a session's on the other.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::inner_screen::InnerScreen;
use super::leaving::{Leaving, Typed};
use super::terminal::{self, Asked, Terminal};
use super::watched::Watched;
use crate::config::DetachKey;
use crate::failure::{Failure, Result};
use crate::ops::drive::{self, Attached, Frame};
use crate::ops::session::{Ended, Target};

/// How long the line stays that says how to leave,
const HINT: Duration = Duration::from_secs(3);
/// and how long output does not take it away: programs draw everything anew when somebody attaches.
const REDRAW: Duration = Duration::from_secs(1);

/// How a viewer left.
#[derive(Debug)]
pub(super) enum Left {
    /// By its keys, or with its terminal.
    Detached,
    /// It was sent away.
    SentAway,
    /// The child ended so.
    Ended(Ended),
    /// The host is gone without a word.
    Gone,
    /// By a signal.
    Signal(i32),
}

/// A viewer at work.
pub(super) struct Viewer<'a> {
    target: &'a Target,
    terminal: Terminal,
    attached: Attached,
    watch: bool,
    leaving: Leaving,
    inner: InnerScreen,
    /// The session's screen, where it is only watched: the terminal may have another size.
    watched: Option<Watched>,
    painted: bool,
    /// The whole screen has to be shown anew, as its host knows it.
    renew: bool,
    hint: Option<Hint>,
}

/// The line that says how to leave.
struct Hint {
    row: u16,
    shown: Instant,
    /// The row was not blank, or something was printed since.
    stale: bool,
}

/// What poll said.
struct Ready {
    typed: bool,
    heard: bool,
    bell: bool,
}

impl<'a> Viewer<'a> {
    /// Attaches the person's terminal, for typing or to watch only.
    pub(super) fn attach(target: &'a Target, key: DetachKey, watch: bool) -> Result<Self> {
        let terminal = Terminal::open()?;
        let size = terminal.size().and_then(|(cols, rows)| drive::size(cols, rows)).unwrap_or_default();
        let attached = target.view((!watch).then_some(size))?;
        let (leaving, inner) = (Leaving::new(key), InnerScreen::default());
        // A session without a terminal has no screen.
        let watched = attached.size().filter(|_| watch).map(|size| Watched::new(&target.session, size));
        let (painted, renew, hint) = (false, false, None);
        Ok(Self { target, terminal, attached, watch, leaving, inner, watched, painted, renew, hint })
    }

    /// Runs until the viewer leaves or the session ends.
    pub(super) fn run(mut self) -> Result<Left> {
        let failed = |error: Box<dyn std::error::Error>| Failure::new(error.to_string());
        // The first frames may have come with the answer.
        let mut left = self.show_frames(Instant::now()).map_err(failed)?;
        let left = loop {
            if let Some(left) = left {
                break left;
            }
            left = self.turn().map_err(failed)?;
        };
        // A terminal that is gone shows no hint either.
        self.wipe_hint().ok();
        Ok(left)
    }

    fn turn(&mut self) -> std::result::Result<Option<Left>, Box<dyn std::error::Error>> {
        let ready = self.wait()?;
        let now = Instant::now();
        if ready.bell
            && let Some(signal) = self.ring()?
        {
            return Ok(Some(Left::Signal(signal)));
        }
        if ready.typed
            && let Some(left) = self.hear_keys(now)?
        {
            return Ok(Some(left));
        }
        let late = self.leaving.late(now);
        self.pass(&late);
        self.attached.flush()?;
        self.terminal.flush()?;
        self.draw()?;
        if self.hint.as_ref().is_some_and(|hint| hint.shown + HINT <= now) {
            self.wipe_hint()?;
        }
        let left = if ready.heard {
            self.attached.hear()?;
            self.show_frames(now)?
        } else {
            None
        };
        if self.renew && left.is_none() && self.view_anew() {
            // The first frames may have come with the answer.
            return self.show_frames(now);
        }
        Ok(left)
    }

    /// Asks the host for its whole screen, and for what follows it; says whether it gave that. What was typed goes out
    /// first.
    fn view_anew(&mut self) -> bool {
        if self.attached.is_pending() {
            return false;
        }
        self.renew = false;
        let size = self.terminal.size().and_then(|(cols, rows)| drive::size(cols, rows)).unwrap_or_default();
        // A host that ends just now says so on the line that we have.
        let Ok(fresh) = self.target.view((!self.watch).then_some(size)) else { return false };
        (self.attached, self.inner) = (fresh, InnerScreen::default());
        true
    }

    /// Waits for keys, frames, signals and timers.
    fn wait(&self) -> io::Result<Ready> {
        let fading = self.hint.as_ref().map(|hint| hint.shown + HINT);
        let due = [self.leaving.due(), fading].into_iter().flatten().min();
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        let when = |wish: bool, flags: PollFlags| if wish { flags } else { PollFlags::empty() };
        let (stdin, full) = (io::stdin(), self.terminal.is_full());
        let mut fds = vec![
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.terminal.bell(), PollFlags::IN),
            PollFd::from_borrowed_fd(
                self.terminal.screen(),
                when(self.terminal.is_pending(), PollFlags::OUT),
            ),
        ];
        // A host that is not listened to is not polled either: one that is gone would always be ready.
        if !full {
            let wanted = PollFlags::IN | when(self.attached.is_pending(), PollFlags::OUT);
            fds.push(PollFd::from_borrowed_fd(self.attached.as_fd(), wanted));
        }
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let hot = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        Ok(Ready { typed: hot(0), bell: hot(1), heard: hot(3) })
    }

    /// Does what signals ask for; gives the one that asks to leave.
    fn ring(&mut self) -> io::Result<Option<i32>> {
        for asked in self.terminal.asked() {
            match asked {
                Asked::Leave(signal) => return Ok(Some(signal)),
                Asked::GoOn => {
                    terminal::make_raw()?;
                    self.renew = self.watched.is_none();
                }
                Asked::Size => {}
            }
            if let Some(watched) = &mut self.watched {
                watched.forget_drawn();
            }
            let size = self.terminal.size().and_then(|(cols, rows)| drive::size(cols, rows));
            if let Some(size) = size.filter(|_| !self.watch) {
                self.attached.resize(size);
            }
        }
        Ok(None)
    }

    /// Reads what was typed.
    fn hear_keys(&mut self, now: Instant) -> std::result::Result<Option<Left>, Box<dyn std::error::Error>> {
        let mut keys = [0; 4096];
        let Some(count) = terminal::typed(&mut keys)? else { return Ok(Some(Left::Detached)) };
        if count > 0 && self.hint.is_some() {
            self.wipe_hint()?;
        }
        // Ctrl-C is three in raw mode.
        if self.watch && keys[..count].iter().any(|key| matches!(key, b'q' | b'Q' | 3)) {
            return Ok(Some(Left::Detached));
        }
        match self.leaving.take(&keys[..count], now) {
            Typed::Passed(bytes) => self.pass(&bytes),
            Typed::Leave(bytes) => {
                self.pass(&bytes);
                self.attached.flush()?;
                return Ok(Some(Left::Detached));
            }
        }
        Ok(None)
    }

    fn pass(&mut self, bytes: &[u8]) {
        if !self.watch && !bytes.is_empty() {
            self.attached.input(bytes);
        }
    }

    /// Shows what the host said.
    fn show_frames(&mut self, now: Instant) -> std::result::Result<Option<Left>, Box<dyn std::error::Error>> {
        while let Some(frame) = self.attached.next_frame()? {
            if let Some(watched) = &mut self.watched {
                match &frame {
                    Frame::Output(bytes) => watched.show(bytes),
                    Frame::Size(size) => watched.resize(*size),
                    Frame::Repaint(bytes) => watched.repaint(bytes),
                    Frame::End(_) | Frame::Detached => {}
                }
            }
            match frame {
                Frame::Output(_) if self.watched.is_some() => {}
                Frame::Output(bytes) => {
                    self.age_hint(now)?;
                    let shown = self.inner.pass(&bytes);
                    self.renew |= shown.left;
                    self.terminal.show(&shown.bytes)?;
                }
                Frame::Repaint(bytes) => self.repaint(&bytes, now)?,
                Frame::Size(_) => {}
                Frame::End(ended) => return Ok(Some(Left::Ended(ended))),
                Frame::Detached => return Ok(Some(Left::SentAway)),
            }
        }
        self.draw()?;
        Ok((!self.attached.is_open()).then_some(Left::Gone))
    }

    /// Draws what changed of a screen that is only watched. While the terminal does not keep up it is not drawn.
    fn draw(&mut self) -> io::Result<()> {
        let Some(watched) = self.watched.as_mut().filter(|_| self.painted && !self.terminal.is_pending())
        else {
            return Ok(());
        };
        let bytes = watched.draw(self.terminal.size().unwrap_or((80, 24)), self.hint.is_some());
        self.terminal.show(bytes.as_bytes())
    }

    /// Shows a whole screen, beside what the person's terminal showed. With the first one it says how to leave.
    fn repaint(&mut self, bytes: &[u8], now: Instant) -> io::Result<()> {
        self.hint = None;
        let (cols, rows) = self.terminal.size().unwrap_or((80, 24));
        let first = !std::mem::replace(&mut self.painted, true);
        if first {
            terminal::begin();
            self.terminal.show(terminal::ASIDE)?;
        }
        if self.watched.is_some() {
            self.hint = first.then_some(Hint { row: rows, shown: now, stale: false });
            return Ok(());
        }
        let shown = InnerScreen::default().pass(bytes);
        self.terminal.show(&shown.bytes)?;
        if first {
            let how = match (self.watch, self.leaving.key()) {
                (true, _) => "q leaves".to_owned(),
                (false, key) => format!("{key} twice detaches"),
            };
            let text: String =
                format!(" {} · {how} ", self.target.session).chars().take(usize::from(cols)).collect();
            self.terminal.show(format!("\x1b7\x1b[{rows};1H\x1b[0;7m{text}\x1b[0m\x1b8").as_bytes())?;
            let stale = !drive::has_blank_row(bytes, cols, rows);
            self.hint = Some(Hint { row: rows, shown: now, stale });
        }
        Ok(())
    }

    /// Output comes: it takes the hint away, but not that of the first moment.
    fn age_hint(&mut self, now: Instant) -> io::Result<()> {
        match &mut self.hint {
            Some(hint) if hint.shown + REDRAW > now => hint.stale = true,
            Some(_) => self.wipe_hint()?,
            None => {}
        }
        Ok(())
    }

    /// Puts back what the hint covers: a blank row, or the whole screen as its host knows it by now.
    fn wipe_hint(&mut self) -> io::Result<()> {
        let Some(hint) = self.hint.take() else { return Ok(()) };
        if self.watched.is_some() {
            return self.draw();
        }
        self.renew |= hint.stale;
        self.terminal.show(format!("\x1b7\x1b[{};1H\x1b[0m\x1b[2K\x1b8", hint.row).as_bytes())
    }
}
