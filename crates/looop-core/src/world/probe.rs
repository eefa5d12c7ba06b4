//! Probes: readings that the loop takes of itself, under the names `sys-…`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::observation::{Observation, ScheduleDoc};
use super::reading::{Reading, Trust};
use crate::builtin::{Readiness, readiness};
use crate::gate::Limits;
use crate::ledger::state::Ledger;
use crate::model::goal;
use crate::model::moves::one_line;
use crate::model::outcome::Ended;
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
    readings.insert("sys-schedules".to_owned(), schedules(seen, now));
    readings
}

fn own(signal: Value, detail: Value, trust: Trust) -> Reading {
    Reading { signal, detail, failed: false, trust }
}

fn goals(ledger: &Ledger, seen: &Observation, now: &Now, limits: &Limits) -> Reading {
    let (mut failed, mut errors, mut overdue) = (Vec::new(), Vec::new(), Vec::new());
    let mut detail = Map::new();
    for (id, doc) in &seen.docs.goals {
        let record = ledger.goal(id);
        match seen.checks.get(id).map(|checked| &checked.ended) {
            None | Some(Ended::Exited(0)) => {}
            Some(Ended::Exited(1)) => failed.push(id.clone()),
            Some(ended) => errors.push(json!({"goal": id, "check": ended.text()})),
        }
        if is_overdue(ledger, id, now, limits) {
            overdue.push(id.clone());
        }
        let mut row = Map::new();
        if let Some(served) = &record.served {
            row.insert("last_acted_unix".to_owned(), (served.wall / 1000).into());
        }
        if let Some(checked) = seen.checks.get(id).filter(|checked| !checked.ended.is_success()) {
            row.insert("check".to_owned(), one_line(&checked.output, 400).into());
        }
        if doc.text().is_none() {
            row.insert("broken".to_owned(), true.into());
        }
        // A goal that says nothing here is left out; one with a check stands here to show that it was run.
        if !row.is_empty() || seen.checks.contains_key(id) {
            detail.insert(id.clone(), Value::Object(row));
        }
    }
    let signal = json!({"failed": failed, "errors": errors, "overdue": overdue});
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
        let parsed = goal::parse(text);
        let state = readiness(&parsed, &ledger.goal(id), seen.checks.get(id), readings, now);
        matches!(state, Readiness::Ready(_)).then(|| id.clone())
    };
    seen.docs.goals.iter().filter_map(|(id, doc)| is_ready((id, doc.text()?))).collect()
}

/// The asks that wait, as a reading.
pub fn asks(ledger: &Ledger) -> Reading {
    let rows: Vec<Value> = ledger
        .asks
        .iter()
        .map(|(id, ask)| json!({"id": id, "from": ask.from, "prompt": one_line(&ask.prompt, 300)}))
        .collect();
    own(json!({"pending": rows}), Value::Null, Trust::External)
}

fn schedules(seen: &Observation, now: &Now) -> Reading {
    let (mut due, mut errors, mut next) = (Vec::new(), Vec::new(), Map::new());
    for (name, doc) in &seen.docs.schedules {
        match doc {
            ScheduleDoc::Broken { error, .. } => errors.push(error.clone()),
            ScheduleDoc::Good { schedule, .. } => {
                let zone =
                    schedule.zone_name().and_then(|name| seen.docs.zones.get(name)).unwrap_or(&now.zone);
                if let Some(at) = schedule.due(now.wall, zone) {
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
