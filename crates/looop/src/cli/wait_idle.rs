//! `looop wait-idle <id>`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::config::parse_duration;
use crate::failure::{Failure, Result};
use crate::ops::{Place, session};

/// Wait until a worker has printed nothing for a while
#[derive(Args, Debug)]
pub(super) struct WaitIdle {
    /// Which worker or session
    id: String,
    /// For how long it must be quiet
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "1s")]
    settle: Duration,
    /// How long to wait [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    json: Json,
}

impl WaitIdle {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let target = session::find(place, &self.id)?;
        let until = self.timeout.map(|timeout| Instant::now() + timeout);
        if !target.idle(self.settle, until)? {
            return Err(Failure::timed_out(format!("{} goes on printing", target.session)));
        }
        if self.json.json {
            let alive = target.is_live()?;
            print::json(&json!({"v": 1, "session": target.session, "idle": true, "alive": alive}))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
