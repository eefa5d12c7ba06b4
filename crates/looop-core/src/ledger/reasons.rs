//! What entries say about failures, sensors and questions, as values.

use serde::{Deserialize, Serialize};

/// How a sensor is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensorState {
    /// It fails.
    Failing {
        /// How, in one line.
        reason: String,
    },
    /// It works again.
    Works,
    /// It is gone.
    Removed,
}

/// Why the loop took back its question about a goal that still fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withdrawal {
    /// The goal was archived or removed.
    Gone,
    /// The goal holds, or is not due.
    Holds,
    /// The goal's recipe was rewritten.
    Rewritten,
}

impl Withdrawal {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Gone => "its goal is gone",
            Self::Holds => "its goal no longer fails",
            Self::Rewritten => "its goal was rewritten and is tried again",
        }
    }
}

/// How a decide failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The decider could not be run, or ended with an error.
    Runner,
    /// It passed its deadline, or printed nothing for too long.
    Timeout,
    /// It left no decision.
    NoDecision,
    /// What it left cannot be used.
    Unusable,
    /// The decide died without a record.
    Lost,
    /// It passed what was set aside for it and was stopped, or would have.
    Budget,
    /// The provider said "not now": a limit of its own was reached.
    Limited,
    /// The provider could not be reached.
    Unreached,
}
