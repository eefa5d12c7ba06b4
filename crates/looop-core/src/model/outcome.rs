//! Outcomes: what came of a move.

use serde::{Deserialize, Serialize};

/// How a child process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It exited with a code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It passed its deadline and was ended with all that it had started.
    TimedOut,
    /// It was ended on request.
    Killed,
    /// It could not be started.
    Spawn(String),
}

impl Ended {
    /// Whether it exited with code 0.
    pub fn is_success(&self) -> bool {
        *self == Self::Exited(0)
    }

    /// The ending in words: "exit 3", "signal 9", "timed out".
    pub fn text(&self) -> String {
        match self {
            Self::Exited(code) => format!("exit {code}"),
            Self::Signalled(signal) => format!("signal {signal}"),
            Self::TimedOut => "timed out".to_owned(),
            Self::Killed => "ended on request".to_owned(),
            Self::Spawn(error) => format!("could not be started: {error}"),
        }
    }
}

/// What a shell move left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shell {
    /// How it ended.
    pub ended: Ended,
    /// The end of its output, as much as a brief shows.
    pub tail: String,
    /// How many bytes it printed in all.
    pub bytes: u64,
}

/// What came of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Outcome {
    /// It took effect.
    Done {
        /// What is worth knowing about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The output, where a command ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell: Option<Shell>,
    },
    /// It ran and failed, or could not be done; the world is as the reason says.
    Failed {
        /// What failed.
        reason: String,
        /// The output, where a command ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell: Option<Shell>,
    },
    /// It may have run: a crash hid the end. Never run again.
    Interrupted {
        /// What is known.
        reason: String,
    },
}

impl Outcome {
    /// Done, with nothing to add.
    pub fn done() -> Self {
        Self::Done { note: None, shell: None }
    }

    /// Failed for a reason.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into(), shell: None }
    }

    /// Whether the move took effect.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// The output, where a command ran.
    pub fn shell(&self) -> Option<&Shell> {
        match self {
            Self::Done { shell, .. } | Self::Failed { shell, .. } => shell.as_ref(),
            Self::Interrupted { .. } => None,
        }
    }
}
