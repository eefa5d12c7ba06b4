//! Reaping: the news that children ended, and what they said.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use signal_hook::low_level::pipe;

/// A signal turned into a readable descriptor.
#[derive(Debug)]
pub(crate) struct Bell(UnixStream);

impl Bell {
    /// Rings when a child ended.
    pub(crate) fn of_children() -> io::Result<Self> {
        Self::of(&[SIGCHLD])
    }

    /// Rings when somebody asks us to stop.
    pub(crate) fn of_stopping() -> io::Result<Self> {
        Self::of(&[SIGTERM, SIGINT, SIGHUP])
    }

    fn of(signals: &[i32]) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        for signal in signals {
            pipe::register(*signal, theirs.try_clone()?)?;
        }
        Ok(Self(ours))
    }

    /// Takes all rings so far; says whether there was one.
    pub(crate) fn take(&self) -> bool {
        let mut rang = false;
        let mut buffer = [0_u8; 64];
        while matches!((&self.0).read(&mut buffer), Ok(count) if count > 0) {
            rang = true;
        }
        rang
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether orphans below us become our children.
pub(crate) const ADOPTS: bool = cfg!(target_os = "linux");

/// Makes orphans below us our children, so that nothing a child starts can leave our tree.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A reader that goes away is an error to handle, never our death: we have children to end first. The handler is
/// gone in children, as every handler is after exec.
pub(crate) fn survive_broken_pipes() -> io::Result<()> {
    signal_hook::flag::register(SIGPIPE, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}

/// What a look at our children found.
#[derive(Debug)]
pub(crate) enum Reaped {
    /// This one ended; it is reaped.
    Child(Pid, WaitStatus),
    /// There are children, and all live.
    AllAlive,
    /// There is no child at all, and since orphans come to us, nothing below us lives.
    NoChildren,
}

/// Reaps one child if there is one that ended. Never blocks.
pub(crate) fn reap() -> io::Result<Reaped> {
    loop {
        return match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => Ok(Reaped::Child(pid, status)),
            Ok(None) => Ok(Reaped::AllAlive),
            Err(Errno::CHILD) => Ok(Reaped::NoChildren),
            Err(Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
    }
}
