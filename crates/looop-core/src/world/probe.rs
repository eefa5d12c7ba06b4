//! Probes: readings that the loop takes of itself, under the names `sys-…`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::baseline::{Change, worker_item};
use super::fleet::{Worker, WorkerState};
use super::observation::{Observation, ScheduleDoc};
use super::reading::{Reading, Trust};
use crate::admit::workers::budget;
use crate::approval::PULSE;
use crate::builtin::{Readiness, readiness};
use crate::gate::Limits;
use crate::ledger::state::{AskRecord, Ledger, WorkerRecord};
use crate::meter::Micros;
use crate::model::goal;
use crate::model::moves::one_line;
use crate::model::outcome::Ended;
use crate::model::plan::Author;
use crate::time::{Now, machine_text};

/// The readings of an observation with the probes among them.
pub fn with_probes(
    ledger: &Ledger,
    seen: &Observation,
    now: &Now,
    limits: &Limits,
) -> BTreeMap<String, Reading> {
    let mut readings = seen.readings.clone();
    readings.insert("sys-goals".to_owned(), goals(ledger, seen, now, limits));
    readings.insert("sys-asks".to_owned(), asks(ledger));
    readings.insert("sys-schedules".to_owned(), schedules(ledger, seen, now));
    readings.insert("sys-sessions".to_owned(), sessions(ledger, seen, limits));
    readings.insert("sys-claims".to_owned(), claims(ledger, seen));
    readings
}

/// How a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It works, as far as can be seen.
    Busy,
    /// It waits on a person.
    Waiting,
    /// It asked for nothing and has printed nothing for a long time.
    Stuck,
    /// It has ended.
    Dead,
}

impl Health {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Waiting => "waiting",
            Self::Stuck => "stuck",
            Self::Dead => "dead",
        }
    }

    /// How a worker is, seen from outside.
    pub fn of(worker: &Worker, waits: bool, limits: &Limits) -> Self {
        let silent = worker.silent_s.is_some_and(|silent| silent >= limits.worker_stuck.as_secs());
        match (worker.state.is_alive(), waits) {
            (false, _) => Self::Dead,
            (true, true) => Self::Waiting,
            (true, false) if silent && worker.state != WorkerState::Paused => Self::Stuck,
            (true, false) => Self::Busy,
        }
    }
}

/// One worker as the probe shows it.
#[derive(Debug)]
pub struct WorkerRow<'a> {
    /// The worker's id.
    pub id: &'a str,
    /// How its newest session stands.
    pub state: &'a WorkerState,
    /// How it is.
    pub health: Health,
    /// The goal that it serves.
    pub goal: Option<&'a str>,
    /// Whether its work was proven, if that was tried: `pass`, `fail`, or `unchanged` where there is none.
    pub verify: Option<&'static str>,
    /// What it waits for, while it waits on a person.
    pub note: Option<String>,
}

impl WorkerRow<'_> {
    /// The row as JSON.
    pub fn value(&self) -> Value {
        let mut row = json!({
            "id": self.id,
            "state": self.state.word(),
            "alive": self.state.is_alive(),
            "exit_code": self.state.exit_code(),
            "health": self.health.word(),
            "goal": self.goal,
            "verify": self.verify,
        });
        if let Some(note) = &self.note {
            row["note"] = note.as_str().into();
        }
        row
    }
}

fn sessions(ledger: &Ledger, seen: &Observation, limits: &Limits) -> Reading {
    let fleet = &seen.docs.fleet;
    let (mut rows, mut since) = (Vec::new(), Map::new());
    for (id, worker) in fleet.newest() {
        let ask = seen.docs.waiting.get(&worker.session);
        let prompt = ask.and_then(|ask| seen.letters.asks.get(ask)).map(|ask| one_line(&ask.prompt, 300));
        let row = WorkerRow {
            id,
            state: &worker.state,
            health: Health::of(worker, ask.is_some(), limits),
            goal: worker.goal.as_deref(),
            verify: ledger.workers.get(&worker.session).and_then(WorkerRecord::verify_word),
            note: prompt.filter(|_| worker.state.is_alive()),
        };
        rows.push(row.value());
        let times = json!({
            "session": worker.session, "started_unix": worker.started / 1000,
            "ended_unix": worker.ended.map(|ended| ended / 1000),
        });
        since.insert(id.to_owned(), times);
    }
    let mut signal = json!({"workers": rows});
    if let Some(fault) = &fleet.fault {
        signal["error"] = fault.as_str().into();
    }
    own(signal, json!({"count": fleet.live_count(), "sessions": since}), Trust::External)
}

/// The readings as a decider is shown them: of the workers those that live, and those that changed since it last looked.
pub fn that_matter(readings: &BTreeMap<String, Reading>, changes: &[Change]) -> BTreeMap<String, Reading> {
    let mut readings = readings.clone();
    let is_news = |row: &Value| {
        let id = row.get("id").and_then(Value::as_str).unwrap_or("");
        changes.iter().any(|change| change.item == worker_item(id))
    };
    let rows = readings.get_mut("sys-sessions").and_then(|reading| reading.signal.get_mut("workers"));
    if let Some(Value::Array(rows)) = rows {
        rows.retain(|row| row.get("alive") == Some(&Value::Bool(true)) || is_news(row));
    }
    readings
}

/// The claims of live sessions.
fn claims(ledger: &Ledger, seen: &Observation) -> Reading {
    let fleet = &seen.docs.fleet;
    let rows = seen.letters.claims.values().filter(|claim| fleet.holds(&claim.session)).map(|claim| {
        let own = ledger.workers.get(&claim.session).is_some_and(|record| record.author != Author::Person);
        let mut row = json!({"name": claim.name, "claim": claim.session});
        if own {
            row["own"] = true.into();
        }
        row
    });
    let rows: Vec<Value> = rows.collect();
    own(json!({"claims": rows}), Value::Null, Trust::External)
}

fn own(signal: Value, detail: Value, trust: Trust) -> Reading {
    Reading { signal, detail, failed: false, trust }
}

fn goals(ledger: &Ledger, seen: &Observation, now: &Now, limits: &Limits) -> Reading {
    let (mut failed, mut errors, mut overdue) = (Vec::new(), Vec::new(), Vec::new());
    let mut reviews = Vec::new();
    let mut detail = Map::new();
    for (id, doc) in &seen.docs.goals {
        let record = ledger.goal(id);
        match seen.checks.get(id).map(|checked| &checked.ended) {
            None | Some(Ended::Exited(0)) => {}
            Some(Ended::Exited(1)) => match &record.review {
                Some(session) => reviews.push(json!({"goal": id, "session": session})),
                None => failed.push(id.clone()),
            },
            Some(ended) => errors.push(json!({"goal": id, "check": ended.text()})),
        }
        if is_overdue(ledger, id, now, limits) {
            overdue.push(id.clone());
        }
        let mut row = Map::new();
        if let Some(served) = &record.served {
            row.insert("last_acted_unix".to_owned(), (served.wall / 1000).into());
        }
        if record.spent > Micros::ZERO {
            row.insert("spend".to_owned(), record.spent.dollars().into());
        }
        if let Some(budget) = budget(ledger, &seen.docs, id) {
            row.insert("budget".to_owned(), budget.dollars().into());
        }
        if let Some(checked) = seen.checks.get(id).filter(|checked| !checked.ended.is_success()) {
            row.insert("check".to_owned(), one_line(&checked.output, 400).into());
            row.insert("ended".to_owned(), serde_json::to_value(&checked.ended).unwrap_or_default());
        }
        if doc.text().is_none() {
            row.insert("broken".to_owned(), true.into());
        }
        // A goal that says nothing here is left out; one with a check stands here to show that it was run.
        if !row.is_empty() || seen.checks.contains_key(id) {
            detail.insert(id.clone(), Value::Object(row));
        }
    }
    let mut signal = json!({"failed": failed, "errors": errors, "overdue": overdue});
    if !reviews.is_empty() {
        signal["waits_for_review"] = reviews.into();
    }
    own(signal, json!({"goals": detail}), Trust::Owner)
}

/// Whether a ready goal has waited longer than is fair.
pub fn is_overdue(ledger: &Ledger, id: &str, now: &Now, limits: &Limits) -> bool {
    let record = ledger.goal(id);
    let Some(ready) = &record.ready else { return false };
    let unserved =
        record.served.as_ref().map_or(now.since(ready), |served| now.since(served).min(now.since(ready)));
    unserved >= limits.fairness_wait
}

/// The goals that are ready now, in order.
pub fn ready_goals(
    ledger: &Ledger,
    seen: &Observation,
    readings: &BTreeMap<String, Reading>,
    now: &Now,
) -> Vec<String> {
    let is_ready = |(id, text): (&String, &str)| {
        let (parsed, record) = (goal::parse(text), ledger.goal(id));
        let state = readiness(&parsed, &record, seen.checks.get(id), readings, now);
        // What waits for a person's review is nobody else's.
        (matches!(state, Readiness::Ready(_)) && record.review.is_none()).then(|| id.clone())
    };
    seen.docs.goals.iter().filter_map(|(id, doc)| is_ready((id, doc.text()?))).collect()
}

/// The asks that wait, as a reading. What a worker asks a person is not for a decider to act upon: it is shown, and is
/// no news.
pub fn asks(ledger: &Ledger) -> Reading {
    let row = |(id, ask): (&String, &AskRecord)| json!({"id": id, "from": ask.from, "prompt": one_line(&ask.prompt, 300)});
    let of = |own: bool| -> Vec<Value> {
        ledger.asks.iter().filter(|(_, ask)| (ask.from == PULSE) == own).map(row).collect()
    };
    let of_workers = of(false);
    let detail = if of_workers.is_empty() { Value::Null } else { json!({"of_workers": of_workers}) };
    own(json!({"pending": of(true)}), detail, Trust::External)
}

fn schedules(ledger: &Ledger, seen: &Observation, now: &Now) -> Reading {
    let (mut due, mut errors, mut next) = (Vec::new(), Vec::new(), Map::new());
    for (name, doc) in &seen.docs.schedules {
        match doc {
            ScheduleDoc::Broken { error, .. } => errors.push(error.clone()),
            ScheduleDoc::Good { schedule, .. } => {
                let zone =
                    schedule.zone_name().and_then(|name| seen.docs.zones.get(name)).unwrap_or(&now.zone);
                if let Some(at) = schedule.due(now.wall, zone, ledger.due.get(name).copied()) {
                    due.push(json!({"name": name, "due": machine_text(at), "note": schedule.note}));
                }
                if let Some(at) = schedule.next(now.wall, zone) {
                    next.insert(name.clone(), machine_text(at).into());
                }
            }
        }
    }
    let mut signal = json!({"due": due});
    if !errors.is_empty() {
        signal["errors"] = errors.into();
    }
    own(signal, json!({"next": next}), Trust::Owner)
}

#[cfg(test)]
mod tests;
