//! Timers as data.

use std::time::Duration;

/// A time that a machine waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timer {
    /// What for.
    pub what: Wait,
    /// Until when.
    pub at: Duration,
    /// The wait it belongs to. A timer of a wait that is over means nothing. The deadline belongs to none: 0.
    pub epoch: u64,
}

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The session may not live longer.
    Deadline,
    /// The terminal has been quiet for long enough.
    Quiet,
    /// A wait of a delivery may not take longer.
    Limit,
}

/// The epoch of what belongs to the whole session.
const WHOLE: u64 = 0;

/// All timers of a machine: at most one of each kind, and only those of the present epoch count.
#[derive(Debug)]
pub(super) struct Timers {
    epoch: u64,
    set: Vec<Timer>,
}

impl Timers {
    pub(super) fn new(deadline: Option<Duration>) -> Self {
        let deadline = deadline.map(|at| Timer { what: Wait::Deadline, at, epoch: WHOLE });
        Self { epoch: WHOLE + 1, set: deadline.into_iter().collect() }
    }

    /// Begins another wait: what was set for the last one counts no more. Its number is that of a look, too.
    pub(super) fn renew(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// Sets a timer of this wait, instead of the one of its kind.
    pub(super) fn set(&mut self, what: Wait, at: Duration) {
        self.cancel(what);
        self.set.push(Timer { what, at, epoch: self.epoch });
    }

    /// Sets it off if its time has come, once.
    pub(super) fn take(&mut self, what: Wait, now: Duration) -> bool {
        let due = self.valid().any(|timer| timer.what == what && timer.at <= now);
        if due {
            self.cancel(what);
        }
        due
    }

    pub(super) fn clear(&mut self) {
        self.set.clear();
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.valid().map(|timer| timer.at).min()
    }

    /// What is waited for, the earliest first.
    pub(super) fn pending(&self) -> Vec<Timer> {
        let mut pending: Vec<Timer> = self.valid().copied().collect();
        pending.sort_by_key(|timer| timer.at);
        pending
    }

    fn valid(&self) -> impl Iterator<Item = &Timer> {
        self.set.iter().filter(|timer| timer.epoch == WHOLE || timer.epoch == self.epoch)
    }

    fn cancel(&mut self, what: Wait) {
        self.set.retain(|timer| timer.what != what);
    }
}
