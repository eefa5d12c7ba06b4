//! What sensors and checks say in a simulated world.

use std::collections::{BTreeMap, BTreeSet};

use looop_core::model::digest::Digest;
use looop_core::model::outcome::Ended;
use looop_core::world::observation::{Checked, Observation, Scope};
use looop_core::world::reading::{Fault, FaultDetail, Reading, Trust};
use serde_json::json;

/// When a sensor or a check is given up on, in milliseconds.
pub const DEADLINE: u64 = 60_000;

/// How a sensor behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It says what it measures.
    Good,
    /// It exits with a code.
    Fails(i32),
    /// It never ends.
    Hangs,
    /// It says something else each time.
    Flaps,
    /// It prints what is no JSON.
    Babbles,
}

/// A sensor.
#[derive(Clone, Debug)]
pub struct Gauge {
    /// How it behaves.
    pub mood: Mood,
    /// What it measures.
    pub value: i64,
    /// How often it ran.
    pub runs: u64,
    /// How long a run takes, in milliseconds.
    pub takes: u64,
}

impl Default for Gauge {
    fn default() -> Self {
        Self { mood: Mood::Good, value: 0, runs: 0, takes: 20 }
    }
}

impl Gauge {
    /// How long the next run takes.
    pub fn span(&self) -> u64 {
        if self.mood == Mood::Hangs { DEADLINE } else { self.takes }
    }

    /// Runs it at a moment, which its details tell.
    pub fn run(&mut self, wall: i64) -> Reading {
        self.runs += 1;
        let fault = |fault: &Fault| {
            let detail = FaultDetail { message: format!("at {wall}"), wall, ..FaultDetail::default() };
            Reading::of_fault(fault, &detail, Trust::External)
        };
        let value = match self.mood {
            Mood::Fails(code) => return fault(&Fault::Exit(code)),
            Mood::Hangs => return fault(&Fault::Timeout),
            Mood::Babbles => return fault(&Fault::NotJson),
            Mood::Good => self.value,
            Mood::Flaps => i64::try_from(self.runs).unwrap_or(0),
        };
        // Neither the order of the keys nor the details may wake anybody.
        let said = if self.runs.is_multiple_of(2) {
            json!({"signal": {"red": value, "unit": "x"}, "detail": {"at": wall, "runs": self.runs}})
        } else {
            json!({"detail": {"runs": self.runs, "at": wall}, "signal": {"unit": "x", "red": value}})
        };
        Reading::of_value(said, Trust::External)
    }
}

/// What a check says, and how long that takes. `ran <command>` holds once that command has run to a good end.
pub fn check(text: &str, done: &BTreeSet<String>) -> (Checked, u64) {
    let (ended, takes) = match text {
        "true" => (Ended::Exited(0), 5),
        "hang" => (Ended::TimedOut, DEADLINE),
        "error" => (Ended::Exited(2), 5),
        _ => {
            let holds = text.strip_prefix("ran ").is_some_and(|command| done.contains(command));
            (Ended::Exited(i32::from(!holds)), 30)
        }
    };
    (Checked { ended, output: String::new() }, takes)
}

/// What a pass over the world brings home.
#[derive(Debug)]
pub struct Taken {
    /// How wide it was.
    pub scope: Scope,
    /// What was seen, with what is to be run still missing.
    pub seen: Observation,
    /// Sensors that are run.
    pub sensors: Vec<String>,
    /// Checks that are run: the goal, its text's digest, and what they say. They see the world as it is when the pass
    /// begins, which may be long before it is over.
    pub checks: Vec<(String, Digest, Checked)>,
    /// Proofs that are run, by session.
    pub proofs: Vec<(String, Checked)>,
    /// How long it takes, if anything has to be run.
    pub span: Option<u64>,
}

/// The last readings and checks that a lock holder knows.
#[derive(Debug, Default)]
pub struct Known {
    /// Readings by sensor.
    pub readings: BTreeMap<String, Reading>,
    /// Checks by goal, each with the digest of the goal that it was of.
    pub checks: BTreeMap<String, (Digest, Checked)>,
}
