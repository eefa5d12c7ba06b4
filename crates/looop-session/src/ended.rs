//! How a child ended.

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

/// How a child ended.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It exited by itself with this code.
    Exited(i32),
    /// A signal that we did not send ended it.
    Signalled(i32),
    /// Its deadline passed, and it was ended with all that it had started.
    TimedOut,
    /// We were asked to end it, and did.
    Killed,
    /// It could not be started; the text is the system's reason.
    Spawn(String),
}

impl Ended {
    /// Reads what the kernel said about a reaped child.
    pub(crate) fn of(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, Some(signal)) => Self::Signalled(signal),
            (None, None) => Self::Signalled(0),
        }
    }
}
