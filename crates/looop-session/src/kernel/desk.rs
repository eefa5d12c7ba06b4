//! All inputs that are to be typed: one at a time, in the order in which they came.

use std::collections::VecDeque;

use super::answer::{Answer, Delivery, Refusal};
use super::delivery::{Outcome, Running};
use super::explain::Underway;
use super::job::Job;
use super::look::Look;
use super::memory::{Kind, Memory};
use super::timer::Wait;
use super::turn::Turn;

/// How much may wait to be typed.
pub(super) const WAITING: usize = 1 << 20;

/// The inputs of a session.
#[derive(Debug, Default)]
pub(super) struct Desk {
    running: Option<Running>,
    waiting: VecDeque<Job>,
    waiting_bytes: usize,
    memory: Memory,
    /// How many bytes were printed in all.
    printed: u64,
}

impl Desk {
    /// Answers a caller whose input is known by its id, or makes it wait for the result of the first.
    pub(super) fn is_known(&mut self, job: &Job, turn: &mut Turn<'_>) -> bool {
        let Some(id) = &job.id else { return false };
        let Some(&caller) = job.callers.first() else { return false };
        if let Some((kind, answer)) = self.memory.recall(id) {
            let answer = if kind == job.kind() { answer } else { other(id) };
            turn.reply(caller, answer);
            return true;
        }
        let running = self.running.as_mut().map(|running| &mut running.job);
        let mut pending = running.into_iter().chain(&mut self.waiting);
        match pending.find(|pending| pending.id.as_ref() == Some(id)) {
            Some(pending) if pending.kind() == job.kind() => pending.callers.push(caller),
            Some(_) => turn.reply(caller, other(id)),
            None => return false,
        }
        true
    }

    /// Puts an input at the end of the queue.
    pub(super) fn queue(&mut self, mut job: Job, turn: &mut Turn<'_>) {
        let bytes = job.bytes();
        if self.waiting_bytes.saturating_add(bytes) > WAITING {
            return tell(&mut job, &Answer::Refused(Refusal::Full), turn);
        }
        self.waiting_bytes += bytes;
        self.waiting.push_back(job);
    }

    /// Begins with the next input, as long as none is being typed.
    pub(super) fn pump(&mut self, turn: &mut Turn<'_>) {
        while self.running.is_none() {
            let Some(job) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= job.bytes();
            let (running, outcome) = Running::begin(job, self.printed, turn);
            self.running = Some(running);
            self.settle(outcome, turn);
        }
    }

    /// The child printed so many bytes. None are no sign of life.
    pub(super) fn output(&mut self, bytes: u64, turn: &mut Turn<'_>) {
        self.printed = self.printed.saturating_add(bytes);
        if let Some(running) = self.running.as_mut().filter(|_| bytes > 0) {
            running.output(bytes, turn);
        }
    }

    /// Sets off what is due.
    pub(super) fn timer(&mut self, turn: &mut Turn<'_>) {
        let limit = turn.timers.take(Wait::Limit, turn.now);
        let quiet = turn.timers.take(Wait::Quiet, turn.now);
        let Some(running) = &mut self.running else { return };
        let outcome = match (limit, quiet) {
            (true, _) => running.limit(turn),
            (false, true) => running.quiet(turn),
            (false, false) => Outcome::Waits,
        };
        self.settle(outcome, turn);
    }

    /// The screen was looked at.
    pub(super) fn looked(&mut self, token: u64, look: Look, turn: &mut Turn<'_>) {
        let Some(running) = &mut self.running else { return };
        let outcome = running.looked(token, look, turn);
        self.settle(outcome, turn);
    }

    /// Nothing more can be typed: whoever waits is told so.
    ///
    /// A text that was submitted before the end may be why the session ends, so that it was not refused. Only what was
    /// partly typed is remembered; what was not may come again under its id.
    pub(super) fn interrupt(&mut self, meanwhile: Refusal, before: Refusal, turn: &mut Turn<'_>) {
        turn.timers.renew();
        if let Some(mut running) = self.running.take()
            && !running.is_answered()
        {
            let ended = matches!(meanwhile, Refusal::EndedMeanwhile(_));
            let answer = if ended && running.is_submitted() {
                Answer::Sent { at: running.at, delivery: Delivery::Unseen, again: false }
            } else {
                Answer::Refused(meanwhile)
            };
            self.answer(&mut running.job, &answer, turn);
        }
        let refused = Answer::Refused(before);
        for mut job in std::mem::take(&mut self.waiting) {
            tell(&mut job, &refused, turn);
        }
        self.waiting_bytes = 0;
    }

    pub(super) fn underway(&self) -> Option<Underway> {
        self.running.as_ref().map(Running::explain)
    }

    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.waiting.len(), self.waiting_bytes)
    }

    pub(super) fn typed(&self) -> Vec<String> {
        self.memory.typed()
    }

    pub(super) fn remembered(&self) -> usize {
        self.memory.len()
    }

    /// Does what follows from the outcome of a step.
    fn settle(&mut self, outcome: Outcome, turn: &mut Turn<'_>) {
        let Some(mut running) = self.running.take() else { return };
        let at = running.at;
        let answer = match (outcome, running.job.kind()) {
            (Outcome::Waits, _) => None,
            (Outcome::Rested, _) => {
                turn.timers.renew();
                return;
            }
            (Outcome::Settled(delivery), _) => {
                turn.timers.renew();
                return self.answer(&mut running.job, &Answer::Sent { at, delivery, again: false }, turn);
            }
            (Outcome::Typed, Kind::Text) => {
                Some(Answer::Sent { at, delivery: Delivery::Typed, again: false })
            }
            (Outcome::Typed, Kind::Keys) => Some(Answer::Keyed { at, again: false }),
        };
        if let Some(answer) = answer {
            self.answer(&mut running.job, &answer, turn);
        }
        self.running = Some(running);
    }

    /// Answers all who wait for this input, and remembers it.
    fn answer(&mut self, job: &mut Job, answer: &Answer, turn: &mut Turn<'_>) {
        tell(job, answer, turn);
        if let Some(id) = &job.id {
            self.memory.keep(id.clone(), job.kind(), answer.clone());
        }
    }
}

fn tell(job: &mut Job, answer: &Answer, turn: &mut Turn<'_>) {
    for (caller, answer) in job.replies(answer) {
        turn.reply(caller, answer);
    }
}

fn other(id: &str) -> Answer {
    Answer::Refused(Refusal::OtherInput(id.to_owned()))
}
