//! Moves that wait for a person: shown exactly, agreed to or refused.

use std::collections::BTreeMap;

use looop_core::approval::{Lapsed, PULSE, Parked, is_own_id};
use looop_core::engine::io::{Consent, Reply, Request, Say};
use looop_core::gate::Limits;
use looop_core::ledger::state::Ledger;
use looop_core::model::digest::Digest;
use looop_core::model::letter::{Ask, AskKind};
use looop_core::model::moves::Move;
use looop_core::model::outcome::Outcome;
use looop_core::policy::{Scene, always_text};
use looop_core::time::machine_text;
use looop_core::world::observation::Letters;
use looop_store::{Reader, Stored};
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use super::{Place, see, submit};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::pulse::guest::Guest;
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
    /// The rule that an `always` would add, or why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) always: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_always: Option<String>,
    /// Whether a worker proposes it, and not a decider.
    pub(crate) proposed: bool,
    /// Until when it waits.
    pub(crate) expires: String,
    /// What changed since it was asked for, so that a yes is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<String>,
    /// Why it can no longer be approved, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lapsed: Option<String>,
    #[serde(skip)]
    bound: Digest,
}

impl Waiting {
    /// All of what a yes would carry out, as it is shown: how a file changes, or the move itself.
    pub(crate) fn text(&self) -> String {
        let whole = || serde_json::to_string_pretty(&self.action).unwrap_or_default();
        self.diff.clone().unwrap_or_else(whole)
    }
}

fn ledger(reader: &Reader) -> Result<Ledger> {
    reader.ledger().map_err(|error| log_failure(&error))
}

/// All moves that wait, by ask, and why a letter holds none. What a worker proposes is among them before the loop has
/// taken it in, worked out as the loop does.
pub(crate) fn waiting(
    reader: &Reader,
    ledger: &Ledger,
    letters: &Letters,
    limits: &Limits,
) -> BTreeMap<String, std::result::Result<Waiting, String>> {
    let is_new = |(id, ask): &(&String, &Ask)| {
        let known = [ledger.parked.contains_key(*id), ledger.settled.contains_key(*id)];
        ask.kind == AskKind::Proposal && known == [false, false] && !ledger.lapsed.contains_key(*id)
    };
    let new: Vec<(&String, &Ask)> = letters.asks.iter().filter(is_new).collect();
    if new.is_empty() && ledger.parked.is_empty() {
        return BTreeMap::new();
    }
    let (docs, now) = (see::docs(reader, letters), clock::now());
    let parked = ledger.parked.iter().map(|(ask, parked)| (ask.clone(), Ok(parked.clone())));
    let new = new.into_iter().map(|(id, ask)| (id.clone(), Parked::proposed(ask, &docs, &now)));
    let scene = Scene { ledger, docs: &docs, limits };
    let view = |ask: &str, parked: Parked| {
        let rule = always_text(&scene, &parked, ask);
        let not_always = rule.as_ref().err().cloned();
        let changed = parked.changed(&docs);
        Waiting { changed, always: rule.ok(), not_always, ..shown(reader, &parked) }
    };
    let all = parked.chain(new);
    all.map(|(ask, parked)| (ask.clone(), parked.map(|parked| view(&ask, parked)))).collect()
}

/// Notes that the person who runs this verb was shown these moves whole, so that they can agree to them.
pub(crate) fn mark_shown<'a>(
    place: &Place,
    moves: impl Iterator<Item = (&'a str, &'a Waiting)>,
) -> Result<()> {
    if Guest::myself(&place.data).no_person().is_some() {
        return Ok(());
    }
    let reader = place.reader()?;
    for (ask, waiting) in moves.filter(|(_, waiting)| waiting.changed.is_none()) {
        let marked = reader.mark_shown(ask, waiting.bound);
        marked.map_err(|error| Failure::new(error.text()))?;
    }
    Ok(())
}

/// Forgets what was shown under asks that no longer wait. Where that cannot be done it is only kept longer.
pub(crate) fn forget_shown(place: &Place, waits: impl Fn(&str) -> bool) -> Result<()> {
    if Guest::myself(&place.data).no_person().is_some() {
        return Ok(());
    }
    place.reader()?.forget_shown(waits).map_err(|error| Failure::new(error.text()))
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
        always: None,
        not_always: None,
        proposed: parked.proposed,
        changed: None,
        lapsed: None,
        bound: parked.digest,
    }
}

/// What a yes gives.
fn rights(action: &Move) -> &'static str {
    match action {
        Move::RunShell { .. } => "with your yes it runs once, with your rights",
        Move::WriteSensor { .. } => {
            "it runs at each look, confined where looop doctor says that this works, until you make it yours (looop trust)"
        }
        Move::WriteGoal { .. } => {
            "what it runs is confined where looop doctor says that this works, until you make it yours (looop trust)"
        }
        Move::StartWorker { .. } | Move::RestartSession { .. } => {
            "the worker runs as its runner is set up: with your rights, unless that says sandbox = true"
        }
        Move::SteerSession { .. } | Move::SendKey { .. } => {
            "what is typed runs with the rights of the worker, which are yours unless it is confined"
        }
        Move::Noop { .. }
        | Move::ArchiveGoal { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => "looop does it",
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
        | Move::Undo { .. }
        | Move::SettleWork { .. } => return None,
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

/// Whether a person's word on an ask is about a move that waits, and answers no question. Whoever was shown a move speaks
/// about that move, also where its letter has become a question.
pub(crate) fn is_proposal(reader: &Reader, ask: &str, digest: Option<Digest>) -> Result<bool> {
    let was_shown = digest.is_some() || !reader.shown(ask).is_absent();
    let letter = reader.ask(ask).value();
    // That a worker asks something is said by its letter. Nothing that the log could add makes the answer a consent.
    let is_question = |letter: &Ask| letter.kind == AskKind::Question && letter.from != PULSE;
    if !was_shown && !is_own_id(ask) && letter.as_ref().is_some_and(is_question) {
        return Ok(false);
    }
    let is_question = letter.as_ref().is_some_and(|letter| letter.kind == AskKind::Question);
    let proposal = is_move(reader, ask, letter)?;
    if was_shown && is_question && !proposal {
        let other = format!("{ask} is not the move that you were shown, so nothing was done");
        return Err(Failure::new(other).hint(format!("looop asks show {ask}, then answer again")));
    }
    Ok(proposal)
}

/// Whether an ask is, or was, a move, by the log and by its letter.
fn is_move(reader: &Reader, ask: &str, letter: Option<Ask>) -> Result<bool> {
    let ledger = ledger(reader)?;
    // What the log says an ask is, it is; whoever writes its letter anew does not change that.
    if let Some(record) = ledger.asks.get(ask) {
        return Ok(record.kind == AskKind::Proposal);
    }
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
pub(crate) fn consent(
    place: &Place,
    ask: &str,
    (say, text): (Say, String),
    digest: Option<Digest>,
) -> Result<String> {
    let reader = place.reader()?;
    let seen = digest.map_or_else(|| reader.shown(ask), Stored::Value);
    let find = || Ok::<_, Failure>(ledger(&reader)?.parked.remove(ask));
    let mut parked = find()?;
    let waits = parked.is_some() || reader.is_asked(ask);
    if say != Say::No && waits && !matches!(seen, Stored::Value(_)) {
        let unseen = format!("you have not been shown all of {ask} yet, so nothing was done");
        return Err(Failure::new(unseen).hint(format!("looop asks show {ask}, then answer again")));
    }
    if parked.is_none() {
        // A proposal that no look has found yet.
        submit::done(place, Request::TakeUp { ask: ask.to_owned() })?;
        parked = find()?;
    }
    // A no needs no reading; a yes is to what was shown, whatever lies there by now.
    let refused = parked.filter(|_| say == Say::No).map(|parked| parked.digest);
    let digest = refused.or(seen.value()).unwrap_or_else(|| Digest::of(b""));
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
