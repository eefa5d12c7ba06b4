//! Taking back a move of a file.

use crate::ledger::state::Ledger;
use crate::ledger::undo::Undoable;
use crate::model::digest::Digest;
use crate::model::moves::Move;
use crate::model::plan::{Act, Author, BeatId, Plan};
use crate::time::Now;
use crate::world::observation::{Doc, Docs, ScheduleDoc};

/// The plan that takes back a move of a file, or why that is not done. `beat` is the move that is meant; the last one
/// where none is named.
pub fn plan(ledger: &Ledger, docs: &Docs, beat: Option<BeatId>, now: &Now) -> Result<Plan, String> {
    let last = chosen(ledger, beat)?;
    let act = last.act.reversed().ok_or_else(|| format!("\"{}\" changed no file", last.summary))?;
    match &act {
        Act::Archive { from, to, .. } => restorable(docs, from, to)?,
        Act::File { path, before, after } => replaceable(docs, (path, &last.summary), *before, *after)?,
        Act::Nothing
        | Act::Hosted { .. }
        | Act::Worker { .. }
        | Act::Typed { .. }
        | Act::Ended { .. }
        | Act::Again { .. } => {}
    }
    let action = Move::Undo { beat: last.beat, path: last.path().to_owned(), what: last.summary.clone() };
    Ok(Plan::new(action, (Author::Person, act), now.stamp()))
}

/// The move that is meant. Moves of one file are taken back in their order, the newest first.
fn chosen(ledger: &Ledger, beat: Option<BeatId>) -> Result<&Undoable, String> {
    let none = || match beat {
        Some(beat) => format!("the move of beat {beat} has been taken back, or cannot be taken back"),
        None => "there is no move that could be taken back".to_owned(),
    };
    let chosen = ledger.undoable(beat).ok_or_else(none)?;
    let mut later = ledger.undo.iter().rev().take_while(|other| other.beat != chosen.beat);
    match later.find(|other| other.path() == chosen.path()) {
        Some(later) => Err(format!(
            "{} was changed by a later move, \"{}\" of beat {}, which is to be taken back first",
            chosen.path(),
            later.summary,
            later.beat
        )),
        None => Ok(chosen),
    }
}

/// A file is as the move left it, and what it was before is kept.
fn replaceable(
    docs: &Docs,
    (path, summary): (&str, &str),
    left: Option<Digest>,
    earlier: Option<Digest>,
) -> Result<(), String> {
    let now = present(docs, path)?;
    if now != left {
        let what = match (left, now) {
            (Some(_), Some(_)) => "was changed",
            (Some(_), None) => "was removed",
            (None, _) => "was made anew",
        };
        return Err(format!("{path} {what} after \"{summary}\", so that this is not taken back"));
    }
    if let Some(other) = namesake(docs, path).filter(|_| earlier.is_some()) {
        return Err(format!("there is sensors/{other} now, and two sensors cannot have one name"));
    }
    match earlier {
        Some(earlier) if !docs.kept.contains(&earlier) => {
            Err(format!("what {path} was before \"{summary}\" is no longer kept"))
        }
        _ => Ok(()),
    }
}

/// An archived goal is where it was put, and its place is free.
fn restorable(docs: &Docs, from: &str, to: &str) -> Result<(), String> {
    let stem = from.strip_prefix("goals/archive/").and_then(|name| name.strip_suffix(".md"));
    if !stem.is_some_and(|stem| docs.archive.iter().any(|there| there == stem)) {
        return Err(format!("{from} is gone"));
    }
    match goal(docs, to) {
        Doc::Absent => Ok(()),
        Doc::Text { .. } | Doc::Broken { .. } => {
            Err(format!("{to} was made anew after the goal was archived; {from} stays where it is"))
        }
    }
}

/// The digest of a file as it is now, absent if there is none.
fn present(docs: &Docs, path: &str) -> Result<Option<Digest>, String> {
    let (folder, name) = path.split_once('/').unwrap_or(("", path));
    match folder {
        "goals" => digest_of(goal(docs, path)),
        "sensors" => match docs.sensors.values().find(|sensor| sensor.file == name) {
            None => Ok(None),
            Some(sensor) => sensor.digest.map(Some).ok_or_else(|| format!("{path} cannot be read")),
        },
        "schedules" => match docs.schedules.get(name.trim_end_matches(".json")) {
            None => Ok(None),
            Some(ScheduleDoc::Good { digest, .. }) => Ok(Some(*digest)),
            Some(ScheduleDoc::Broken { error, digest }) => digest.map(Some).ok_or_else(|| error.clone()),
        },
        _ => digest_of(&docs.playbook),
    }
}

fn goal<'a>(docs: &'a Docs, path: &str) -> &'a Doc {
    let id = path.strip_prefix("goals/").and_then(|name| name.strip_suffix(".md"));
    id.and_then(|id| docs.goals.get(id)).unwrap_or(&Doc::Absent)
}

fn digest_of(doc: &Doc) -> Result<Option<Digest>, String> {
    match doc {
        Doc::Absent => Ok(None),
        Doc::Text { digest, .. } => Ok(Some(*digest)),
        Doc::Broken { error } => Err(error.clone()),
    }
}

/// The file of another sensor of the same name.
fn namesake<'a>(docs: &'a Docs, path: &str) -> Option<&'a str> {
    let file = path.strip_prefix("sensors/")?;
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    docs.sensors.get(stem).map(|sensor| sensor.file.as_str()).filter(|there| *there != file)
}
