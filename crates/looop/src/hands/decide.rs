//! Decides: hosted children that leave a record.

use std::sync::mpsc;

use looop_core::engine::io::{DecideOrder, Record};
use looop_core::ledger::entry::FailureKind;
use looop_core::model::plan::RunId;
use looop_session::{Launched, Receipt, Spec, Standing, host};
use looop_store::{Reader, Stored, Writer, run_folder};

use super::act::{ended, folder, hand_over, stands, waiter};
use super::{decider, environ, sense, temp};
use crate::clock;
use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::pulse::{Message, Poster, post};
use crate::threads;

/// The word by which a decide is told that moves about workers are on offer.
pub(super) const WORKERS: &str = "workers";

/// Starts a decide; its record comes as a message, also where it could not be started.
pub(crate) fn start(writer: &Writer, config: &Config, order: &DecideOrder, sender: &Poster) {
    let run = order.run;
    let begun = watch(Reader::clone(writer), (run, order.session.clone()), sender.clone())
        .and_then(|waiter| hand_over(&waiter, launch(writer, config, order)?));
    if let Err(failure) = begun {
        post(sender, Message::Decided(run, Box::new(uncalled(run, failure.error))));
    }
}

/// Waits in the background for the decide that will be launched.
fn watch(reader: Reader, (run, session): (RunId, String), sender: Poster) -> Result<mpsc::Sender<Launched>> {
    waiter("decide", move |launched| {
        let record = match ended(&reader, &session, launched.wait()) {
            Ok(standing) => settle(&reader, (run, &session), &standing),
            Err(failure) => lost(run, format!("its end is not known: {}", failure.error)),
        };
        post(&sender, Message::Decided(run, Box::new(record)));
    })
}

/// Prepares the run and launches its host. Where that fails, nothing was run.
fn launch(writer: &Writer, config: &Config, order: &DecideOrder) -> Result<Launched> {
    let failed =
        |error: host::HostError| Failure::new(format!("decide {} could not be started: {error}", order.run));
    // The run is new: what lies in its folder already was planted there, and would be taken for its decision.
    let folder_of_run = writer.path(&run_folder(order.run));
    match std::fs::remove_dir_all(&folder_of_run) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::new(format!("{} is in the way: {error}", folder_of_run.display())));
        }
        Ok(()) | Err(_) => {}
    }
    let made = writer.make_run(order.run, order.brief.as_bytes());
    made.map_err(|error| Failure::new(format!("the brief could not be written: {}", error.text())))?;
    let run = order.run.to_string();
    let reserved = format!("{:.6}", order.reserved_usd);
    let mut more = vec![("LOOOP_RUN_ID", run.as_str()), ("LOOOP_SESSION_ID", order.session.as_str())];
    more.extend((order.reserved_usd > 0.0).then_some((decider::RESERVED, reserved.as_str())));
    let temp = temp::make(writer.root(), &order.session);
    let temp =
        temp.map_err(|error| Failure::new(format!("tmp/{} could not be made: {error}", order.session)))?;
    let temp = temp.map(|folder| folder.to_string_lossy().into_owned());
    more.extend(temp.as_deref().map(|folder| ("TMPDIR", folder)));
    let env = environ::of_person(writer.root(), config, &more)?;
    let mut argv =
        vec![environ::image().into_os_string(), "_decide".into(), run.into(), order.decider.clone().into()];
    argv.push(if order.workers { WORKERS.into() } else { "-".into() });
    argv.extend(order.tainted.iter().map(Into::into));
    let mut spec = Spec::new(argv, writer.root().to_owned(), env);
    // The decide ends its runner itself; this is for a decide that hangs.
    let deadline = config.tick_timeout.saturating_add(std::time::Duration::from_secs(30));
    spec.deadline_ms = Some(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
    spec.spare.clone_from(&config.spare);
    let prepared = host::prepare(&folder(writer, &order.session), &spec).map_err(failed)?;
    host::launch(prepared, &environ::image(), &["_host"]).map_err(failed)
}

/// Finds out in the background what became of a decide that an earlier lock holder started; one that still runs is
/// waited for.
pub(crate) fn adopt(reader: &Reader, run: RunId, session: &str, sender: &Poster) -> Result<()> {
    let (reader, session, sender) = (reader.clone(), session.to_owned(), sender.clone());
    threads::start("adopted", move || {
        let folder = folder(&reader, &session);
        let record = match stands(&folder, &session) {
            Err(failure) => return post(&sender, Message::Unsettled(failure)),
            Ok(Standing::NeverRan) => return post(&sender, Message::RunNeverRan(run)),
            Ok(Standing::Live) => {
                let said = format!("decide {run} of an earlier looop still runs; its decision will be taken");
                post(&sender, Message::StillRuns(said));
                match ended(&reader, &session, host::wait(&folder)) {
                    Ok(standing) => settle(&reader, (run, &session), &standing),
                    Err(failure) => lost(run, format!("its end is not known: {}", failure.error)),
                }
            }
            Ok(ended @ (Standing::Absent | Standing::Ended(_) | Standing::Lost | Standing::Corrupt(_))) => {
                settle(&reader, (run, &session), &ended)
            }
        };
        post(&sender, Message::Decided(run, Box::new(record)));
    })
}

/// The record of a decide that has ended, whose temporary files go.
fn settle(reader: &Reader, (run, session): (RunId, &str), standing: &Standing) -> Record {
    // What cannot be removed is tried again by upkeep, which says so.
    drop(temp::remove(reader.root(), session));
    record(reader, run, standing)
}

/// The record that a decide left, or one that says why there is none.
fn record(reader: &Reader, run: RunId, standing: &Standing) -> Record {
    let stored = reader.run_file(run, "record.json").and_then(|bytes| {
        match serde_json::from_slice::<Record>(&bytes) {
            Ok(record) if record.run == run => Stored::Value(record),
            Ok(record) => Stored::Corrupt(format!("is the record of decide {}", record.run)),
            Err(error) => Stored::Corrupt(format!("is not a record: {error}")),
        }
    });
    match stored.known(&format!("runs/{run}/record.json")) {
        Ok(Some(record)) => record,
        Err(error) => lost(run, error),
        Ok(None) => match standing {
            Standing::Ended(receipt) if receipt.ended == looop_session::Ended::TimedOut => {
                failed(run, FailureKind::Timeout, "the decide passed its deadline".to_owned())
            }
            Standing::Ended(Receipt { ended: looop_session::Ended::Spawn(error), .. }) => {
                uncalled(run, format!("the decide could not be started: {error}"))
            }
            Standing::Ended(receipt) => lost(
                run,
                format!("the decide left no record ({})", sense::ended(receipt.ended.clone()).text()),
            ),
            Standing::NeverRan => uncalled(run, "the decide could not be started".to_owned()),
            Standing::Absent => lost(run, "nothing is left of the decide".to_owned()),
            Standing::Lost | Standing::Live => lost(run, "the decide died without a record".to_owned()),
            Standing::Corrupt(what) => lost(run, what.clone()),
        },
    }
}

fn lost(run: RunId, reason: String) -> Record {
    failed(run, FailureKind::Lost, reason)
}

/// The record of a decide that never ran.
fn uncalled(run: RunId, reason: String) -> Record {
    Record::uncalled(run, clock::now().wall, (FailureKind::Runner, reason))
}

/// A record of a failure.
fn failed(run: RunId, kind: FailureKind, reason: String) -> Record {
    Record { failure: Some((kind, reason)), ..Record::empty(run, clock::now().wall) }
}
