//! Refusals: why what a decider left cannot be a proposal.

use crate::model::name::{NotAName, shown};

use super::catalogue::ACTIONS;

/// Why a decision cannot be used. The text goes to the person and into the next brief, so it says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is longer than any decision may be.
    #[error("the decision is {bytes} bytes long; at most {most} are taken")]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// It is not text.
    #[error("the decision is not UTF-8 at byte {at}")]
    NotUtf8 {
        /// Where that shows.
        at: usize,
    },
    /// There is no JSON object.
    #[error("the decision holds no JSON object")]
    NoObject,
    /// There is a JSON object that cannot be read.
    #[error("the decision is not valid JSON: {problem}")]
    NotJson {
        /// What is wrong and where.
        problem: String,
    },
    /// There are two JSON objects that differ.
    #[error("the decision holds two objects; exactly one is expected")]
    TwoObjects,
    /// It is JSON of another type.
    #[error("the decision is {found}; one JSON object is expected")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// There is no action.
    #[error("the decision has no \"action\"; expected one of {}", actions())]
    NoAction,
    /// The action does not exist.
    #[error("unknown action \"{}\"; {}", shown(action), meant(*nearest))]
    UnknownAction {
        /// What it says.
        action: String,
        /// The nearest that exists.
        nearest: Option<&'static str>,
    },
    /// A required field is not there.
    #[error("{action} needs the field \"{field}\"")]
    Missing {
        /// Which move.
        action: &'static str,
        /// Which field.
        field: &'static str,
    },
    /// A required text is empty.
    #[error("{action}: \"{field}\" is empty")]
    Empty {
        /// Which move.
        action: &'static str,
        /// Which field.
        field: &'static str,
    },
    /// A field holds something else than it should.
    #[error("{action}: \"{field}\" must be {expected}, not {found}")]
    WrongType {
        /// Which move.
        action: &'static str,
        /// Which field.
        field: &'static str,
        /// What it should hold.
        expected: &'static str,
        /// What it holds.
        found: &'static str,
    },
    /// A field is over its limit.
    #[error("{action}: \"{field}\" is {found}; at most {most} is taken")]
    OverLimit {
        /// Which move.
        action: &'static str,
        /// Which field.
        field: &'static str,
        /// What it is.
        found: String,
        /// What it may be.
        most: String,
    },
    /// A text has a NUL byte.
    #[error("{action}: \"{field}\" has a NUL character")]
    Nul {
        /// Which move.
        action: &'static str,
        /// Which field.
        field: &'static str,
    },
    /// A name breaks the rule of names.
    #[error("{action}: \"{field}\": {rule}")]
    BadName {
        /// Which move.
        action: &'static str,
        /// Which field.
        field: &'static str,
        /// The rule.
        rule: NotAName,
    },
    /// A name is taken by looop itself.
    #[error("{action}: \"{name}\" is reserved")]
    Reserved {
        /// Which move.
        action: &'static str,
        /// The name.
        name: &'static str,
    },
    /// An unknown field that is too much like a known one to be ignored.
    #[error("{action} has no field \"{}\"; did you mean \"{known}\"?", shown(field))]
    NearMiss {
        /// Which move.
        action: &'static str,
        /// What it says.
        field: String,
        /// What it probably means.
        known: &'static str,
    },
    /// A sensor that could not be executed.
    #[error("write_sensor: \"script\" must start with #!")]
    NotAScript,
    /// A schedule that says no time, several, or one that cannot be.
    #[error("write_schedule: {problem}")]
    BadSchedule {
        /// What is wrong.
        problem: String,
    },
}

fn actions() -> String {
    ACTIONS.iter().map(|action| action.name).collect::<Vec<_>>().join(", ")
}

fn meant(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean \"{nearest}\"?"),
        None => format!("expected one of {}", actions()),
    }
}
