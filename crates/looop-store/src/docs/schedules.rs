//! Schedules: `schedules/<name>.json`, in our form or that of looop 0.54 to 1.1.

use jiff::tz::TimeZone;
use looop_core::bounds::SCHEDULES;
use looop_core::model::name::{is_name, shown};
use looop_core::schedule::{Missed, Schedule, When, parse_cron};
use looop_core::world::observation::ScheduleDoc;
use serde::Deserialize;

use super::cache::Pass;
use super::scan::{Scan, listed, shortened, within};
use crate::dir::TEXT_LIMIT;

/// Shortest time between two occurrences.
const SHORTEST_S: u64 = 60;
/// Version of the stored form.
const VERSION: u32 = 1;

/// The form of older versions: seconds since the epoch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Older {
    #[serde(default)]
    v: Option<u32>,
    at: Option<i64>,
    every_s: Option<u64>,
    #[serde(default)]
    anchor: i64,
    note: Option<String>,
}

/// A time zone of this machine's database.
pub fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok()
}

pub(super) fn scan(pass: &mut Pass<'_>, scan: &mut Scan) {
    let listed = listed(pass, "schedules", &mut scan.broken);
    for entry in within(&listed, "schedules", (".json", SCHEDULES), &mut scan.odd) {
        let file = entry.name.to_string_lossy();
        let Some(name) = file.strip_suffix(".json") else { continue };
        if !is_name(name) {
            scan.odd.push(format!("schedules/{}", shown(&file)));
            continue;
        }
        let Some(found) = look(pass, name) else { continue };
        if let ScheduleDoc::Good { schedule, .. } = &found
            && let Some(name) = schedule.zone_name()
            && let Some(zone) = zone(name)
        {
            scan.docs.zones.insert(name.to_owned(), zone);
        }
        scan.docs.schedules.insert(name.to_owned(), found);
    }
    shortened(&mut scan.odd);
}

/// A schedule, if it is there.
pub(super) fn look(pass: &mut Pass<'_>, name: &str) -> Option<ScheduleDoc> {
    let path = format!("schedules/{name}.json");
    Some(match pass.read(&path, TEXT_LIMIT).known(&path) {
        Ok(whole) => {
            let whole = whole?;
            match parse(name, &whole.bytes) {
                Ok(schedule) => ScheduleDoc::Good { schedule, digest: whole.digest },
                Err(what) => {
                    ScheduleDoc::Broken { error: format!("{path} {what}"), digest: Some(whole.digest) }
                }
            }
        }
        Err(error) => ScheduleDoc::Broken { error, digest: None },
    })
}

fn parse(name: &str, bytes: &[u8]) -> Result<Schedule, String> {
    let not_json = |error: serde_json::Error| format!("is not a schedule: {error}");
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(not_json)?;
    let mut schedule = if value.get("when").is_some() {
        serde_json::from_value::<Schedule>(value).map_err(not_json)?
    } else {
        converted(serde_json::from_value(value).map_err(not_json)?)?
    };
    name.clone_into(&mut schedule.name);
    usable(&schedule).map(|()| schedule)
}

fn converted(older: Older) -> Result<Schedule, String> {
    let milliseconds = |seconds: i64| seconds.checked_mul(1000).ok_or("names a time out of range");
    let (when, created) = match (older.at, older.every_s) {
        (Some(at), None) => (When::At(milliseconds(at)?), i64::MIN),
        (None, Some(seconds)) => {
            let from = milliseconds(older.anchor)?;
            (When::Every { seconds, from }, from)
        }
        _ => return Err("must have exactly one of at and every_s".to_owned()),
    };
    let v = older.v.unwrap_or(VERSION);
    Ok(Schedule { v, name: String::new(), when, missed: Missed::Once, note: older.note, created })
}

fn usable(schedule: &Schedule) -> Result<(), String> {
    if schedule.v > VERSION {
        return Err(format!("has version {}, and this looop knows version {VERSION}", schedule.v));
    }
    match &schedule.when {
        When::Every { seconds, .. } if *seconds < SHORTEST_S => {
            Err(format!("repeats every {seconds} s, and {SHORTEST_S} s is the shortest"))
        }
        When::At(_) | When::Every { .. } => Ok(()),
        When::Cron { line, zone: name } => {
            parse_cron(line).map_err(|error| format!("cannot be used: {error}"))?;
            match name {
                Some(name) if zone(name).is_none() => {
                    Err(format!("names the zone \"{}\", which is unknown here", shown(name)))
                }
                _ => Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_nonsense_is_named() {
        let when = |text: &str| parse("s", text.as_bytes()).map(|schedule| schedule.when);
        assert_eq!(when(r#"{"v":1,"at":1794738539,"note":"check"}"#), Ok(When::At(1_794_738_539_000)));
        let every = When::Every { seconds: 604_800, from: 1_794_734_939_000 };
        assert_eq!(when(r#"{"v":1,"every_s":604800,"anchor":1794734939}"#), Ok(every));
        assert_eq!(when(r#"{"every_s":60}"#), Ok(When::Every { seconds: 60, from: 0 }));
        let ours = r#"{"v":1,"name":"other","when":{"cron":{"line":"0 9 * * *"}},"created":5}"#;
        assert_eq!(parse("s", ours.as_bytes()).unwrap().name, "s");
        let table = [
            (r#"{"v":1}"#, "exactly one"),
            (r#"{"at":1,"every_s":60}"#, "exactly one"),
            (r#"{"every_s":59}"#, "60 s is the shortest"),
            (r#"{"at":9223372036854775807}"#, "out of range"),
            (r#"{"v":2,"at":1}"#, "version 2"),
            (r#"{"at":1,"evry_s":3}"#, "evry_s"),
            ("[]", "is not a schedule"),
            ("", "is not a schedule"),
            (r#"{"v":1,"name":"s","when":{"cron":{"line":"x"}},"created":5}"#, "cron line"),
            (
                r#"{"v":1,"name":"s","when":{"cron":{"line":"@daily","zone":"No/Where"}},"created":5}"#,
                "No/Where",
            ),
        ];
        for (text, said) in table {
            let error = when(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn an_older_one_shot_that_is_past_is_due() {
        let past = parse("s", br#"{"at":-5}"#).unwrap();
        assert_eq!(past.due(0, &TimeZone::UTC, None), Some(-5000));
    }
}
