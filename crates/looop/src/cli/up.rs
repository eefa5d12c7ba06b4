//! `looop up`, and the detached loop itself.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use looop_core::engine::io::PulseView;
use looop_core::ledger::entry::Line;
use looop_core::shown::Shown;
use looop_core::time::{clock_text, minute_text};
use looop_core::view::{events, lines};
use serde_json::json;

use super::args::Json;
use super::print;
use crate::clock;
use crate::config::LogFormat;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::up::{self, Beaten, OTHER_RUNS};

/// Start the loop detached; comes back once it has looked at the world
///
/// It goes on after the terminal is closed and writes to pulse.log (looop log pulse -f). Where one runs already nothing
/// is started.
#[derive(Args, Debug)]
pub(super) struct Up {
    /// End the one that runs, leave its workers alone, and start a new one
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    json: Json,
}

impl Up {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let on_terminal = io::stderr().is_terminal();
        let up = up::up(place, self.restart, &mut |what| {
            if on_terminal {
                print::say(&format!("looop: {what}"));
            }
        })?;
        let (state, view, before) = match &up {
            up::Up::Started(view) => ("started", view, None),
            up::Up::Restarted(view, before) => ("restarted", view, Some(*before)),
            up::Up::Already(view) => ("already", view, None),
        };
        if self.json.json {
            print::json(&json!({"v": 1, "up": state, "before": before, "pulse": view}))?;
        } else {
            print::out(&said(&up));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn said(up: &up::Up) -> String {
    match up {
        up::Up::Started(view) => {
            format!("up: process {}; looop log pulse -f follows it, looop down ends it", view.pid)
        }
        up::Up::Restarted(view, before) => format!("up again: process {}, after process {before}", view.pid),
        up::Up::Already(view) => format!("already up: process {}, since {}", view.pid, since(view)),
    }
}

/// When it began: the time of day, with the date where that is another one.
fn since(view: &PulseView) -> String {
    let now = clock::now();
    let minute = minute_text(view.since, &now.zone);
    if minute.starts_with(&now.day()) { clock_text(view.since, &now.zone) } else { minute }
}

/// Is the detached loop of the profile in this folder.
pub(super) fn pulse(data: &OsStr) -> ExitCode {
    match beat(Path::new(data)) {
        Ok(Beaten::Ended) => ExitCode::SUCCESS,
        Ok(Beaten::OtherRuns) => ExitCode::from(OTHER_RUNS),
        Err(failure) => {
            print::say(&failure.to_string());
            failure.exit_code()
        }
    }
}

fn beat(data: &Path) -> Result<Beaten> {
    let place = Place::find(Some(data))?;
    let as_json = place.config()?.config.log_format == LogFormat::Json;
    up::pulse(&place, &|line| if as_json { machine(line) } else { human(line) })
}

fn machine(line: &Line) -> Vec<String> {
    events::events(line).iter().map(|event| Shown::json(&event.to_string()).to_string()).collect()
}

fn human(line: &Line) -> Vec<String> {
    lines::lines(line, &clock::now()).iter().map(|line| line.plain().to_string()).collect()
}
