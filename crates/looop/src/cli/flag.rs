//! `looop flag [worker]` and `looop unflag [worker]`.

use std::process::ExitCode;

use clap::Args;

use super::print;
use crate::failure::Result;
use crate::ops::{Place, worker_letters};

/// Ask your person to attach to your terminal, without waiting (a worker's verb)
#[derive(Args, Debug)]
pub(super) struct Flag {
    /// Whose terminal
    #[arg(help = "Whose terminal [default: $LOOOP_SESSION_ID]")]
    worker: Option<String>,
    /// What they are needed for
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

impl Flag {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let flag = worker_letters::flag(place, self.worker.as_deref(), self.reason.as_deref())?;
        print::out(&flag);
        Ok(ExitCode::SUCCESS)
    }
}

/// Take your flags back (a worker's verb)
#[derive(Args, Debug)]
pub(super) struct Unflag {
    /// Whose flags
    #[arg(help = "Whose flags [default: $LOOOP_SESSION_ID]")]
    worker: Option<String>,
}

impl Unflag {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        for flag in worker_letters::unflag(place, self.worker.as_deref())? {
            print::out(&flag);
        }
        Ok(ExitCode::SUCCESS)
    }
}
