//! Telling the person what needs them.

use super::io::Effect;
use super::machine::Engine;
use crate::ledger::entry::Entry;
use crate::model::moves::one_line;
use crate::notice::{Need, Notice, NoticeKind, due, next};
use crate::time::Now;

/// Notices of one look; what goes beyond is summed up in one more.
const MOST: usize = 5;
/// What is kept of an error.
const ERROR: usize = 300;

impl Engine {
    /// Tells the person what is new and needs them, and again what has waited long enough. It is in the log before it
    /// is sent: a crash in between costs one notice and never sends one twice.
    pub(super) fn notify(&mut self, now: &Now) {
        self.tell(|_, _| true, now);
    }

    /// Tells only what was never told: letters may have come since the last look, so that what waited may be settled.
    pub(super) fn notify_new(&mut self, now: &Now) {
        self.tell(|engine, key| !engine.ledger.notices.contains_key(key), now);
    }

    /// How long until something is told again by itself, if something waits.
    pub(super) fn next_notice(&self, now: &Now) -> Option<std::time::Duration> {
        next(&self.ledger, now).filter(|left| self.setup.limits.can_notify && !left.is_zero())
    }

    fn tell(&mut self, wanted: impl Fn(&Self, &str) -> bool, now: &Now) {
        if !self.setup.limits.can_notify || self.is_stopping() {
            return;
        }
        let mut due = due(&self.ledger, now);
        // Where nobody is asked any more, nothing fails any more.
        due.retain(|(key, need)| {
            wanted(self, key) && (need.kind != NoticeKind::Failures || !self.setup.paid.is_empty())
        });
        let rest = due.split_off(due.len().min(MOST));
        for (key, Need { kind, id, message }) in due {
            let notice = Notice { key, kind, id, message };
            self.log(told(&notice), now);
            self.push(Effect::Notify(Box::new(notice)));
        }
        if !rest.is_empty() {
            self.sum_up(&rest, now);
        }
    }

    fn sum_up(&mut self, rest: &[(String, Need)], now: &Now) {
        let message = format!("and {} more; looop asks", rest.len());
        for (key, need) in rest {
            let (key, id) = (key.clone(), need.id.clone());
            self.log(told(&Notice { key, kind: need.kind, id, message: message.clone() }), now);
        }
        let kind = NoticeKind::More;
        let notice = Notice { key: kind.word().to_owned(), kind, id: String::new(), message };
        self.push(Effect::Notify(Box::new(notice)));
    }

    /// What came of a notice, channel by channel. That a channel works is news only after it did not.
    pub(super) fn notified(&mut self, key: &str, results: Vec<(String, Option<String>)>, now: &Now) {
        let failing: Vec<String> = self.ledger.undelivered.keys().cloned().collect();
        let gone = failing.iter().filter(|channel| results.iter().all(|(name, _)| name != *channel));
        for channel in gone.cloned().collect::<Vec<_>>() {
            self.log(Entry::Delivered { channel }, now);
        }
        for (channel, error) in results {
            match error {
                Some(error) => {
                    let (key, error) = (key.to_owned(), one_line(&error, ERROR));
                    self.log(Entry::Undelivered { key, channel, error }, now);
                }
                None if failing.contains(&channel) => self.log(Entry::Delivered { channel }, now),
                None => {}
            }
        }
    }
}

fn told(notice: &Notice) -> Entry {
    let Notice { key, kind, id, message } = notice.clone();
    Entry::Notified { key, kind, id, message }
}
