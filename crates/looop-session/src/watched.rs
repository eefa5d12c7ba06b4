//! Waiting for the end of a process that need not be a child of ours.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

/// A process whose end is noticed. Where the kernel has handles of processes, a number that is given to somebody else
/// later does not deceive.
#[derive(Debug)]
pub struct Watched(imp::Handle);

impl Watched {
    /// The process with this number. `None`: there is none.
    pub fn of(pid: u32) -> io::Result<Option<Self>> {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
        match imp::open(pid) {
            Ok(handle) => Ok(Some(Self(handle))),
            Err(Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Blocks until it has ended, at most so long; says whether it has. One that its parent has not reaped has ended.
    pub fn wait(&self, most: Duration) -> io::Result<bool> {
        imp::wait(&self.0, most)
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    pub(super) type Handle = OwnedFd;

    pub(super) fn open(pid: Pid) -> rustix::io::Result<Handle> {
        pidfd_open(pid, PidfdFlags::empty())
    }

    pub(super) fn wait(handle: &Handle, most: Duration) -> io::Result<bool> {
        let begun = Instant::now();
        loop {
            // A time that the kernel cannot count is for ever.
            let left = Timespec::try_from(most.saturating_sub(begun.elapsed())).ok();
            match poll(&mut [PollFd::new(handle, PollFlags::IN)], left.as_ref()) {
                Ok(count) => return Ok(count > 0),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;
    use std::time::{Duration, Instant};

    use rustix::io::Errno;
    use rustix::process::{Pid, WaitId, WaitIdOptions, test_kill_process, waitid};

    /// How often one looks.
    const GAP: Duration = Duration::from_millis(20);

    pub(super) type Handle = Pid;

    pub(super) fn open(pid: Pid) -> rustix::io::Result<Handle> {
        test_kill_process(pid).or_else(|error| if error == Errno::PERM { Ok(()) } else { Err(error) })?;
        Ok(pid)
    }

    pub(super) fn wait(pid: &Handle, most: Duration) -> io::Result<bool> {
        let begun = Instant::now();
        loop {
            if has_ended(*pid) {
                return Ok(true);
            }
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(GAP));
        }
    }

    /// A child of ours that waits to be reaped has ended too.
    fn has_ended(pid: Pid) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(pid), look), Ok(Some(_))) || test_kill_process(pid) == Err(Errno::SRCH)
    }
}
