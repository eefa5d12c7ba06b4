//! `looop prune [<id>]`.

use std::process::ExitCode;

use clap::Args;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, workers};

/// Remove what is kept of ended workers: transcripts, prompts, clean worktrees
#[derive(Args, Debug)]
pub(super) struct Prune {
    #[command(flatten)]
    json: Json,
    /// Of this worker, or of this session, only
    id: Option<String>,
}

impl Prune {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let pruned = workers::prune(place, self.id.clone())?;
        if self.json.json {
            print::json(&pruned)?;
            return Ok(ExitCode::SUCCESS);
        }
        for session in &pruned.sessions {
            print::out(&format!("removed {session}"));
        }
        for (session, why) in &pruned.kept {
            print::say(&format!("{session}: {why}"));
        }
        if pruned.sessions.is_empty() && pruned.kept.is_empty() {
            print::say("nothing is kept of ended workers");
        }
        Ok(ExitCode::SUCCESS)
    }
}
