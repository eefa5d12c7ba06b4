//! The ear: one poll over everything that can wake the loop. Between two wakes it makes no system call.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use looop_core::engine::wake::Alarm;
use looop_core::ledger::entry::Cause;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::control::Control;
use super::inbox::{Inbox, Message, Poster};
use super::signals::Signals;
use super::timers::{Rang, Timers};
use super::watch::{Burst, Noise, Watch};
use crate::clock;
use crate::failure::{Failure, Result};

/// How often the clocks are looked at where there are no timers.
#[cfg(not(target_os = "linux"))]
const GLANCE: u64 = 500;
/// A loop that has work at hand looks for signals and callers after so many milliseconds.
const ASIDE: u64 = 50;

/// What woke the loop.
pub(super) enum Heard {
    /// Something that was begun has ended, or a verb wants something.
    Message(Message),
    /// A signal came.
    Signal(i32),
    /// Files changed, and have been quiet since.
    Files(Cause),
    /// File events cannot be had any more, and why. Something may have changed.
    Deaf(String),
    /// The profile is not where it was.
    Uprooted,
    /// Somebody was let in. What they want comes as a message.
    Caller,
    /// The alarm may ring.
    Time,
    /// The clock was set.
    Stepped,
}

/// All that the loop listens to.
pub(super) struct Ear {
    inbox: Inbox,
    timers: Timers,
    signals: Option<Signals>,
    watch: Option<Watch>,
    burst: Option<Burst>,
    /// When it last polled, by the boot-time clock.
    polled: u64,
}

/// What the descriptors are for, in the order in which they are served. Messages come after signals and callers: while
/// one move follows another there is always a message.
#[derive(Clone, Copy)]
enum Source {
    Signal,
    Door,
    Bell,
    Timer,
    Files,
}

impl Ear {
    pub(super) fn new(signals: Option<Signals>) -> Result<Self> {
        let failed = |error: std::io::Error| Failure::new(format!("cannot listen: {error}"));
        let (inbox, timers) = (Inbox::new().map_err(failed)?, Timers::new().map_err(failed)?);
        Ok(Self { inbox, timers, signals, watch: None, burst: None, polled: 0 })
    }

    /// Watches the profile from here on. What changes while it is looked at for the first time is heard afterwards.
    pub(super) fn watch(&mut self, data: &std::path::Path) -> std::io::Result<()> {
        self.watch = Some(Watch::new(data)?);
        Ok(())
    }

    /// Whether file events are heard.
    pub(super) fn hears_files(&self) -> bool {
        self.watch.is_some()
    }

    pub(super) fn poster(&self) -> Poster {
        self.inbox.poster()
    }

    /// Blocks until something happens, at most `most`: the callers at the door are let in meanwhile.
    pub(super) fn next(&mut self, control: &Control, alarm: &Alarm, most: Option<Duration>) -> Result<Heard> {
        let begun = clock::up();
        loop {
            if let Some(signal) = self.aside(control)? {
                return Ok(Heard::Signal(signal));
            }
            if let Some(message) = self.inbox.take() {
                return Ok(Heard::Message(message));
            }
            let now = clock::up();
            if let Some(burst) = self.burst.take_if(|burst| burst.over() <= now) {
                return Ok(Heard::Files(burst.cause()));
            }
            let limit = most.map(|most| begun + u64::try_from(most.as_millis()).unwrap_or(u64::MAX >> 1));
            if limit.is_some_and(|limit| limit <= now) {
                return Ok(Heard::Time);
            }
            let failed = |error: std::io::Error| Failure::new(format!("cannot listen: {error}"));
            if self.timers.set(alarm).map_err(failed)? {
                return Ok(Heard::Stepped);
            }
            let until =
                self.burst.map(Burst::over).into_iter().chain(limit).chain(control.rests_until(now)).min();
            #[cfg(not(target_os = "linux"))]
            let until = Some(until.unwrap_or(now + GLANCE).min(now + GLANCE));
            let ready = self.wait(control, until.map(|until| until.saturating_sub(now))).map_err(failed)?;
            self.polled = clock::up();
            let mut called = false;
            for source in ready {
                called |= matches!(source, Source::Door);
                if let Some(heard) = self.serve(source, control) {
                    return Ok(heard);
                }
            }
            if called {
                return Ok(Heard::Caller);
            }
            #[cfg(not(target_os = "linux"))]
            if alarm.rings(&clock::now()).is_some() {
                return Ok(Heard::Time);
            }
        }
    }

    /// The next message that is there.
    pub(super) fn message(&self) -> Option<Message> {
        self.inbox.take()
    }

    /// Looks for a signal and lets callers in without waiting, if that was not done for a while. Whoever has work at
    /// hand and does not wait calls this between two steps.
    pub(super) fn aside(&mut self, control: &Control) -> Result<Option<i32>> {
        let now = clock::up();
        if now < self.polled + ASIDE {
            return Ok(None);
        }
        self.polled = now;
        let failed = |error: std::io::Error| Failure::new(format!("cannot listen: {error}"));
        for source in self.wait(control, Some(0)).map_err(failed)? {
            match source {
                Source::Signal => {
                    if let Some(signal) = self.signals.as_mut().and_then(Signals::take) {
                        return Ok(Some(signal));
                    }
                }
                Source::Door => control.welcome(&self.inbox.poster()),
                Source::Bell | Source::Timer | Source::Files => {}
            }
        }
        Ok(None)
    }

    /// Waits, and says what has something to say.
    fn wait(&self, control: &Control, most: Option<u64>) -> std::io::Result<Vec<Source>> {
        let (mut sources, mut fds) = (Vec::new(), Vec::new());
        for fd in self.signals.iter().flat_map(Signals::fds) {
            sources.push(Source::Signal);
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
        if control.listens(clock::up()) {
            sources.push(Source::Door);
            fds.push(poll_fd(control));
        }
        sources.push(Source::Bell);
        fds.push(poll_fd(&self.inbox));
        for fd in self.timers.fds() {
            sources.push(Source::Timer);
            fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
        if let Some(watch) = &self.watch {
            sources.push(Source::Files);
            fds.push(poll_fd(watch));
        }
        let most = most.map(Duration::from_millis).map(|most| Timespec::try_from(most).unwrap_or_default());
        match poll(&mut fds, most.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let spoken = sources.into_iter().zip(fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(spoken.map(|(source, _)| source).collect())
    }

    fn serve(&mut self, source: Source, control: &Control) -> Option<Heard> {
        match source {
            Source::Bell => {
                self.inbox.hush();
                self.inbox.take().map(Heard::Message)
            }
            Source::Signal => self.signals.as_mut().and_then(Signals::take).map(Heard::Signal),
            Source::Door => {
                control.welcome(&self.inbox.poster());
                None
            }
            Source::Timer => Some(match self.timers.take() {
                Rang::Time => Heard::Time,
                Rang::Stepped => Heard::Stepped,
            }),
            Source::Files => self.files(),
        }
    }

    fn files(&mut self) -> Option<Heard> {
        let watch = self.watch.as_mut()?;
        let noise = match watch.take() {
            Ok(noise) => noise,
            Err(error) => {
                // The kernel has no watch left for a folder that came: files are looked at every now and then from here.
                self.watch = None;
                return Some(Heard::Deaf(error.to_string()));
            }
        };
        match noise {
            None => None,
            Some(Noise::Uprooted) => Some(Heard::Uprooted),
            Some(Noise::Wakes(cause)) => {
                self.burst = Some(Burst::add(self.burst, cause, clock::up()));
                None
            }
        }
    }
}

fn poll_fd(fd: &impl std::os::fd::AsFd) -> PollFd<'_> {
    let fd: BorrowedFd<'_> = fd.as_fd();
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pulse::inbox::post;

    #[test]
    fn a_signal_is_heard_although_there_is_always_a_message() {
        let dir = tempfile::tempdir().unwrap();
        let control = Control::bind(dir.path()).unwrap();
        let mut ear = Ear::new(Some(Signals::listen().unwrap())).unwrap();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
        let heard = (0..10_000_000).find_map(|_| {
            post(&ear.poster(), Message::Restrained(None));
            let heard = ear.next(&control, &Alarm::default(), None).unwrap();
            if let Heard::Signal(signal) = heard { Some(signal) } else { None }
        });
        assert_eq!(heard, Some(signal_hook::consts::SIGHUP));
    }
}
