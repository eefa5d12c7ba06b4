//! `looop answer <ask> [text]`.

use std::process::ExitCode;

use clap::Args;
use looop_core::model::digest::Digest;

use super::{body, print};
use crate::failure::Result;
use crate::ops::letters::{After, Posted};
use crate::ops::{Place, approvals, letters};

/// Answer a question; the first answer wins. A move that waits is answered with yes, no or always
#[derive(Args, Debug)]
pub(super) struct Answer {
    /// Which ask
    ask: String,
    /// The answer (yes, no: why, or always for a move); read from stdin if absent or -; after -- it may begin with a dash
    text: Vec<String>,
    /// The digest of the move that you were shown, where it was not `looop asks` that showed it
    #[arg(long, value_name = "DIGEST", value_parser = digest)]
    digest: Option<Digest>,
}

impl Answer {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let text = body::body(&self.text, "answer")?;
        let reader = place.reader()?;
        if approvals::is_proposal(&reader, &self.ask, self.digest)? {
            print::out(&approvals::consent(place, &self.ask, approvals::say(&text)?, self.digest)?);
            return Ok(ExitCode::SUCCESS);
        }
        let Posted { after, pulse } = letters::answer((place, &reader), &self.ask, &text)?;
        let (follows, by_loop) = match after {
            After::Loop => (String::new(), true),
            After::GoesOn(worker) => (format!("; {worker} goes on"), false),
            After::Typed(worker) => (format!("; it will be typed into {worker}"), true),
            After::Anew(worker) => {
                (format!("; {worker} has ended, and its task begins anew with the answer"), true)
            }
        };
        print::out(&format!("answered {}{follows}", self.ask));
        if by_loop && !pulse {
            print::say("the loop is not running: looop beat or looop up takes the answer in");
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn digest(text: &str) -> std::result::Result<Digest, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}
