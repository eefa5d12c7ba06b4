//! The machine.

use std::time::Duration;

use super::action::Action;
use super::answer::{Answer, Refusal};
use super::desk::Desk;
use super::explain::Explained;
use super::input::Input;
use super::job::Job;
use super::state::{Stage, State};
use super::timer::{Timers, Wait};
use super::turn::Turn;
use crate::{Ended, keys};

/// How long an id may be, in bytes: it is kept for a while.
const LONGEST_ID: usize = 200;

/// A session as a pure machine.
#[derive(Debug)]
pub struct Kernel {
    stage: Stage,
    since: Duration,
    terminal: bool,
    timers: Timers,
    desk: Desk,
}

impl Kernel {
    /// A session that is about to start. It may live for `deadline` from now, pauses included.
    pub fn new(terminal: bool, deadline: Option<Duration>, now: Duration) -> Self {
        let deadline = deadline.map(|span| now.saturating_add(span));
        let (stage, desk) = (Stage::Starting, Desk::default());
        Self { stage, since: now, terminal, timers: Timers::new(deadline), desk }
    }

    /// The ids of the last inputs that were typed, oldest first.
    pub fn typed(&self) -> Vec<String> {
        self.desk.typed()
    }

    /// Takes an input and says what must be done.
    #[must_use]
    pub fn step(&mut self, input: Input, now: Duration) -> Vec<Action> {
        let mut actions = Vec::new();
        self.take(input, now, &mut actions);
        if self.stage == Stage::Live {
            self.desk.pump(&mut Turn { now, timers: &mut self.timers, actions: &mut actions });
        }
        actions
    }

    /// When the next `Input::Timer` is due.
    pub fn next(&self) -> Option<Duration> {
        self.timers.next()
    }

    /// How it stands.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Why it stands like this, what it waits for, and which delivery is under way.
    pub fn explain(&self) -> Explained {
        let (waiting, waiting_bytes) = self.desk.waiting();
        Explained {
            stage: self.stage.clone(),
            since: self.since,
            timers: self.timers.pending(),
            delivery: self.desk.underway(),
            waiting,
            waiting_bytes,
            remembered: self.desk.remembered(),
        }
    }

    fn take(&mut self, input: Input, now: Duration, actions: &mut Vec<Action>) {
        let mut turn = Turn { now, timers: &mut self.timers, actions };
        match input {
            Input::Output { bytes } => self.desk.output(bytes, &mut turn),
            Input::Looked { token, look } => self.desk.looked(token, look, &mut turn),
            Input::Send { caller, id, text, submit } => {
                self.accept(Job::text(caller, id, &text, submit), now, actions);
            }
            Input::Key { caller, id, keys } => match unusable(&keys) {
                Some(refusal) => turn.reply(caller, Answer::Refused(refusal)),
                None => self.accept(Job::keys(caller, id, keys), now, actions),
            },
            Input::Spawned => self.spawned(now, actions),
            Input::SpawnFailed(reason) => self.spawn_failed(reason, now, actions),
            Input::ChildEnded(ended) => self.end(ended, now, actions),
            Input::TreeGone => self.tree_gone(now, actions),
            Input::Kill | Input::StopSignal => self.end(Ended::Killed, now, actions),
            Input::Finish => self.end(Ended::Exited(0), now, actions),
            Input::Pause { caller } => self.pause(caller, now, actions),
            Input::GoOn { caller } => self.go_on(caller, now, actions),
            Input::Timer => self.timer(now, actions),
        }
    }

    fn spawned(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match self.stage {
            Stage::Starting => {
                self.enter(Stage::Live, now);
                actions.push(Action::Publish(State::Live));
            }
            // Who is killed before is ended by the end that has begun.
            Stage::Ending(_) | Stage::Live | Stage::Paused | Stage::Over(_) => {}
        }
    }

    fn spawn_failed(&mut self, reason: String, now: Duration, actions: &mut Vec<Action>) {
        let ended = Ended::Spawn(reason);
        match self.stage {
            Stage::Starting => {
                self.hush(&ended, now, actions);
                self.over(ended, now, actions);
            }
            // Nothing was there to be killed.
            Stage::Ending(_) => self.over(ended, now, actions),
            Stage::Live | Stage::Paused | Stage::Over(_) => {}
        }
    }

    /// Begins the end, for this reason unless it has begun for another.
    fn end(&mut self, why: Ended, now: Duration, actions: &mut Vec<Action>) {
        match self.stage {
            Stage::Starting | Stage::Live => {}
            Stage::Paused => actions.push(Action::Thaw),
            Stage::Ending(_) | Stage::Over(_) => return,
        }
        actions.push(Action::BeginEnd);
        self.hush(&why, now, actions);
        self.enter(Stage::Ending(why), now);
    }

    fn tree_gone(&mut self, now: Duration, actions: &mut Vec<Action>) {
        match &self.stage {
            Stage::Ending(why) => self.over(why.clone(), now, actions),
            // How the child ended is not known yet.
            Stage::Starting | Stage::Live | Stage::Paused | Stage::Over(_) => {}
        }
    }

    fn pause(&mut self, caller: u64, now: Duration, actions: &mut Vec<Action>) {
        let answer = match &self.stage {
            Stage::Starting => Answer::Refused(Refusal::NotStarted),
            Stage::Live => {
                actions.extend([Action::Freeze, Action::Publish(State::Paused)]);
                self.enter(Stage::Paused, now);
                let mut turn = Turn { now, timers: &mut self.timers, actions };
                self.desk.interrupt(Refusal::PausedMeanwhile, Refusal::PausedBefore, &mut turn);
                Answer::Done
            }
            Stage::Paused => Answer::Done,
            Stage::Ending(why) | Stage::Over(why) => Answer::Refused(Refusal::Ended(why.clone())),
        };
        actions.push(Action::Reply { caller, answer });
    }

    fn go_on(&mut self, caller: u64, now: Duration, actions: &mut Vec<Action>) {
        let answer = match &self.stage {
            Stage::Starting => Answer::Refused(Refusal::NotStarted),
            Stage::Live => Answer::Done,
            Stage::Paused => {
                actions.extend([Action::Thaw, Action::Publish(State::Live)]);
                self.enter(Stage::Live, now);
                Answer::Done
            }
            Stage::Ending(why) | Stage::Over(why) => Answer::Refused(Refusal::Ended(why.clone())),
        };
        actions.push(Action::Reply { caller, answer });
    }

    fn accept(&mut self, mut job: Job, now: Duration, actions: &mut Vec<Action>) {
        let mut turn = Turn { now, timers: &mut self.timers, actions };
        if self.desk.is_known(&job, &mut turn) {
            return;
        }
        let long = job.id.as_ref().is_some_and(|id| id.len() > LONGEST_ID);
        let refusal = match &self.stage {
            _ if !self.terminal => Refusal::NoTerminal,
            _ if long => Refusal::LongId(LONGEST_ID),
            Stage::Starting | Stage::Live => return self.desk.queue(job, &mut turn),
            Stage::Paused => Refusal::Paused,
            Stage::Ending(why) | Stage::Over(why) => Refusal::Ended(why.clone()),
        };
        for (caller, answer) in job.replies(&Answer::Refused(refusal)) {
            turn.reply(caller, answer);
        }
    }

    fn timer(&mut self, now: Duration, actions: &mut Vec<Action>) {
        if self.timers.take(Wait::Deadline, now) {
            return self.end(Ended::TimedOut, now, actions);
        }
        self.desk.timer(&mut Turn { now, timers: &mut self.timers, actions });
    }

    /// From now on nothing is typed and nothing is waited for but the end.
    fn hush(&mut self, why: &Ended, now: Duration, actions: &mut Vec<Action>) {
        let (meanwhile, before) = (Refusal::EndedMeanwhile(why.clone()), Refusal::EndedBefore(why.clone()));
        self.desk.interrupt(meanwhile, before, &mut Turn { now, timers: &mut self.timers, actions });
        self.timers.clear();
    }

    fn over(&mut self, ended: Ended, now: Duration, actions: &mut Vec<Action>) {
        self.enter(Stage::Over(ended.clone()), now);
        actions.push(Action::Over(ended));
    }

    fn enter(&mut self, stage: Stage, now: Duration) {
        self.stage = stage;
        self.since = now;
    }
}

/// Why these keys cannot be pressed. Nothing is typed if one of them is unknown.
fn unusable(names: &[String]) -> Option<Refusal> {
    let unknown = names.iter().find(|name| keys::bytes(name, keys::Modes::default()).is_none());
    match unknown {
        Some(name) => Some(Refusal::UnknownKey(name.clone())),
        None => names.is_empty().then_some(Refusal::NoKey),
    }
}
