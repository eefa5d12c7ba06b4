//! Tells: what a person says to a session that runs, heard once.

use looop_core::model::letter::Tell;
use looop_core::world::fleet::{generation, worker_of};

use super::folder::{FolderBusy, PATIENTLY, lock};
use super::forms;
use super::letters::TELLS;
use super::names::{is_session, number, prefix};
use super::settle::{SettleError, letter_path, put_away};
use crate::dir::Reader;
use crate::disk::write_new;
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// Longest message, in bytes.
pub const LONGEST_TELL: usize = 64 << 10;
/// Most messages that wait for one session.
pub const MOST_TELLS: usize = 1000;
const TELL_KIND: &str = "tell";

/// What was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The messages, oldest first.
    pub tells: Vec<Tell>,
    /// What could not be read or taken; each names its file.
    pub problems: Vec<String>,
}

/// Why nothing was told.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// A tell is for one session.
    #[error("\"{}\" is not a worker's session", looop_core::model::name::shown(.0))]
    NotASession(String),
    /// It is too long.
    #[error("the message has {0} bytes, at most {LONGEST_TELL}")]
    TooLong(usize),
    /// Too many wait already.
    #[error("{MOST_TELLS} messages wait for {0} already")]
    TooMany(String),
    /// The folder is in use.
    #[error(transparent)]
    Busy(#[from] FolderBusy),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl Reader {
    /// Leaves a message for one session. A later one of the same worker does not get it.
    pub fn post_tell(&self, session: &str, text: &str, wall: i64) -> Result<Tell, TellError> {
        if !is_session(session) || generation(session) == 0 {
            return Err(TellError::NotASession(session.to_owned()));
        }
        if text.len() > LONGEST_TELL {
            return Err(TellError::TooLong(text.len()));
        }
        let _held = lock(self, TELLS, PATIENTLY)?;
        if self.tells_of(session, &mut Vec::new()).len() >= MOST_TELLS {
            return Err(TellError::TooMany(session.to_owned()));
        }
        let prefix = prefix(session);
        let id = format!("{prefix}{}", self.next_number(&prefix, &[TELLS])?);
        let tell = Tell { v: forms::VERSION, id, to: session.to_owned(), text: text.to_owned(), sent: wall };
        let path = letter_path(TELLS, &tell.id);
        let bytes =
            serde_json::to_vec(&tell).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        write_new(self.disk(), &path, &bytes, 0o600)?;
        Ok(tell)
    }

    /// Takes the messages that wait for a session, oldest first. Whoever moves a letter away has it, so that of two who
    /// take at once each message goes to one. What was taken before something failed is given, too.
    pub fn take_tells(&self, session: &str) -> Taken {
        let mut taken = Taken::default();
        let waiting = self.tells_of(session, &mut taken.problems);
        if waiting.is_empty() {
            return taken;
        }
        taken.problems.extend(self.make_settled().err().map(String::from));
        for tell in waiting {
            let from = letter_path(TELLS, &tell.id);
            match self.or_removed(put_away(self, &from, &tell.id, TELL_KIND), &from) {
                Ok(true) => {
                    point("store.tell-taken");
                    taken.tells.push(tell);
                }
                Ok(false) => {}
                Err(error) => taken.problems.push(error.into()),
            }
        }
        taken
    }

    /// The messages that wait for a session, oldest first. A broken one is for nobody that is known.
    fn tells_of(&self, session: &str, problems: &mut Vec<String>) -> Vec<Tell> {
        let prefix = prefix(worker_of(session));
        let listed = match self.disk().list(TELLS).known(TELLS) {
            Ok(listed) => listed.unwrap_or_default(),
            Err(error) => {
                problems.push(error);
                return Vec::new();
            }
        };
        let names = listed.iter().filter_map(|listed| listed.name.to_str());
        let mut stems: Vec<(u64, &str)> =
            names.filter_map(|name| Some((number(&prefix, name)?, name.strip_suffix(".json")?))).collect();
        stems.sort_unstable();
        let mut tells = Vec::new();
        for (_, stem) in stems {
            match self.letter(TELLS, stem, forms::tell) {
                Ok(found) => tells.extend(found.map(|found| found.letter).filter(|tell| tell.to == session)),
                Err(error) => problems.push(error),
            }
        }
        tells
    }
}

impl Writer {
    /// Puts away what was told to sessions that do not live, and says what it was: nobody will hear it.
    pub fn reap_tells(&self, alive: &dyn Fn(&str) -> bool, wall: i64) -> Result<Vec<Tell>, SettleError> {
        let mut reaped = Vec::new();
        for (stem, found) in self.all((TELLS, None), forms::tell, &mut Vec::new()) {
            if found.older || alive(&found.letter.to) {
                continue;
            }
            self.make_settled()?;
            if self.settle_one(TELLS, &stem, TELL_KIND, wall)? {
                reaped.push(found.letter);
            }
        }
        Ok(reaped)
    }
}
