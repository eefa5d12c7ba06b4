//! `looop answer <ask> [text]`.

use std::process::ExitCode;

use clap::Args;

use super::{body, print};
use crate::failure::Result;
use crate::ops::{Place, letters};

/// Answer a question; the first answer wins
#[derive(Args, Debug)]
pub(super) struct Answer {
    /// Which ask
    ask: String,
    /// The answer; read from stdin if absent or -
    #[arg(allow_hyphen_values = true)]
    text: Vec<String>,
}

impl Answer {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        letters::answer(place, &self.ask, &body::body(&self.text, "answer")?)?;
        print::out(&format!("answered {}", self.ask));
        Ok(ExitCode::SUCCESS)
    }
}
