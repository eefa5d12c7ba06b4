//! `looop shot <id>`.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::drive::{self, Seen};
use crate::ops::session::{self, Shown};

/// What a worker's terminal shows, or showed last
#[derive(Args, Debug)]
pub(super) struct Shot {
    /// Which worker or session; `pulse` is the loop itself
    id: String,
    /// With colours
    #[arg(long)]
    ansi: bool,
    #[command(flatten)]
    json: Json,
}

impl Shot {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let (name, mut seen) = match session::readable(place, &self.id)? {
            Shown::Session(target) => (target.session.clone(), drive::shot(&target)?),
            Shown::Pulse(path) => (self.id.clone(), drive::shot_of_file(&path)?),
        };
        if self.json.json {
            seen.shot.ansi = seen.shot.ansi.filter(|_| self.ansi);
            print::json(&Printed { v: 1, session: &name, seen: &seen })?;
            return Ok(ExitCode::SUCCESS);
        }
        if seen.source == "reconstructed" {
            print::say(&format!(
                "looop: {name} left no screen; this one is put together from the end of its output"
            ));
        }
        if seen.source != "live" && !seen.shot.left.is_empty() {
            print::out("[the last full screen, before the program left it]");
            print::out(seen.shot.left.join("\n").trim_end_matches('\n'));
            print::out("[the screen at the end]");
        }
        if self.ansi {
            // Drawn anew from the cells of the screen: colours are all that a terminal is told.
            print::out_bytes(format!("{}\n", seen.coloured().trim_end_matches('\n')).as_bytes());
        } else {
            print::out(seen.shot.lines.join("\n").trim_end_matches('\n'));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A screen for scripts.
#[derive(Serialize)]
struct Printed<'a> {
    v: u32,
    session: &'a str,
    #[serde(flatten)]
    seen: &'a Seen,
}
