//! The states of a session.

use serde::{Deserialize, Serialize};

use crate::Ended;

/// How a session stands, as it is published.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its child does not run yet.
    Starting,
    /// Its child runs.
    Live,
    /// All its processes are stopped.
    Paused,
    /// It is over.
    Ended,
}

/// How a session stands, as its machine sees it. It goes down this list and never back, but for a pause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Its child does not run yet.
    Starting,
    /// Its child runs.
    Live,
    /// All its processes are stopped.
    Paused,
    /// All that it started is being ended, for this reason.
    Ending(Ended),
    /// Nothing of it is left; this is how it ended.
    Over(Ended),
}
