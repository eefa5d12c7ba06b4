//! `looop told [worker]`.

use std::process::ExitCode;

use clap::Args;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, worker_letters};

/// Print what you were told since the last time, each message once (a worker's verb)
#[derive(Args, Debug)]
pub(super) struct Told {
    /// Who listens
    #[arg(help = "Who listens [default: $LOOOP_SESSION_ID]")]
    worker: Option<String>,
    #[command(flatten)]
    json: Json,
}

impl Told {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let tells = worker_letters::told(place, self.worker.as_deref())?;
        if self.json.json {
            print::json(&tells)?;
            return Ok(ExitCode::SUCCESS);
        }
        for tell in tells {
            print::out(&tell.text);
        }
        Ok(ExitCode::SUCCESS)
    }
}
