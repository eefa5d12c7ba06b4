//! Hosted children as they live and end.

use looop_core::model::outcome::Ended;

use super::agenda::{Happening, Message};
use super::decider::{self, Mind};
use super::site::Site;
use super::yard::{Awaited, Job, Stage, Waiter};

/// When a hosted move is given up on, in milliseconds.
const MOVE_DEADLINE: u64 = 300_000;

impl Site {
    /// Launches a child, which begins and ends in its own time.
    pub(super) fn launch(&mut self, session: &str, job: Job) {
        self.tell(|| format!("child {session}: launched ({job:?})"));
        self.yard.launch(session, job);
        let begins = self.dice.between(1, 20);
        self.after(begins, Happening::Child(session.to_owned()));
    }

    /// Ends a worker's session with an exit code, as it does of itself.
    pub fn exit_worker(&mut self, session: &str, code: i32) {
        self.end_child(session, &Stage::Ended(Ended::Exited(code)));
    }

    /// Has a thread of a lock holder wait for a child's end.
    pub(super) fn wait_for(&mut self, session: &str, life: u64, what: Awaited) {
        self.yard.waiters.push((session.to_owned(), Waiter { life, what }));
        if self.yard.children.get(session).is_none_or(|child| !child.lives()) {
            self.report(session);
        }
    }

    /// Tells who waits for a child that it has ended.
    fn report(&mut self, session: &str) {
        for Waiter { life, what } in self.yard.take_waiters(session) {
            let session = session.to_owned();
            let message = match what {
                Awaited::Decide(run) => Message::Decided(run, session),
                Awaited::Move(beat) => Message::Hosted(beat, session),
            };
            self.post(life, 1, message);
        }
        self.after(1, Happening::Settles(0));
    }

    /// A child comes to its next stage: it begins, or it ends.
    pub(super) fn child(&mut self, session: &str) {
        let Some(child) = self.yard.children.get_mut(session) else { return };
        let frozen = child.is_frozen();
        match child.stage {
            Stage::Launched => {
                child.stage = Stage::Runs;
                child.ran += 1;
                let span = self.span(session);
                self.tell(|| format!("child {session}: runs for {span} ms"));
                self.begin_charges(session);
                self.after(span, Happening::Child(session.to_owned()));
            }
            // It goes on when it may.
            Stage::Runs if frozen => {}
            Stage::Runs => {
                let ended = self.ending(session);
                self.end_child(session, &Stage::Ended(ended));
            }
            Stage::Ended(_) | Stage::Lost | Stage::Fenced => {}
        }
    }

    fn span(&mut self, session: &str) -> u64 {
        let hangs = self.dice.chance(self.weather.moves / 4);
        match &self.yard.children[session].job {
            Job::Works { .. } if self.shift.is_some() => self.shift.unwrap_or(0),
            Job::Decide(..) => decider::span(self),
            Job::Shell(_) if hangs => MOVE_DEADLINE,
            Job::Shell(_) => *self.dice.pick(&[20, 300, 4_000, 70_000]),
            Job::Works { .. } if matches!(self.mind, Mind::Idle) => self.dice.between(1_000, 60_000),
            Job::Works { .. } => {
                let first = self.dice.between(500, 120_000);
                self.after(first, Happening::Works(session.to_owned()));
                self.dice.between(2_000, 7_200_000)
            }
        }
    }

    /// How a child ends that comes to its own end.
    fn ending(&mut self, session: &str) -> Ended {
        let fails = self.dice.chance(self.weather.moves);
        let run = match &self.yard.children[session].job {
            Job::Decide(run, _) => Some(*run),
            Job::Shell(command) => {
                if !fails {
                    self.done.insert(command.clone());
                }
                None
            }
            Job::Works { .. } => None,
        };
        if let Some(run) = run {
            let mut record = decider::record(self, run);
            if self.bank.is_some()
                && let Some(record) = &mut record
            {
                (record.spend, record.unpriced) = (self.receipt(session), None);
            }
            self.tell(|| format!("decide {run} says {record:?}"));
            if let Some(child) = self.yard.children.get_mut(session) {
                child.job = Job::Decide(run, record.map(Box::new));
            }
            return Ended::Exited(0);
        }
        if fails {
            self.dice.pick(&[Ended::Exited(3), Ended::Signalled(9), Ended::TimedOut]).clone()
        } else {
            Ended::Exited(0)
        }
    }

    /// A child is over, whichever way.
    pub(super) fn end_child(&mut self, session: &str, stage: &Stage) {
        let wall = self.clock.wall();
        let Some(child) = self.yard.children.get_mut(session).filter(|child| child.lives()) else { return };
        child.stage = stage.clone();
        if let Job::Works { ended, .. } = &mut child.job {
            *ended = Some(wall);
        }
        self.tell(|| format!("child {session}: {stage:?}"));
        self.close_call(session);
        self.report(session);
    }

    /// Ends a child on request.
    pub(super) fn end_on_request(&mut self, session: &str) {
        let stage = match self.yard.children.get(session).map(|child| &child.stage) {
            Some(Stage::Launched) => Stage::Fenced,
            Some(Stage::Runs) => Stage::Ended(Ended::Killed),
            Some(Stage::Ended(_) | Stage::Lost | Stage::Fenced) | None => return,
        };
        self.end_child(session, &stage);
    }

    /// The power goes: no process is left, and of what was about to begin nobody knows.
    pub(super) fn lose_power(&mut self) {
        self.yard.waiters.clear();
        let wall = self.clock.wall();
        for (session, child) in &mut self.yard.children {
            let begins = self.dice.coin();
            child.stage = match child.stage {
                Stage::Launched if !begins => Stage::Fenced,
                Stage::Launched => {
                    child.ran += 1;
                    Stage::Lost
                }
                Stage::Runs => Stage::Lost,
                // Who looked at a worker may have seen its receipt.
                Stage::Ended(_) if !child.is_worker() && self.dice.below(8) == 0 => Stage::Lost,
                Stage::Ended(_) | Stage::Lost | Stage::Fenced => continue,
            };
            if let Job::Works { ended, .. } = &mut child.job {
                *ended = ended.or(Some(wall));
            }
            self.tale.tell(&self.clock, || format!("child {session}: {:?}, for want of power", child.stage));
        }
        let decides = self.yard.children.iter().filter(|(_, child)| matches!(child.job, Job::Decide(..)));
        for session in decides.map(|(session, _)| session.clone()).collect::<Vec<_>>() {
            self.lose_receipt(&session);
        }
        self.yard.paused.clear();
        self.agenda.keep(|happening| {
            matches!(happening, Happening::Turns | Happening::Acts | Happening::Starts { .. })
        });
        self.clock.reboot();
    }
}
