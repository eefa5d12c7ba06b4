//! What a session's machine is told.

use super::look::Look;
use crate::Ended;

/// Something that happened. The host tells it in the order in which it learns it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The child runs.
    Spawned,
    /// There is no child; the text is the system's reason.
    SpawnFailed(String),
    /// The child printed this many bytes.
    Output {
        /// How many.
        bytes: u64,
    },
    /// The child was reaped.
    ChildEnded(Ended),
    /// The child was reaped and nothing that it started can be ended any more. Said again after every `BeginEnd`.
    TreeGone,
    /// Somebody asked for the end.
    Kill,
    /// The session itself asked for its end, because it is done.
    Finish,
    /// The host was asked to stop by a signal.
    StopSignal,
    /// Stop the clock of all processes of the session.
    Pause {
        /// Who waits for the answer.
        caller: u64,
    },
    /// Let them run again.
    GoOn {
        /// Who waits for the answer.
        caller: u64,
    },
    /// Type a text, and submit it if so asked.
    Send {
        /// Who waits for the answer.
        caller: u64,
        /// A name for this very input: it is typed at most once under it.
        id: Option<String>,
        /// The text, as a person has it: lines end with `\n`.
        text: String,
        /// Whether Enter is pressed after it.
        submit: bool,
    },
    /// Press keys, one after the other.
    Key {
        /// Who waits for the answer.
        caller: u64,
        /// A name for this very input: it is typed at most once under it.
        id: Option<String>,
        /// Names that [`crate::keys::bytes`] knows.
        keys: Vec<String>,
    },
    /// The answer to [`Action::Look`](super::Action::Look).
    Looked {
        /// Which look.
        token: u64,
        /// What is on the screen.
        look: Look,
    },
    /// The time of [`Kernel::next`](super::Kernel::next) has come. One too many does no harm.
    Timer,
}
