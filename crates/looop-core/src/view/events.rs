//! Public events: a mapping of the log's entries that may be relied upon.

use serde_json::{Map, Value, json};

use crate::ledger::entry::{Cause, Entry, Line, SensorState, Spend};
use crate::meter::Micros;
use crate::model::letter::AskKind;
use crate::model::outcome::Outcome;
use crate::model::plan::BeatId;
use crate::time::machine_text;
use crate::world::baseline::Change;
use crate::world::fleet::worker_of;

/// Version of the events' form.
pub const EVENTS_VERSION: u32 = 1;

/// Names of all events, as docs and streams spell them.
pub const EVENT_NAMES: [&str; 49] = [
    "answered",
    "approved",
    "asked",
    "beat_started",
    "claim_reaped",
    "config_error",
    "config_mended",
    "decide_started",
    "decided",
    "declined",
    "delivered",
    "dismissed",
    "dropped",
    "failed",
    "finished",
    "flapping",
    "forgot",
    "goals_hold",
    "granted",
    "intended",
    "interrupted",
    "lapsed",
    "notified",
    "overtaken",
    "parked",
    "paused",
    "pruned",
    "rejected",
    "renumbered",
    "reparked",
    "restarted",
    "resumed",
    "rule_written",
    "schedule_due",
    "seeded",
    "sensed",
    "sensor_changed",
    "skipped",
    "spend",
    "stopped",
    "told",
    "trusted",
    "undelivered",
    "verify",
    "withdrawn",
    "work_found",
    "worker_ended",
    "worker_noted",
    "worker_started",
];

/// The events of one append.
pub fn events(line: &Line) -> Vec<Value> {
    line.entries
        .iter()
        .flat_map(|entry| of_entry(entry))
        .map(|(name, fields)| stamped(line, name, fields))
        .collect()
}

fn stamped(line: &Line, name: &str, fields: Value) -> Value {
    let mut event = Map::new();
    event.insert("v".to_owned(), EVENTS_VERSION.into());
    event.insert("seq".to_owned(), line.seq.into());
    event.insert("ts".to_owned(), machine_text(line.at.wall).into());
    event.insert("event".to_owned(), name.into());
    if let Value::Object(fields) = fields {
        event.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(event)
}

type Named = (&'static str, Value);

fn of_entry(entry: &Entry) -> Vec<Named> {
    match entry {
        Entry::Seeded { files } => vec![("seeded", json!({"files": files}))],
        Entry::Saw { readings, ready, .. } => {
            let names: Vec<&String> = readings.keys().collect();
            vec![("sensed", json!({"readings": names, "ready": ready}))]
        }
        Entry::SensorChanged { sensor, state } => vec![("sensor_changed", sensor_changed(sensor, state))],
        Entry::Flapping { reading } => vec![("flapping", json!({"reading": reading}))],
        Entry::Skipped { beat, cause, why, changes, .. } => {
            let mut fields = serde_json::to_value(why).unwrap_or_default();
            fields["beat"] = json!(beat);
            vec![started(*beat, *cause, changes), ("skipped", fields)]
        }
        Entry::DecideStarted { .. } | Entry::Decided { .. } | Entry::Failed { .. } => of_decide(entry),
        Entry::Rejected { beat, reason, .. } => vec![("rejected", json!({"beat": beat, "reason": reason}))],
        Entry::Overtaken { beat, reason, spend } => {
            let spend = spend.as_ref().map(|spend| spent(*beat, spend));
            [("overtaken", json!({"beat": beat, "reason": reason}))].into_iter().chain(spend).collect()
        }
        Entry::Parked { .. }
        | Entry::Approved { .. }
        | Entry::Declined { .. }
        | Entry::Lapsed { .. }
        | Entry::Reparked { .. }
        | Entry::RuleWritten { .. } => of_consent(entry).into_iter().collect(),
        Entry::Intended { beat, plan, cause, changes, why } => {
            let fields = json!({
                "beat": beat, "author": plan.author.word(), "goal": plan.goal, "why": why,
                "action": plan.action.action(), "move": plan.action,
            });
            let begun = cause.map(|cause| started(*beat, cause, changes));
            begun.into_iter().chain([("intended", fields)]).collect()
        }
        Entry::Restarted { beat, session } => vec![("restarted", json!({"beat": beat, "session": session}))],
        Entry::Finished { beat, outcome, journal, .. } => {
            let name =
                if matches!(outcome, Outcome::Interrupted { .. }) { "interrupted" } else { "finished" };
            vec![(name, json!({"beat": beat, "outcome": outcome, "journal": journal}))]
        }
        Entry::Asked { ask, from, prompt, goal, kind, .. } => {
            let name = if *kind == AskKind::Proposal { "parked" } else { "asked" };
            let flag = (*kind == AskKind::Flag).then_some(true);
            vec![(name, json!({"ask": ask, "from": from, "prompt": prompt, "goal": goal, "flag": flag}))]
        }
        Entry::Answered { ask, text } => vec![("answered", json!({"ask": ask, "text": text}))],
        Entry::Dismissed { ask } => vec![("dismissed", json!({"ask": ask}))],
        Entry::Withdrawn { ask, reason } => vec![("withdrawn", json!({"ask": ask, "reason": reason}))],
        Entry::Trusted { path, .. } => vec![("trusted", json!({"path": path}))],
        Entry::WorkerStarted { .. }
        | Entry::WorkerEnded { .. }
        | Entry::Spent { .. }
        | Entry::Granted { .. }
        | Entry::Verified { .. }
        | Entry::ClaimReaped { .. }
        | Entry::Told { .. }
        | Entry::WorkFound { .. }
        | Entry::GoalsHold { .. }
        | Entry::WorkerNoted { .. }
        | Entry::Pruned { .. } => of_worker(entry).into_iter().collect(),
        Entry::ScheduleDue { schedule, due } => {
            vec![("schedule_due", json!({"schedule": schedule, "due": machine_text(*due)}))]
        }
        Entry::ConfigError { error } => vec![("config_error", json!({"error": error}))],
        Entry::ConfigMended => vec![("config_mended", json!({}))],
        Entry::Notified { .. } | Entry::Undelivered { .. } | Entry::Delivered { .. } => {
            of_notice(entry).into_iter().collect()
        }
        Entry::Paused { until } => vec![("paused", json!({"until": until.map(machine_text)}))],
        Entry::Resumed => vec![("resumed", json!({}))],
        Entry::Forgot { goals, files } => vec![("forgot", json!({"goals": goals, "files": files}))],
        Entry::Renumbered { runs, sessions, .. } => {
            vec![("renumbered", json!({"runs": runs, "sessions": sessions}))]
        }
        Entry::Dropped { what } => vec![("dropped", json!({"what": what}))],
        Entry::Stopped { reason } => vec![("stopped", json!({"reason": reason}))],
    }
}

/// What an entry about a decide says.
fn of_decide(entry: &Entry) -> Vec<Named> {
    if let Entry::DecideStarted {
        beat, run, decider, cause, forced, changes, reserved_usd, tainted, ..
    } = entry
    {
        let fields = json!({
            "beat": beat, "run": run.to_string(), "decider": decider, "forced": forced,
            "reserved_usd": reserved_usd, "tainted": tainted,
        });
        vec![started(*beat, *cause, changes), ("decide_started", fields)]
    } else if let Entry::Decided { beat, run, proposal, spend } = entry {
        let action = proposal.action.action();
        let fields = json!({"beat": beat, "run": run.to_string(), "action": action, "proposal": proposal});
        vec![("decided", fields), spent(*beat, spend)]
    } else if let Entry::Failed { beat, run, failure, reason, spend, .. } = entry {
        let fields = json!({"beat": beat, "run": run.to_string(), "failure": failure, "reason": reason});
        vec![("failed", fields), spent(*beat, spend)]
    } else {
        Vec::new()
    }
}

/// What an entry about a move that waits for a person says.
fn of_consent(entry: &Entry) -> Option<Named> {
    Some(if let Entry::Parked { beat, ask, parked } = entry {
        // A worker's proposal was told when its letter was found.
        let parked = Some(parked).filter(|parked| !parked.proposed)?;
        let fields = json!({
            "beat": beat, "ask": ask, "from": parked.by, "prompt": parked.prompt(), "goal": parked.goal(),
            "move": parked.proposal, "digest": parked.digest, "rule": parked.rule, "tainted": parked.tainted,
        });
        ("parked", fields)
    } else if let Entry::Approved { ask, always } = entry {
        ("approved", json!({"ask": ask, "always": always.is_some().then_some(true)}))
    } else if let Entry::Declined { ask, text } = entry {
        ("declined", json!({"ask": ask, "text": text}))
    } else if let Entry::Lapsed { ask, reason } = entry {
        ("lapsed", json!({"ask": ask, "reason": reason}))
    } else if let Entry::Reparked { ask, new } = entry {
        ("reparked", json!({"ask": ask, "new": new}))
    } else if let Entry::RuleWritten { ask, error } = entry {
        ("rule_written", json!({"ask": ask, "error": error}))
    } else {
        return None;
    })
}

/// What an entry about workers says.
fn of_worker(entry: &Entry) -> Option<Named> {
    let of = |session: &str| json!({"worker": worker_of(session), "session": session});
    Some(if let Entry::WorkerStarted { session, goal } = entry {
        ("worker_started", with(of(session), json!({"goal": goal})))
    } else if let Entry::WorkerEnded { session, state, strays } = entry {
        let mut fields = json!({"state": state.word(), "exit_code": state.exit_code(), "text": state.text()});
        if !strays.is_empty() {
            fields["strays"] = json!(strays);
        }
        ("worker_ended", with(of(session), fields))
    } else if let Entry::Spent { session, goal, spend, .. } = entry {
        ("spend", with(with(of(session), json!({"goal": goal})), money(spend)))
    } else if let Entry::Granted { session, grants, up_to } = entry {
        let up_to = up_to.map(Micros::dollars);
        ("granted", with(of(session), json!({"grants": grants, "up_to_usd": up_to})))
    } else if let Entry::Verified { session, pass, text, .. } = entry {
        ("verify", with(of(session), json!({"pass": pass, "text": text})))
    } else if let Entry::WorkFound { session, work } = entry {
        let fields = json!({
            "branch": work.branch, "commits": work.commits, "files": work.files, "problem": work.problem,
        });
        ("work_found", with(of(session), fields))
    } else if let Entry::GoalsHold { goals } = entry {
        ("goals_hold", json!({"goals": goals}))
    } else if let Entry::WorkerNoted { session, journal } = entry {
        ("worker_noted", with(of(session), json!({"journal": journal})))
    } else if let Entry::ClaimReaped { claim, session } = entry {
        ("claim_reaped", json!({"claim": claim, "session": session}))
    } else if let Entry::Told { tell, session, text, .. } = entry {
        ("told", json!({"tell": tell, "session": session, "text": text}))
    } else if let Entry::Pruned { sessions } = entry {
        ("pruned", json!({"sessions": sessions}))
    } else {
        return None;
    })
}

/// What an entry about notices says.
fn of_notice(entry: &Entry) -> Option<Named> {
    Some(if let Entry::Notified { key, kind, id, message } = entry {
        let id = (!id.is_empty()).then_some(id);
        ("notified", json!({"key": key, "kind": kind, "id": id, "message": message}))
    } else if let Entry::Undelivered { key, channel, error } = entry {
        ("undelivered", json!({"key": key, "channel": channel, "error": error}))
    } else if let Entry::Delivered { channel } = entry {
        ("delivered", json!({"channel": channel}))
    } else {
        return None;
    })
}

fn sensor_changed(sensor: &str, state: &SensorState) -> Value {
    match state {
        SensorState::Failing { reason } => {
            json!({"sensor": sensor, "state": "failing", "reason": reason})
        }
        SensorState::Works => json!({"sensor": sensor, "state": "works"}),
        SensorState::Removed => json!({"sensor": sensor, "state": "removed"}),
    }
}

/// Two objects in one.
fn with(mut fields: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
        fields.extend(more);
    }
    fields
}

fn started(beat: BeatId, cause: Cause, changes: &[Change]) -> Named {
    let changes: Vec<String> = changes.iter().map(Change::text).collect();
    ("beat_started", json!({"beat": beat, "cause": cause, "changes": changes}))
}

fn spent(beat: BeatId, spend: &Spend) -> Named {
    let mut fields = money(spend);
    fields["beat"] = json!(beat);
    ("spend", fields)
}

/// A spend with the dollars that were reported, and those that were reserved and not reported, apart.
fn money(spend: &Spend) -> Value {
    let unreported = spend.unreported();
    let unreported_usd = (unreported > Micros::ZERO).then(|| unreported.dollars());
    let spend = Spend { usd: spend.reported().dollars(), unreported_usd, ..spend.clone() };
    serde_json::to_value(spend).unwrap_or_default()
}
