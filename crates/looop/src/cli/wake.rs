//! `looop wake`.

use std::process::ExitCode;

use clap::Args;
use looop_core::engine::io::Request;

use super::print;
use crate::failure::Result;
use crate::ops::{Place, submit};

/// Let the running loop look now, without waiting for what comes of it
#[derive(Args, Debug)]
pub(super) struct Wake {}

impl Wake {
    #[expect(clippy::unused_self, reason = "every verb is called the same way")]
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        submit::to_pulse(place, &Request::Wake)?;
        print::out("woken");
        Ok(ExitCode::SUCCESS)
    }
}
