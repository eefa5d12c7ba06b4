//! Answering an ask: once, by whoever is first.

use looop_core::model::letter::Answer;
use looop_core::model::name::is_name;

use super::folder::{FolderBusy, lock};
use super::forms;
use super::letters::{ANSWERS, ASKS};
use super::settle::{ANSWER_KIND, put_away};
use crate::dir::Reader;
use crate::disk::{is_taken, write_new};
use crate::error::{StoreError, failed};
use crate::point::point;

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
    /// Answers an ask at a moment in milliseconds since the epoch. The first answer wins; one that cannot be read does
    /// not count and makes room.
    pub fn post_answer(&self, ask: &str, text: &str, wall: i64) -> Result<Answer, PostError> {
        let no_such = || PostError::NoSuchAsk(ask.to_owned());
        if !is_name(ask) {
            return Err(no_such());
        }
        if self.disk().stat(ASKS).is_absent() {
            return Err(no_such());
        }
        let _held = lock(self, ANSWERS)?;
        self.check_open(ask)?;
        let answer = Answer { v: forms::VERSION, ask: ask.to_owned(), text: text.to_owned(), answered: wall };
        let path = format!("{ANSWERS}/{ask}.json");
        let bytes =
            serde_json::to_vec(&answer).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        match write_new(self.disk(), &path, &bytes, 0o600) {
            Err(error) if is_taken(&error) => Err(already(ask, String::new())),
            done => Ok(done?),
        }?;
        point("store.answer-posted");
        Ok(answer)
    }

    fn check_open(&self, ask: &str) -> Result<(), PostError> {
        match self.letter(ANSWERS, ask, forms::answer) {
            Ok(Some(found)) => return Err(already(ask, found.letter.text)),
            Ok(None) => {}
            Err(_) => self.set_aside(ask)?,
        }
        match self.letter(ASKS, ask, forms::ask) {
            Ok(Some(_)) => Ok(()),
            Err(error) => Err(PostError::BrokenAsk(error)),
            Ok(None) => match self.letter("mail.d", &format!("{ask}.{ANSWER_KIND}"), settled_answer) {
                Ok(Some(found)) => Err(already(ask, found.letter.text)),
                Ok(None) | Err(_) => Err(PostError::NoSuchAsk(ask.to_owned())),
            },
        }
    }

    /// Moves an answer that cannot be read out of the way; it is kept for whoever wants to look at it.
    fn set_aside(&self, ask: &str) -> Result<(), StoreError> {
        let path = format!("{ANSWERS}/{ask}.json");
        if self.disk().stat("mail.d").is_absent() {
            self.disk().make_dir("mail.d").map_err(failed("mail.d", "made"))?;
        }
        put_away(self, &path, ask, "broken-answer")
    }
}

/// A settled answer's file is called after ask and kind; inside it names the ask.
fn settled_answer(stem: &str, bytes: &[u8]) -> Result<forms::Found<Answer>, String> {
    forms::answer(stem.trim_end_matches(".answer"), bytes)
}

fn already(ask: &str, text: String) -> PostError {
    PostError::AlreadyAnswered { ask: ask.to_owned(), text }
}
