//! `looop runs [run]`.

use std::process::ExitCode;

use clap::Args;

use super::args::Json;
use super::print;
use crate::failure::Result;
use crate::ops::{Place, runs};

/// Past decides: what each was shown, said and cost
#[derive(Args, Debug)]
pub(super) struct Runs {
    /// Show one: its prompt, output and record
    run: Option<String>,
    #[command(flatten)]
    json: Json,
}

impl Runs {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.run {
            Some(run) => self.show(place, run)?,
            None => self.list(place)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn list(&self, place: &Place) -> Result<()> {
        let rows = runs::list(place)?;
        if self.json.json {
            return print::json(&rows);
        }
        if rows.is_empty() {
            print::say("no decides yet; the built-in decider leaves none");
            return Ok(());
        }
        let row = |run: &runs::RunRow| {
            vec![run.run.clone(), run.ended.clone(), run.result.clone(), format!("${:.4}", run.usd)]
        };
        print::out(&print::table(
            &["run", "ended", "result", "cost"],
            &rows.iter().map(row).collect::<Vec<_>>(),
        ));
        Ok(())
    }

    fn show(&self, place: &Place, run: &str) -> Result<()> {
        let run = runs::show(place, run)?;
        if self.json.json {
            return print::json(&run);
        }
        print::out(&format!("── prompt ──\n{}", run.prompt.trim_end()));
        print::out(&format!("── output ──\n{}", run.output.trim_end()));
        let record = serde_json::to_string_pretty(&run.record).unwrap_or_default();
        print::out(&format!("── record ──\n{record}"));
        Ok(())
    }
}
