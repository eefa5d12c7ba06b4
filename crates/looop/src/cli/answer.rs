//! `looop answer <ask> [text]`.

use std::process::ExitCode;

use clap::Args;

use super::{body, print};
use crate::failure::Result;
use crate::ops::{Place, approvals, letters};

/// Answer a question; the first answer wins. A move that waits is answered with yes, no or always
#[derive(Args, Debug)]
pub(super) struct Answer {
    /// Which ask
    ask: String,
    /// The answer (yes, no: why, or always for a move); read from stdin if absent or -
    #[arg(allow_hyphen_values = true)]
    text: Vec<String>,
}

impl Answer {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let text = body::body(&self.text, "answer")?;
        if approvals::is_proposal(&place.reader()?, &self.ask)? {
            print::out(&approvals::consent(place, &self.ask, approvals::say(&text)?)?);
            return Ok(ExitCode::SUCCESS);
        }
        letters::answer(place, &self.ask, &text)?;
        print::out(&format!("answered {}", self.ask));
        Ok(ExitCode::SUCCESS)
    }
}
