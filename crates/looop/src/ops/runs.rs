//! Past decides.

use looop_core::engine::io::Record;
use looop_core::model::moves::one_line;
use looop_core::model::plan::RunId;
use looop_core::time::machine_text;
use looop_store::{Reader, Stored};
use serde::Serialize;
use serde_json::Value;

use super::Place;
use crate::failure::{Failure, Result};

/// A past decide in a list.
#[derive(Debug, Serialize)]
pub(crate) struct RunRow {
    pub(crate) run: String,
    pub(crate) ended: String,
    pub(crate) result: String,
    pub(crate) usd: f64,
}

/// A past decide, whole.
#[derive(Debug, Serialize)]
pub(crate) struct RunView {
    pub(crate) run: String,
    pub(crate) prompt: String,
    pub(crate) output: String,
    pub(crate) record: Value,
}

/// Past decides, newest first.
pub(crate) fn list(place: &Place) -> Result<Vec<RunRow>> {
    let reader = place.reader()?;
    let runs = reader.runs(50).map_err(|error| Failure::new(error.to_string()))?;
    Ok(runs.into_iter().map(|run| row(&reader, run)).collect())
}

fn row(reader: &Reader, run: RunId) -> RunRow {
    let record = reader
        .run_file(run, "record.json")
        .value()
        .and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok());
    let Some(record) = record else {
        return RunRow {
            run: run.to_string(),
            ended: "-".to_owned(),
            result: "no record".to_owned(),
            usd: 0.0,
        };
    };
    let result = match (&record.failure, &record.decision) {
        (Some((_, reason)), _) => one_line(reason, 100),
        (None, Some(decision)) => decision["action"].as_str().unwrap_or("no action").to_owned(),
        (None, None) => "no decision".to_owned(),
    };
    let usd = record.spend.map_or(0.0, |spend| spend.usd);
    RunRow { run: run.to_string(), ended: machine_text(record.ended), result, usd }
}

/// One past decide.
pub(crate) fn show(place: &Place, run: &str) -> Result<RunView> {
    let none = || Failure::new(format!("there is no run \"{run}\"")).hint("looop runs lists them");
    let reader = place.reader()?;
    let number = RunId(run.parse().map_err(|_| none())?);
    let text = |file: &str| match reader.run_file(number, file) {
        Stored::Value(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Stored::Absent => String::new(),
        Stored::Unreadable(error) => format!("({file} cannot be read: {error})"),
        Stored::Corrupt(what) => format!("({file} {what})"),
    };
    let (prompt, output, record) = (text("prompt.md"), text("output.log"), text("record.json"));
    if prompt.is_empty() && record.is_empty() {
        return Err(none());
    }
    let record = serde_json::from_str(&record).unwrap_or(Value::Null);
    Ok(RunView { run: number.to_string(), prompt, output, record })
}
