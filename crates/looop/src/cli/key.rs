//! `looop key <id> <KEY…>`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::args::Json;
use super::print;
use crate::failure::{Failure, Result};
use crate::ops::{Place, drive, session};

/// Press keys in a worker's terminal: Enter, Up, F5, C-c, M-x, a …
#[derive(Args, Debug)]
pub(super) struct Key {
    /// List the keys that have a name
    #[arg(long, conflicts_with_all = ["id", "keys"])]
    list: bool,
    #[command(flatten)]
    json: Json,
    /// Which worker or session
    #[arg(required_unless_present = "list")]
    id: Option<String>,
    /// The keys, pressed one after the other
    #[arg(required_unless_present = "list", value_name = "KEY")]
    keys: Vec<String>,
}

impl Key {
    pub(super) fn run(mut self, place: &Place) -> Result<ExitCode> {
        // A key may begin with a dash, so what stands after the keys is among them.
        self.json.json |= self.keys.pop_if(|last| last == "--json").is_some();
        if self.list {
            self.print_names()?;
            return Ok(ExitCode::SUCCESS);
        }
        let id = self.id.as_deref().ok_or_else(|| Failure::usage("which worker?"))?;
        let target = session::find(place, id)?;
        let at = target.key(&self.keys)?;
        if self.json.json {
            print::json(&json!({"v": 1, "session": target.session, "at": at}))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print_names(&self) -> Result<()> {
        let names = drive::key_names();
        if self.json.json {
            return print::json(&names);
        }
        for spellings in names {
            print::out(&spellings.join("  "));
        }
        print::out("");
        print::out("any character  C-<key> ^<key> (Control)  M-<key> (Alt)  S-<key> (Shift)  0x<byte>");
        Ok(())
    }
}
