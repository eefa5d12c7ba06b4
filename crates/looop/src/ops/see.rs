//! Seeing: the profile as a read verb finds it, without touching it.

use std::collections::BTreeMap;

use looop_core::ledger::state::Ledger;
use looop_core::model::goal;
use looop_core::model::outcome::Ended;
use looop_core::time::Now;
use looop_core::view::status::{Status, status};
use looop_core::world::observation::{Checked, Observation};
use looop_core::world::reading::Reading;
use looop_store::docs::DocsCache;
use looop_store::{LockError, Reader};

use super::Place;
use crate::clock;
use crate::config::{Decider, Loaded};
use crate::failure::Result;
use crate::pulse::open::log_failure;
use crate::setup::limits;

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

/// Reads the profile.
pub(crate) fn see(place: &Place) -> Result<Seen> {
    let reader = place.reader()?;
    let config = place.config()?;
    let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
    let now = clock::now();
    let scan = reader.scan(&mut DocsCache::default(), now.wall);
    let readings = readings(&reader, scan.sensors.keys());
    let mut observation = Observation {
        docs: scan.docs,
        letters: reader.letters(),
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
    let probes = ["sys-goals", "sys-asks", "sys-schedules"].map(|name| (name.to_owned(), name.to_owned()));
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
    let goals = seen.docs.goals.iter().filter(|(_, doc)| doc.text().is_some_and(has_check));
    let said = |id: &str| match errors.get(id) {
        Some(error) => Ended::Spawn((*error).to_owned()),
        None if failed.contains(&id) => Ended::Exited(1),
        None => Ended::Exited(0),
    };
    goals.map(|(id, _)| (id.clone(), Checked { ended: said(id), output: String::new() })).collect()
}

impl Seen {
    /// The whole status.
    pub(crate) fn status(&self) -> Status {
        let limits = limits(&self.config.config);
        let mut status = status(&self.ledger, &self.observation, &self.readings, &self.now, &limits);
        status.deciders = self.config.config.decider_chain().iter().map(word).collect();
        status.holder = holder(&self.reader);
        status
    }
}

fn word(decider: &Decider) -> String {
    match decider {
        Decider::Builtin => "builtin".to_owned(),
        Decider::Command(name) => name.to_string(),
    }
}

/// Who holds the lock. Trying it for an instant disturbs nobody: a verb that finds it held tries again.
fn holder(reader: &Reader) -> Option<u32> {
    match reader.lock() {
        Err(LockError::Held { pid }) => pid,
        Ok(_) | Err(LockError::OldPulse | LockError::Unusable { .. }) => None,
    }
}
