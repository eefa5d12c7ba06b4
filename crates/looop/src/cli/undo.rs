//! `looop undo`.

use std::process::ExitCode;

use clap::Args;
use looop_core::model::plan::BeatId;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, undo};

/// Take back the last move of a file: a goal, a sensor, the PLAYBOOK, a schedule
///
/// Again takes back the one before, up to 20. A file that was changed since is left alone; another move can be chosen by
/// its beat, as --list shows it.
#[derive(Args, Debug)]
pub(super) struct Undo {
    /// The beat of the move, as --list shows it [default: the last one]
    #[arg(value_name = "BEAT", conflicts_with = "list")]
    beat: Option<u64>,
    /// List what can be taken back, in that order
    #[arg(long)]
    list: bool,
    /// Show what would change, and change nothing
    #[arg(long, alias = "diff", conflicts_with = "list")]
    dry_run: bool,
    #[command(flatten)]
    json: Json,
}

impl Undo {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match (self.list, self.dry_run) {
            (true, _) => self.list(place)?,
            (false, true) => self.preview(place)?,
            (false, false) => self.undo(place)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn list(&self, place: &Place) -> Result<()> {
        let rows = undo::list(place)?;
        if self.json.json {
            return print::json(&rows);
        }
        if rows.is_empty() {
            print::say("there is no move that could be taken back");
            return Ok(());
        }
        let row = |row: &undo::Row| {
            let lost = if row.kept { "" } else { " (what was before is no longer kept)" };
            vec![
                row.beat.to_string(),
                row.local.clone(),
                format!("{}{lost}", row.what),
                row.file.clone(),
                row.by.clone(),
            ]
        };
        let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
        print::out(&print::table(&["beat", "when", "what", "file", "by"], &rows));
        Ok(())
    }

    fn preview(&self, place: &Place) -> Result<()> {
        let preview = undo::preview(place, self.beat.map(BeatId))?;
        if self.json.json {
            return print::json(&preview);
        }
        print::say(&format!("would take back: {} ({})", preview.row.what, preview.row.by));
        print::out(preview.diff.trim_end());
        Ok(())
    }

    fn undo(&self, place: &Place) -> Result<()> {
        let undone = undo::undo(place, self.beat.map(BeatId))?;
        if self.json.json {
            return print::json(&undone);
        }
        print::out(&format!("took back: {}; {}", undone.what, undone.now));
        print::say(&format!("to have it again: {}", undone.again));
        Ok(())
    }
}
