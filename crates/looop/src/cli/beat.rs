//! `looop beat`.

use std::process::ExitCode;

use clap::Args;
use looop_core::engine::io::{Reply, Request};
use looop_core::ledger::entry::Line;
use looop_core::view::events::events;
use looop_core::view::lines::{HumanLine, Tone, clock as clock_text};
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
        let mut shown = 0;
        let reply = submit::submit(place, Request::Beat, &mut |line| {
            shown += usize::from(show(line, self.json.json));
        })?;
        let Reply::Beat { why, failed } = reply else {
            return Err(Failure::new("the loop gave an answer of another kind"));
        };
        if let Some(why) = why.filter(|_| shown == 0) {
            idle(&why, self.json.json);
        }
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Shows an append; tells whether it said what the beat did.
fn show(line: &Line, as_json: bool) -> bool {
    if as_json {
        let events = events(line);
        for event in &events {
            print::event(event);
        }
        return events.iter().any(|event| event["event"] != "sensed" && event["event"] != "seeded");
    }
    let now = clock::now();
    let lines = looop_core::view::lines::lines(line, &now);
    for line in &lines {
        print::human_line(line);
    }
    lines.iter().any(|line| line.glyph != '+')
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
