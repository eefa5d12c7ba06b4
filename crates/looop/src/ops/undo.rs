//! Taking back moves of files.

use looop_core::admit::undo::plan;
use looop_core::engine::io::{Reply, Request};
use looop_core::ledger::undo::Undoable;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{Act, BeatId};
use looop_core::time::{Now, machine_text, minute_text};
use looop_core::world::observation::Docs;
use looop_store::{Reader, kept_path};
use serde::Serialize;
use similar::TextDiff;

use super::see::see;
use super::{Place, submit};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::pulse::open::log_failure;

/// A move that can be taken back, in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) beat: BeatId,
    pub(crate) at: String,
    pub(crate) what: String,
    pub(crate) file: String,
    pub(crate) by: String,
    /// Whether what the file was before is still there.
    pub(crate) kept: bool,
    #[serde(skip)]
    pub(crate) local: String,
}

/// What taking back the last move would change.
#[derive(Debug, Serialize)]
pub(crate) struct Preview {
    pub(crate) v: u32,
    #[serde(flatten)]
    pub(crate) row: Row,
    pub(crate) diff: String,
}

/// What was taken back.
#[derive(Debug, Serialize)]
pub(crate) struct Undone {
    pub(crate) v: u32,
    pub(crate) beat: BeatId,
    pub(crate) what: String,
    pub(crate) file: String,
    /// What became of the file, in words.
    pub(crate) now: String,
    /// How to get back what was taken back, in words.
    pub(crate) again: String,
}

/// The moves that can be taken back, newest first: the order in which that happens.
pub(crate) fn list(place: &Place) -> Result<Vec<Row>> {
    let reader = place.reader()?;
    let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
    let now = clock::now();
    Ok(ledger.undo.iter().rev().map(|undoable| row(&reader, undoable, &now)).collect())
}

fn row(reader: &Reader, undoable: &Undoable, now: &Now) -> Row {
    let kept = match (&undoable.act, undoable.before()) {
        (Act::File { .. }, Some(before)) => reader.kept_body(before).is_ok(),
        _ => true,
    };
    Row {
        beat: undoable.beat,
        at: machine_text(undoable.at.wall),
        what: undoable.summary.clone(),
        file: undoable.path().to_owned(),
        by: undoable.author.word().to_owned(),
        kept,
        local: minute_text(undoable.at.wall, &now.zone),
    }
}

/// What taking back a move would change, the last one where none is named. It is refused for the reasons for which the
/// undo itself is.
pub(crate) fn preview(place: &Place, beat: Option<BeatId>) -> Result<Preview> {
    let seen = see(place)?;
    let last = seen.ledger.undoable(beat);
    let kept = seen.reader.kept_bodies(last.and_then(Undoable::before));
    let docs = Docs { kept, ..seen.observation.docs };
    let planned = plan(&seen.ledger, &docs, beat, &seen.now).map_err(refused)?;
    let last = last.ok_or_else(|| refused("there is no move that could be taken back".to_owned()))?;
    let diff = diff(&seen.reader, &planned.act)?;
    Ok(Preview { v: 1, row: row(&seen.reader, last, &seen.now), diff })
}

fn diff(reader: &Reader, act: &Act) -> Result<String> {
    let (path, after) = match act {
        Act::File { path, after, .. } => (path, *after),
        Act::Archive { from, to, .. } => return Ok(format!("{from} becomes {to}")),
        Act::Nothing
        | Act::Hosted { .. }
        | Act::Worker { .. }
        | Act::Typed { .. }
        | Act::Ended { .. }
        | Act::Again { .. } => return Ok(String::new()),
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let now = reader.read(path).known(path).map_err(Failure::new)?;
    let then = after.map(|digest| reader.kept_body(digest)).transpose().map_err(Failure::new)?;
    let name = |there: bool| if there { path.as_str() } else { "/dev/null" };
    let names = (name(now.is_some()), name(then.is_some()));
    let (now, then) = (text(now.unwrap_or_default()), text(then.unwrap_or_default()));
    Ok(TextDiff::from_lines(&now, &then).unified_diff().header(names.0, names.1).to_string())
}

/// Takes back a move: the one of this beat, or the last one as it is known here.
pub(crate) fn undo(place: &Place, beat: Option<BeatId>) -> Result<Undone> {
    let reader = place.reader()?;
    let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
    let Some(last) = ledger.undoable(beat) else {
        return Err(refused(match beat {
            Some(beat) => format!("there is no move of beat {beat} that could be taken back"),
            None => "there is no move that could be taken back".to_owned(),
        }));
    };
    let request = Request::Undo { beat: Some(last.beat) };
    let reply = submit::submit(place, request, &mut |_| {}).map_err(hinted)?;
    let Reply::Made { beat, outcome, .. } = reply else {
        return Err(Failure::new("the loop gave an answer of another kind"));
    };
    match outcome {
        Outcome::Done { .. } => {
            let (now, again) = words(place, last);
            let (what, file) = (last.summary.clone(), last.path().to_owned());
            Ok(Undone { v: 1, beat, what, file, now, again })
        }
        Outcome::Failed { reason, .. } | Outcome::Interrupted { reason } => Err(refused(reason)),
    }
}

const HINT: &str = "looop undo --list shows what can be taken back; looop undo BEAT takes back another one";

fn refused(reason: String) -> Failure {
    Failure::new(reason).hint(HINT)
}

fn hinted(failure: Failure) -> Failure {
    if failure.hint.is_some() { failure } else { failure.hint(HINT) }
}

/// What became of the file, and how to get back what was taken back.
fn words(place: &Place, undone: &Undoable) -> (String, String) {
    let path = undone.path();
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if let Act::Archive { to, .. } = &undone.act {
        return (format!("{to} is {path} again"), format!("looop goal archive {stem}"));
    }
    let now = if undone.before().is_some() { "is what it was before" } else { "is removed" };
    let again = match undone.act.reversed().and_then(|act| act.replaces().and_then(|(_, before)| before)) {
        Some(digest) => {
            let kept = place.data.join(kept_path(digest));
            format!("what was taken back is kept in {}", kept.display())
        }
        None if path.starts_with("sensors/") => format!("looop sensor rm {stem}"),
        None => format!("looop schedule rm {stem}"),
    };
    (format!("{path} {now}"), again)
}
