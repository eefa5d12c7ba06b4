//! `looop tell <worker> <message…>`.

use std::process::ExitCode;

use clap::Args;

use super::{body, print};
use crate::failure::Result;
use crate::ops::{Place, letters};

/// Tell a running worker something; it hears it when it next calls told or ask
///
/// Nothing is typed into its terminal, so that work under way is not interrupted. A worker that stands idle and does not
/// call told does not hear it: `looop send` types a text now.
#[derive(Args, Debug)]
pub(super) struct Tell {
    /// Which worker
    worker: String,
    /// The message; read from stdin if absent or -; after -- it may begin with a dash
    message: Vec<String>,
}

impl Tell {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let tell = letters::tell(place, &self.worker, &body::body(&self.message, "message")?)?;
        print::out(&format!("told {}", tell.to));
        print::say(&format!("it hears it when it next calls told or ask; looop send {} types now", tell.to));
        Ok(ExitCode::SUCCESS)
    }
}
