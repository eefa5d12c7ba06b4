//! Settling letters: they move to `mail.d/` and age out there.

use looop_core::model::name::is_name;

use super::folder::{BRIEFLY, FolderBusy, PATIENTLY, lock};
use super::letters::{ANSWERS, ASKS, CLAIMS, SPEND, TELLS};
use crate::dir::Reader;
use crate::disk::{Kind, Stored, durable_write, has_temps, is_taken, join, sweep_temps};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// How long settled letters are kept, in milliseconds.
pub const MAIL_KEPT_MS: i64 = 30 * 24 * 3600 * 1000;
/// Most settled letters that are kept; beyond that the oldest go.
pub const MAIL_KEPT: usize = 10_000;
/// Most settled letters of one name.
const MOST_NAMESAKES: u32 = 1000;
pub(super) const SETTLED: &str = "mail.d";
pub(super) const ASK_KIND: &str = "ask";
pub(super) const ANSWER_KIND: &str = "answer";
/// An ask whose answer was typed into the worker, while its own process did not wait for it.
pub(super) const TYPED_KIND: &str = "typed";

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
        check(ask)?;
        let _held = lock(self, ANSWERS, BRIEFLY)?;
        let (asked, answered) = self.move_pair(ask, wall)?;
        let touched = [(asked, ASKS), (answered, ANSWERS), (asked || answered, SETTLED)];
        for (_, folder) in touched.iter().filter(|(moved, _)| *moved) {
            self.disk().sync_dir(folder).map_err(failed(folder, "made durable"))?;
        }
        Ok(())
    }

    /// Takes an ask back that nobody shall answer. An answer that came first goes with it.
    pub fn dismiss(&self, ask: &str, wall: i64) -> Result<(), SettleError> {
        if !self.is_asked(ask) {
            return Err(SettleError::NoSuchAsk(ask.to_owned()));
        }
        self.settle(ask, wall)
    }

    /// Removes what was settled more than 30 days before `wall` or is beyond the number that is kept, and what
    /// interrupted writes of letters left behind. Returns the number of files.
    pub fn sweep_mail(&self, wall: i64) -> Result<usize, SettleError> {
        let mut swept = 0;
        for path in self.aged_mail(wall)? {
            self.disk().remove(&path).map_err(failed(&path, "removed"))?;
            swept += 1;
        }
        for folder in [ASKS, ANSWERS, TELLS, CLAIMS, SPEND] {
            if has_temps(self.disk(), folder) {
                let _held = lock(self, folder, BRIEFLY)?;
                let _own = self.letter_cache().own();
                swept += sweep_temps(self.disk(), folder)?;
            }
        }
        Ok(swept)
    }

    fn aged_mail(&self, wall: i64) -> Result<Vec<String>, StoreError> {
        let listed =
            self.disk().list(SETTLED).into_io().map_err(failed(SETTLED, "listed"))?.unwrap_or_default();
        let paths = listed.iter().filter_map(|listed| Some(join(SETTLED, listed.name.to_str()?)));
        let dated = |path: String| match self.disk().stat(&path) {
            Stored::Value(meta) if meta.kind != Kind::Dir => Some((meta.modified_ms(), path)),
            Stored::Value(_) | Stored::Absent | Stored::Unreadable(_) | Stored::Corrupt(_) => None,
        };
        let mut mail: Vec<(i64, String)> = paths.filter_map(dated).collect();
        mail.sort_unstable();
        let beyond = mail.len().saturating_sub(MAIL_KEPT);
        let aged = |n: usize, modified: i64| n < beyond || wall.saturating_sub(modified) > MAIL_KEPT_MS;
        let mail = mail.into_iter().enumerate().filter(|(n, (modified, _))| aged(*n, *modified));
        Ok(mail.map(|(_, (_, path))| path).collect())
    }
}

impl Reader {
    /// Takes an ask and its answer out of the way whose asker has heard the answer.
    ///
    /// It needs no lock, since an answer that is there stays the answer, and whoever asks for one looks for it before
    /// the ask; so the asker does not wait for the one who answers. It need not be durable: if it is undone by a loss of
    /// power, the answer is delivered a second time, and never lost.
    pub fn collect(&self, ask: &str, wall: i64) -> Result<(), SettleError> {
        check(ask)?;
        match self.move_pair(ask, wall) {
            Err(error) if is_barred(&error) => Ok(self.mark_fetched(ask)?),
            moved => Ok(moved.map(drop)?),
        }
    }

    /// Takes an ask and its answer out of the way whose answer was typed into the worker. If the worker asks the same again
    /// soon, because it has not seen that, it gets the answer once more.
    pub fn typed(&self, ask: &str, wall: i64) -> Result<(), SettleError> {
        check(ask)?;
        Ok(self.move_as(ask, TYPED_KIND, wall).map(drop)?)
    }

    /// Says on the ask itself that its asker is done with it, where a confined asker cannot put it away: the loop does.
    fn mark_fetched(&self, ask: &str) -> Result<(), SettleError> {
        let _held = lock(self, ASKS, PATIENTLY)?;
        let Ok(Some(found)) = self.letter(ASKS, ask, super::forms::ask) else {
            return Err(SettleError::NoSuchAsk(ask.to_owned()));
        };
        let letter = looop_core::model::letter::Ask { fetched: true, ..found.letter };
        let path = letter_path(ASKS, ask);
        let bytes =
            serde_json::to_vec(&letter).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        Ok(durable_write(self.disk(), &path, &bytes, 0o600)?)
    }

    /// Takes an ask out of the way that the loop has not seen: there is nothing to be logged. An answer that came first
    /// goes with it.
    pub fn withdraw(&self, ask: &str, wall: i64) -> Result<(), SettleError> {
        if !self.is_asked(ask) {
            return Err(SettleError::NoSuchAsk(ask.to_owned()));
        }
        let _held = lock(self, ANSWERS, PATIENTLY)?;
        Ok(self.move_pair(ask, wall).map(drop)?)
    }

    /// Takes back the flags of a session that nobody has attached to, and says which they were.
    pub fn unflag(&self, session: &str, wall: i64) -> Result<Vec<String>, SettleError> {
        let flags: Vec<String> = self.flags(session)?.into_iter().map(|flag| flag.id).collect();
        if flags.is_empty() {
            return Ok(flags);
        }
        match lock(self, ANSWERS, PATIENTLY) {
            Ok(_held) => {
                for flag in &flags {
                    self.move_pair(flag, wall)?;
                }
            }
            Err(FolderBusy::Unusable { source, .. }) if is_barred_by(&source) => {
                for flag in &flags {
                    self.mark_fetched(flag)?;
                }
            }
            Err(busy) => return Err(busy.into()),
        }
        Ok(flags)
    }

    /// Moves an ask and its answer; says which of the two were there.
    fn move_pair(&self, ask: &str, wall: i64) -> Result<(bool, bool), StoreError> {
        self.move_as(ask, ASK_KIND, wall)
    }

    fn move_as(&self, ask: &str, kind: &str, wall: i64) -> Result<(bool, bool), StoreError> {
        self.make_settled()?;
        // The ask goes first: an answer without an ask is known to be done with, an ask without an answer is not.
        let asked = self.settle_one(ASKS, ask, kind, wall)?;
        point("store.ask-moved");
        let answered = self.settle_one(ANSWERS, ask, ANSWER_KIND, wall)?;
        point("store.answer-moved");
        Ok((asked, answered))
    }

    pub(super) fn settle_one(
        &self,
        folder: &str,
        stem: &str,
        kind: &str,
        wall: i64,
    ) -> Result<bool, StoreError> {
        let from = letter_path(folder, stem);
        if self.disk().stat(&from).is_absent() {
            return Ok(false);
        }
        match self.disk().touch(&from, wall).map_err(failed(&from, "dated")) {
            Err(error) if is_gone(&error) => Ok(false),
            dated => dated.and_then(|()| put_away(self, &from, stem, kind)),
        }
    }

    /// Removes a letter that could not be moved because a confined caller cannot reach `mail.d/`. Says whether it was us
    /// who took it.
    pub(super) fn or_removed(&self, moved: Result<bool, StoreError>, from: &str) -> Result<bool, StoreError> {
        match moved {
            Err(error) if is_barred(&error) => {
                match self.disk().remove(from).map_err(failed(from, "removed")) {
                    Err(error) if is_gone(&error) => Ok(false),
                    removed => removed.map(|()| true),
                }
            }
            taken => taken,
        }
    }

    pub(super) fn make_settled(&self) -> Result<(), StoreError> {
        if self.disk().stat(SETTLED).is_absent() {
            self.disk().make_dir(SETTLED).map_err(failed(SETTLED, "made"))?;
        }
        Ok(())
    }
}

fn check(ask: &str) -> Result<(), SettleError> {
    if is_name(ask) { Ok(()) } else { Err(SettleError::NoSuchAsk(ask.to_owned())) }
}

pub(super) fn letter_path(folder: &str, stem: &str) -> String {
    format!("{folder}/{stem}.json")
}

/// Moves a letter to a free name in `mail.d/`: an older looop used the same ask id again and again. Says whether it was
/// us who moved it.
pub(super) fn put_away(reader: &Reader, from: &str, stem: &str, kind: &str) -> Result<bool, StoreError> {
    let plain = format!("{SETTLED}/{stem}.{kind}.json");
    let numbered = (2..=MOST_NAMESAKES).map(|n| format!("{SETTLED}/{stem}.{kind}.{n}.json"));
    for to in std::iter::once(plain.clone()).chain(numbered) {
        match reader.disk().rename_new(from, &to).map_err(failed(from, "settled")) {
            Err(error) if is_taken(&error) => {}
            Err(error) if is_gone(&error) => return Ok(false),
            moved => return moved.map(|()| true),
        }
    }
    // So many letters of one name are no history that anybody reads.
    reader.disk().rename(from, &plain).map_err(failed(from, "settled"))?;
    Ok(true)
}

/// Whether an error says that we may not, as in a confinement that shows `mail.d/` and lets nobody write there.
fn is_barred(error: &StoreError) -> bool {
    is_barred_by(&error.source)
}

fn is_barred_by(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), CrossesDevices | PermissionDenied | ReadOnlyFilesystem)
}

/// Whether an error says that the letter was taken before us.
fn is_gone(error: &StoreError) -> bool {
    error.source.kind() == std::io::ErrorKind::NotFound
}
