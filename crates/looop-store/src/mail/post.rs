//! Answering an ask: once, by whoever is first.

use looop_core::model::letter::{Answer, Ask, AskKind};
use looop_core::model::name::is_name;
use looop_core::world::fleet::worker_of;

use super::folder::{FolderBusy, PATIENTLY, lock};
use super::forms;
use super::letters::{ANSWERS, ASKS};
use super::settle::{letter_path, put_away};
use crate::dir::Reader;
use crate::disk::{Stored, is_taken, write_new};
use crate::error::{StoreError, failed};
use crate::point::point;

/// What a flag is answered with.
const ATTACHED: &str = "attached";

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// Nobody asks that.
    #[error("there is no ask \"{0}\"")]
    NoSuchAsk(String),
    /// Somebody was first.
    #[error("ask \"{ask}\" has been answered already")]
    AlreadyAnswered {
        /// Which ask.
        ask: String,
        /// With what.
        text: String,
    },
    /// It is a flag: its session wants somebody to attach, and no words.
    #[error("ask \"{ask}\" is a flag, which attaching settles")]
    Flag {
        /// Which ask.
        ask: String,
        /// Whose session.
        from: String,
    },
    /// It proposes a move, and words are no consent.
    #[error("ask \"{0}\" proposes a move, which an answer does not approve")]
    Proposal(String),
    /// Only its options are answers.
    #[error("ask \"{ask}\" is answered with one of: {}", options.join(", "))]
    NoOption {
        /// Which ask.
        ask: String,
        /// Its options.
        options: Vec<String>,
    },
    /// The ask is there and makes no sense.
    #[error("{0}")]
    BrokenAsk(String),
    /// The folder is in use.
    #[error(transparent)]
    Busy(#[from] FolderBusy),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl Reader {
    /// Answers a question at a moment in milliseconds since the epoch. The first answer wins; one that cannot be read
    /// does not count and makes room.
    pub fn post_answer(&self, ask: &str, text: &str, wall: i64) -> Result<Answer, PostError> {
        if !is_name(ask) || self.disk().stat(ASKS).is_absent() {
            return Err(PostError::NoSuchAsk(ask.to_owned()));
        }
        let _held = lock(self, ANSWERS, PATIENTLY)?;
        let asked = self.check_open(ask)?;
        match asked.kind {
            AskKind::Question => match asked.choice(text) {
                Some(choice) => self.write_answer(ask, choice, wall),
                None => Err(PostError::NoOption { ask: asked.id, options: asked.options }),
            },
            AskKind::Flag => Err(PostError::Flag { ask: asked.id, from: asked.from }),
            AskKind::Proposal => Err(PostError::Proposal(asked.id)),
        }
    }

    /// Somebody attached to a session: its flags are answered with that, and these are their ids. The loop settles them.
    /// One that waits for its provider still does.
    pub fn attached(&self, session: &str, wall: i64) -> Result<Vec<String>, PostError> {
        let flags = self.flags(session)?.into_iter().filter(|flag| flag.limit.is_none());
        let flags: Vec<String> = flags.map(|flag| flag.id).collect();
        if flags.is_empty() {
            return Ok(flags);
        }
        let _held = lock(self, ANSWERS, PATIENTLY)?;
        let mut settled = Vec::new();
        for flag in flags {
            // Another viewer, or the worker itself, may have been first.
            match self.check_open(&flag) {
                Ok(_) => drop(self.write_answer(&flag, ATTACHED, wall)?),
                Err(PostError::AlreadyAnswered { .. } | PostError::NoSuchAsk(_)) => continue,
                Err(error) => return Err(error),
            }
            settled.push(flag);
        }
        Ok(settled)
    }

    /// The flags of this session that wait.
    pub(super) fn flags(&self, session: &str) -> Result<Vec<Ask>, StoreError> {
        let worker = worker_of(session);
        let asks = self.asks_of(worker)?.into_iter();
        let its = |ask: &Ask| ask.from == session || ask.from == worker;
        let flags = asks.filter(|ask| {
            ask.kind == AskKind::Flag && its(ask) && !ask.fetched && !self.is_answered(&ask.id)
        });
        Ok(flags.collect())
    }

    fn write_answer(&self, ask: &str, text: &str, wall: i64) -> Result<Answer, PostError> {
        let answer = Answer { v: forms::VERSION, ask: ask.to_owned(), text: text.to_owned(), answered: wall };
        let path = letter_path(ANSWERS, ask);
        let bytes =
            serde_json::to_vec(&answer).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        match write_new(self.disk(), &path, &bytes, 0o600) {
            Err(error) if is_taken(&error) => Err(already(ask, String::new())),
            done => Ok(done?),
        }?;
        point("store.answer-posted");
        Ok(answer)
    }

    /// The ask, if nobody has answered it.
    fn check_open(&self, ask: &str) -> Result<Ask, PostError> {
        match self.letter(ANSWERS, ask, forms::answer) {
            Ok(Some(found)) => return Err(already(ask, found.letter.text)),
            Ok(None) => {}
            Err(_) => self.put_aside(ask)?,
        }
        match self.letter(ASKS, ask, forms::ask) {
            Ok(Some(found)) => Ok(found.letter),
            Err(error) => Err(PostError::BrokenAsk(error)),
            Ok(None) => match self.settled_answer(ask) {
                Stored::Value(answer) => Err(already(ask, answer.text)),
                Stored::Absent | Stored::Unreadable(_) | Stored::Corrupt(_) => {
                    Err(PostError::NoSuchAsk(ask.to_owned()))
                }
            },
        }
    }

    /// Puts an answer aside that makes no sense, so that the ask can be answered again; says whether there was one.
    pub fn set_aside(&self, ask: &str) -> Result<bool, PostError> {
        let _held = lock(self, ANSWERS, PATIENTLY)?;
        let Stored::Corrupt(_) = self.answer_of(ask) else { return Ok(false) };
        self.put_aside(ask)?;
        Ok(true)
    }

    /// Moves an answer that cannot be read out of the way; it is kept for whoever wants to look at it.
    fn put_aside(&self, ask: &str) -> Result<(), StoreError> {
        self.make_settled()?;
        put_away(self, &letter_path(ANSWERS, ask), ask, "broken-answer").map(drop)
    }
}

fn already(ask: &str, text: String) -> PostError {
    PostError::AlreadyAnswered { ask: ask.to_owned(), text }
}
