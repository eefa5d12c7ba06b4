//! `looop events`.

use std::process::ExitCode;

use clap::Args;

use super::args::Json;
use super::print;
use crate::clock;
use crate::failure::Result;
use crate::ops::{Place, history};

/// Everything that happened, oldest first
#[derive(Args, Debug)]
pub(super) struct Events {
    #[command(flatten)]
    json: Json,
    /// Only what came after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,
    /// Only the last so many appends
    #[arg(short = 'n', long)]
    last: Option<usize>,
}

impl Events {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let now = clock::now();
        let mut show = |line: &looop_core::ledger::entry::Line| {
            if self.json.json {
                for event in looop_core::view::events::events(line) {
                    print::out(&event.to_string());
                }
            } else {
                print::human(line, &now);
            }
        };
        match self.last {
            Some(last) => {
                history::recent(place, last)?.iter().filter(|line| line.seq > self.since).for_each(show);
            }
            None => history::lines(place, self.since, &mut show)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
