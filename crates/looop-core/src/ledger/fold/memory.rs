//! What is remembered only so that it is not done twice: the newest of each kind, by when it was noted. Neither its name
//! nor a time that somebody else wrote into a letter decides what is forgotten.

use std::collections::BTreeMap;

use crate::bounds::{GENERATIONS, REMEMBERED, SCHEDULES};
use crate::ledger::entry::Entry;
use crate::ledger::state::{Ledger, Noted};
use crate::world::fleet::worker_of;

/// Something was noted. If there is too much of its kind, the oldest is forgotten.
pub(super) fn noted(ledger: &mut Ledger, kind: Noted, name: &str) {
    let seq = ledger.seq;
    ledger.noted.entry(kind).or_default().insert(name.to_owned(), seq);
    while count(ledger, kind) > most(kind) {
        let Some(oldest) = oldest(ledger, kind, name) else { return };
        ledger.noted.entry(kind).or_default().remove(&oldest);
        match kind {
            Noted::Settled => drop(ledger.settled.remove(&oldest)),
            Noted::Redelivered => drop(ledger.redelivered.remove(&oldest)),
            Noted::Generation => drop(ledger.generations.remove(&oldest)),
            Noted::Tell => drop(ledger.tells.remove(&oldest)),
            Noted::Expense => drop(ledger.expenses.remove(&oldest)),
            Noted::Due => drop(ledger.due.remove(&oldest)),
        }
    }
}

/// More than can be there at the same time: what is forgotten while it is still there would be done again.
fn most(kind: Noted) -> usize {
    match kind {
        Noted::Settled | Noted::Redelivered | Noted::Tell | Noted::Expense => REMEMBERED,
        Noted::Generation => GENERATIONS,
        Noted::Due => 2 * SCHEDULES,
    }
}

fn count(ledger: &Ledger, kind: Noted) -> usize {
    match kind {
        Noted::Settled => ledger.settled.len(),
        Noted::Redelivered => ledger.redelivered.len(),
        Noted::Generation => ledger.generations.len(),
        Noted::Tell => ledger.tells.len(),
        Noted::Expense => ledger.expenses.len(),
        Noted::Due => ledger.due.len(),
    }
}

/// The name that was noted before all others, apart from the newest and from workers of which something is kept.
fn oldest(ledger: &Ledger, kind: Noted, newest: &str) -> Option<String> {
    let none = BTreeMap::new();
    let since = ledger.noted.get(&kind).unwrap_or(&none);
    let age = |name: &&String| since.get(*name).copied().unwrap_or(0);
    let other = |name: &&String| name.as_str() != newest;
    let first = match kind {
        Noted::Settled => ledger.settled.keys().filter(other).min_by_key(age),
        Noted::Redelivered => ledger.redelivered.keys().filter(other).min_by_key(age),
        Noted::Tell => ledger.tells.keys().filter(other).min_by_key(age),
        Noted::Expense => ledger.expenses.keys().filter(other).min_by_key(age),
        Noted::Due => ledger.due.keys().filter(other).min_by_key(age),
        Noted::Generation => {
            let kept: std::collections::BTreeSet<&str> =
                ledger.workers.keys().map(|session| worker_of(session)).collect();
            let free = |name: &&String| other(name) && !kept.contains(name.as_str());
            ledger.generations.keys().filter(free).min_by_key(age)
        }
    };
    first.cloned()
}

/// What was known of goals and files that are gone for long.
fn forgot(ledger: &mut Ledger, goals: &[String], files: &[String]) {
    for id in goals {
        ledger.goals.remove(id);
        ledger.overdue.remove(id);
    }
    for path in files {
        ledger.written.remove(path);
        ledger.tainted.remove(path);
    }
}

/// Something is forgotten, or counting goes on from higher numbers.
pub(super) fn changed(ledger: &mut Ledger, entry: &Entry) {
    if let Entry::Forgot { goals, files } = entry {
        forgot(ledger, goals, files);
    }
    renumbered(ledger, entry);
}

/// Counting goes on from higher numbers.
fn renumbered(ledger: &mut Ledger, entry: &Entry) {
    let Entry::Renumbered { runs, sessions, asks, beats } = entry else { return };
    ledger.runs = ledger.runs.max(*runs);
    ledger.sessions = ledger.sessions.max(*sessions);
    ledger.asks_made = ledger.asks_made.max(*asks);
    ledger.beats = ledger.beats.max(*beats);
}
