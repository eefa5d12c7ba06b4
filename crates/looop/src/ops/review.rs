//! The work of workers that waits for a person: what there is, and what is done with it.

use std::path::PathBuf;

use looop_core::engine::io::Reply;
use looop_core::ledger::state::{Ledger, WorkerRecord};
use looop_core::model::moves::Move;
use looop_core::model::outcome::Outcome;
use looop_core::model::work::{Proof, Settle, Work};
use looop_core::world::fleet::{Fleet, generation, worker_of};
use looop_store::Reader;
use serde::Serialize;

use super::letters::person_only;
use super::workers::whole;
use super::{Place, reaches_the_loop, submit};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::hands::works;
use crate::pulse::open::log_failure;

/// Work that is neither merged nor discarded.
#[derive(Debug, Serialize)]
pub(crate) struct Open {
    pub(crate) worker: String,
    pub(crate) session: String,
    pub(crate) goal: Option<String>,
    /// Whether it is done and waits for a person.
    pub(crate) waits: bool,
    pub(crate) repo: Option<PathBuf>,
    pub(crate) branch: Option<String>,
    pub(crate) commits: u64,
    pub(crate) files: u64,
    /// Why it is not known what was left, if it is not.
    pub(crate) problem: Option<String>,
    /// `pass`, `fail` or `unchanged`; nothing where it was not tried.
    pub(crate) verify: Option<&'static str>,
    /// The command that proves it.
    pub(crate) check: Option<String>,
    /// How that command ended, and its last line.
    pub(crate) proof: Option<String>,
    pub(crate) pr: Option<String>,
    pub(crate) cost_usd: f64,
    pub(crate) ended: String,
    pub(crate) ended_ago_s: Option<u64>,
}

/// The same with all that is to be looked at.
#[derive(Debug, Serialize)]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub(crate) open: Open,
    /// The branch that is checked out in the repository.
    pub(crate) onto: String,
    /// Newest first: name and subject.
    pub(crate) log: Vec<(String, String)>,
    pub(crate) stat: String,
    pub(crate) diff: String,
    /// Files in the copy that are not committed.
    pub(crate) uncommitted: Vec<String>,
    /// The end of what the proof printed.
    pub(crate) proof_tail: String,
    /// The worker's own copy.
    pub(crate) copy: PathBuf,
    pub(crate) transcript: PathBuf,
}

struct Seen {
    reader: Reader,
    ledger: Ledger,
    fleet: Fleet,
}

fn see(place: &Place) -> Result<Seen> {
    reaches_the_loop(place)?;
    let reader = place.reader()?;
    let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
    let fleet = whole(&reader)?;
    Ok(Seen { reader, ledger, fleet })
}

impl Seen {
    /// The sessions whose work is neither merged nor discarded, the longest ended first.
    fn sessions(&self) -> Vec<(&String, &WorkerRecord)> {
        let open = |session: &str, record: &WorkerRecord| {
            !self.fleet.lives(session) && (record.is_unseen() || record.unsettled().is_some())
        };
        let mut open: Vec<_> =
            self.ledger.workers.iter().filter(|(session, record)| open(session, record)).collect();
        open.sort_by_key(|(_, record)| (record.at.wall, record.at.up));
        open
    }

    /// The session that a text means: `<id>~<n>` is that one, `<id>` the newest of the worker whose work is open.
    fn find(&self, text: &str) -> Result<(&String, &WorkerRecord)> {
        let named = |session: &str| session == text || worker_of(session) == text;
        let newest = self.sessions().into_iter().filter(|(session, _)| named(session));
        newest.max_by_key(|(session, _)| generation(session)).ok_or_else(|| self.none(text))
    }

    /// Why there is nothing to be looked at.
    fn none(&self, text: &str) -> Failure {
        let named = |session: &&String| *session == text || worker_of(session) == text;
        let known = self.ledger.workers.keys().filter(named).max_by_key(|session| generation(session));
        let Some(session) = known else {
            return Failure::new(format!("nothing is known of a worker \"{text}\""))
                .hint("looop review lists what waits, looop worker list the workers");
        };
        let record = &self.ledger.workers[session];
        let why = match &record.settled {
            _ if self.fleet.lives(session) => "it still runs".to_owned(),
            Some(settled) => format!("its work was {} already", settled.how.done()),
            None if record.repo.is_none() => "it has no copy of a repository".to_owned(),
            None => "it changed nothing".to_owned(),
        };
        Failure::new(format!("there is no work of {session} to review: {why}"))
            .hint(format!("looop log {session} shows what it did"))
    }

    fn open(&self, place: &Place, session: &str, record: &WorkerRecord) -> Result<Open> {
        let at = works::whereabouts(&self.reader, session).map_err(Failure::new)?;
        let work = match &record.work {
            Some(work) => work.clone(),
            None => not_seen(place, &self.reader, session)?,
        };
        let ended = self.fleet.workers.get(session);
        let ago = |ended: i64| u64::try_from(clock::now().wall.saturating_sub(ended) / 1000).unwrap_or(0);
        Ok(Open {
            worker: worker_of(session).to_owned(),
            session: session.to_owned(),
            goal: record.goal.clone(),
            waits: record.waits_for_review(),
            branch: at
                .as_ref()
                .map(|at| at.branch.clone())
                .or(Some(work.branch))
                .filter(|name| !name.is_empty()),
            repo: at.as_ref().map(|at| at.repo.clone()),
            pr: at.and_then(|at| at.pr),
            commits: work.commits,
            files: work.files,
            problem: work.problem,
            verify: record.verify_word(),
            check: record.verify.clone(),
            proof: record.proof.as_ref().map(|proof| proof.text.clone()),
            cost_usd: record.account.used().usd.dollars(),
            ended: ended.map_or_else(|| "ended".to_owned(), |worker| worker.state.text()),
            ended_ago_s: ended.and_then(|worker| worker.ended).map(ago),
        })
    }
}

/// What a worker left that no beat has looked at yet.
fn not_seen(place: &Place, reader: &Reader, session: &str) -> Result<Work> {
    let shown = works::show(reader, &place.config()?.config, session);
    Ok(match shown {
        Ok(shown) => {
            let commits = u64::try_from(shown.log.len()).unwrap_or(u64::MAX);
            Work { commits, files: shown.files, ..Work::default() }
        }
        Err(problem) => Work { problem: Some(problem), ..Work::default() },
    })
}

/// All work that is neither merged nor discarded.
pub(crate) fn list(place: &Place) -> Result<Vec<Open>> {
    let seen = see(place)?;
    seen.sessions().into_iter().map(|(session, record)| seen.open(place, session, record)).collect()
}

/// The work of one worker.
pub(crate) fn show(place: &Place, text: &str) -> Result<Whole> {
    let seen = see(place)?;
    let (session, record) = seen.find(text)?;
    let open = seen.open(place, session, record)?;
    let shown = works::show(&seen.reader, &place.config()?.config, session).map_err(Failure::new)?;
    Ok(Whole {
        open,
        onto: shown.onto,
        log: shown.log,
        stat: shown.stat,
        diff: shown.diff,
        uncommitted: shown.uncommitted,
        proof_tail: record.proof.as_ref().map(|Proof { tail, .. }| tail.clone()).unwrap_or_default(),
        copy: seen.reader.path("work").join(session),
        transcript: seen.reader.path("sessions").join(session),
    })
}

/// What was done with the work of a worker.
#[derive(Debug, Serialize)]
pub(crate) struct Done {
    pub(crate) session: String,
    pub(crate) text: String,
    /// Earlier work for the same goal that was removed with it, since all of it is in what was merged.
    pub(crate) removed: Vec<String>,
    /// Earlier work for the same goal that is still there.
    pub(crate) remains: Vec<Remains>,
}

/// Earlier work that a merge did not bring in.
#[derive(Debug, Serialize)]
pub(crate) struct Remains {
    pub(crate) session: String,
    pub(crate) branch: String,
}

/// Settles the work of a worker.
pub(crate) fn settle(place: &Place, text: &str, how: Settle, because: Option<String>) -> Result<Done> {
    let seen = see(place)?;
    person_only(place)?;
    let session = seen.find(text)?.0.clone();
    let text = settled(place, &session, how, because)?;
    let mut done = Done { session, text, removed: Vec::new(), remains: Vec::new() };
    if how == Settle::Merge {
        seen.tidy_up(place, &mut done)?;
    }
    Ok(done)
}

/// Has the loop settle the work of a session; what was done, in words.
fn settled(place: &Place, session: &str, how: Settle, because: Option<String>) -> Result<String> {
    let action = Move::SettleWork { session: session.to_owned(), how, because };
    let Reply::Made { outcome, .. } = submit::make(place, action)? else {
        return Err(Failure::new("the loop gave an answer of another kind"));
    };
    match outcome {
        Outcome::Done { note, .. } => Ok(note.unwrap_or_default()),
        Outcome::Failed { reason, .. } => Err(Failure::new(reason)),
        Outcome::Interrupted { reason } => Err(Failure::new(reason).hint(format!(
            "looop review {session} shows how it stands; the same command can be given again"
        ))),
    }
}

impl Seen {
    /// Removes earlier work for the same goal that the merge has brought in, and finds out which it has not.
    fn tidy_up(&self, place: &Place, done: &mut Done) -> Result<()> {
        let Some(merged) = self.ledger.workers.get(&done.session) else { return Ok(()) };
        let is_older = |record: &WorkerRecord| {
            let of_goal = record.goal.is_some() && record.goal == merged.goal;
            of_goal && (record.at.wall, record.at.up) < (merged.at.wall, merged.at.up)
        };
        for (session, _) in self.sessions().into_iter().filter(|(_, record)| is_older(record)) {
            let shown = works::show(&self.reader, &place.config()?.config, session);
            let is_contained = shown.is_ok_and(|shown| shown.log.is_empty() && shown.uncommitted.is_empty());
            if is_contained && settled(place, session, Settle::Merge, None).is_ok() {
                done.removed.push(session.clone());
                continue;
            }
            let at = works::whereabouts(&self.reader, session).map_err(Failure::new)?;
            let branch = at.map(|at| at.branch).unwrap_or_default();
            done.remains.push(Remains { session: session.clone(), branch });
        }
        Ok(())
    }
}
