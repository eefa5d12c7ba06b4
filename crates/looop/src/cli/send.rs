//! `looop send <id> <text…>`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::{body, print};
use crate::failure::{Failure, Result};
use crate::ops::drive::Delivery;
use crate::ops::{Place, session};

/// Type a text into a worker's terminal and submit it
///
/// Fails if the worker did not take it. With --json the offset is printed from which `looop expect --since` sees
/// everything that came of it.
#[derive(Args, Debug)]
pub(super) struct Send {
    /// Do not submit: type only
    #[arg(short = 'n', long)]
    no_submit: bool,
    #[command(flatten)]
    json: Json,
    /// Which worker or session
    id: String,
    /// The text; read from stdin if absent or -; after -- it may begin with a dash
    text: Vec<String>,
}

impl Send {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let target = session::find(place, &self.id)?;
        let text = body::body(&self.text, "text")?;
        let sent = target.send(text.strip_suffix('\n').unwrap_or(&text), !self.no_submit)?;
        if self.json.json {
            let (name, delivery) = (&target.session, sent.delivery);
            print::json(
                &json!({"v": 1, "session": name, "at": sent.at, "delivery": delivery, "again": sent.again}),
            )?;
        }
        let name = &target.session;
        let not_taken = |what: &str| {
            Err(Failure::new(format!("{name} did not take the text: {what}"))
                .hint(format!("looop shot {name} shows what it does; looop key {name} Enter submits again")))
        };
        match sent.delivery {
            Delivery::Typed | Delivery::Taken => Ok(ExitCode::SUCCESS),
            Delivery::Unseen => not_taken("nothing was printed after it was submitted"),
            Delivery::Left => not_taken("it still stands where it was typed"),
        }
    }
}
