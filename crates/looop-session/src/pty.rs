//! A pseudoterminal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::Size;

/// Both ends of a terminal.
///
/// We keep the child's end too: so the terminal never hangs up while its programs come and go, and what was printed
/// last stays readable.
#[derive(Debug)]
pub(crate) struct Pty {
    ours: OwnedFd,
    /// There is none once the terminal is broken.
    theirs: Option<OwnedFd>,
}

impl Pty {
    /// A terminal of this size.
    pub(crate) fn open(size: Size) -> io::Result<Self> {
        let ours = rustix::pty::openpt(flags())?;
        rustix::pty::grantpt(&ours)?;
        rustix::pty::unlockpt(&ours)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let pty = Self { theirs: Some(open_theirs(&ours)?), ours };
        pty.resize(size)?;
        pty.speak_utf8()?;
        Ok(pty)
    }

    /// A copy of the child's end.
    pub(crate) fn for_child(&self) -> io::Result<OwnedFd> {
        self.theirs.as_ref().ok_or(Errno::IO)?.try_clone()
    }

    /// What to poll.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.theirs.as_ref().map(|_| self.ours.as_fd())
    }

    /// Gives it another size; its programs are told.
    pub(crate) fn resize(&self, size: Size) -> io::Result<()> {
        let winsize = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(rustix::termios::tcsetwinsize(&self.ours, winsize)?)
    }

    /// Appends what was printed, as much as fits the capacity of `into`.
    pub(crate) fn read(&mut self, into: &mut Vec<u8>) {
        while into.len() < into.capacity() {
            match rustix::io::read(&self.ours, rustix::buffer::spare_capacity(into)) {
                Ok(0) | Err(Errno::AGAIN) => return,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => {
                    // A program hung it up, as a login does, to open it anew: so do we.
                    self.theirs = open_theirs(&self.ours).ok();
                    return;
                }
            }
        }
    }

    /// Types what the terminal takes now; says how much that was.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            return match rustix::io::write(&self.ours, bytes) {
                Ok(count) => Ok(count),
                Err(Errno::AGAIN) => Ok(0),
                Err(Errno::INTR) => continue,
                Err(error) => Err(error.into()),
            };
        }
    }

    /// Whether what is typed is read by lines, and whether the terminal shows it by itself.
    pub(crate) fn line_modes(&self) -> io::Result<(bool, bool)> {
        use rustix::termios::{LocalModes, tcgetattr};
        let modes = tcgetattr(self.theirs.as_ref().ok_or(Errno::IO)?)?.local_modes;
        Ok((modes.contains(LocalModes::ICANON), modes.contains(LocalModes::ECHO)))
    }

    /// One press of the erase key takes a whole character away.
    #[cfg(target_os = "linux")]
    fn speak_utf8(&self) -> io::Result<()> {
        use rustix::termios::{InputModes, OptionalActions, tcgetattr, tcsetattr};
        let Some(theirs) = &self.theirs else { return Ok(()) };
        let mut modes = tcgetattr(theirs)?;
        modes.input_modes |= InputModes::IUTF8;
        Ok(tcsetattr(theirs, OptionalActions::Now, &modes)?)
    }

    /// There is no such mode.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the twin on Linux needs both")]
    fn speak_utf8(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC
}

#[cfg(target_os = "linux")]
fn open_theirs(ours: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::pty::ioctl_tiocgptpeer(ours, flags())?)
}

#[cfg(not(target_os = "linux"))]
fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY
}

#[cfg(not(target_os = "linux"))]
fn open_theirs(ours: &OwnedFd) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    rustix::io::fcntl_setfd(ours, rustix::io::FdFlags::CLOEXEC)?;
    let name = rustix::pty::ptsname(ours, Vec::new())?;
    Ok(rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?)
}
