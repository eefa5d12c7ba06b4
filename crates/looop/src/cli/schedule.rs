//! `looop schedule list | write | rm`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use looop_core::model::moves::Move;
use looop_core::time::{machine_text, minute_text};
use looop_core::world::observation::ScheduleDoc;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::config::parse_duration;
use crate::failure::Result;
use crate::ops::{Place, named, see, submit};

/// Schedules: durable timers that wake the loop
#[derive(Args, Debug)]
pub(super) struct Schedule {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List schedules with their next time
    List(Json),
    /// Create or replace a schedule
    Write(Box<Write>),
    /// Remove a schedule
    Rm {
        /// Which schedule
        name: String,
    },
}

#[derive(Args, Debug)]
struct Write {
    /// Which schedule
    name: String,
    #[command(flatten)]
    time: Time,
    /// The time zone of --cron or --at, such as Europe/Berlin [default: yours]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// What becomes of a time that passed while nothing ran
    #[arg(long, value_parser = ["once", "skip"])]
    missed: Option<String>,
    /// What it is for
    #[arg(long)]
    note: Option<String>,
}

/// Exactly one of these.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Time {
    /// Once, after a time such as 90m
    #[arg(long = "in", value_name = "DURATION", value_parser = parse_duration)]
    after: Option<Duration>,
    /// Once, at a time such as "2030-01-31 09:00", "09:00" or an RFC 3339 stamp
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Again and again, at least 60s apart
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    every: Option<Duration>,
    /// By a cron line of five fields, such as "0 9 * * 1-5"
    #[arg(long, value_name = "LINE")]
    cron: Option<String>,
}

impl Schedule {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            Verb::List(json) => list(place, json.json)?,
            Verb::Write(write) => print::out(&submit::made(place, write.action()?)?),
            Verb::Rm { name } => print::out(&submit::made(place, Move::DropSchedule { name: named(name)? })?),
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Write {
    fn action(&self) -> Result<Move> {
        Ok(Move::WriteSchedule {
            name: named(&self.name)?,
            in_s: self.time.after.map(|span| span.as_secs()),
            every_s: self.time.every.map(|span| span.as_secs()),
            at: self.time.at.clone(),
            cron: self.time.cron.clone(),
            zone: self.zone.clone(),
            missed: self.missed.clone(),
            note: self.note.clone(),
        })
    }
}

fn list(place: &Place, as_json: bool) -> Result<()> {
    let seen = see::see(place)?;
    let (docs, now) = (&seen.observation.docs, &seen.now);
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for (name, doc) in &docs.schedules {
        match doc {
            ScheduleDoc::Good { schedule, .. } => {
                let zone = schedule.zone_name().and_then(|zone| docs.zones.get(zone)).unwrap_or(&now.zone);
                let (due, next) = (
                    schedule.due(now.wall, zone, seen.ledger.due.get(name).copied()),
                    schedule.next(now.wall, zone),
                );
                let shown =
                    |at: Option<i64>| at.map_or_else(|| "-".to_owned(), |at| minute_text(at, &now.zone));
                let note = schedule.note.clone().unwrap_or_default();
                rows.push(vec![name.clone(), schedule.text(&now.zone), shown(next), shown(due), note]);
                values.push(json!({"schedule": schedule, "due": due.map(machine_text), "next": next.map(machine_text)}));
            }
            ScheduleDoc::Broken { error, .. } => {
                rows.push(vec![
                    name.clone(),
                    "broken".to_owned(),
                    "-".to_owned(),
                    "-".to_owned(),
                    error.clone(),
                ]);
                values.push(json!({"name": name, "error": error}));
            }
        }
    }
    if as_json {
        return print::json(&values);
    }
    if rows.is_empty() {
        print::say("no schedules; write one with: looop schedule write <name> --cron '0 9 * * 1-5'");
        return Ok(());
    }
    print::out(&print::table(&["schedule", "when", "next", "last due", "note"], &rows));
    Ok(())
}
