//! `looop restart <id>`.

use std::process::ExitCode;

use clap::Args;

use super::args::Json;
use super::worker;
use crate::failure::Result;
use crate::ops::{Place, workers};

/// End a worker, if it lives, and begin its task anew in a new session
#[derive(Args, Debug)]
pub(super) struct Restart {
    #[command(flatten)]
    json: Json,
    /// Which worker
    id: String,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Also while it waits for your answer
    #[arg(long)]
    force: bool,
}

impl Restart {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let id = workers::worker_id(&self.id)?;
        let started = workers::restart(place, &id, self.reason.clone(), self.force)?;
        worker::say_started(&started, self.json.json)?;
        Ok(ExitCode::SUCCESS)
    }
}
