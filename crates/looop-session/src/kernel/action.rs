//! What a session's machine wants done.

use super::answer::Answer;
use super::state::State;
use crate::Ended;

/// Something the host must do, in the order given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Begin the total end of all that the session started. Comes once, after `Thaw` if the session was paused.
    BeginEnd,
    /// Stop all processes of the session.
    Freeze,
    /// Continue them.
    Thaw,
    /// Type this text: write [`paste_bytes`](super::paste_bytes) of it and of whether the screen has bracketed paste
    /// on at this moment.
    Paste(String),
    /// Press this key: write [`crate::keys::bytes`] of it and of the modes of this moment.
    Press(String),
    /// Write these bytes.
    Write(Vec<u8>),
    /// Look at the screen by [`look`](super::look()) and say what it shows by `Input::Looked` with the same token.
    /// It is the last action of its step, so it may be answered on the spot.
    Look {
        /// To be given back.
        token: u64,
        /// What is looked for.
        tail: String,
    },
    /// Answer this caller. Each one is answered once; one that has hung up is no matter.
    Reply {
        /// Whom.
        caller: u64,
        /// What.
        answer: Answer,
    },
    /// Publish this state.
    Publish(State),
    /// It ended like this, and there is nothing left to do but to say so. The last action there is.
    Over(Ended),
}
