//! From a JSON value to a typed proposal.

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::catalogue::{ACTIONS, Action, COMMON, Field, action, fields_of};
use super::field::{check, found};
use super::refusal::Refusal;
use crate::bounds::{MOVE, json_width};
use crate::model::moves::{Move, Proposal, one_line};
use crate::model::name::{Name, shown};
use crate::schedule;

/// Unknown fields that are kept by name.
const MOST_UNKNOWN: usize = 20;

/// Types a decision by the catalogue.
pub fn parse(value: &Value) -> Result<Proposal, Refusal> {
    let Value::Object(map) = value else { return Err(Refusal::NotAnObject { found: found(value) }) };
    let action = action_of(map)?;
    let unknown = unknown_fields(action, map)?;
    let mut own = checked(action, action.fields, map)?;
    let beside = checked(action, COMMON, map)?;
    own.insert("action".to_owned(), action.name.into());
    let action = typed(own)?;
    check_move(&action)?;
    let mut proposal = Proposal { unknown, ..Proposal::of(action) };
    for (key, value) in beside {
        match (key.as_str(), value) {
            ("journal", Value::String(text)) => proposal.journal = Some(text),
            ("goal", Value::String(text)) => proposal.goal = Name::new(&text).ok(),
            ("next_interval_s", value) => proposal.next_interval_s = value.as_u64(),
            ("deferred_goals", Value::Array(items)) => {
                proposal.deferred_goals =
                    items.iter().filter_map(|item| Some(item.as_str()?.to_owned())).collect();
            }
            _ => {}
        }
    }
    // Bytes that JSON writes as six count as six: it is JSON that is stored.
    match json_width(&proposal) {
        bytes if bytes > MOVE => Err(Refusal::TooLarge { bytes, most: MOVE }),
        _ => Ok(proposal),
    }
}

fn action_of(map: &Map<String, Value>) -> Result<&'static Action, Refusal> {
    match map.get("action") {
        Some(Value::String(name)) => action(name).ok_or_else(|| Refusal::UnknownAction {
            action: name.clone(),
            nearest: nearest(name, ACTIONS.iter().map(|action| action.name), 3),
        }),
        Some(Value::Null) | None => Err(Refusal::NoAction),
        Some(other) => Err(Refusal::WrongType {
            action: "the decision",
            field: "action",
            expected: "a text",
            found: found(other),
        }),
    }
}

/// The known word that is nearest within a number of edits, if at least something of it is left.
fn nearest(word: &str, known: impl Iterator<Item = &'static str>, edits: usize) -> Option<&'static str> {
    // The distance costs the product of the lengths, so a word that is too long to be near is not measured.
    let length = word.chars().count();
    let near = known.filter(|known| length.abs_diff(known.len()) <= edits).filter_map(|known| {
        let distance = strsim::osa_distance(word, known);
        (distance <= edits && distance < length.min(known.len())).then_some((distance, known))
    });
    near.min().map(|(_, known)| known)
}

/// Names of the fields that mean nothing here. One that is too much like a known field is refused instead, because
/// it was meant to say something.
fn unknown_fields(action: &'static Action, map: &Map<String, Value>) -> Result<Vec<String>, Refusal> {
    let known = || fields_of(action).map(|field| field.name);
    let mut unknown = Vec::new();
    for key in map.keys().filter(|key| *key != "action" && known().all(|name| name != key.as_str())) {
        let names = known().chain(std::iter::once("action"));
        if let Some(known) = nearest(key, names, 2) {
            return Err(Refusal::NearMiss { action: action.name, field: key.clone(), known });
        }
        unknown.push(shown(key));
    }
    unknown.truncate(MOST_UNKNOWN);
    Ok(unknown)
}

fn checked(
    action: &'static Action,
    fields: &'static [Field],
    map: &Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let mut out = Map::new();
    for field in fields {
        let value = map.get(field.name).map(|value| check(action, field, value)).transpose()?.flatten();
        match value {
            Some(value) => drop(out.insert(field.name.to_owned(), value)),
            None if field.required => {
                return Err(Refusal::Missing { action: action.name, field: field.name });
            }
            None => {}
        }
    }
    Ok(out)
}

/// The catalogue has checked every field, so that this fails only where table and type disagree.
fn typed(map: Map<String, Value>) -> Result<Move, Refusal> {
    serde_json::from_value(Value::Object(map))
        .map_err(|error| Refusal::NotJson { problem: error.to_string() })
}

/// What a table of fields cannot say.
fn check_move(action: &Move) -> Result<(), Refusal> {
    if let Move::WriteSensor { script, .. } = action
        && !script.starts_with("#!")
    {
        return Err(Refusal::NotAScript);
    }
    if let Move::WriteSchedule { in_s, every_s, at, cron, missed, .. } = action {
        let given = [in_s.is_some(), every_s.is_some(), at.is_some(), cron.is_some()];
        let times = given.iter().filter(|is| **is).count();
        let problem = schedule_problem(times, *every_s, at.as_deref(), cron.as_deref(), missed.as_deref());
        return problem
            .map_or(Ok(()), |problem| Err(Refusal::BadSchedule { problem: one_line(&problem, 300) }));
    }
    Ok(())
}

fn schedule_problem(
    times: usize,
    every_s: Option<u64>,
    at: Option<&str>,
    cron: Option<&str>,
    missed: Option<&str>,
) -> Option<String> {
    if times != 1 {
        return Some(format!("exactly one of in_s, every_s, at and cron is needed, not {times}"));
    }
    if every_s.is_some_and(|seconds| seconds < 60) {
        return Some("every_s is less than 60".to_owned());
    }
    if let Some(missed) = missed.filter(|missed| !matches!(*missed, "once" | "skip")) {
        return Some(format!("missed is \"{}\"; expected once or skip", shown(missed)));
    }
    if let Some(problem) = cron.and_then(|line| schedule::parse_cron(line).err()) {
        return Some(problem);
    }
    // The moment itself is fixed when the move is planned; here it only has to be one.
    at.and_then(|text| schedule::parse_moment(text, 0, &TimeZone::UTC).err())
}
