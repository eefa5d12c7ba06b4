//! `looop detach <id>`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, session};

/// Send away everybody who is attached to a worker or watches it
#[derive(Args, Debug)]
pub(super) struct Detach {
    /// Which worker or session
    id: String,
    #[command(flatten)]
    json: Json,
}

impl Detach {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let target = session::find(place, &self.id)?;
        let viewers = target.detach()?;
        let name = &target.session;
        if self.json.json {
            print::json(&json!({"v": 1, "session": name, "viewers": viewers}))?;
        } else {
            print::out(&match viewers {
                0 => format!("nobody was attached to {name}"),
                1 => format!("sent 1 viewer of {name} away"),
                many => format!("sent {many} viewers of {name} away"),
            });
        }
        Ok(ExitCode::SUCCESS)
    }
}
