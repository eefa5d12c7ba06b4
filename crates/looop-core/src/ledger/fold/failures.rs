//! Failures in a row, and the waits after them.

use crate::ledger::state::{Failures, Ledger};
use crate::model::digest::Digest;
use crate::model::moves::one_line;
use crate::time::Stamp;

/// Deciding goes on: a pause is over, and so is the wait after a failure, for a provider or for receipts.
pub(super) fn resumed(ledger: &mut Ledger) {
    ledger.paused = None;
    ledger.limited.clear();
    ledger.unmetered = None;
    if let Some(failures) = &mut ledger.failures {
        failures.resumed = true;
    }
}

/// A decide or a move of a decider failed.
pub(super) fn fail(ledger: &mut Ledger, at: &Stamp, reason: &str, policy: Digest) {
    let count = ledger.failures.as_ref().map_or(0, |failures| failures.count).saturating_add(1);
    ledger.failures =
        Some(Failures { count, at: *at, reason: one_line(reason, 500), policy, resumed: false });
}
