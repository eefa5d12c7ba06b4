//! The person's terminal, made raw for a viewer and given back as it was, whatever happens.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::failure::{Failure, Result};

/// Undoes what a program in a terminal may have switched on: synchronised updates, mouse reports, focus reports,
/// bracketed paste, application keys, the enhanced keyboards, a scroll region, a hidden cursor, colours. Some of it moves
/// the cursor, so the person's own screen, and the cursor in it, come back last.
const RESET: &[u8] = b"\x1b[?2026l\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\
    \x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?1l\x1b>\x1b[<u\x1b[=0u\x1b[>4m\x1b[?6l\x1b[?7h\x1b[r\
    \x1b[0 q\x1b[?25h\x1b[m\x1b(B\x0f\x1b[?1049l";
/// How long a terminal that takes nothing may hold up the end.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// So much may wait to be shown; then the session is not listened to, and repaints when it is again.
const MOST_WAITING: usize = 256 << 10;

/// How the terminal was, until it is given back.
static BEFORE: Mutex<Option<Before>> = Mutex::new(None);

#[derive(Clone)]
struct Before {
    settings: Termios,
    /// Something of the session was shown: until then there is nothing to undo.
    painted: bool,
}

/// A terminal in raw mode. Dropping it gives it back.
pub(super) struct Terminal {
    /// A description of our own, so that not to wait for it does not change it for others.
    screen: OwnedFd,
    waiting: VecDeque<u8>,
    signals: SignalDelivery<UnixStream, SignalOnly>,
}

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// To look at the size.
    Size,
    /// To go on after a stop.
    GoOn,
    /// To leave.
    Leave(i32),
}

impl Terminal {
    /// Takes the terminal that stdin and stdout are.
    pub(super) fn open() -> Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(Failure::new("stdin and stdout must be a terminal for this")
                .hint("looop log, shot, send, key and expect need none"));
        }
        let failed = |error: io::Error| Failure::new(format!("the terminal cannot be used: {error}"));
        let screen = own_description().map_err(failed)?;
        let (read, write) = UnixStream::pair().map_err(failed)?;
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT];
        let signals = SignalDelivery::with_pipe(read, write, SignalOnly, wanted).map_err(failed)?;
        give_back_on_panic();
        let settings = tcgetattr(io::stdin()).map_err(|error| failed(error.into()))?;
        *before() = Some(Before { settings, painted: false });
        let terminal = Self { screen, waiting: VecDeque::new(), signals };
        make_raw().map_err(failed)?;
        Ok(terminal)
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(&self.screen).ok()?;
        Some((size.ws_col, size.ws_row))
    }

    /// Shows bytes, now or as soon as the terminal takes them.
    pub(super) fn show(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend(bytes);
        self.flush()
    }

    /// Shows what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match rustix::io::write(&self.screen, self.waiting.as_slices().0) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Whether something waits: then poll [`Terminal::screen`] for writing.
    pub(super) fn is_pending(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether so much waits that no more should be taken.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    pub(super) fn screen(&self) -> BorrowedFd<'_> {
        self.screen.as_fd()
    }

    /// Readable when a signal came.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.signals.get_read().as_fd()
    }

    /// What the signals that came ask for.
    pub(super) fn asked(&mut self) -> Vec<Asked> {
        let asked = self.signals.pending().map(|signal| match signal {
            SIGWINCH => Asked::Size,
            SIGCONT => Asked::GoOn,
            other => Asked::Leave(other),
        });
        asked.collect()
    }
}

/// Takes keys as they are typed. Also called when a shell had the terminal meanwhile.
pub(super) fn make_raw() -> io::Result<()> {
    let settings = before().as_ref().map(|before| before.settings.clone());
    if let Some(mut raw) = settings {
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    }
    Ok(())
}

/// What begins a screen that is not the person's own.
pub(super) const ASIDE: &[u8] = b"\x1b[?1049h\x1b[H\x1b[2J";

/// The session's screen is shown from here on.
pub(super) fn begin() {
    if let Some(before) = before().as_mut() {
        before.painted = true;
    }
}

/// What was typed. None if the terminal is gone.
pub(super) fn typed(into: &mut [u8]) -> io::Result<Option<usize>> {
    match rustix::io::retry_on_intr(|| rustix::io::read(io::stdin(), &mut *into)) {
        Ok(0) | Err(Errno::IO) => Ok(None),
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN) => Ok(Some(0)),
        Err(error) => Err(error.into()),
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        while self.flush().is_ok() && self.is_pending() && Instant::now() < until {
            if !can_take(&self.screen, until) {
                break;
            }
        }
        give_back();
    }
}

/// Opens the terminal that stdout is once more, not to be waited for. One that belongs to another user is shared, and
/// waited for.
fn own_description() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::termios::ttyname(io::stdout(), Vec::new())
        .and_then(|name| rustix::fs::open(name.as_c_str(), flags, Mode::empty()));
    opened.or_else(|_| io::stdout().as_fd().try_clone_to_owned())
}

/// Gives the terminal back as it was. Does nothing a second time.
fn give_back() {
    let Some(before) = before().take() else { return };
    let until = Instant::now() + LAST_WORDS;
    if let (true, Ok(screen)) = (before.painted, own_description()) {
        let mut rest = RESET;
        while !rest.is_empty() {
            match rustix::io::write(&screen, rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if can_take(&screen, until) => {}
                // A terminal that is gone, or takes nothing, needs nothing either.
                Err(_) => break,
            }
        }
    }
    // There is nobody left to tell when this fails.
    tcsetattr(io::stdin(), OptionalActions::Now, &before.settings).ok();
}

fn before() -> MutexGuard<'static, Option<Before>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the terminal takes something; says whether it does.
fn can_take(screen: &OwnedFd, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
    matches!(poll(&mut [PollFd::new(screen, PollFlags::OUT)], Some(&left)), Ok(1) | Err(Errno::INTR))
}

fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            usual(info);
        }));
    });
}
