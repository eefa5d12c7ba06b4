//! `looop beat`.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use looop_core::engine::io::{Reply, Request};
use looop_core::ledger::entry::{Entry, Line, SensorState};
use looop_core::view::events::events;
use looop_core::view::lines::{HumanLine, Tone, clock as clock_text, lines, sensor_changed};
use serde_json::json;

use super::args::Json;
use super::print;
use crate::clock;
use crate::failure::{Failure, Result};
use crate::ops::{Place, submit};

/// One beat now: sense, decide, act, log
#[derive(Args, Debug)]
pub(super) struct Beat {
    /// Show the brief and what the gates say; do and spend nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    json: Json,
}

impl Beat {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        if self.dry_run { self.dry(place) } else { self.wet(place) }
    }

    fn dry(&self, place: &Place) -> Result<ExitCode> {
        let Reply::DryRun { brief, verdict, changes } = submit::submit(place, Request::DryRun, &mut |_| {})?
        else {
            return Err(Failure::new("the loop gave an answer of another kind"));
        };
        if self.json.json {
            print::json(&json!({"v": 1, "brief": brief, "verdict": verdict, "changes": changes}))?;
        } else {
            print::out(&brief);
            print::say(&format!("── {verdict}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn wet(&self, place: &Place) -> Result<ExitCode> {
        let (mut shown, mut told) = (0, BTreeSet::new());
        let reply = submit::submit(place, Request::Beat, &mut |line| {
            shown += usize::from(show(line, self.json.json));
            told.extend(line.entries.iter().filter_map(sensor_of).cloned());
        })?;
        let Reply::Beat { why, failed, failing } = reply else {
            return Err(Failure::new("the loop gave an answer of another kind"));
        };
        for (sensor, reason) in failing.iter().filter(|(sensor, _)| !told.contains(*sensor)) {
            still_failing(sensor, reason, self.json.json);
        }
        if let Some(why) = why.filter(|_| shown == 0) {
            idle(&why, self.json.json);
        }
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The sensor that an entry is about.
fn sensor_of(entry: &Entry) -> Option<&String> {
    if let Entry::SensorChanged { sensor, .. } = entry { Some(sensor) } else { None }
}

/// A sensor that fails as it did before is not in the log again; it is still said.
fn still_failing(sensor: &str, reason: &str, as_json: bool) {
    let now = clock::now();
    if as_json {
        let ts = looop_core::time::machine_text(now.wall);
        let event = json!({
            "v": 1, "ts": ts, "event": "sensor_changed", "sensor": sensor, "state": "failing", "reason": reason,
            "repeated": true,
        });
        return print::out(&event.to_string());
    }
    let state = SensorState::Failing { reason: reason.to_owned() };
    let (glyph, tone, text) = sensor_changed(sensor, &state);
    print::human_line(&HumanLine { clock: clock_text(now.wall, &now.zone), glyph, text, tone });
}

/// Shows an append; tells whether it said what the beat did.
fn show(line: &Line, as_json: bool) -> bool {
    if as_json {
        let events = events(line);
        for event in &events {
            print::event(event);
        }
        return line.entries.iter().any(says_what_it_did);
    }
    let now = clock::now();
    for line in &lines(line, &now) {
        print::human_line(line);
    }
    let did: Vec<Entry> = line.entries.iter().filter(|entry| says_what_it_did(entry)).cloned().collect();
    !lines(&Line { entries: did, ..line.clone() }, &now).is_empty()
}

/// Whether an entry says what a beat did, and not only what it saw.
fn says_what_it_did(entry: &Entry) -> bool {
    !matches!(entry, Entry::Seeded { .. } | Entry::Saw { .. } | Entry::SensorChanged { .. })
}

/// A beat that did the same nothing as the one before is not in the log; it is still said.
fn idle(why: &str, as_json: bool) {
    let now = clock::now();
    if as_json {
        let ts = looop_core::time::machine_text(now.wall);
        print::event(&json!({"v": 1, "ts": ts, "event": "skipped", "reason": why, "repeated": true}));
        return;
    }
    let clock = clock_text(now.wall, &now.zone);
    print::human_line(&HumanLine { clock, glyph: '·', text: why.to_owned(), tone: Tone::Dim });
}
