//! What callers are told.

use serde::{Deserialize, Serialize};

use crate::Ended;

/// The answer to a caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It is paused, or goes on.
    Done,
    /// The text was typed.
    Sent {
        /// How many bytes the child had printed before the first byte was typed.
        at: u64,
        /// What became of it.
        delivery: Delivery,
        /// Whether the id was known, so that nothing was typed for this caller.
        again: bool,
    },
    /// The keys were pressed.
    Keyed {
        /// How many bytes the child had printed before the first one was pressed.
        at: u64,
        /// Whether the id was known, so that nothing was pressed for this caller.
        again: bool,
    },
    /// It was not done, or not as far as asked.
    Refused(Refusal),
}

impl Answer {
    /// The same, for one who asked again.
    pub(super) fn repeated(&self) -> Self {
        match self {
            Self::Sent { at, delivery, .. } => Self::Sent { at: *at, delivery: *delivery, again: true },
            Self::Keyed { at, .. } => Self::Keyed { at: *at, again: true },
            Self::Done | Self::Refused(_) => self.clone(),
        }
    }
}

/// What became of a text.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It was typed; nobody asked for more.
    Typed,
    /// It was submitted, the program reacted, and the text no longer stands where it was typed.
    Taken,
    /// It was submitted and nothing but the echo of Enter was printed, or the screen could not be seen, or the session
    /// ended.
    Unseen,
    /// It was submitted, twice, and still stands where it was typed.
    Left,
    /// It was not submitted, because it was not seen to stand where a composer shows what is typed. A menu, a dialog or
    /// a pager has the keyboard, or a prompt that shows nothing.
    NotTyped,
}

/// Why an input was not typed, or not to its end.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no terminal to type into.
    #[error("the session has no terminal")]
    NoTerminal,
    /// Nobody would read it.
    #[error("the session is paused")]
    Paused,
    /// There is no such key.
    #[error("there is no key {0:?}")]
    UnknownKey(String),
    /// Nothing is asked for.
    #[error("no key was named")]
    NoKey,
    /// The id is longer than what is remembered.
    #[error("the id is longer than {0} bytes")]
    LongId(usize),
    /// The id stands for an input of the other kind.
    #[error("the id {0:?} belongs to another input")]
    OtherInput(String),
    /// More waits to be typed than is kept.
    #[error("too much input waits to be typed")]
    Full,
    /// It has not started, so it cannot be paused.
    #[error("the session has not started")]
    NotStarted,
    /// It ends or has ended.
    #[error("the session has ended")]
    Ended(Ended),
    /// It was ended while the input waited; nothing was typed.
    #[error("the session ended before anything was typed")]
    EndedBefore(Ended),
    /// It was ended while the input was delivered, and the text was not submitted yet.
    #[error("the session ended before it was seen what became of the input")]
    EndedMeanwhile(Ended),
    /// It was paused while the input waited; nothing was typed.
    #[error("the session was paused before anything was typed")]
    PausedBefore,
    /// It was paused while the input was delivered.
    #[error("the session was paused before it was seen what became of the input")]
    PausedMeanwhile,
}
