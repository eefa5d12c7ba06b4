//! `looop asks [dismiss ID]`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::letter::AskKind;
use looop_core::view::status::age_text;
use looop_core::world::fleet::worker_of;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::approvals::{self, Waiting};
use crate::ops::{Place, letters};

/// Questions that wait for you
#[derive(Args, Debug)]
pub(super) struct Asks {
    #[command(flatten)]
    json: Json,
    /// Moves that waited and can no longer be approved
    #[arg(long)]
    expired: bool,
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
    /// Ask anew for a move that can no longer be approved, upon the world of now
    Repark {
        /// Which ask it was
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
        if let Some(Verb::Repark { id }) = &self.verb {
            print::out(&format!("{id} waits again as {}", approvals::repark(place, id)?));
            return Ok(ExitCode::SUCCESS);
        }
        if self.expired {
            return self.lapsed(place);
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
            print::out(&format!("  {}", print::tame(&ask.prompt).replace('\n', "\n  ")));
            if let Some(waiting) = &ask.waiting {
                show(waiting);
            }
            if !ask.options.is_empty() {
                print::out(&format!("  options: {}", print::tame(&ask.options.join(" | "))));
            }
            if let Some(reference) = &ask.reference {
                print::out(&format!("  see: {}", print::tame(reference)));
            }
            print::out(&format!("  {}", what_to_do(&ask)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Asks {
    fn lapsed(&self, place: &Place) -> Result<ExitCode> {
        let lapsed = approvals::lapsed(place)?;
        if self.json.json {
            print::json(&lapsed)?;
            return Ok(ExitCode::SUCCESS);
        }
        if lapsed.is_empty() {
            print::say("nothing lapsed lately");
        }
        for (id, waiting) in &lapsed {
            print::out(&format!("{id}  (wanted by {})", waiting.by));
            show(waiting);
            print::out(&format!("  looop asks repark {id} asks for it anew"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows a move that waits, exactly: every byte of it, how a file would change, and what a yes would mean.
fn show(waiting: &Waiting) {
    let text = serde_json::to_string_pretty(&waiting.action).unwrap_or_default();
    let text = waiting.diff.as_ref().unwrap_or(&text);
    print::out(&format!("    {}", print::tame(text).trim_end().replace('\n', "\n    ")));
    if waiting.diff.is_some() && waiting.tainted {
        print::out("  it was written after reading what strangers wrote");
    }
    print::out(&format!("  why it waits: {} ({})", print::tame(&waiting.reason), waiting.rule));
    print::out(&format!("  {}; rests on {}", waiting.rights, waiting.rests_on.join(", ")));
    print::out(&format!("  digest {}, waits until {}", waiting.digest, waiting.expires));
    if let Some(lapsed) = &waiting.lapsed {
        print::out(&format!("  can no longer be approved: {lapsed}"));
    }
}

/// The verb that settles an ask.
fn what_to_do(ask: &letters::Pending) -> String {
    match ask.kind {
        AskKind::Question => format!("looop answer {} '…'", ask.id),
        AskKind::Flag => format!("looop attach {}", worker_of(&ask.from)),
        AskKind::Proposal => format!("looop answer {} yes | no | always", ask.id),
    }
}
