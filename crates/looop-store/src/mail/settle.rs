//! Settling letters: they move to `mail.d/` and age out there.

use looop_core::model::name::is_name;

use super::folder::{FolderBusy, lock};
use super::letters::{ANSWERS, ASKS};
use crate::dir::Reader;
use crate::disk::{Kind, Stored, is_taken, join, sweep_temps};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// How long settled letters are kept, in milliseconds.
pub const MAIL_KEPT_MS: i64 = 30 * 24 * 3600 * 1000;
/// Most settled letters of one name.
const MOST_NAMESAKES: u32 = 1000;
pub(super) const SETTLED: &str = "mail.d";
pub(super) const ASK_KIND: &str = "ask";
pub(super) const ANSWER_KIND: &str = "answer";

/// Why letters were not settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// There is no letter of that name.
    #[error("there is no ask \"{0}\"")]
    NoSuchAsk(String),
    /// The folder is in use.
    #[error(transparent)]
    Busy(#[from] FolderBusy),
    /// A letter could not be moved.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl Writer {
    /// Moves an ask and its answer to `mail.d/`, as far as they are there; doing it again is harmless. `wall` is the
    /// present moment, from which their age counts.
    pub fn settle(&self, ask: &str, wall: i64) -> Result<(), SettleError> {
        if !is_name(ask) {
            return Err(SettleError::NoSuchAsk(ask.to_owned()));
        }
        let _held = lock(self, ANSWERS)?;
        if self.disk().stat(SETTLED).is_absent() {
            self.disk().make_dir(SETTLED).map_err(failed(SETTLED, "made"))?;
        }
        // The ask goes first: an answer without an ask is known to be done with, an ask without an answer is not.
        let asked = self.settle_one(ASKS, ask, ASK_KIND, wall)?;
        point("store.ask-moved");
        let answered = self.settle_one(ANSWERS, ask, ANSWER_KIND, wall)?;
        point("store.answer-moved");
        let touched = [(asked, ASKS), (answered, ANSWERS), (asked || answered, SETTLED)];
        for (_, folder) in touched.iter().filter(|(moved, _)| *moved) {
            self.disk().sync_dir(folder).map_err(failed(folder, "made durable"))?;
        }
        Ok(())
    }

    /// Takes an ask back that nobody shall answer. An answer that came first goes with it.
    pub fn dismiss(&self, ask: &str, wall: i64) -> Result<(), SettleError> {
        let there = is_name(ask) && !self.disk().stat(&letter_path(ASKS, ask)).is_absent();
        if !there {
            return Err(SettleError::NoSuchAsk(ask.to_owned()));
        }
        self.settle(ask, wall)
    }

    fn settle_one(&self, folder: &str, ask: &str, kind: &str, wall: i64) -> Result<bool, StoreError> {
        let from = letter_path(folder, ask);
        if self.disk().stat(&from).is_absent() {
            return Ok(false);
        }
        self.disk().touch(&from, wall).map_err(failed(&from, "dated"))?;
        put_away(self, &from, ask, kind)?;
        Ok(true)
    }

    /// Removes what was settled more than 30 days before `wall`, and what interrupted writes of letters left behind.
    /// Returns the number of files.
    pub fn sweep_mail(&self, wall: i64) -> Result<usize, SettleError> {
        let mut swept = 0;
        for path in self.aged_mail(wall)? {
            self.disk().remove(&path).map_err(failed(&path, "removed"))?;
            swept += 1;
        }
        for folder in [ASKS, ANSWERS] {
            if let Stored::Value(_) = self.disk().list(folder) {
                let _held = lock(self, folder)?;
                swept += sweep_temps(self.disk(), folder)?;
            }
        }
        Ok(swept)
    }

    fn aged_mail(&self, wall: i64) -> Result<Vec<String>, StoreError> {
        let listed =
            self.disk().list(SETTLED).into_io().map_err(failed(SETTLED, "listed"))?.unwrap_or_default();
        let paths = listed.iter().filter_map(|listed| Some(join(SETTLED, listed.name.to_str()?)));
        let aged = |path: &String| match self.disk().stat(path) {
            Stored::Value(meta) => {
                meta.kind != Kind::Dir && wall.saturating_sub(meta.modified_ms()) > MAIL_KEPT_MS
            }
            Stored::Absent | Stored::Unreadable(_) | Stored::Corrupt(_) => false,
        };
        Ok(paths.filter(aged).collect())
    }
}

fn letter_path(folder: &str, ask: &str) -> String {
    format!("{folder}/{ask}.json")
}

/// Moves a letter to a free name in `mail.d/`: an older looop used the same ask id again and again.
pub(super) fn put_away(reader: &Reader, from: &str, ask: &str, kind: &str) -> Result<(), StoreError> {
    let plain = format!("{SETTLED}/{ask}.{kind}.json");
    let numbered = (2..=MOST_NAMESAKES).map(|n| format!("{SETTLED}/{ask}.{kind}.{n}.json"));
    for to in std::iter::once(plain.clone()).chain(numbered) {
        match reader.disk().rename_new(from, &to).map_err(failed(from, "settled")) {
            Err(error) if is_taken(&error) => {}
            moved => return moved,
        }
    }
    // So many letters of one name are no history that anybody reads.
    reader.disk().rename(from, &plain).map_err(failed(from, "settled"))
}
