//! Moves that wait for a person: shown exactly, agreed to or refused.

use std::collections::BTreeMap;

use looop_core::approval::{Lapsed, Parked};
use looop_core::engine::io::{Consent, Reply, Request, Say};
use looop_core::ledger::state::Ledger;
use looop_core::model::letter::AskKind;
use looop_core::model::moves::Move;
use looop_core::model::outcome::Outcome;
use looop_core::time::machine_text;
use looop_store::Reader;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use super::{Place, submit};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::pulse::open::log_failure;

/// A move that waits, as the person is shown it.
#[derive(Debug, Serialize)]
pub(crate) struct Waiting {
    /// Who wants it.
    pub(crate) by: String,
    /// The move, exactly.
    #[serde(rename = "move")]
    pub(crate) action: Value,
    /// Digest of the move and of what it rests on.
    pub(crate) digest: String,
    /// Why it waits, and which rule says so.
    pub(crate) reason: String,
    pub(crate) rule: String,
    /// Whether it was made from what a stranger wrote.
    pub(crate) tainted: bool,
    /// With whose rights it runs.
    pub(crate) rights: String,
    /// What it rests on.
    pub(crate) rests_on: Vec<String>,
    /// How the file would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
    /// Until when it waits.
    pub(crate) expires: String,
    /// Why it can no longer be approved, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lapsed: Option<String>,
}

fn ledger(reader: &Reader) -> Result<Ledger> {
    reader.ledger().map_err(|error| log_failure(&error))
}

/// All moves that wait, by ask.
pub(crate) fn waiting(reader: &Reader) -> Result<BTreeMap<String, Waiting>> {
    let parked = ledger(reader)?.parked;
    Ok(parked.into_iter().map(|(ask, parked)| (ask, shown(reader, &parked))).collect())
}

/// The moves that waited and can no longer be approved, by ask.
pub(crate) fn lapsed(place: &Place) -> Result<BTreeMap<String, Waiting>> {
    let reader = place.reader()?;
    let lapsed = ledger(&reader)?.lapsed.into_iter();
    let view =
        |Lapsed { parked, reason, .. }: Lapsed| Waiting { lapsed: Some(reason), ..shown(&reader, &parked) };
    Ok(lapsed.map(|(ask, lapsed)| (ask, view(lapsed))).collect())
}

fn shown(reader: &Reader, parked: &Parked) -> Waiting {
    Waiting {
        by: parked.by.clone(),
        action: parked.move_json(),
        digest: parked.digest.to_string(),
        reason: parked.reason.clone(),
        rule: parked.rule.clone(),
        tainted: parked.tainted,
        rights: rights(&parked.proposal.action).to_owned(),
        rests_on: parked.ground.keys().cloned().collect(),
        diff: diff(reader, &parked.proposal.action),
        expires: machine_text(parked.expires),
        lapsed: None,
    }
}

/// What a yes gives.
fn rights(action: &Move) -> &'static str {
    match action {
        Move::RunShell { .. } => "with your yes it runs once, with your rights",
        Move::WriteSensor { .. } => "it runs confined at each look, until you make it yours (looop trust)",
        Move::WriteGoal { .. } => "what it has run is confined, until you make it yours (looop trust)",
        Move::StartWorker { .. } | Move::RestartSession { .. } => "the worker runs as its runner is set up",
        Move::Noop { .. }
        | Move::ArchiveGoal { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. } => "looop does it",
    }
}

/// How a file would change, line by line.
fn diff(reader: &Reader, action: &Move) -> Option<String> {
    let (path, after) = match action {
        Move::WriteGoal { id, body } => (format!("goals/{id}.md"), body.as_str()),
        Move::ArchiveGoal { id } => (format!("goals/{id}.md"), ""),
        Move::WritePlaybook { body } => ("PLAYBOOK.md".to_owned(), body.as_str()),
        Move::WriteSensor { name, script } => (sensor_path(reader, name.as_str()), script.as_str()),
        Move::RemoveSensor { name } => (sensor_path(reader, name.as_str()), ""),
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::StartWorker { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. } => return None,
    };
    let before = reader.read(&path).value().unwrap_or_default();
    let before = String::from_utf8_lossy(&before).into_owned();
    let after =
        if after.is_empty() || after.ends_with('\n') { after.to_owned() } else { format!("{after}\n") };
    let (old, new) = (
        if before.is_empty() { "/dev/null" } else { &path },
        if after.is_empty() { "/dev/null" } else { &path },
    );
    Some(TextDiff::from_lines(&before, &after).unified_diff().context_radius(3).header(old, new).to_string())
}

fn sensor_path(reader: &Reader, name: &str) -> String {
    let scan = reader.scan(&mut looop_store::docs::DocsCache::default(), clock::now().wall);
    let file = scan.docs.sensors.get(name).map_or_else(|| format!("{name}.sh"), |sensor| sensor.file.clone());
    format!("sensors/{file}")
}

/// Whether an ask is a move that waits, and not a question.
pub(crate) fn is_proposal(reader: &Reader, ask: &str) -> Result<bool> {
    let letter = reader.letters().asks.remove(ask);
    let ledger = ledger(reader)?;
    // One that was settled without an answer was a move that a person has spoken about already.
    let spoken =
        ledger.settled.contains_key(ask) && letter.is_none() && reader.settled_answer(ask).is_absent();
    let known = spoken || ledger.parked.contains_key(ask) || ledger.lapsed.contains_key(ask);
    Ok(known || letter.is_some_and(|letter| letter.kind == AskKind::Proposal))
}

/// What a person's words say to a move.
pub(crate) fn say(text: &str) -> Result<(Say, String)> {
    let text = text.trim();
    let (word, rest) = text.split_once([':', ',', ' ', '\n']).unwrap_or((text, ""));
    match word.to_lowercase().as_str() {
        "yes" | "y" if rest.trim().is_empty() => Ok((Say::Yes, String::new())),
        "always" if rest.trim().is_empty() => Ok((Say::Always, String::new())),
        "no" | "n" => Ok((Say::No, rest.trim().to_owned())),
        _ => Err(Failure::usage("a move is answered with yes, no (and why), or always; nothing was done")),
    }
}

/// Says a person's word to the move that waits under an ask; says what then really happened.
pub(crate) fn consent(place: &Place, ask: &str, (say, text): (Say, String)) -> Result<String> {
    let reader = place.reader()?;
    let find = || Ok::<_, Failure>(ledger(&reader)?.parked.remove(ask));
    let mut parked = find()?;
    if parked.is_none() {
        // A proposal that no look has found yet.
        submit::done(place, Request::TakeUp { ask: ask.to_owned() })?;
        parked = find()?;
    }
    let digest = parked.map_or_else(|| looop_core::model::digest::Digest::of(b""), |parked| parked.digest);
    let request = Request::Consent(Consent { ask: ask.to_owned(), digest, say, text });
    match submit::submit(place, request, &mut |_| {})? {
        Reply::Done => Ok(format!("refused {ask}; nothing was done")),
        Reply::Made { summary, outcome, .. } => came_of(ask, &summary, outcome),
        Reply::Beat { .. }
        | Reply::DryRun { .. }
        | Reply::Pruned { .. }
        | Reply::Reparked { .. }
        | Reply::Pulse(_)
        | Reply::Refused { .. } => Err(Failure::new("the loop gave an answer of another kind")),
    }
}

fn came_of(ask: &str, summary: &str, outcome: Outcome) -> Result<String> {
    match outcome {
        Outcome::Done { note, .. } => {
            let note = note.map_or(String::new(), |note| format!(" ({note})"));
            Ok(format!("approved {ask}, and done: {summary}{note}"))
        }
        Outcome::Failed { reason, .. } => {
            Err(Failure::new(format!("approved {ask}, and it failed: {summary}: {reason}")))
        }
        Outcome::Interrupted { reason } => Err(Failure::new(format!(
            "approved {ask}, and it may or may not have happened: {summary}: {reason}"
        ))),
    }
}

/// Has a lapsed move asked for anew; gives the new ask.
pub(crate) fn repark(place: &Place, ask: &str) -> Result<String> {
    let reply = submit::submit(place, Request::Repark { ask: ask.to_owned() }, &mut |_| {})?;
    if let Reply::Reparked { ask } = reply {
        return Ok(ask);
    }
    Err(Failure::new("the loop gave an answer of another kind"))
}
