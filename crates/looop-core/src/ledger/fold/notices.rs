//! What the person was told, and what did not reach them.

use crate::ledger::state::{Ledger, NoticeRecord, UndeliveredRecord};
use crate::notice::{PURSE, is_open};
use crate::time::Stamp;

/// A notice was sent.
pub(super) fn notified(ledger: &mut Ledger, at: &Stamp, key: &str) {
    let record =
        ledger.notices.entry(key.to_owned()).or_insert(NoticeRecord { first: *at, last: *at, count: 0 });
    record.last = *at;
    record.count = record.count.saturating_add(1);
}

/// A channel did not take one.
pub(super) fn undelivered(ledger: &mut Ledger, at: &Stamp, channel: &str, error: &str) {
    let count = ledger.undelivered.get(channel).map_or(0, |record| record.count).saturating_add(1);
    let record = UndeliveredRecord { at: *at, error: error.to_owned(), count };
    ledger.undelivered.insert(channel.to_owned(), record);
}

/// A decide started: there is money.
pub(super) fn paid(ledger: &mut Ledger) {
    ledger.notices.remove(PURSE);
}

/// Forgets what was said of needs that are gone, so that the next one of their kind is told at once.
pub(super) fn forget(ledger: &mut Ledger) {
    if ledger.notices.is_empty() {
        return;
    }
    let mut notices = std::mem::take(&mut ledger.notices);
    notices.retain(|key, _| is_open(ledger, key));
    ledger.notices = notices;
}
