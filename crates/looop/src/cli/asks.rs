//! `looop asks [dismiss ID]`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::letter::AskKind;
use looop_core::view::status::age_text;
use looop_core::world::fleet::worker_of;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, letters};

/// Questions that wait for you
#[derive(Args, Debug)]
pub(super) struct Asks {
    #[command(flatten)]
    json: Json,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Drop a question without an answer
    Dismiss {
        /// Which ask
        id: String,
    },
}

impl Asks {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        if let Some(Verb::Dismiss { id }) = &self.verb {
            letters::dismiss(place, id)?;
            print::out(&format!("dismissed {id}"));
            return Ok(ExitCode::SUCCESS);
        }
        let asks = letters::pending(place)?;
        if self.json.json {
            print::json(&asks)?;
            return Ok(ExitCode::SUCCESS);
        }
        if asks.is_empty() {
            print::say("nothing waits for you");
        }
        for ask in asks {
            let goal = ask.goal.as_ref().map_or(String::new(), |goal| format!(", goal {goal}"));
            print::out(&format!("{}  (from {}{goal}, {} ago)", ask.id, ask.from, age_text(Some(ask.age_s))));
            print::out(&format!("  {}", ask.prompt.replace('\n', "\n  ")));
            if !ask.options.is_empty() {
                print::out(&format!("  options: {}", ask.options.join(" | ")));
            }
            if let Some(reference) = &ask.reference {
                print::out(&format!("  see: {reference}"));
            }
            print::out(&format!("  {}", what_to_do(&ask)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The verb that settles an ask.
fn what_to_do(ask: &letters::Pending) -> String {
    match ask.kind {
        AskKind::Question => format!("looop answer {} '…'", ask.id),
        AskKind::Flag => format!("looop attach {}", worker_of(&ask.from)),
        AskKind::Proposal => format!("make the move by hand, or looop asks dismiss {}", ask.id),
    }
}
