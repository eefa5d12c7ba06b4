//! One call of the machine.

use std::time::Duration;

use super::action::Action;
use super::answer::Answer;
use super::timer::{Timers, Wait};

/// The time of a call, the timers, and what is to be done.
pub(super) struct Turn<'a> {
    pub(super) now: Duration,
    pub(super) timers: &'a mut Timers,
    pub(super) actions: &'a mut Vec<Action>,
}

impl Turn<'_> {
    pub(super) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(super) fn reply(&mut self, caller: u64, answer: Answer) {
        self.act(Action::Reply { caller, answer });
    }

    /// Sets a timer to go off after this time.
    pub(super) fn after(&mut self, what: Wait, span: Duration) {
        self.timers.set(what, self.now.saturating_add(span));
    }
}
