//! The inbox: everything that reaches the loop comes through here, in the order in which it came.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use looop_core::engine::io::{Record, Reply, Request, RequestId};
use looop_core::ledger::entry::Line;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{BeatId, RunId};
use looop_session::Launched;

use crate::hands::sense::Sensed;

/// What can reach the loop.
pub(crate) enum Message {
    /// The world was looked at.
    Sensed(Box<Sensed>),
    /// A decide ended.
    Decided(RunId, Box<Record>),
    /// A decide that the log knows never ran.
    RunNeverRan(RunId),
    /// A move ended.
    Acted(BeatId, Outcome),
    /// A hosted move that the log knows never ran.
    ActNeverRan(BeatId),
    /// A sensor's trial run ended: what came of it, if it must not be written.
    Tried(BeatId, Option<String>),
    /// A move that touches a worker ended; a host that it launched is to be reaped.
    Worked(BeatId, Outcome, Option<Launched>),
    /// What was kept of ended sessions was removed, or could not be.
    Pruned(Option<RequestId>, Vec<String>, Vec<(String, String)>),
    /// A verb wants something.
    Asked(Box<Request>, Sender<Said>),
    /// A signal came.
    Signal(i32),
}

/// What a verb is told.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// Its request was taken.
    Taken,
    /// Its request was not begun, or can be made again without harm.
    Again,
    /// Something happened.
    Line(Box<Line>),
    /// Its request is over.
    Reply(Box<Reply>),
}

/// Both ends of the channel.
pub(crate) struct Inbox {
    sender: Sender<Message>,
    receiver: Receiver<Message>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    pub(crate) fn sender(&self) -> Sender<Message> {
        self.sender.clone()
    }

    /// The next message, or nothing after so long. Without a limit it waits for ever.
    pub(crate) fn next(&self, most: Option<Duration>) -> Option<Message> {
        match most {
            None => self.receiver.recv().ok(),
            Some(most) => self.receiver.recv_timeout(most).ok(),
        }
    }
}

/// Sends a message to the loop. If the loop has ended meanwhile, what a child did is found by the next lock holder, so
/// nothing is lost by not being heard.
pub(crate) fn post(sender: &Sender<Message>, message: Message) {
    drop(sender.send(message));
}
