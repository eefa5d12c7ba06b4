//! Seeing: the profile as a read verb finds it, without touching it.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use looop_core::engine::io::{PulseView, Reply, Request};
use looop_core::engine::preview::preview;
use looop_core::ledger::state::Ledger;
use looop_core::model::goal;
use looop_core::model::outcome::Ended;
use looop_core::time::Now;
use looop_core::view::status::{Status, status};
use looop_core::world::observation::{Checked, Doc, Docs, Letters, Observation, ScheduleDoc};
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
    /// What the loop remembers, with the letters taken in that wait for it.
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
    let ledger = preview(ledger, &observation, &readings, &now);
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

/// What the goals' checks said in the last beat. One that the probe knows and that names no other end held.
fn checks(seen: &Observation, probe: Option<&Reading>) -> BTreeMap<String, Checked> {
    let Some(probe) = probe else { return BTreeMap::new() };
    let has_check = |doc: &Doc| doc.text().is_some_and(|text| goal::parse(text).check.is_some());
    let said = |id: &str| {
        let ended = probe.detail["goals"].get(id)?.get("ended");
        Some(match ended.cloned().map(serde_json::from_value) {
            None => Ended::Exited(0),
            Some(Ok(ended)) => ended,
            Some(Err(error)) => Ended::Spawn(format!("its end cannot be read: {error}")),
        })
    };
    let goals = seen.docs.goals.iter().filter(|(_, doc)| has_check(doc));
    goals
        .filter_map(|(id, _)| Some((id.clone(), Checked { ended: said(id)?, output: String::new() })))
        .collect()
}

impl Seen {
    /// The whole status.
    pub(crate) fn status(&self) -> Status {
        let limits = limits(&self.config.config);
        let chain = self.config.config.decider_chain();
        let paid = chain.iter().filter(|decider| matches!(decider, Decider::Command(_))).count();
        let mut status = status(&self.ledger, &self.observation, &self.readings, (&self.now, &limits), paid);
        status.deciders = chain.iter().map(word).collect();
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
