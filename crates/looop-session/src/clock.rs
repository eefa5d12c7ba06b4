//! The clocks of the yard: boot time for deadlines, wall time for people.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since boot, sleep of the machine included. Deadlines are counted on it, so neither a stepped clock nor a
/// suspended laptop moves them.
pub(crate) fn boot() -> Duration {
    #[cfg(target_os = "linux")]
    let id = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let id = rustix::time::ClockId::Monotonic;
    let at = rustix::time::clock_gettime(id);
    let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(at.tv_nsec).unwrap_or(0))
}

/// Milliseconds since 1970, for receipts.
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Wakes a poll loop at a boot time. On Linux it is a timer descriptor that also fires after a suspend; elsewhere it
/// is the time-out of the poll.
#[derive(Debug)]
pub(crate) struct Alarm {
    at: Option<Duration>,
    #[cfg(target_os = "linux")]
    fd: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// An alarm that is not set.
    pub(crate) fn new() -> io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let fd = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Self { at: None, fd })
    }

    /// Sets or clears it. An unchanged time costs no system call.
    pub(crate) fn set(&mut self, at: Option<Duration>) -> io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, timerfd_settime};
        if self.at == at {
            return Ok(());
        }
        // A zero value would disarm the timer, so "now" is one nanosecond after boot.
        let value = spec(at.map_or(Duration::ZERO, |at| at.max(Duration::from_nanos(1))));
        let once = Itimerspec { it_interval: spec(Duration::ZERO), it_value: value };
        timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &once)?;
        self.at = at;
        Ok(())
    }

    /// The descriptor to poll for reading. It stays readable until the next `set`.
    #[expect(clippy::unnecessary_wraps, reason = "the portable twin has none")]
    pub(crate) fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        Some(self.fd.as_fd())
    }

    /// How long a poll may take at most.
    #[expect(clippy::unused_self, reason = "the portable twin needs it")]
    pub(crate) fn timeout(&self) -> Option<rustix::time::Timespec> {
        None
    }
}

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// An alarm that is not set.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { at: None })
    }

    /// Sets or clears it.
    pub(crate) fn set(&mut self, at: Option<Duration>) -> io::Result<()> {
        self.at = at;
        Ok(())
    }

    /// There is no descriptor; the time-out does the work.
    pub(crate) fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    /// How long a poll may take at most.
    pub(crate) fn timeout(&self) -> Option<rustix::time::Timespec> {
        self.at.map(|at| spec(at.saturating_sub(boot())))
    }
}

/// A duration as the kernel wants it; absurd values become the largest that fits.
fn spec(span: Duration) -> rustix::time::Timespec {
    rustix::time::Timespec {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(span.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_time_moves_forward() {
        let before = boot();
        assert!(boot() >= before);
    }

    #[test]
    fn an_alarm_in_the_past_fires_and_a_cleared_one_does_not() {
        let mut alarm = Alarm::new().unwrap();
        alarm.set(Some(Duration::ZERO)).unwrap();
        assert!(ready(&alarm));
        alarm.set(None).unwrap();
        assert!(!ready(&alarm));
        alarm.set(Some(Duration::MAX)).unwrap();
        assert!(!ready(&alarm));
    }

    fn ready(alarm: &Alarm) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};
        let at_once = spec(Duration::ZERO);
        match alarm.fd() {
            Some(fd) => {
                poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&at_once)).unwrap() == 1
            }
            None => alarm.timeout() == Some(at_once),
        }
    }
}
