//! `looop journal`.

use std::process::ExitCode;

use clap::Args;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, history};

/// What was done, one line a move
#[derive(Args, Debug)]
pub(super) struct Journal {
    #[command(flatten)]
    json: Json,
    /// How many lines
    #[arg(short = 'n', long, default_value_t = 20)]
    lines: usize,
}

impl Journal {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let lines = history::journal(place, self.lines)?;
        if self.json.json {
            print::json(&lines)?;
        } else if lines.is_empty() && self.lines > 0 {
            print::say("the journal is empty");
        } else if !lines.is_empty() {
            print::out(&lines.join("\n"));
        }
        Ok(ExitCode::SUCCESS)
    }
}
