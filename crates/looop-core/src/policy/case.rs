//! A case: one move as the policy sees it, and the ruling on it.

use super::rule::Then;
use super::run::Run;
use crate::model::moves::Move;

/// One move as the policy sees it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one move")]
pub struct Case<'a> {
    /// The move.
    pub action: &'a Move,
    /// The goal that it serves, if it serves one.
    pub goal: Option<&'a str>,
    /// Whether a person wrote that goal as it stands.
    pub goal_by_person: bool,
    /// The runner of the worker that it starts, types into or restarts; none where a command of its own runs.
    pub runner: Option<&'a str>,
    /// Whether a worker that it starts has a runner that is configured.
    pub configured: bool,
    /// Whether it types into a worker that a person started by hand.
    pub by_hand: bool,
    /// The file that it writes, below the profile.
    pub path: Option<String>,
    /// Whether its brief showed what strangers wrote.
    pub tainted: bool,
    /// What each shell text in it would run, and with what.
    pub runs: Vec<Run>,
    /// Whether there is a box on this machine for what a decider wrote.
    pub confined: bool,
}

/// What becomes of the move, and which rule says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What becomes of it.
    pub then: Then,
    /// The rule, for `why` and `policy test`: `policy.toml rule 2`, or `guarded: <rule in words>`.
    pub rule: String,
    /// Whether it is a rule of the person's own, in `policy.toml`.
    pub own: bool,
    /// Why, for the person and the decider.
    pub reason: String,
}

impl Case<'_> {
    /// Whether what it runs reaches nothing outside: it runs nothing, or there is a box.
    pub(super) fn is_contained(&self) -> bool {
        self.confined || self.runs.is_empty()
    }

    /// Whether it needs a person's word for a grant where the brief showed what strangers wrote.
    pub(super) fn asks_if_tainted(&self) -> bool {
        self.runs.iter().any(|run| run.asks_if_tainted)
    }
}
