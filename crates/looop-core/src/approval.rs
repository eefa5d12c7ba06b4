//! Approvals: a move that waits for a person is bound to its exact bytes and to what it rests on.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::admit::{digest_of, path_of, worker_digest, worker_path};
use crate::intake;
use crate::ledger::state::{Acting, Ledger};
use crate::model::digest::Digest;
use crate::model::letter::{Ask, AskKind};
use crate::model::moves::{Move, Object, Proposal, one_line};
use crate::model::plan::Act;
use crate::time::{Now, Stamp};
use crate::world::observation::{Doc, Docs};

/// How long a move waits for a person.
pub const EXPIRY: Duration = Duration::from_hours(24);
/// Why a move of a worker waits.
const PROPOSED: &str = "a worker proposes it, and only a person can allow that";
/// Who asks for a decider.
pub const PULSE: &str = "pulse";

/// What a move rests on: each file or worker by name, and its digest, if it is there.
pub type Ground = BTreeMap<String, Option<Digest>>;

/// A move that waits for a person's consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// Who wants it: a decider, `builtin`, or a worker's session.
    pub by: String,
    /// Whether a worker proposes it, and not a decider.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proposed: bool,
    /// The move, exactly.
    pub proposal: Proposal,
    /// Digest of the move and what it rests on: what the person consents to.
    pub digest: Digest,
    /// What it rests on.
    pub ground: Ground,
    /// Digest of the letter that asks for it.
    pub letter: Digest,
    /// Whether it was made from what a stranger wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// Why it waits.
    pub reason: String,
    /// The rule that says so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Whether that is a rule of the person's own, in `policy.toml`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Since when.
    pub at: Stamp,
    /// Until when, in milliseconds since the epoch.
    pub expires: i64,
}

/// A move that waited and can no longer be approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lapsed {
    /// The move.
    pub parked: Parked,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Stamp,
}

/// Who wants a move, and why it waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Who: a decider, `builtin`, or a worker's session.
    pub by: String,
    /// Whether it is a worker.
    pub proposed: bool,
    /// Whether it was made from what a stranger wrote.
    pub tainted: bool,
    /// Why it waits.
    pub reason: String,
    /// The rule that says so.
    pub rule: String,
    /// Whether that is a rule of the person's own.
    pub own: bool,
}

impl Parked {
    /// A move that waits from now on. A decider's letter is made from it; a worker's is there already.
    pub fn new(wish: Wish, proposal: Proposal, docs: &Docs, now: &Now) -> Self {
        let Wish { by, proposed, tainted, reason, rule, own } = wish;
        let ground = ground(docs, &proposal, !proposed);
        let digest = digest(&proposal, &ground);
        let expires = now.wall.saturating_add(i64::try_from(EXPIRY.as_millis()).unwrap_or(i64::MAX));
        let (letter, at) = (Digest::of(b""), now.stamp());
        Self { by, proposed, proposal, digest, ground, letter, tainted, reason, rule, own, at, expires }
    }

    /// The move that a worker's letter proposes, or why it proposes none.
    pub fn proposed(ask: &Ask, docs: &Docs, now: &Now) -> Result<Self, String> {
        let held = ask.proposal.as_ref().ok_or("it holds no move")?;
        let proposal = intake::parse(held).map_err(|refusal| refusal.to_string())?;
        let (by, reason, rule) = (ask.from.clone(), PROPOSED.to_owned(), String::new());
        let wish = Wish { by, proposed: true, tainted: true, reason, rule, own: false };
        Ok(Self { letter: letter_digest(ask), ..Self::new(wish, proposal, docs, now) })
    }

    /// The letter that asks for it.
    pub fn letter(&self, id: &str) -> Ask {
        Ask {
            limit: None,
            v: 1,
            id: id.to_owned(),
            from: PULSE.to_owned(),
            kind: AskKind::Proposal,
            prompt: self.prompt(),
            options: ["yes", "no", "always"].map(str::to_owned).to_vec(),
            reference: None,
            goal: self.goal().map(str::to_owned),
            proposal: Some(self.move_json()),
            asked: self.at.wall,
            closed: false,
            fetched: false,
        }
    }

    /// What the person is asked.
    pub fn prompt(&self) -> String {
        let why = if self.reason.is_empty() { String::new() } else { format!(" ({})", self.reason) };
        format!("{} wants to {}{why}", self.by, deed(&self.proposal.action))
    }

    /// Whether a proposal is the same move for the same goal.
    pub fn is_same(&self, proposal: &Proposal) -> bool {
        self.proposal.action == proposal.action && self.proposal.goal == proposal.goal
    }

    /// The goal that it serves.
    pub fn goal(&self) -> Option<&str> {
        self.proposal.goal.as_ref().map(crate::model::name::Name::as_str)
    }

    /// The move as JSON.
    pub fn move_json(&self) -> Value {
        serde_json::to_value(&self.proposal).unwrap_or(Value::Null)
    }

    /// What it rests on that is no longer the same.
    pub fn changed(&self, docs: &Docs) -> Option<String> {
        shifted(&self.ground, docs).map(|name| format!("{name} changed since it was asked for"))
    }
}

/// The first thing of a ground that is not as it was.
pub fn shifted(ground: &Ground, docs: &Docs) -> Option<String> {
    let now = |name: &str| match name.split_once('/') {
        None => docs.playbook.digest(),
        Some(("worker", id)) => docs.fleet.latest(id).map(worker_digest),
        Some(("goals", file)) => docs.goals.get(file.strip_suffix(".md")?).and_then(Doc::digest),
        Some(("schedules", file)) => docs.schedules.get(file.strip_suffix(".json")?)?.digest(),
        Some((_, file)) => docs.sensors.values().find(|sensor| sensor.file == file)?.digest,
    };
    ground.iter().find(|(name, digest)| now(name) != **digest).map(|(name, _)| name.clone())
}

/// What an ask says in the log and in notices. Of a move it is said in the loop's own words: those of its letter may
/// say anything.
pub fn words(ask: &Ask) -> String {
    let held = ask.proposal.as_ref().filter(|_| ask.kind == AskKind::Proposal);
    match held.map(intake::parse) {
        None => ask.prompt.clone(),
        Some(Ok(proposal)) => format!("{} proposes to {}", ask.from, deed(&proposal.action)),
        Some(Err(_)) => format!("{} proposes something that is no move", ask.from),
    }
}

/// Whether only the loop asks under this id.
pub fn is_own_id(id: &str) -> bool {
    id.strip_prefix("ask-").is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a letter is, or says that it is, the loop's own, and the log does not know it.
pub fn is_forged(ledger: &Ledger, id: &str, ask: &Ask) -> bool {
    if ask.from != PULSE {
        return is_own_id(id);
    }
    let path = format!("asks/{id}.json");
    let writes = |acting: &Acting| matches!(&acting.plan.act, Act::File { path: to, .. } if *to == path);
    let asked = ledger.asks.get(id).is_some_and(|record| record.from == PULSE && record.kind == ask.kind);
    !asked && !ledger.acting.as_ref().is_some_and(writes) && ledger.settled.get(id) != Some(&ask.asked)
}

/// Digest of a letter as it lies on the disk.
pub fn letter_digest(ask: &Ask) -> Digest {
    let ask = Ask { fetched: false, ..ask.clone() };
    Digest::of_json(&serde_json::to_value(ask).unwrap_or(Value::Null))
}

fn digest(proposal: &Proposal, ground: &Ground) -> Digest {
    Digest::of_json(&json!({"move": proposal, "ground": ground}))
}

/// What a move rests on: the goal it serves, the file it writes, the worker it touches, and for a decider's move the
/// PLAYBOOK that it was decided by.
fn ground(docs: &Docs, proposal: &Proposal, playbook: bool) -> Ground {
    let object = proposal.action.object();
    let mut ground = Ground::new();
    if playbook || object == Object::Playbook {
        ground.insert("PLAYBOOK.md".to_owned(), docs.playbook.digest());
    }
    if let Some(path) = path_of(docs, object) {
        ground.insert(path, digest_of(docs, object));
    }
    let started = if let Move::StartWorker { goal, .. } = &proposal.action { goal.as_ref() } else { None };
    for goal in [started, proposal.goal.as_ref()].into_iter().flatten() {
        let digest = docs.goals.get(goal.as_str()).and_then(Doc::digest);
        ground.insert(format!("goals/{goal}.md"), digest);
    }
    if let Some(id) = crate::admit::workers::named(&proposal.action) {
        let digest = docs.fleet.latest(id.as_str()).map(worker_digest);
        ground.insert(worker_path(id.as_str()), digest);
    }
    ground
}

/// What a move would do, in one line.
pub fn deed(action: &Move) -> String {
    let because = |reason: &Option<String>| {
        reason.as_deref().map_or(String::new(), |reason| format!(": {}", one_line(reason, 200)))
    };
    match action {
        Move::Noop { reason } => format!("do nothing{}", because(reason)),
        Move::RunShell { cmd, reason } => format!("run {}{}", one_line(cmd, 200), because(reason)),
        Move::WriteGoal { id, .. } => format!("write goal {id}"),
        Move::ArchiveGoal { id } => format!("archive goal {id}"),
        Move::WriteSensor { name, .. } => format!("write sensor {name}"),
        Move::RemoveSensor { name } => format!("remove sensor {name}"),
        Move::WritePlaybook { .. } => "write PLAYBOOK.md".to_owned(),
        Move::StartWorker { id, prompt, .. } => format!("start worker {id}: {}", one_line(prompt, 200)),
        Move::SteerSession { id, input } => format!("type into {id}: {}", one_line(input, 200)),
        Move::SendKey { id, keys } => format!("press {} in {id}", one_line(&keys.join(" "), 100)),
        Move::RestartSession { id, reason, .. } => format!("restart {id}{}", because(reason)),
        Move::KillWorker { id, reason, .. } => format!("kill {id}{}", because(reason)),
        Move::SendNotification { message, .. } => format!("notify you: {}", one_line(message, 200)),
        Move::AskHuman { prompt, .. } => format!("ask you: {}", one_line(prompt, 200)),
        Move::WriteSchedule { name, .. } => format!("write schedule {name}"),
        Move::DropSchedule { name } => format!("drop schedule {name}"),
        Move::Undo { what, .. } => format!("take back: {what}"),
        Move::SettleWork { session, how, .. } => format!("{} the work of {session}", how.verb()),
    }
}

#[cfg(test)]
mod tests;
