//! `looop events`.

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

use clap::Args;
use looop_core::ledger::entry::Line;
use looop_core::view::events::events;
use looop_core::view::lines::lines;
use rustix::event::PollFlags;

use super::args::Json;
use super::print;
use crate::clock;
use crate::failure::Result;
use crate::ops::follow::{Until, follow};
use crate::ops::{Place, history};

/// Appends that are looked through for one line: many say nothing to a person.
const QUIET: usize = 16;

/// Everything that happened, oldest first
#[derive(Args, Debug)]
pub(super) struct Events {
    #[command(flatten)]
    json: Json,
    /// Only what came after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,
    /// Only the last so many lines, or events with --json
    #[arg(short = 'n', long)]
    last: Option<usize>,
    /// Go on with what comes
    #[arg(short, long)]
    follow: bool,
}

impl Events {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let mut show = |line: &Line| self.show(line);
        let mut since = self.since;
        if let Some(last) = self.last {
            // One more than none: where it goes on is known by the last line that there is.
            let lines = history::recent(place, last.max(1).saturating_mul(QUIET))?;
            self.show_last(lines.iter().filter(|line| line.seq > since), last);
            since = since.max(lines.last().map_or(0, |line| line.seq));
        } else if !self.follow {
            history::lines(place, since, &mut show)?;
        }
        if self.follow {
            let stdout = io::stdout();
            // Nothing is asked of it, so that only an error is told: that nobody reads it any more.
            let listener = Some((stdout.as_fd(), PollFlags::empty()));
            follow(place, since, &Until { listener, holder: None }, &mut show)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Shows the last so many lines or events of these appends.
    fn show_last<'a>(&self, appends: impl Iterator<Item = &'a Line>, most: usize) {
        let now = clock::now();
        if self.json.json {
            let all: Vec<_> = appends.flat_map(events).collect();
            all[all.len().saturating_sub(most)..].iter().for_each(print::event);
        } else {
            let all: Vec<_> = appends.flat_map(|line| lines(line, &now)).collect();
            all[all.len().saturating_sub(most)..].iter().for_each(print::human_line);
        }
    }

    fn show(&self, line: &Line) {
        if self.json.json {
            for event in events(line) {
                print::event(&event);
            }
        } else {
            print::human(line, &clock::now());
        }
    }
}
