//! The person's side of letters: what waits, answers, and what is told to a worker.

use looop_core::engine::io::Request;
use looop_core::model::letter::{Ask, AskKind, Tell};
use looop_core::model::moves::one_line;
use looop_core::world::fleet::worker_of;
use looop_core::world::observation::Letters;
use looop_store::Reader;
use looop_store::mail::PostError;
use serde::Serialize;

use super::Place;
use super::alive::{is_alive, live_session};
use super::approvals::{self, Waiting};
use super::submit;
use super::worker_letters::{checked, own_session, settle_failure, tell_failure};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::pulse::guest::Guest;
use crate::pulse::open::log_failure;

/// An ask that waits.
#[derive(Debug, Serialize)]
pub(crate) struct Pending {
    pub(crate) id: String,
    pub(crate) from: String,
    pub(crate) kind: AskKind,
    pub(crate) prompt: String,
    pub(crate) options: Vec<String>,
    #[serde(rename = "ref")]
    pub(crate) reference: Option<String>,
    pub(crate) goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proposal: Option<serde_json::Value>,
    /// The move as it waits in the log. What its letter says does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<Waiting>,
    pub(crate) age_s: u64,
}

/// Asks that nobody has answered, oldest first.
pub(crate) fn pending(place: &Place) -> Result<Vec<Pending>> {
    let reader = place.reader()?;
    let Letters { asks, answers, broken, .. } = reader.letters();
    let mut moves = approvals::waiting(&reader)?;
    for (_, error) in broken {
        crate::cli::warn(&error);
    }
    let wall = clock::now().wall;
    // Consent is never given by a letter, so one does not settle it.
    let open = |ask: &Ask| ask.kind == AskKind::Proposal || !answers.contains_key(&ask.id);
    let mut waiting: Vec<_> = asks.into_values().filter(open).collect();
    waiting.sort_by_key(|ask| ask.asked);
    let view = |ask: Ask| Pending {
        waiting: moves.remove(&ask.id),
        id: ask.id,
        from: ask.from,
        kind: ask.kind,
        prompt: ask.prompt,
        options: ask.options,
        reference: ask.reference,
        goal: ask.goal,
        proposal: ask.proposal,
        age_s: u64::try_from(wall.saturating_sub(ask.asked) / 1000).unwrap_or(0),
    };
    Ok(waiting.into_iter().map(view).collect())
}

/// Posts an answer. The first one wins.
pub(crate) fn answer(place: &Place, ask: &str, text: &str) -> Result<()> {
    let reader = place.reader()?;
    person_only(place)?;
    if let Some(own) = own_session(place) {
        not_its_own(&reader, ask, &own)?;
    }
    let posted = reader.post_answer(ask, text.trim_end(), clock::now().wall);
    posted.map(drop).map_err(|error| answer_failure(&error))
}

/// Refuses what does not come from a person.
fn person_only(place: &Place) -> Result<()> {
    match Guest::myself(&place.data).no_person() {
        Some(reason) => Err(Failure::new(reason)),
        None => Ok(()),
    }
}

/// A worker asks a person. Its own answer would be nobody's word.
fn not_its_own(reader: &Reader, ask: &str, own: &str) -> Result<()> {
    let asks = reader.letters().asks;
    match asks.get(ask).filter(|ask| worker_of(&ask.from) == worker_of(own)) {
        Some(_) => Err(Failure::new(format!("{own} asks that itself, and only a person can answer"))),
        None => Ok(()),
    }
}

fn answer_failure(error: &PostError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        PostError::NoSuchAsk(_) => failure.hint("looop asks lists what waits"),
        PostError::AlreadyAnswered { text, .. } => {
            Failure::new(format!("{error}: {}", one_line(text, 200))).hint("the first answer counts")
        }
        PostError::Flag { from, .. } => failure.hint(format!("looop attach {}", worker_of(from))),
        PostError::Proposal(ask) => failure.hint(format!("looop answer {ask} yes, no, or always")),
        PostError::BrokenAsk(_) | PostError::Busy(_) => failure,
        PostError::Write(error) => Failure::new(error.text()),
    }
}

/// Drops an ask without an answer. One that the loop has not seen yet, or that makes no sense, is simply put away.
pub(crate) fn dismiss(place: &Place, ask: &str) -> Result<()> {
    let reader = place.reader()?;
    person_only(place)?;
    let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
    if ledger.asks.contains_key(ask) || !reader.is_asked(ask) {
        return submit::done(place, Request::Dismiss { ask: ask.to_owned() });
    }
    reader.withdraw(ask, clock::now().wall).map_err(|error| settle_failure(&error))
}

/// Tells the live session of a worker something.
pub(crate) fn tell(place: &Place, worker: &str, text: &str) -> Result<Tell> {
    let reader = place.reader()?;
    person_only(place)?;
    let worker = checked(worker)?;
    let session = if worker.contains('~') {
        Some(worker.to_owned()).filter(|session| is_alive(&reader, session))
    } else {
        live_session(&reader, worker)?
    };
    let nobody = || {
        Failure::new(format!("worker \"{worker}\" is not running, so nobody would hear it"))
            .hint("looop worker list shows who is")
    };
    let session = session.ok_or_else(nobody)?;
    reader.post_tell(&session, text.trim_end(), clock::now().wall).map_err(|error| tell_failure(&error))
}
