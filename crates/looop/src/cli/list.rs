//! `looop worker list`.

use std::process::ExitCode;

use clap::Args;
use looop_core::agents::until_text;
use looop_core::view::status::age_text;
use looop_core::world::fleet::Stray;

use super::args::Json;
use super::print;
use crate::clock;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::workers::{self, Listed};

/// List workers: how each stands, for which goal, since when
#[derive(Args, Debug)]
pub(super) struct List {
    #[command(flatten)]
    json: Json,
    /// Every session that is kept, not only the newest of each worker
    #[arg(long)]
    all: bool,
}

impl List {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let listed = workers::list(place, self.all)?;
        if self.json.json {
            print::json(&listed)?;
            return Ok(ExitCode::SUCCESS);
        }
        if listed.is_empty() {
            print::say("no workers; looop worker start <id> 'prompt' starts one");
            return Ok(ExitCode::SUCCESS);
        }
        let header = ["worker", "state", "health", "goal", "runner", "ran", "silent", "verify", "waits on"];
        let rows: Vec<Vec<String>> = listed.iter().map(|worker| self.row(worker)).collect();
        print::out(&print::table(&header, &rows));
        for worker in listed.iter().filter(|worker| !worker.alive) {
            if let Some(branch) = &worker.branch {
                let id = if self.all { &worker.session } else { &worker.id };
                print::say(&format!("the work of {id} is on {branch}: looop review {id}"));
            }
        }
        for worker in listed.iter().filter(|worker| worker.alive && !worker.strays.is_empty()) {
            print::say(&format!("{}: {}", worker.id, Stray::texts(&worker.strays)));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn row(&self, worker: &Listed) -> Vec<String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        vec![
            if self.all { worker.session.clone() } else { worker.id.clone() },
            worker.standing.clone(),
            worker.health.to_owned(),
            text(&worker.goal),
            text(&worker.runner),
            age_text(worker.ran_s),
            age_text(worker.silent_s),
            match worker.verify {
                Some("unchanged") => "no changes".to_owned(),
                verify => verify.unwrap_or("-").to_owned(),
            },
            match worker.waits_until_unix {
                Some(until) => format!("until {}", until_text(until.saturating_mul(1000), &clock::now())),
                None => text(&worker.waits_on),
            },
        ]
    }
}
