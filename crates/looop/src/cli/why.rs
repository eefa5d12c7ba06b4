//! `looop why [goal]`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, why};

/// Why the last beat did what it did, or why a goal is not being worked on
#[derive(Args, Debug)]
pub(super) struct Why {
    /// A goal
    goal: Option<String>,
    #[command(flatten)]
    json: Json,
}

impl Why {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let steps = match &self.goal {
            Some(goal) => why::goal(place, goal)?,
            None => why::last_beat(place)?,
        };
        if self.json.json {
            print::json(&json!({"v": 1, "steps": steps}))?;
            return Ok(ExitCode::SUCCESS);
        }
        let width = steps.iter().map(|step| step.what.chars().count()).max().unwrap_or(0);
        for step in steps {
            let pad = " ".repeat(width - step.what.chars().count());
            let indent = format!("\n{}", " ".repeat(width + 2));
            print::out(&format!("{}{pad}  {}", step.what, step.text.replace('\n', &indent)));
        }
        Ok(ExitCode::SUCCESS)
    }
}
