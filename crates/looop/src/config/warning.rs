//! What is odd about the settings without being wrong.

use std::{fmt, path::PathBuf};

use super::problem::clean;
use super::template::MESSAGE;

/// Something the person should know, said once at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A `LOOOP_*` variable that nothing reads, with what was probably meant.
    UnknownVariable {
        /// The variable.
        name: String,
        /// What to do instead.
        advice: Option<String>,
    },
    /// A second config file that is not read.
    Shadowed {
        /// The file that is ignored.
        file: PathBuf,
        /// The file that is read.
        by: PathBuf,
    },
    /// The formatter that older tick commands were piped into is gone; the pipe was cut.
    FormatterCut {
        /// The key of the command.
        key: String,
    },
    /// An older key that the newer spelling of the same thing overrides.
    Overridden {
        /// The older key.
        key: String,
        /// The newer one.
        by: String,
    },
    /// A command that resumed a worker: there is no such key any more.
    NotResumed {
        /// The key.
        key: String,
    },
    /// The notification command of an older file puts the message into its text, and is left out.
    NoNotification,
    /// A runner that is named as a decider and cannot decide.
    CannotDecide {
        /// The runner.
        runner: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::UnknownVariable { name, advice: None } => {
                write!(f, "{} is set, and nothing reads it", clean(name))
            }
            Warning::UnknownVariable { name, advice: Some(advice) } => {
                write!(f, "{} is set, and nothing reads it; {advice}", clean(name))
            }
            Warning::Shadowed { file, by } => {
                write!(f, "{} is not read, since {} is there", file.display(), by.display())
            }
            Warning::FormatterCut { key } => {
                write!(f, "`{key}`: the pipe into the old formatter at its end was left out; delete it")
            }
            Warning::Overridden { key, by } => write!(f, "`{key}` is not read, since `{by}` is there"),
            Warning::NotResumed { key } => {
                write!(
                    f,
                    "`{key}` is not used: a worker that is started again begins its task anew; delete it"
                )
            }
            Warning::NoNotification => write!(
                f,
                "`notification` is not used: {{{{message}}}} would make a stranger's words part of the command; {MESSAGE}"
            ),
            Warning::CannotDecide { runner } => {
                write!(f, "runner `{runner}` has neither tick nor api and is left out of `default`")
            }
        }
    }
}
