//! `looop init`.

use std::process::ExitCode;

use clap::Args;

use super::print;
use crate::failure::Result;
use crate::ops::{Place, init};

/// Set up a profile: find agent CLIs and write config.toml
#[derive(Args, Debug)]
pub(super) struct Init {
    /// Who decides: builtin, claude, codex, opencode, pi or gemini [default: what is installed]
    #[arg(long, value_name = "RUNNER")]
    runner: Option<String>,
    /// Grant these programs, of those that were found, what they need: network, their variables, their files
    #[arg(long, value_name = "PROGRAM", value_delimiter = ',')]
    grant: Vec<String>,
}

impl Init {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let done = init::init(place, self.runner.as_deref(), &self.grant)?;
        for line in done {
            print::out(&line);
        }
        Ok(ExitCode::SUCCESS)
    }
}
