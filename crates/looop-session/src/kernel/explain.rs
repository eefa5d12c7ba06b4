//! Why a machine does what it does, as data.

use std::time::Duration;

use super::state::Stage;
use super::timer::Timer;

/// A machine, explained.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// How the session stands, with the reason if it ends.
    pub stage: Stage,
    /// Since when.
    pub since: Duration,
    /// What it waits for, the earliest first.
    pub timers: Vec<Timer>,
    /// The delivery under way.
    pub delivery: Option<Underway>,
    /// How many wait behind it.
    pub waiting: usize,
    /// How many bytes those are.
    pub waiting_bytes: usize,
    /// How many input ids are remembered with their results.
    pub remembered: usize,
}

/// A delivery that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Underway {
    /// The id of the input.
    pub id: Option<String>,
    /// Who waits for its result.
    pub callers: Vec<u64>,
    /// How far it is.
    pub step: Step,
    /// How many bytes had been printed when it began.
    pub at: u64,
    /// The screen is being looked at, by this token.
    pub looking: Option<u64>,
}

/// How far a delivery is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The screen is looked at before anything is typed.
    Before,
    /// The first character is typed; its echo is waited for.
    First,
    /// The text is typed; its echo is waited for.
    Echo,
    /// Enter is pressed; the reaction is waited for.
    Reaction {
        /// Whether it was pressed a second time.
        again: bool,
    },
    /// The program reacted, but the text still stands: if it does so when all is quiet, Enter is pressed again.
    Doubt,
    /// This many keys are pressed; there is a gap before the next.
    Keys(usize),
    /// All is typed and answered; the next delivery waits a little.
    Rest,
}
