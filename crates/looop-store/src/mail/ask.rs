//! Asking: a letter of its own number, and the same letter when the same session asks the same again.

use looop_core::model::letter::{Ask, AskKind, Limit};
use looop_core::world::fleet::worker_of;
use serde_json::Value;

use super::folder::{FolderBusy, PATIENTLY, lock};
use super::forms;
use super::letters::{ANSWERS, ASKS};
use super::names::{is_session, prefix};
use super::settle::{SETTLED, TYPED_KIND, letter_path};
use crate::dir::{Reader, TEXT_LIMIT};
use crate::disk::{Stored, durable_write, is_taken, write_new};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// Most asks of one worker that wait at once. Whoever asks more does not read the answers.
pub const MOST_ASKS: usize = 1000;

/// A worker that asks so soon after the answer was typed has not seen it, in milliseconds.
const LATELY_MS: i64 = 10 * 60 * 1000;

/// What somebody wants to ask.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewAsk<'a> {
    /// The session that asks.
    pub from: &'a str,
    /// What it wants.
    pub kind: AskKind,
    /// The question.
    pub prompt: &'a str,
    /// Answers to choose from.
    pub options: &'a [String],
    /// What it refers to.
    pub reference: Option<&'a str>,
    /// The goal that waits for it.
    pub goal: Option<&'a str>,
    /// The move that it proposes.
    pub proposal: Option<&'a Value>,
    /// The limit of its provider that it waits for.
    pub limit: Option<&'a Limit>,
}

/// An ask that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The letter.
    pub ask: Ask,
    /// Whether it was there already.
    pub resumed: bool,
}

/// Why nothing was asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody is called that.
    #[error("\"{}\" is not a worker's session", looop_core::model::name::shown(.0))]
    NotASession(String),
    /// It would not fit into a letter.
    #[error("the ask has {bytes} bytes, and a letter has room for {TEXT_LIMIT}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Too many wait already.
    #[error("{MOST_ASKS} asks of \"{0}\" wait already")]
    TooMany(String),
    /// The folder is in use.
    #[error(transparent)]
    Busy(#[from] FolderBusy),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl Reader {
    /// Posts an ask, or finds the one that the same session posted with the same words and whose answer it has not
    /// collected yet: whoever was interrupted while waiting asks again and misses nothing.
    pub fn post_ask(&self, new: &NewAsk<'_>, wall: i64) -> Result<Posted, AskError> {
        if !is_session(new.from) {
            return Err(AskError::NotASession(new.from.to_owned()));
        }
        let _held = lock(self, ASKS, PATIENTLY)?;
        // Whoever waits for the answer watches the folder where it will be.
        if self.disk().stat(ANSWERS).is_absent() {
            self.disk().make_dir(ANSWERS).map_err(failed(ANSWERS, "made"))?;
        }
        let of_worker = self.asks_of(worker_of(new.from))?;
        let count = of_worker.len();
        if let Some(ask) = of_worker.into_iter().find(|ask| self.is_same(ask, new)) {
            return Ok(Posted { ask, resumed: true });
        }
        if let Some(ask) = self.typed_lately(new, wall) {
            return Ok(Posted { ask, resumed: true });
        }
        if count >= MOST_ASKS {
            return Err(AskError::TooMany(worker_of(new.from).to_owned()));
        }
        let ask = self.write_ask(new, wall)?;
        Ok(Posted { ask, resumed: false })
    }

    /// The same question of the same session whose answer was typed into it a moment ago. What cannot be looked at there
    /// is asked anew.
    fn typed_lately(&self, new: &NewAsk<'_>, wall: i64) -> Option<Ask> {
        let (prefix, end) = (prefix(new.from), format!(".{TYPED_KIND}.json"));
        let listed = self.disk().list(SETTLED).value()?;
        let names = listed.iter().filter_map(|listed| listed.name.to_str());
        let stems = names.filter_map(|name| name.strip_suffix(&end)).filter(|stem| stem.starts_with(&prefix));
        let lately = |stem: &&str| {
            let path = format!("{SETTLED}/{stem}{end}");
            let typed = self.disk().stat(&path).value().map(|meta| meta.modified_ms());
            typed.is_some_and(|typed| wall.saturating_sub(typed) < LATELY_MS)
        };
        let read = |stem: &str| self.stored(&format!("{SETTLED}/{stem}{end}"), stem, forms::ask).value();
        let mut asks = stems.filter(lately).filter_map(read).map(|found| found.letter);
        let same = |ask: &Ask| ask.from == new.from && ask.kind == new.kind && ask.prompt == new.prompt;
        asks.find(|ask| same(ask) && matches!(self.settled_answer(&ask.id), Stored::Value(_)))
    }

    fn write_ask(&self, new: &NewAsk<'_>, wall: i64) -> Result<Ask, AskError> {
        let prefix = prefix(new.from);
        let mut number = self.next_number(&prefix, &[ASKS, ANSWERS])?;
        loop {
            let ask = letter(new, format!("{prefix}{number}"), wall);
            let path = letter_path(ASKS, &ask.id);
            let bytes =
                serde_json::to_vec(&ask).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
            if bytes.len() as u64 > TEXT_LIMIT {
                return Err(AskError::TooLong { bytes: bytes.len() });
            }
            match write_new(self.disk(), &path, &bytes, 0o600) {
                // The loop itself asks without the folder's lock.
                Err(error) if is_taken(&error) => number += 1,
                written => return Ok(written.map(|()| ask)?),
            }
        }
    }

    /// The asks of a worker that were not settled, whichever session they are from. A broken one is nobody's.
    pub(super) fn asks_of(&self, worker: &str) -> Result<Vec<Ask>, StoreError> {
        let prefix = prefix(worker);
        let listed = self.disk().list(ASKS).into_io().map_err(failed(ASKS, "listed"))?.unwrap_or_default();
        let stems = listed.iter().filter_map(|listed| listed.name.to_str()?.strip_suffix(".json"));
        let read = |stem: &str| Some(self.letter(ASKS, stem, forms::ask).ok()??.letter);
        let asks = stems.filter(|stem| stem.starts_with(&prefix)).filter_map(read);
        Ok(asks.filter(|ask| worker_of(&ask.from) == worker).collect())
    }

    fn is_same(&self, ask: &Ask, new: &NewAsk<'_>) -> bool {
        let same = ask.from == new.from && ask.kind == new.kind && ask.prompt == new.prompt;
        // An answered question waits to be collected; an answered flag or proposal is over.
        let open = !ask.fetched && (ask.kind.is_question() || !self.is_answered(&ask.id));
        same && ask.proposal.as_ref() == new.proposal && open
    }

    pub(super) fn is_answered(&self, ask: &str) -> bool {
        matches!(self.answer_of(ask), Stored::Value(_))
    }
}

impl Writer {
    /// Puts a letter of the loop's own in place, as the log says it. What lies there makes room.
    pub fn post_own(&self, ask: &Ask) -> Result<(), StoreError> {
        let path = letter_path(ASKS, &ask.id);
        let bytes =
            serde_json::to_vec(ask).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        let _own = self.letter_cache().own();
        durable_write(self.disk(), &path, &bytes, 0o600)?;
        point("store.letter-posted");
        Ok(())
    }
}

fn letter(new: &NewAsk<'_>, id: String, wall: i64) -> Ask {
    Ask {
        v: forms::VERSION,
        id,
        from: new.from.to_owned(),
        kind: new.kind,
        prompt: new.prompt.to_owned(),
        options: new.options.to_vec(),
        reference: new.reference.map(str::to_owned),
        goal: new.goal.map(str::to_owned),
        proposal: new.proposal.cloned(),
        asked: wall,
        closed: false,
        fetched: false,
        limit: new.limit.cloned(),
    }
}
