//! `looop why [goal or worker]`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, why};

/// Why the last beat did what it did, why a goal is not being worked on, or how a worker came about
#[derive(Args, Debug)]
pub(super) struct Why {
    /// A goal or a worker
    about: Option<String>,
    #[command(flatten)]
    json: Json,
}

impl Why {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let steps = match &self.about {
            Some(id) => why::about(place, id)?,
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
