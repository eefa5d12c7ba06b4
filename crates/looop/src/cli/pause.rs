//! `looop pause` and `looop resume`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use looop_core::engine::io::Request;

use super::print;
use crate::clock;
use crate::config::parse_duration;
use crate::failure::Result;
use crate::ops::{Place, submit};

/// Stop deciding; sensing goes on
#[derive(Args, Debug)]
pub(super) struct Pause {
    /// For how long, such as 30m or 2h [default: until resumed]
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    span: Option<Duration>,
}

impl Pause {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let until = self.span.map(|span| {
            clock::now().wall.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
        });
        submit::done(place, Request::Pause { until })?;
        print::out("paused; looop resume goes on");
        Ok(ExitCode::SUCCESS)
    }
}

/// Go on deciding
#[derive(Args, Debug)]
pub(super) struct Resume {}

impl Resume {
    #[expect(clippy::unused_self, reason = "every verb is called the same way")]
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        submit::done(place, Request::Resume)?;
        print::out("resumed");
        Ok(ExitCode::SUCCESS)
    }
}
