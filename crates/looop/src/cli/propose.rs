//! `looop propose <move.json>`.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::{body, print};
use crate::failure::Result;
use crate::ops::{Place, propose};

/// Ask your person to allow a move (a worker's verb); prints the ask
#[derive(Args, Debug)]
pub(super) struct Propose {
    /// The file with the move; - is stdin
    file: String,
    /// Who proposes it
    #[arg(long, value_name = "SESSION", help = "Who proposes it [default: $LOOOP_SESSION_ID]")]
    session: Option<String>,
}

impl Propose {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let text =
            if self.file == "-" { body::body(&[], "move")? } else { propose::read(Path::new(&self.file))? };
        print::out(&propose::propose(place, &text, self.session.as_deref())?);
        Ok(ExitCode::SUCCESS)
    }
}
