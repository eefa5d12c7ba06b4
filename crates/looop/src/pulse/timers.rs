//! The two timers of the loop: waits by the boot-time clock, times of day by the wall clock.

use looop_core::engine::wake::Alarm;

pub(super) use system::Timers;

/// Which timer went off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rang {
    /// It is time.
    Time,
    /// The clock was set.
    Stepped,
}

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::io::Errno;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    use super::{Alarm, Rang};

    /// A time of day so far off that only the setting of the clock makes the timer speak.
    const FAR: i64 = 1 << 52;

    /// Both timers, armed only when the time changes.
    #[derive(Debug)]
    pub(in crate::pulse) struct Timers {
        boot: OwnedFd,
        wall: OwnedFd,
        armed: Option<(Option<u64>, Option<i64>)>,
    }

    impl Timers {
        pub(in crate::pulse) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
            let boot = timerfd_create(TimerfdClockId::Boottime, flags)?;
            let wall = timerfd_create(TimerfdClockId::Realtime, flags)?;
            Ok(Self { boot, wall, armed: None })
        }

        /// Arms both for an alarm. Says whether the clock was set since they were last read.
        pub(in crate::pulse) fn set(&mut self, alarm: &Alarm) -> io::Result<bool> {
            let wanted = (alarm.up.as_ref().map(|ring| ring.at), alarm.wall.as_ref().map(|ring| ring.at));
            let (boot, wall) =
                self.armed.map_or((true, true), |(up, wall)| (up != wanted.0, wall != wanted.1));
            let mut stepped = false;
            if boot {
                // A timer set to nothing is off; zero would be that, so the earliest time is one.
                let at = wanted.0.map_or(0, |at| i64::try_from(at).unwrap_or(FAR).max(1));
                stepped |= stepped_by(&timerfd_settime(&self.boot, TimerfdTimerFlags::ABSTIME, &spec(at)))?;
            }
            if wall {
                let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
                let at = spec(wanted.1.unwrap_or(FAR).max(1));
                stepped |= stepped_by(&timerfd_settime(&self.wall, flags, &at))?;
            }
            self.armed = Some(wanted);
            Ok(stepped)
        }

        /// Takes what the timers have to say. They are armed anew next time.
        pub(in crate::pulse) fn take(&mut self) -> Rang {
            self.armed = None;
            let mut count = [0; 8];
            // Only the wall clock's can be cancelled. That a timer has nothing to say is no news.
            rustix::io::read(&self.boot, &mut count).ok();
            match rustix::io::read(&self.wall, &mut count) {
                Err(Errno::CANCELED) => Rang::Stepped,
                Ok(_) | Err(_) => Rang::Time,
            }
        }

        /// The descriptors to wait for.
        pub(in crate::pulse) fn fds(&self) -> [BorrowedFd<'_>; 2] {
            [self.boot.as_fd(), self.wall.as_fd()]
        }
    }

    /// Whether the clock was set, by what arming a timer said. The kernel reports a step that nobody has read yet as an
    /// error, although the timer is armed.
    pub(super) fn stepped_by<T>(set: &rustix::io::Result<T>) -> io::Result<bool> {
        match set {
            Ok(_) => Ok(false),
            Err(Errno::CANCELED) => Ok(true),
            Err(error) => Err((*error).into()),
        }
    }

    fn spec(at: i64) -> Itimerspec {
        let at = Timespec { tv_sec: at.div_euclid(1000), tv_nsec: at.rem_euclid(1000) * 1_000_000 };
        Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::os::fd::BorrowedFd;

    use super::{Alarm, Rang};

    /// There are none here: whoever waits looks at the clocks every now and then.
    #[derive(Debug)]
    pub(in crate::pulse) struct Timers;

    impl Timers {
        pub(in crate::pulse) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(in crate::pulse) fn set(&mut self, _alarm: &Alarm) -> io::Result<bool> {
            Ok(false)
        }

        pub(in crate::pulse) fn take(&mut self) -> Rang {
            Rang::Time
        }

        pub(in crate::pulse) fn fds(&self) -> [BorrowedFd<'_>; 0] {
            []
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use looop_core::engine::wake::Ring;
    use looop_core::ledger::entry::Cause;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::clock;

    fn ring<T>(at: T) -> Ring<T> {
        Ring { at, cause: Cause::Timer, why: String::new() }
    }

    fn speaks(timers: &Timers, patience: Option<&Timespec>) -> bool {
        let mut fds: Vec<_> =
            timers.fds().into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        poll(&mut fds, patience).expect("a poll") > 0
    }

    #[test]
    fn each_clock_rings_when_its_time_has_come() {
        let now = clock::now();
        let alarms = [
            Alarm { up: Some(ring(now.up + 5)), wall: None },
            Alarm { up: None, wall: Some(ring(now.wall + 5)) },
            Alarm { up: Some(ring(now.up.saturating_sub(1000))), wall: Some(ring(now.wall + 86_400_000)) },
            Alarm { up: Some(ring(0)), wall: None },
        ];
        for alarm in alarms {
            let mut timers = Timers::new().unwrap();
            timers.set(&alarm).unwrap();
            assert!(speaks(&timers, None));
            assert_eq!(timers.take(), Rang::Time);
            let now = clock::now();
            assert!(alarm.rings(&now).is_some(), "it never rings too early: {alarm:?}");
        }
    }

    #[test]
    fn a_step_of_the_clock_is_no_error() {
        use rustix::io::Errno;
        assert!(!system::stepped_by(&Ok(())).unwrap());
        assert!(system::stepped_by::<()>(&Err(Errno::CANCELED)).unwrap());
        system::stepped_by::<()>(&Err(Errno::INVAL)).unwrap_err();
    }

    #[test]
    fn without_an_alarm_nothing_rings() {
        let mut timers = Timers::new().unwrap();
        let now = clock::now();
        timers.set(&Alarm { up: Some(ring(now.up)), wall: Some(ring(now.wall)) }).unwrap();
        timers.set(&Alarm::default()).unwrap();
        assert!(!speaks(&timers, Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 })));
    }
}
