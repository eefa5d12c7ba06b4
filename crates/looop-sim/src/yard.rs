//! The yard in miniature: hosted children that live on when the loop dies, each with a fence and a receipt.

use std::collections::BTreeMap;

use looop_core::engine::io::Record;
use looop_core::model::outcome::{Ended, Outcome, Shell};
use looop_core::model::plan::RunId;
use serde_json::Value;

/// One hosted child.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Child {
    /// It was launched and has not started yet.
    Launched,
    /// It has run to its end.
    Ended,
    /// Its host died after it had started.
    Lost,
    /// It was fenced off before it started.
    Fenced,
}

/// Where a child stands, as recovery sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It never ran and never will.
    NeverRan,
    /// It ran to its end.
    Ended,
    /// It may have run.
    Lost,
    /// It is still to run; waiting for it lets it.
    Live,
}

/// All hosted children of a world, and what they did.
#[derive(Clone, Debug, Default)]
pub struct Yard {
    children: BTreeMap<String, Child>,
    /// How often each command ran.
    pub ran: BTreeMap<String, u32>,
    /// What the decider says, decide by decide.
    pub decisions: Vec<Value>,
    /// How many decides ran.
    pub decided: usize,
    records: BTreeMap<u64, Record>,
}

impl Yard {
    /// Launches a child. The same session is never launched twice.
    pub fn launch(&mut self, session: &str) {
        let before = self.children.insert(session.to_owned(), Child::Launched);
        assert_eq!(before, None, "session {session} was launched twice");
    }

    /// Lets a launched shell command run to its end.
    pub fn run_shell(&mut self, session: &str, command: &str) -> Outcome {
        if self.children.get(session) == Some(&Child::Launched) {
            *self.ran.entry(command.to_owned()).or_default() += 1;
            self.children.insert(session.to_owned(), Child::Ended);
        }
        let shell = Shell { ended: Ended::Exited(0), tail: String::new(), bytes: 0 };
        Outcome::Done { note: None, shell: Some(shell) }
    }

    /// Lets a launched decide run to its end.
    pub fn run_decide(&mut self, session: &str, run: RunId, wall: i64) -> Record {
        if self.children.get(session) == Some(&Child::Launched) {
            let noop = serde_json::json!({"action": "noop"});
            let decision = self.decisions.get(self.decided).cloned().unwrap_or(noop);
            self.decided += 1;
            let record = Record { decision: Some(decision), ..Record::empty(run, wall) };
            self.records.insert(run.0, record);
            self.children.insert(session.to_owned(), Child::Ended);
        }
        self.records[&run.0].clone()
    }

    /// Where a child stands, with the fence put up for one that is not there.
    pub fn stands(&mut self, session: &str) -> Stands {
        match self.children.entry(session.to_owned()).or_insert(Child::Fenced) {
            Child::Fenced => Stands::NeverRan,
            Child::Launched => Stands::Live,
            Child::Ended => Stands::Ended,
            Child::Lost => Stands::Lost,
        }
    }

    /// The machine stops: what had been launched may or may not have run.
    pub fn power_loss(&mut self, commands: &BTreeMap<String, String>, coin: &mut dyn FnMut() -> bool) {
        for (session, child) in &mut self.children {
            if *child != Child::Launched {
                continue;
            }
            if coin() {
                if let Some(command) = commands.get(session) {
                    *self.ran.entry(command.clone()).or_default() += 1;
                }
                *child = Child::Lost;
            } else {
                *child = Child::Fenced;
            }
        }
    }
}
