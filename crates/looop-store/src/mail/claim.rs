//! Claims: what a session has taken for itself, as long as it lives.

use looop_core::model::letter::Claim;
use looop_core::model::name::is_name;
use looop_core::world::fleet::worker_of;

use super::folder::{BRIEFLY, FolderBusy, PATIENTLY, lock};
use super::forms::{self, Found};
use super::letters::CLAIMS;
use super::names::is_session;
use super::settle::{SettleError, letter_path};
use crate::dir::Reader;
use crate::disk::{Links, Stored, durable_write};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

/// Most claims of a profile.
pub const MOST_CLAIMS: usize = 10_000;
/// An older looop that died while it wrote a claim left an empty file. One that is older than this is no claim.
const DEBRIS_MS: i64 = 10_000;

/// What a lease is made with.
#[derive(Clone, Copy)]
pub struct Lease<'a> {
    /// Tells it from every other lease.
    pub nonce: &'a str,
    /// The present moment, in milliseconds since the epoch.
    pub wall: i64,
    /// Whether a session lives. What cannot be known counts as alive.
    pub alive: &'a dyn Fn(&str) -> bool,
}

/// How a claim was got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// Nobody had it.
    New,
    /// It was ours already.
    Mine,
    /// This session had it and is dead.
    TakenFrom(String),
}

/// How a claim was given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unclaimed {
    /// Nobody had it.
    Absent,
    /// This session had it: the one that gives it back, or one that is dead.
    From(String),
}

/// Why a claim was not got, or not given back.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It cannot be called that.
    #[error("\"{}\" cannot be the name of a claim", looop_core::model::name::shown(.0))]
    NotAName(String),
    /// Only a session can have it.
    #[error("\"{}\" is not a worker's session", looop_core::model::name::shown(.0))]
    NotASession(String),
    /// A session that lives has it.
    #[error("\"{name}\" is claimed by {session}")]
    Held {
        /// Which claim.
        name: String,
        /// Who has it.
        session: String,
    },
    /// It cannot be known who has it; the text names the file.
    #[error("{0}")]
    Broken(String),
    /// There are too many.
    #[error("there are {MOST_CLAIMS} claims already")]
    TooMany,
    /// The folder is in use.
    #[error(transparent)]
    Busy(#[from] FolderBusy),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] StoreError),
}

impl Reader {
    /// Takes a claim for a session, unless a session that lives has it.
    pub fn claim(&self, name: &str, session: &str, lease: &Lease<'_>) -> Result<Claimed, ClaimError> {
        check(name, Some(session))?;
        let _held = lock(self, CLAIMS, PATIENTLY)?;
        let got = match self.holder(name, lease.wall)? {
            None if self.count_claims()? >= MOST_CLAIMS => return Err(ClaimError::TooMany),
            None => Claimed::New,
            Some(found) if found.letter.session == session => return Ok(Claimed::Mine),
            Some(found) if is_ours(&found, session) || !(lease.alive)(&found.letter.session) => {
                Claimed::TakenFrom(found.letter.session)
            }
            Some(found) => {
                return Err(ClaimError::Held { name: name.to_owned(), session: found.letter.session });
            }
        };
        self.write_claim(name, session, lease)?;
        Ok(got)
    }

    /// Gives a claim back, if it is this session's or its holder is dead.
    pub fn unclaim(
        &self,
        name: &str,
        session: Option<&str>,
        lease: &Lease<'_>,
    ) -> Result<Unclaimed, ClaimError> {
        check(name, session)?;
        let _held = lock(self, CLAIMS, PATIENTLY)?;
        let Some(found) = self.holder(name, lease.wall)? else { return Ok(Unclaimed::Absent) };
        let holder = found.letter.session.clone();
        let ours = session.is_some_and(|session| holder == session || is_ours(&found, session));
        if !ours && (lease.alive)(&holder) {
            return Err(ClaimError::Held { name: name.to_owned(), session: holder });
        }
        self.release(name, lease.wall)?;
        Ok(Unclaimed::From(holder))
    }

    /// Who has a claim. What makes no sense is somebody's for all we know.
    fn holder(&self, name: &str, wall: i64) -> Result<Option<Found<Claim>>, ClaimError> {
        let path = letter_path(CLAIMS, name);
        let found = self.stored(&path, name, forms::claim);
        if matches!(found, Stored::Corrupt(_)) && self.is_debris(&path, wall) {
            return Ok(None);
        }
        found.known(&path).map_err(ClaimError::Broken)
    }

    fn is_debris(&self, path: &str, wall: i64) -> bool {
        let read = self.disk().read(path, 0, Links::Refuse);
        read.value().is_some_and(|content| wall.saturating_sub(content.meta.modified_ms()) > DEBRIS_MS)
    }

    fn count_claims(&self) -> Result<usize, StoreError> {
        let listed = self.disk().list(CLAIMS).into_io().map_err(failed(CLAIMS, "listed"))?;
        Ok(listed.map_or(0, |listed| listed.len()))
    }

    fn write_claim(&self, name: &str, session: &str, lease: &Lease<'_>) -> Result<(), StoreError> {
        let claim = Claim {
            v: forms::VERSION,
            name: name.to_owned(),
            session: session.to_owned(),
            ts: lease.wall,
            nonce: lease.nonce.to_owned(),
        };
        let path = letter_path(CLAIMS, name);
        let bytes =
            serde_json::to_vec(&claim).map_err(std::io::Error::other).map_err(failed(&path, "written"))?;
        durable_write(self.disk(), &path, &bytes, 0o600)
    }

    /// Puts a claim away. Its name is soon used again, so the moment tells its copies in `mail.d/` apart.
    fn release(&self, name: &str, wall: i64) -> Result<(), StoreError> {
        self.make_settled()?;
        let moved = self.settle_one(CLAIMS, name, &format!("claim-{wall}"), wall);
        self.or_removed(moved, &letter_path(CLAIMS, name))?;
        point("store.unclaimed");
        self.disk().sync_dir(CLAIMS).map_err(failed(CLAIMS, "made durable"))
    }
}

impl Writer {
    /// Puts away the claims of sessions that do not live, and says which they were.
    ///
    /// Each one is looked at again under the folder's lock: a claim that was taken over meanwhile stays. Claims of older
    /// versions stay where they are until somebody wants them.
    pub fn reap_claims(&self, alive: &dyn Fn(&str) -> bool, wall: i64) -> Result<Vec<Claim>, SettleError> {
        let mut reaped = Vec::new();
        for (name, found) in self.all((CLAIMS, None), forms::claim, &mut Vec::new()) {
            if found.older || alive(&found.letter.session) {
                continue;
            }
            let _held = lock(self, CLAIMS, BRIEFLY)?;
            let again = self.letter(CLAIMS, &name, forms::claim).ok().flatten();
            if again.is_some_and(|again| again == found && !alive(&again.letter.session)) {
                self.release(&name, wall)?;
                reaped.push(found.letter);
            }
        }
        Ok(reaped)
    }
}

/// Whether a claim of an older version, which names a worker and no session, is that of this session's worker.
fn is_ours(found: &Found<Claim>, session: &str) -> bool {
    found.older && found.letter.session == worker_of(session)
}

fn check(name: &str, session: Option<&str>) -> Result<(), ClaimError> {
    if !is_name(name) {
        return Err(ClaimError::NotAName(name.to_owned()));
    }
    match session.filter(|session| !is_session(session)) {
        Some(session) => Err(ClaimError::NotASession(session.to_owned())),
        None => Ok(()),
    }
}
