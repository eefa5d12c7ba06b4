//! `looop sensor list | show | write | run | rm`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::digest::canonical;
use looop_core::model::moves::{Move, one_line};
use looop_core::world::reading::Reading;
use serde_json::json;

use super::args::Json;
use super::{body, print};
use crate::failure::{Failure, Result};
use crate::ops::{Place, named, see, sensors, submit};

/// Sensors: executables that print one JSON object about the world
#[derive(Args, Debug)]
pub(super) struct Sensor {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List sensors with their last reading
    List(Json),
    /// Show a sensor's script
    Show {
        /// Which sensor
        name: String,
    },
    /// Create or replace a sensor; it is tried first
    Write {
        /// Which sensor
        name: String,
        /// The script; read from stdin if absent or -; after -- it may begin with a dash
        script: Vec<String>,
    },
    /// Run a sensor now and show what the loop would see
    Run {
        /// Which sensor
        name: String,
        #[command(flatten)]
        json: Json,
    },
    /// Remove a sensor
    Rm {
        /// Which sensor
        name: String,
    },
}

impl Sensor {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            Verb::List(json) => list(place, json.json)?,
            Verb::Show { name } => print::out_file(&sensors::script(place, name)?),
            Verb::Write { name, script } => {
                let (name, script) = (named(name)?, body::body(script, "script")?);
                print::out(&submit::made(place, Move::WriteSensor { name, script })?);
            }
            Verb::Run { name, json } => return try_out(place, name, json.json),
            Verb::Rm { name } => print::out(&submit::made(place, Move::RemoveSensor { name: named(name)? })?),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn state(reading: Option<&Reading>) -> (&'static str, String) {
    match reading {
        None => ("not read yet", String::new()),
        Some(reading) if reading.failed => {
            ("failing", reading.detail["message"].as_str().unwrap_or("").to_owned())
        }
        Some(reading) => ("ok", canonical(&reading.signal)),
    }
}

fn list(place: &Place, as_json: bool) -> Result<()> {
    let seen = see::see(place)?;
    let names: Vec<&String> = seen.observation.docs.sensors.keys().collect();
    if as_json {
        let row = |name: &&String| json!({"name": name, "file": seen.observation.docs.sensors[*name].file, "reading": seen.readings.get(*name)});
        return print::json(&names.iter().map(row).collect::<Vec<_>>());
    }
    if names.is_empty() {
        print::say("no sensors; write one with: looop sensor write <name> < script");
        return Ok(());
    }
    let row = |name: &&String| {
        let (state, text) = state(seen.readings.get(*name));
        vec![
            (*name).clone(),
            seen.observation.docs.sensors[*name].file.clone(),
            state.to_owned(),
            one_line(&text, 200),
        ]
    };
    let rows: Vec<Vec<String>> = names.iter().map(row).collect();
    print::out(&print::table(&["sensor", "file", "state", "last reading"], &rows));
    Ok(())
}

fn try_out(place: &Place, name: &str, as_json: bool) -> Result<ExitCode> {
    let reading = sensors::try_out(place, name)?;
    if as_json {
        print::json(&reading)?;
    } else {
        let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default();
        print::out(&format!("signal (may wake the loop): {}", pretty(&reading.signal)));
        if !reading.detail.is_null() {
            print::out(&format!("detail (may not): {}", pretty(&reading.detail)));
        }
        print::out(&format!("trust: {}", reading.trust.word()));
    }
    if reading.failed {
        let message = reading.detail["message"].as_str().unwrap_or("it failed").to_owned();
        return Err(Failure::new(format!("sensor \"{name}\": {message}")));
    }
    Ok(ExitCode::SUCCESS)
}
