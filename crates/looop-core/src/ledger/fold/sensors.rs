//! Which sensors fail.

use std::time::Duration;

use crate::ledger::entry::SensorState;
use crate::ledger::state::{FailingRecord, Ledger};
use crate::notice::sensor_key;
use crate::time::Stamp;

/// How long a sensor that works again is remembered as one that failed.
const REMEMBERED: Duration = Duration::from_hours(1);

/// A sensor began to fail, fails in another way, works again, or is gone.
pub(super) fn changed(ledger: &mut Ledger, at: &Stamp, sensor: &str, state: &SensorState) {
    let is_old = |record: &FailingRecord| record.works.is_some_and(|works| at.since(&works) >= REMEMBERED);
    for (sensor, _) in ledger.failing.extract_if(.., |_, record| is_old(record)) {
        ledger.notices.remove(&sensor_key(&sensor));
    }
    match state {
        SensorState::Failing { reason } => {
            let record = FailingRecord { at: *at, reason: reason.clone(), works: None };
            let known = ledger.failing.entry(sensor.to_owned()).or_insert(record);
            if known.works.take().is_some() {
                known.at = *at;
            }
            known.reason.clone_from(reason);
        }
        SensorState::Works => {
            if let Some(record) = ledger.failing.get_mut(sensor) {
                record.works = Some(*at);
            }
        }
        SensorState::Removed => drop(ledger.failing.remove(sensor)),
    }
}
