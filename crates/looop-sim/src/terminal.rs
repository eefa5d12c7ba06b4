//! A real terminal for tests: both ends of a PTY.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The end of the person and the end of the program, in this size. Panics where there is no PTY, as tests want it.
#[expect(clippy::missing_panics_doc, reason = "said above")]
pub fn pair(cols: u16, rows: u16) -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a PTY");
    grantpt(&ours).expect("a PTY is granted");
    unlockpt(&ours).expect("a PTY is unlocked");
    let name = ptsname(&ours, Vec::new()).expect("a PTY has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).expect("a PTY opens");
    resize(&ours, cols, rows);
    (ours, theirs)
}

/// Gives a terminal another size.
#[expect(clippy::missing_panics_doc, reason = "a terminal can always be resized")]
pub fn resize(ours: impl AsFd, cols: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(ours, size).expect("a PTY takes a size");
}
