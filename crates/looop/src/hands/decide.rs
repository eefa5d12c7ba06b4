//! Decides: hosted children that leave a record.

use looop_core::engine::io::{DecideOrder, Record};
use looop_core::ledger::entry::FailureKind;
use looop_core::model::plan::RunId;
use looop_session::{Spec, Standing, host};
use looop_store::{Reader, Stored, Writer, run_folder};

use super::act::{folder, spawn, stands};
use super::environ;
use crate::clock;
use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::pulse::{Message, Poster, post};

/// Starts a decide; its record comes as a message.
pub(crate) fn start(writer: &Writer, config: &Config, order: &DecideOrder, sender: &Poster) -> Result<()> {
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
    let more = [("LOOOP_RUN_ID", run.as_str()), ("LOOOP_SESSION_ID", order.session.as_str())];
    let env = environ::of_person(writer.root(), config, &more)?;
    let argv =
        vec![environ::image().into_os_string(), "_decide".into(), run.into(), order.decider.clone().into()];
    let mut spec = Spec::new(argv, writer.root().to_owned(), env);
    // The decide ends its runner itself; this is for a decide that hangs.
    let deadline = config.tick_timeout.saturating_add(std::time::Duration::from_secs(30));
    spec.deadline_ms = Some(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
    spec.spare.clone_from(&config.spare);
    let prepared = host::prepare(&folder(writer, &order.session), &spec).map_err(failed)?;
    let launched = host::launch(prepared, &environ::image(), &["_host"]).map_err(failed)?;
    let (reader, run, sender) = (Reader::clone(writer), order.run, sender.clone());
    spawn("decide", move || {
        let standing = launched.wait();
        let record = match standing {
            Ok(standing) => record(&reader, run, &standing),
            Err(error) => lost(run, format!("its end is not known: {error}")),
        };
        post(&sender, Message::Decided(run, Box::new(record)));
    })
}

/// Waits for a decide that an earlier lock holder started, or finds what it left. Tells whether it still runs.
pub(crate) fn adopt(reader: &Reader, run: RunId, session: &str, sender: &Poster) -> Result<bool> {
    let folder = folder(reader, session);
    match stands(&folder, session)? {
        Standing::Live => {
            let (reader, sender) = (reader.clone(), sender.clone());
            spawn("adopted", move || {
                let record = match host::wait(&folder) {
                    Ok(standing) => record(&reader, run, &standing),
                    Err(error) => lost(run, format!("its end is not known: {error}")),
                };
                post(&sender, Message::Decided(run, Box::new(record)));
            })?;
            Ok(true)
        }
        Standing::NeverRan => {
            post(sender, Message::RunNeverRan(run));
            Ok(false)
        }
        standing @ (Standing::Absent | Standing::Ended(_) | Standing::Lost | Standing::Corrupt(_)) => {
            post(sender, Message::Decided(run, Box::new(record(reader, run, &standing))));
            Ok(false)
        }
    }
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
            Standing::Ended(receipt) => lost(run, format!("the decide left no record ({:?})", receipt.ended)),
            Standing::NeverRan | Standing::Absent => {
                failed(run, FailureKind::Runner, "the decide could not be started".to_owned())
            }
            Standing::Lost | Standing::Live => lost(run, "the decide died without a record".to_owned()),
            Standing::Corrupt(what) => lost(run, what.clone()),
        },
    }
}

fn lost(run: RunId, reason: String) -> Record {
    failed(run, FailureKind::Lost, reason)
}

/// A record of a failure.
pub(crate) fn failed(run: RunId, kind: FailureKind, reason: String) -> Record {
    Record {
        v: 1,
        run,
        decision: None,
        source: None,
        failure: Some((kind, reason)),
        spend: None,
        ended: clock::now().wall,
    }
}
