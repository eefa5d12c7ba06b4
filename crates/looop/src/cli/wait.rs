//! `looop wait <id>`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::config::parse_duration;
use crate::failure::{Failure, Result};
use crate::ops::{Place, session};

/// Wait until a worker has ended; the exit code is its own, 128 + n for a signal
#[derive(Args, Debug)]
pub(super) struct Wait {
    /// Which worker or session
    id: String,
    /// How long to wait [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    json: Json,
}

impl Wait {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let target = session::find(place, &self.id)?;
        let name = &target.session;
        let Some(standing) = target.ended(self.timeout)? else {
            return Err(Failure::timed_out(format!("{name} has not ended")));
        };
        let Some(ended) = session::how(&standing) else {
            return Err(Failure::new(format!("{name} {}", session::standing_text(&standing))));
        };
        let code = session::exit_code(ended);
        if self.json.json {
            print::json(&json!({"v": 1, "session": name, "ended": ended, "code": code}))?;
        } else {
            print::say(&format!("{name} has ended ({})", session::ended_text(ended)));
        }
        Ok(ExitCode::from(code))
    }
}
