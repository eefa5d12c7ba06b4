//! Forgetting what is known of goals and files that are gone.

use super::machine::Engine;
use crate::bounds::{ABSENT, GOALS};
use crate::ledger::entry::Entry;
use crate::time::Now;
use crate::world::observation::{Docs, Observation, Scope};

impl Engine {
    /// Forgets what is known of goals and files without a file, if that is a lot: any letter may name a goal, and a
    /// decider may write and archive without end. What is gone for a moment, as while it is edited, is not forgotten.
    pub(super) fn forget(&mut self, seen: &Observation, now: &Now) {
        let docs = &seen.docs;
        // Of more goals than can be looked at some only seem to be gone.
        if seen.scope == Scope::Quick || docs.goals.len() >= GOALS {
            return;
        }
        let (goals, files) = (self.absent_goals(docs), self.absent_files(docs));
        if !goals.is_empty() || !files.is_empty() {
            self.log(Entry::Forgot { goals, files }, now);
        }
    }

    /// Goals without a file that nothing waits for, beyond those that are remembered: the longest unserved.
    fn absent_goals(&self, docs: &Docs) -> Vec<String> {
        let ledger = &self.ledger;
        if ledger.goals.len() <= docs.goals.len().saturating_add(ABSENT) {
            return Vec::new();
        }
        let running = ledger.workers.values().filter(|worker| worker.ended.is_none());
        let busy: Vec<&str> = running
            .filter_map(|worker| worker.goal.as_deref())
            .chain(ledger.acting.as_ref().and_then(|acting| acting.plan.goal.as_deref()))
            .collect();
        let absent = ledger.goals.iter().filter(|(id, record)| {
            !docs.goals.contains_key(*id) && record.ask.is_none() && !busy.contains(&id.as_str())
        });
        let mut absent: Vec<_> = absent.map(|(id, record)| (record.served.map(|at| at.wall), id)).collect();
        absent.sort_unstable();
        let most = absent.len().saturating_sub(ABSENT / 2);
        absent.into_iter().take(most).map(|(_, id)| id.clone()).collect()
    }

    /// Files that a decider wrote and that are gone, if there are more than are remembered.
    fn absent_files(&self, docs: &Docs) -> Vec<String> {
        let is_there = |path: &str| match path.split_once('/') {
            Some(("goals", file)) => file.strip_suffix(".md").is_some_and(|id| docs.goals.contains_key(id)),
            Some(("schedules", file)) => {
                file.strip_suffix(".json").is_some_and(|name| docs.schedules.contains_key(name))
            }
            Some(("sensors", file)) => docs.sensors.values().any(|sensor| sensor.file == file),
            Some(_) => false,
            None => true,
        };
        if self.ledger.written.len() <= ABSENT {
            return Vec::new();
        }
        let absent: Vec<String> =
            self.ledger.written.keys().filter(|path| !is_there(path)).cloned().collect();
        if absent.len() > ABSENT { absent } else { Vec::new() }
    }
}
