//! The person's side of letters: what waits, answers, and what is told to a worker.

use looop_core::approval::{PULSE, is_forged};
use looop_core::engine::io::Request;
use looop_core::ledger::state::{AskRecord, Ledger};
use looop_core::model::letter::{Ask, AskKind, Tell, question_digest};
use looop_core::model::moves::one_line;
use looop_core::world::fleet::worker_of;
use looop_core::world::observation::Letters;
use looop_store::Reader;
use looop_store::mail::PostError;
use serde::Serialize;

use super::alive::{is_alive, live_session};
use super::approvals::{self, Waiting};
use super::submit;
use super::worker_letters::{checked, own_session, settle_failure, tell_failure};
use super::{Place, see};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::hands::awaited;
use crate::pulse::guest::Guest;
use crate::pulse::open::log_failure;
use crate::setup::limits;

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
    /// Why the letter of a proposal holds no move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_move: Option<String>,
    /// Whether the loop has taken it in.
    pub(crate) taken_in: bool,
    pub(crate) age_s: u64,
}

/// Asks that nobody has answered, oldest first.
pub(crate) fn pending(place: &Place) -> Result<Vec<Pending>> {
    let reader = place.reader()?;
    let mut letters = reader.letters();
    let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
    for (_, error) in std::mem::take(&mut letters.broken) {
        crate::cli::warn(&error);
    }
    set_right(&ledger, &mut letters);
    let limits = limits(&place.config()?.config);
    let mut moves = approvals::waiting(&reader, &ledger, &letters, &limits);
    let wall = clock::now().wall;
    // Consent is never given by a letter, so one does not settle it.
    let open = |ask: &Ask| ask.kind == AskKind::Proposal || !letters.answers.contains_key(&ask.id);
    let mut waiting: Vec<_> = letters.asks.into_values().filter(open).collect();
    waiting.sort_by_key(|ask| ask.asked);
    let view = |ask: Ask| {
        let (waiting, no_move) = match moves.remove(&ask.id) {
            Some(Ok(waiting)) => (Some(waiting), None),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, None),
        };
        Pending {
            prompt: looop_core::approval::words(&ask),
            taken_in: ledger.asks.contains_key(&ask.id),
            waiting,
            no_move,
            id: ask.id,
            from: ask.from,
            kind: ask.kind,
            options: ask.options,
            reference: ask.reference,
            goal: ask.goal,
            proposal: ask.proposal,
            age_s: u64::try_from(wall.saturating_sub(ask.asked) / 1000).unwrap_or(0),
        }
    };
    Ok(waiting.into_iter().map(view).collect())
}

/// The ask with this id that waits.
pub(crate) fn one(place: &Place, id: &str) -> Result<Pending> {
    let found = pending(place)?.into_iter().find(|ask| ask.id == id);
    found.ok_or_else(|| answer_failure(&PostError::NoSuchAsk(looop_core::model::name::shown(id))))
}

/// Puts the letters right that are in the loop's name: what the log does not know is left out, and a question is as the
/// log has it, whatever its letter says by now.
fn set_right(ledger: &Ledger, letters: &mut Letters) {
    let own = ledger.asks.iter().filter(|(_, record)| record.from == PULSE && record.kind.is_question());
    for (id, record) in own {
        let Some(letter) = letters.asks.get_mut(id) else { continue };
        if is_forged(ledger, id, letter) || is_changed(record, letter) {
            crate::cli::warn(&format!("asks/{id}.json was changed; this is what the loop asked"));
            *letter = Ask {
                v: 1,
                id: id.clone(),
                from: record.from.clone(),
                kind: record.kind,
                prompt: record.prompt.clone(),
                options: Vec::new(),
                reference: None,
                goal: record.goal.clone(),
                proposal: None,
                asked: record.asked,
                closed: false,
                fetched: false,
                limit: None,
            };
        }
    }
    letters.asks.retain(|id, ask| {
        let kept = !is_forged(ledger, id, ask);
        if !kept {
            crate::cli::warn(&format!("asks/{id}.json says that the loop asks it, which is not so"));
        }
        kept
    });
}

/// Whether the letter of a question of the loop's own shows something else than was asked: another text, or other answers
/// to choose from. Logs of earlier versions know the text only.
fn is_changed(record: &AskRecord, letter: &Ask) -> bool {
    match record.question {
        Some(asked) => question_digest(&letter.prompt, &letter.options) != asked,
        None => letter.prompt != record.prompt,
    }
}

/// What comes of an answer that was just posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The loop takes it in.
    Loop,
    /// This worker blocks on it, and goes on.
    GoesOn(String),
    /// It is typed into this worker, which runs and does not block on it.
    Typed(String),
    /// This worker has ended; its task begins anew with the answer.
    Anew(String),
}

/// What comes of an answer, and whether the loop runs that sees to it.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) after: After,
    pub(crate) pulse: bool,
}

/// Posts an answer. The first one wins.
pub(crate) fn answer((place, reader): (&Place, &Reader), ask: &str, text: &str) -> Result<Posted> {
    person_only(place)?;
    let from = reader.ask(ask).value().map(|ask| ask.from);
    if let Some(own) = own_session(place) {
        not_its_own(from.as_deref(), &own)?;
    }
    let from = from.filter(|from| from != PULSE);
    let blocks = awaited::is_awaited(reader, ask);
    let posted = reader.post_answer(ask, text.trim_end(), clock::now().wall);
    posted.map_err(|error| answer_failure(&error))?;
    let after = match from {
        None => After::Loop,
        Some(from) if blocks => After::GoesOn(worker_of(&from).to_owned()),
        Some(from) if is_alive(reader, &from) => After::Typed(worker_of(&from).to_owned()),
        Some(from) => After::Anew(worker_of(&from).to_owned()),
    };
    Ok(Posted { after, pulse: see::lock(reader) != see::Lock::Free })
}

/// Refuses what does not come from a person.
pub(super) fn person_only(place: &Place) -> Result<()> {
    match Guest::myself(&place.data).no_person() {
        Some(reason) => Err(Failure::new(reason)),
        None => Ok(()),
    }
}

/// A worker asks a person. Its own answer would be nobody's word.
fn not_its_own(from: Option<&str>, own: &str) -> Result<()> {
    match from.filter(|from| worker_of(from) == worker_of(own)) {
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
        PostError::NoOption { ask, options } => {
            failure.hint(format!("looop answer {ask} {}", options.first().map_or("…", String::as_str)))
        }
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
