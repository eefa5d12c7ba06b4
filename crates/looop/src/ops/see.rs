//! Seeing: the profile as a read verb finds it, without touching it.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use looop_core::engine::io::{PulseView, Reply, Request};
use looop_core::ledger::state::Ledger;
use looop_core::model::goal;
use looop_core::model::outcome::Ended;
use looop_core::time::Now;
use looop_core::view::status::{Status, status};
use looop_core::world::observation::{Checked, Docs, Letters, Observation, ScheduleDoc};
use looop_core::world::reading::Reading;
use looop_session::Roll;
use looop_store::Reader;
use looop_store::docs::DocsCache;
use rustix::fs::OFlags;

use super::Place;
use crate::clock;
use crate::config::{Decider, Loaded};
use crate::failure::Result;
use crate::hands::fleet;
use crate::pulse::client;
use crate::pulse::open::log_failure;
use crate::setup::limits;

/// How long a lock holder may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(1);
/// The readings that the loop takes of itself.
const PROBES: [&str; 5] = ["sys-goals", "sys-asks", "sys-schedules", "sys-sessions", "sys-claims"];

/// What a read verb works with.
pub(crate) struct Seen {
    pub(crate) reader: Reader,
    pub(crate) ledger: Ledger,
    pub(crate) observation: Observation,
    /// The last readings, probes included.
    pub(crate) readings: BTreeMap<String, Reading>,
    pub(crate) config: Loaded,
    pub(crate) now: Now,
}

/// The policy files, the workers and the letters as they are now: what a move rests on.
pub(crate) fn docs(reader: &Reader, letters: &Letters) -> Docs {
    let scan = reader.scan(&mut DocsCache::default(), clock::now().wall);
    Docs {
        fleet: fleet::look(reader, &mut Roll::default()),
        waiting: letters.waiting(),
        unfetched: letters.unfetched(),
        proposals: letters.proposals(),
        ..scan.docs
    }
}

/// Reads the profile.
pub(crate) fn see(place: &Place) -> Result<Seen> {
    let reader = place.reader()?;
    let config = place.config()?;
    let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
    let now = clock::now();
    let scan = reader.scan(&mut DocsCache::default(), now.wall);
    let readings = readings(&reader, scan.sensors.keys());
    let letters = reader.letters();
    let fleet = fleet::look(&reader, &mut Roll::default());
    let mut observation = Observation {
        docs: Docs {
            fleet,
            waiting: letters.waiting(),
            unfetched: letters.unfetched(),
            proposals: letters.proposals(),
            ..scan.docs
        },
        letters,
        unusable: scan.odd,
        broken: scan.broken,
        ..Observation::default()
    };
    observation.checks = checks(&observation, readings.get("sys-goals"));
    Ok(Seen { reader, ledger, observation, readings, config, now })
}

/// The readings that the last beat left. A snapshot that cannot be read is as good as none.
fn readings<'a>(reader: &Reader, sensors: impl Iterator<Item = &'a String>) -> BTreeMap<String, Reading> {
    let files = sensors.map(|name| (name.clone(), format!("sensor-{name}")));
    let probes = PROBES.map(|name| (name.to_owned(), name.to_owned()));
    let read = |(name, file): (String, String)| {
        let (bytes, _) = reader.read_snapshot(&file).value()?;
        Some((name, serde_json::from_slice(&bytes).ok()?))
    };
    files.chain(probes).filter_map(read).collect()
}

/// What the goals' checks said in the last beat.
fn checks(seen: &Observation, probe: Option<&Reading>) -> BTreeMap<String, Checked> {
    let Some(probe) = probe else { return BTreeMap::new() };
    let failed: Vec<&str> =
        probe.signal["failed"].as_array().into_iter().flatten().filter_map(|id| id.as_str()).collect();
    let errors = probe.signal["errors"].as_array().into_iter().flatten();
    let errors: BTreeMap<&str, &str> =
        errors.filter_map(|row| Some((row["goal"].as_str()?, row["check"].as_str()?))).collect();
    let has_check = |text: &str| goal::parse(text).check.is_some();
    let checked = |id: &str| probe.detail["goals"].get(id).is_some();
    let goals = seen.docs.goals.iter().filter(|(id, doc)| checked(id) && doc.text().is_some_and(has_check));
    let said = |id: &str| match errors.get(id) {
        Some(error) => read_back(error),
        None if failed.contains(&id) => Ended::Exited(1),
        None => Ended::Exited(0),
    };
    goals.map(|(id, _)| (id.clone(), Checked { ended: said(id), output: String::new() })).collect()
}

/// How a check ended, from the words that the probe has for it.
fn read_back(text: &str) -> Ended {
    let number = |word: &str| text.strip_prefix(word)?.parse().ok();
    match (number("exit "), number("signal ")) {
        (Some(code), _) => Ended::Exited(code),
        (_, Some(signal)) => Ended::Signalled(signal),
        _ if text == Ended::TimedOut.text() => Ended::TimedOut,
        _ if text == Ended::Killed.text() => Ended::Killed,
        _ => Ended::Spawn(text.trim_start_matches("could not be started: ").to_owned()),
    }
}

impl Seen {
    /// The whole status.
    pub(crate) fn status(&self) -> Status {
        let limits = limits(&self.config.config);
        let mut status = status(&self.ledger, &self.observation, &self.readings, &self.now, &limits);
        status.deciders = self.config.config.decider_chain().iter().map(word).collect();
        status.holder = holder(&self.reader);
        status.pulse = status.holder.and_then(|_| self.pulse());
        status.broken.extend(self.observation.docs.schedules.values().filter_map(|doc| match doc {
            ScheduleDoc::Broken { error, .. } => Some(error.clone()),
            ScheduleDoc::Good { .. } => None,
        }));
        status
    }
}

impl Seen {
    /// The loop, if it holds the lock and says so at once.
    fn pulse(&self) -> Option<PulseView> {
        let asked = client::call_within(self.reader.root(), &Request::Pulse { seen: false }, PATIENCE);
        if let Ok(Some(Reply::Pulse(view))) = asked { Some(view).filter(|view| view.loops) } else { None }
    }
}

fn word(decider: &Decider) -> String {
    match decider {
        Decider::Builtin => "builtin".to_owned(),
        Decider::Command(name) => name.to_string(),
    }
}

/// Who holds the lock, as far as they said.
pub(super) fn holder(reader: &Reader) -> Option<u32> {
    if let Lock::Held(pid) = lock(reader) { pid } else { None }
}

/// How the lock stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Free,
    /// It is held, by whom as far as they said.
    Held(Option<u32>),
}

/// Looks how the lock stands. It is looked at without being made or written; sharing it
/// for an instant disturbs nobody, since a verb that finds it held tries again.
pub(super) fn lock(reader: &Reader) -> Lock {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let opened =
        File::options().read(true).custom_flags(flags.bits().cast_signed()).open(reader.path("lock"));
    let regular = opened.ok().filter(|lock| lock.metadata().is_ok_and(|meta| meta.is_file()));
    let Some(lock) = regular else { return Lock::Free };
    let Err(TryLockError::WouldBlock) = lock.try_lock_shared() else { return Lock::Free };
    let mut text = String::new();
    // What is no number is no name.
    drop(lock.take(32).read_to_string(&mut text));
    Lock::Held(text.trim().parse().ok())
}
