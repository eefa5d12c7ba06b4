//! `looop _decide <run> <runner>`: runs one decider, meters it, takes its decision, and leaves a record. The pulse parses
//! no stream.

mod command;
mod desk;
mod dry;
mod known_model;
mod missing;
mod pause;
mod receipt;
mod taken;
mod unasked;
mod watch;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use looop_core::engine::io::Record;
use looop_core::ledger::entry::FailureKind;
use looop_core::model::plan::RunId;
use looop_store::disk::durable_write;
use looop_store::{Reader, run_folder};
use serde_json::Value;

pub(super) use self::desk::{Desk, RESERVED};
pub(crate) use self::dry::{Dry, dry_call};
pub(super) use self::missing::{HARMLESS, programs};
pub(super) use self::pause::{Deadline, jitter};
pub(super) use self::receipt::Receipt;
use super::{decide, model};
use crate::clock;
use crate::config::{self, Env};

/// Where a decision comes from.
pub(super) type Taken = (Value, &'static str);

/// How a decide failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) kind: FailureKind,
    /// What failed, on what, and what to do.
    pub(super) reason: String,
    /// When the limit ends that it ran into, where that was said.
    pub(super) until: Option<i64>,
}

impl Failed {
    pub(super) fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), until: None }
    }

    /// The runner could not be run, or ended with an error.
    pub(super) fn runner(reason: impl Into<String>) -> Self {
        Self::new(FailureKind::Runner, reason)
    }
}

/// Runs a decide. Its exit code says whether a record was left.
pub(crate) fn main(run: &OsStr, args: &[OsString]) -> ExitCode {
    // What a runner leaves in its folder is as private as the rest of the profile, whatever the person's umask.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let number = run.to_str().and_then(|text| text.parse().ok()).map(RunId);
    let data = std::env::var_os("LOOOP_DATA_DIR");
    let (Some(run), Some(data), Some(runner)) = (number, data, args.first()) else {
        return ExitCode::from(2);
    };
    let Ok(reader) = Reader::open(Path::new(&data)) else { return ExitCode::FAILURE };
    let workers = args.get(1).is_some_and(|word| word == decide::WORKERS);
    let tainted = args.iter().skip(2).map(|source| source.to_string_lossy().into_owned()).collect();
    let record = record(&reader, run, &runner.to_string_lossy(), workers);
    let record = Record { tainted, ..record };
    let bytes = serde_json::to_vec_pretty(&record).unwrap_or_default();
    match durable_write(reader.disk(), &format!("{}/record.json", run_folder(run)), &bytes, 0o600) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Decides, and writes down what came of it and what it cost, whatever came of it.
fn record(reader: &Reader, run: RunId, name: &str, workers: bool) -> Record {
    let mut receipt = Receipt::default();
    let taken = decided(reader, run, (name, workers), &mut receipt);
    let (spend, unpriced) = receipt.spend(name);
    let record = Record { spend, unpriced, ..Record::empty(run, clock::now().wall) };
    match taken {
        Ok((decision, source)) => {
            Record { decision: Some(decision), source: Some(source.to_owned()), ..record }
        }
        Err(Failed { kind, reason, until }) => Record { failure: Some((kind, reason)), until, ..record },
    }
}

fn decided(
    reader: &Reader,
    run: RunId,
    (name, workers): (&str, bool),
    receipt: &mut Receipt,
) -> Result<Taken, Failed> {
    // Until something was run or sent, nothing was spent.
    receipt.not_charged();
    let env: Env =
        std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value))).collect();
    let loaded =
        config::load_settings(reader.root(), &env).map_err(|error| Failed::runner(error.to_string()))?;
    let runner = loaded.config.runners.get(name);
    let runner = runner
        .ok_or_else(|| Failed::runner(format!("there is no runner \"{name}\" in the configuration")))?;
    let desk = Desk {
        reader,
        run,
        name,
        runner,
        config: &loaded.config,
        workers,
        reserved: desk::reserved(env.get(RESERVED).map(OsString::as_os_str))?,
        deadline: Deadline::after(loaded.config.tick_timeout),
    };
    match &runner.api {
        Some(api) => model::decide(&desk, api, receipt),
        None => command::decide(&desk, receipt),
    }
}
