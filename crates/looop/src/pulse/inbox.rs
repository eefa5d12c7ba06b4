//! The inbox: everything that reaches the loop comes through here, in the order in which it came.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use looop_core::engine::io::{Record, Reply, Request, RequestId};
use looop_core::ledger::entry::Line;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{BeatId, RunId};
use looop_core::world::fleet::Fleet;
use looop_session::Launched;

use super::guest::Guest;
use crate::failure::Failure;
use crate::hands::files::Found;
use crate::hands::notify::Results;
use crate::hands::sense::Sensed;

/// What can reach the loop.
pub(crate) enum Message {
    /// The world was looked at, in a look that began after this many reopenings of the log.
    Sensed(Box<Sensed>, u64),
    /// The files of agents were looked at for a look, and what was wrong with them.
    Metered(Box<Sensed>, u64, Option<String>),
    /// A worker has used more than it may, as its files say.
    Grown,
    /// What dead hosts of these sessions left running was ended, and what could not be.
    Swept(Vec<String>, Vec<String>),
    /// What is older than it has to be kept was removed. Says what went before its time, and what could not be removed.
    Upkept(Vec<String>),
    /// A decide ended.
    Decided(RunId, Box<Record>),
    /// A decide that the log knows never ran.
    RunNeverRan(RunId),
    /// A move ended.
    Acted(BeatId, Outcome),
    /// A hosted move that the log knows never ran.
    ActNeverRan(BeatId),
    /// What an earlier lock holder began still runs; the text says what.
    StillRuns(String),
    /// It cannot be known what became of what an earlier lock holder began: nothing can go on before it is.
    Unsettled(Failure),
    /// A sensor's trial run ended: what came of it, if it must not be written.
    Tried(BeatId, Option<String>),
    /// A move that touches a worker ended; a host that it launched is to be reaped.
    Worked(BeatId, Outcome, Option<Launched>),
    /// What was kept of ended sessions was removed, or could not be.
    Pruned(Option<RequestId>, Vec<String>, Vec<(String, String)>),
    /// The workers were ended; who is there now, and what could not be ended.
    Cleared(Box<Fleet>, Vec<String>),
    /// The pass of this number over the policy files is over.
    Scanned(u64, Box<Found>),
    /// A notice was sent: of which need, and what each channel said against it.
    Sent(String, Results),
    /// A worker was stopped, or let go on; or why it was not.
    Restrained(Option<String>),
    /// A verb wants something.
    Asked(Box<Request>, Sender<Said>, Guest),
}

/// What a verb is told.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// Its request was taken.
    Taken,
    /// Its request was not begun, or can be made again without harm.
    Again,
    /// Nobody answers its request, and why.
    Failed(String),
    /// Something happened.
    Line(Box<Line>),
    /// Its request is over.
    Reply(Box<Reply>),
}

/// Both ends of the channel, and the bell that tells the poll of a message.
pub(crate) struct Inbox {
    poster: Poster,
    receiver: Receiver<Message>,
    bell: UnixStream,
}

/// Whoever has something to say to the loop.
#[derive(Clone)]
pub(crate) struct Poster {
    sender: Sender<Message>,
    bell: Arc<UnixStream>,
}

impl Inbox {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let (heard, rung) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        Ok(Self { poster: Poster { sender, bell: Arc::new(rung) }, receiver, bell: heard })
    }

    pub(crate) fn poster(&self) -> Poster {
        self.poster.clone()
    }

    /// The next message that is there.
    pub(super) fn take(&self) -> Option<Message> {
        self.receiver.try_recv().ok()
    }

    /// Takes the rings of the bell; whoever does looks into the inbox afterwards.
    pub(super) fn hush(&mut self) {
        while self.bell.read(&mut [0; 256]).is_ok_and(|count| count > 0) {}
    }
}

impl Poster {
    /// Has the loop look around, without a message.
    pub(super) fn ring(&self) {
        // A bell that is full of rings rings already.
        drop((&*self.bell).write(&[1]));
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// Sends a message to the loop. If the loop has ended meanwhile, what a child did is found by the next lock holder, so
/// nothing is lost by not being heard.
pub(crate) fn post(poster: &Poster, message: Message) {
    if poster.sender.send(message).is_ok() {
        poster.ring();
    }
}
