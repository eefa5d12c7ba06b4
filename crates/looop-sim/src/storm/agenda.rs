//! What is going to happen, in the order of its time.

use std::collections::BTreeMap;

use looop_core::engine::io::Request;
use looop_core::ledger::entry::Cause;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{BeatId, RunId};

use super::gauges::Taken;

/// Something that happens.
#[derive(Debug)]
pub enum Happening {
    /// A message reaches the lock holder of this life, if it still lives.
    Reaches(u64, Message),
    /// The lock holder tries its log again.
    Retries(u64),
    /// A burst of file events may be over.
    Settles(u64),
    /// The loop is started.
    Starts {
        /// By a person, or by what keeps it running.
        by_person: bool,
    },
    /// A hosted child comes to its next stage.
    Child(String),
    /// A worker does something.
    Works(String),
    /// A provider charges for a piece of an answer.
    Charges(String),
    /// The weather changes.
    Turns,
    /// The person does something.
    Acts,
}

/// What reaches a lock holder from outside and from its own threads.
#[derive(Debug)]
pub enum Message {
    /// A pass over the world is over.
    Sensed(Box<Taken>),
    /// The decide in a session has ended.
    Decided(RunId, String),
    /// A decide never ran.
    RunNeverRan(RunId),
    /// The move in a session has ended.
    Hosted(BeatId, String),
    /// A move is over.
    Acted(BeatId, Outcome),
    /// A hosted move never ran.
    ActNeverRan(BeatId),
    /// A sensor was tried, with what is wrong with it.
    Tried(BeatId, Option<String>),
    /// Sessions were removed.
    Pruned(Option<u64>, Vec<String>, Vec<(String, String)>),
    /// The workers were ended.
    Cleared(Vec<String>),
    /// A verb wants something.
    Asked(Box<Request>),
    /// Something to look at.
    Noise(Cause),
    /// A signal ends the loop.
    Signal {
        /// Whether the workers go on.
        keep_workers: bool,
    },
}

/// All that is going to happen.
#[derive(Debug, Default)]
pub struct Agenda {
    ahead: BTreeMap<(u64, u64), Happening>,
    added: u64,
}

impl Agenda {
    /// Lets something happen at a time. What was added first happens first.
    pub fn add(&mut self, t: u64, happening: Happening) {
        self.added += 1;
        self.ahead.insert((t, self.added), happening);
    }

    /// When the next thing happens.
    pub fn next(&self) -> Option<u64> {
        self.ahead.first_key_value().map(|((t, _), _)| *t)
    }

    /// Takes the next thing, if its time has come.
    pub fn take(&mut self, t: u64) -> Option<Happening> {
        if self.next()? > t {
            return None;
        }
        self.ahead.pop_first().map(|(_, happening)| happening)
    }

    /// Forgets what is not wanted any more.
    pub fn keep(&mut self, wanted: impl Fn(&Happening) -> bool) {
        self.ahead.retain(|_, happening| wanted(happening));
    }
}
