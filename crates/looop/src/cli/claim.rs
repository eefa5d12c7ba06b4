//! `looop claim <name>` and `looop unclaim <name>`.

use std::process::ExitCode;

use clap::Args;

use super::print;
use crate::failure::Result;
use crate::ops::{Place, claims};

/// Take something for yourself, unless another worker that lives has it (a worker's verb)
#[derive(Args, Debug)]
pub(super) struct Claim {
    /// What, as the goal calls it
    name: String,
    /// For whom
    #[arg(long, value_name = "SESSION", help = "For whom [default: $LOOOP_SESSION_ID]")]
    session: Option<String>,
}

impl Claim {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        print::out(&claims::claim(place, &self.name, self.session.as_deref())?);
        Ok(ExitCode::SUCCESS)
    }
}

/// Give back what you claimed (a worker's verb)
#[derive(Args, Debug)]
pub(super) struct Unclaim {
    /// What
    name: String,
    /// Whose
    #[arg(long, value_name = "SESSION", help = "Whose [default: $LOOOP_SESSION_ID]")]
    session: Option<String>,
}

impl Unclaim {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        print::out(&claims::unclaim(place, &self.name, self.session.as_deref())?);
        Ok(ExitCode::SUCCESS)
    }
}
