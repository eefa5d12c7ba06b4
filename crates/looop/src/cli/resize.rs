//! `looop resize <id> CxR`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::{Failure, Result};
use crate::ops::{Place, drive, session};

/// Give a worker's terminal another size
#[derive(Args, Debug)]
pub(super) struct Resize {
    /// Which worker or session
    id: String,
    /// Columns x rows, such as 100x30
    #[arg(value_name = "CxR")]
    size: String,
    #[command(flatten)]
    json: Json,
}

impl Resize {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let size = drive::parse_size(&self.size)
            .map_err(|error| Failure::usage(format!("\"{}\" is no size: {error}", self.size)))?;
        let target = session::find(place, &self.id)?;
        target.resize(size)?;
        if self.json.json {
            print::json(&json!({"v": 1, "session": target.session, "cols": size.cols, "rows": size.rows}))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
