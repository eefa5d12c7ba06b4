//! The yard of a storm: hosted children that take their time and live on when the loop dies.

use std::collections::{BTreeMap, BTreeSet};

use looop_core::engine::io::Record;
use looop_core::model::outcome::{Ended, Outcome, Shell};
use looop_core::model::plan::{BeatId, RunId};
use looop_core::world::fleet::{Fleet, Worker, WorkerState, worker_of};

/// How far a child is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its host was launched.
    Launched,
    /// It runs.
    Runs,
    /// It has ended, and left a receipt.
    Ended(Ended),
    /// Its host died after it had started.
    Lost,
    /// It never ran and never will.
    Fenced,
}

/// What a child is.
#[derive(Clone, Debug)]
pub(super) enum Job {
    /// A decide, with what it left.
    Decide(RunId, Option<Box<Record>>),
    /// A command.
    Shell(String),
    /// A worker.
    Works { goal: Option<String>, started: i64, ended: Option<i64>, active: u64, wallet: Wallet },
}

/// What a worker spends.
#[derive(Clone, Debug, Default)]
pub(super) struct Wallet {
    /// What its agent has used, in cents.
    pub(super) used: u64,
    /// What its agent's own file is worth.
    pub(super) file: AgentFile,
    /// Whether it was stopped.
    pub(super) frozen: bool,
}

/// What the file of a worker's agent is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AgentFile {
    /// There is none.
    #[default]
    Missing,
    /// It says all.
    Exact,
    /// It ends in the middle of a call.
    AtLeast,
    /// It has tokens without a price.
    Unpriced,
}

/// A hosted child.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) stage: Stage,
    pub(super) job: Job,
    /// How often it has begun.
    pub(super) ran: u32,
}

/// Who waits for a child's end: a thread of the lock holder of this life.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) life: u64,
    pub(super) what: Awaited,
}

/// What the end of a child means to who waits for it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Awaited {
    Decide(RunId),
    Move(BeatId),
}

/// All children.
#[derive(Clone, Debug, Default)]
pub struct Yard {
    pub(super) children: BTreeMap<String, Child>,
    pub(super) waiters: Vec<(String, Waiter)>,
    /// Workers that are stopped.
    pub(super) paused: BTreeSet<String>,
}

impl Child {
    pub(super) fn lives(&self) -> bool {
        matches!(self.stage, Stage::Launched | Stage::Runs)
    }

    pub(super) fn is_worker(&self) -> bool {
        matches!(self.job, Job::Works { .. })
    }

    /// What it spends, if it is a worker.
    pub(super) fn wallet(&self) -> Option<&Wallet> {
        match &self.job {
            Job::Works { wallet, .. } => Some(wallet),
            Job::Decide(..) | Job::Shell(_) => None,
        }
    }

    /// Whether it is stopped.
    pub(super) fn is_frozen(&self) -> bool {
        self.lives() && self.wallet().is_some_and(|wallet| wallet.frozen)
    }

    /// What came of a hosted move.
    pub(super) fn outcome(&self) -> Outcome {
        match &self.stage {
            Stage::Ended(ended) => {
                let shell = Some(Shell { ended: ended.clone(), tail: "said".to_owned(), bytes: 4 });
                if ended.is_success() {
                    Outcome::Done { note: None, shell }
                } else {
                    Outcome::Failed { reason: ended.text(), shell }
                }
            }
            Stage::Fenced => Outcome::failed("its host could not start it"),
            Stage::Lost | Stage::Launched | Stage::Runs => {
                Outcome::Interrupted { reason: "its host died; it may have run".to_owned() }
            }
        }
    }
}

impl Yard {
    /// Launches a child. No session is launched twice.
    pub(super) fn launch(&mut self, session: &str, job: Job) {
        let child = Child { stage: Stage::Launched, job, ran: 0 };
        let before = self.children.insert(session.to_owned(), child);
        assert!(before.is_none(), "session {session} is launched, and was {before:?}");
    }

    /// How a child stands, with the fence put up for one that is not there.
    pub(super) fn stands(&mut self, session: &str) -> &Child {
        let fenced = Child { stage: Stage::Fenced, job: Job::Shell(String::new()), ran: 0 };
        self.children.entry(session.to_owned()).or_insert(fenced)
    }

    /// The workers, as a look sees them.
    pub(super) fn fleet(&self, t: u64) -> Fleet {
        let worker = |(session, child): (&String, &Child)| {
            let Job::Works { goal, started, ended, active, wallet } = &child.job else { return None };
            let state = match &child.stage {
                Stage::Launched | Stage::Runs if wallet.frozen || self.paused.contains(session) => {
                    WorkerState::Paused
                }
                Stage::Launched | Stage::Runs => WorkerState::Alive,
                Stage::Ended(ended) => WorkerState::of(ended),
                Stage::Lost => WorkerState::Lost,
                Stage::Fenced => return None,
            };
            let silent_s = state.is_alive().then(|| t.saturating_sub(*active) / 1000);
            let worker = Worker {
                id: worker_of(session).to_owned(),
                session: session.clone(),
                state,
                goal: goal.clone(),
                runner: Some("claude".to_owned()),
                started: *started,
                ended: *ended,
                silent_s,
                strays: Vec::new(),
            };
            Some((session.clone(), worker))
        };
        Fleet { workers: self.children.iter().filter_map(worker).collect(), fault: None }
    }

    /// The sessions of the children that live, of workers or of the others.
    pub(super) fn living(&self, workers: bool) -> Vec<String> {
        let mine = |child: &Child| child.lives() && child.is_worker() == workers;
        self.children.iter().filter(|(_, child)| mine(child)).map(|(session, _)| session.clone()).collect()
    }

    /// Whoever waits for this child.
    pub(super) fn take_waiters(&mut self, session: &str) -> Vec<Waiter> {
        let (mine, others) =
            std::mem::take(&mut self.waiters).into_iter().partition(|(name, _)| name == session);
        self.waiters = others;
        let mine: Vec<(String, Waiter)> = mine;
        mine.into_iter().map(|(_, waiter)| waiter).collect()
    }
}
