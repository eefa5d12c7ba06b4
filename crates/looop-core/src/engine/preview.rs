//! What the next beat would take in: the ledger as a verb shows it that only reads.

use std::collections::BTreeMap;

use super::goals;
use super::letters::letters;
use crate::ledger::entry::Entry;
use crate::ledger::fold::apply;
use crate::ledger::state::Ledger;
use crate::time::Now;
use crate::world::observation::Observation;
use crate::world::reading::Reading;

/// The ledger with the letters that wait and the goals as they are now taken in. Nothing of it is written: a loop that
/// does not run has not seen them yet, and what is shown must not contradict the files.
pub fn preview(
    mut ledger: Ledger,
    seen: &Observation,
    readings: &BTreeMap<String, Reading>,
    now: &Now,
) -> Ledger {
    let at = now.stamp();
    for entry in letters(&ledger, seen).entries {
        apply(&mut ledger, &at, &entry);
    }
    for (ask, reason) in goals::void(&ledger, (seen, readings), now) {
        apply(&mut ledger, &at, &Entry::Withdrawn { ask, reason });
    }
    ledger
}
