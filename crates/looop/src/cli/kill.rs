//! `looop kill <id>…`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, workers};

/// End workers with all that they started; succeeds exactly if each was ended by this
#[derive(Args, Debug)]
pub(super) struct Kill {
    #[command(flatten)]
    json: Json,
    /// Which workers
    #[arg(required_unless_present = "all", value_name = "ID")]
    ids: Vec<String>,
    /// All that live
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Also those that wait for your answer
    #[arg(long)]
    force: bool,
}

impl Kill {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let given = self.ids.iter().map(|id| workers::living(place, id));
        let ids = if self.all { workers::live(place)? } else { given.collect::<Result<_>>()? };
        if ids.is_empty() {
            print::say("no worker lives");
        }
        let mut code = ExitCode::SUCCESS;
        let (ended, note) = workers::kill_all(place, &ids, self.force)?;
        for (id, killed) in ids.into_iter().zip(ended) {
            if self.json.json {
                let error = killed.as_ref().err().map(|failure| failure.error.as_str());
                print::json(&json!({"v": 1, "id": id, "killed": killed.is_ok(), "error": error}))?;
            } else if killed.is_ok() {
                print::out(&format!("killed {id}"));
            }
            if let Err(failure) = killed {
                print::say(&failure.to_string());
                code = failure.exit_code();
            }
        }
        if let Some(note) = note {
            print::say(&format!("note: {note}"));
        }
        Ok(code)
    }
}
