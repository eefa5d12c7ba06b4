//! `looop trust <file>`.

use std::process::ExitCode;

use clap::Args;

use super::print;
use crate::failure::Result;
use crate::ops::{Place, trust};

/// Make a sensor or goal that a decider wrote your own: it then runs with your rights
#[derive(Args, Debug)]
pub(super) struct Trust {
    /// Which: sensors/<file> or goals/<id>.md
    #[arg(value_name = "FILE")]
    file: String,
}

impl Trust {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let path = trust::trust(place, &self.file)?;
        print::out(&format!("{path} is yours now"));
        Ok(ExitCode::SUCCESS)
    }
}
