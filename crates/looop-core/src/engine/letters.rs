//! What letters have to say to the log.

use std::collections::{BTreeMap, BTreeSet};

use crate::approval::{is_forged, words};
use crate::bounds::{ASKS, ASKS_OF_ONE, NEWS, json_width};
use crate::ledger::entry::Entry;
use crate::ledger::state::Ledger;
use crate::model::letter::{Ask, AskKind};
use crate::world::observation::Observation;

/// What was found, and the asks whose letters can go.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) entries: Vec<Entry>,
    pub(super) settled: BTreeSet<String>,
    /// Whether something has to wait for the next look.
    pub(super) more: bool,
    /// Bytes of the entries.
    bytes: usize,
}

impl News {
    /// Takes an entry in, unless this look has brought enough.
    fn take(&mut self, mut entry: Entry) {
        entry.bound();
        self.bytes += json_width(&entry);
        self.entries.push(entry);
    }

    /// Whether this look has brought enough.
    fn is_full(&mut self) -> bool {
        self.more |= self.bytes >= NEWS;
        self.more
    }
}

/// New asks, answers, asks whose letter is gone, tells; and the asks whose letters can go.
pub(super) fn letters(ledger: &Ledger, seen: &Observation) -> News {
    let mut news = News::default();
    let known = new_asks(ledger, seen, &mut news);
    for (id, answer) in &seen.letters.answers {
        // Consent is never given by a letter.
        if seen.letters.asks.get(id).is_some_and(|ask| ask.kind == AskKind::Proposal)
            || ledger.parked.contains_key(id)
        {
            continue;
        }
        if news.is_full() {
            return news;
        }
        if known.contains(id) {
            news.take(Entry::Answered { ask: id.clone(), text: answer.text.clone() });
        }
        let held = seen.letters.asks.get(id).is_some_and(|ask| is_held(ledger, seen, id, ask));
        if !held {
            news.settled.insert(id.clone());
        }
    }
    for entry in gone(ledger, seen) {
        if news.is_full() {
            return news;
        }
        news.take(entry);
    }
    for (id, tell) in seen.letters.tells.iter().filter(|(id, _)| !ledger.tells.contains_key(*id)) {
        if news.is_full() {
            return news;
        }
        let (tell, session, text, told) = (id.clone(), tell.to.clone(), tell.text.clone(), tell.sent);
        news.take(Entry::Told { tell, session, text, told });
    }
    news
}

/// Why a letter is not taken in, if it is not: nobody but the loop asks in its name, and an id is used for one move.
fn unwanted(ledger: &Ledger, id: &str, ask: &Ask) -> Option<&'static str> {
    if is_forged(ledger, id, ask) {
        return Some("the loop did not write it");
    }
    let other = ledger.settled.get(id).is_some_and(|asked| *asked != ask.asked);
    let used = other || ledger.lapsed.contains_key(id);
    (ask.kind == AskKind::Proposal && used).then_some("an earlier ask had this id")
}

/// The asks that are new, and all that are known after that. Of a flood as many are taken in as a person can read; the
/// rest waits in its folder, where `looop asks` shows it and an answer reaches whoever asks.
fn new_asks<'a>(ledger: &'a Ledger, seen: &'a Observation, news: &mut News) -> BTreeSet<&'a String> {
    let mut known: BTreeSet<&String> = ledger.asks.keys().collect();
    let mut of_one: BTreeMap<&str, usize> = BTreeMap::new();
    for ask in ledger.asks.values() {
        *of_one.entry(&ask.from).or_default() += 1;
    }
    for (id, ask) in &seen.letters.asks {
        if news.is_full() {
            break;
        }
        // Whether the letter of a move that waits is still the same is seen to where that move is.
        if ledger.parked.contains_key(id) {
            continue;
        }
        // The question that the log has under that id still waits.
        if is_forged(ledger, id, ask) && ledger.asks.contains_key(id) {
            continue;
        }
        if let Some(what) = unwanted(ledger, id, ask) {
            news.take(Entry::Dropped { what: format!("asks/{id}.json: {what}") });
            news.settled.insert(id.clone());
            continue;
        }
        // A crash may have come between settling an ask and moving its letters away.
        let over = ask.fetched || is_discharged(ledger, &ask.from);
        if over && !seen.letters.answers.contains_key(id) {
            if ledger.asks.contains_key(id) {
                news.take(Entry::Dismissed { ask: id.clone() });
            }
            news.settled.insert(id.clone());
        } else if ledger.settled.get(id) == Some(&ask.asked) {
            if !is_held(ledger, seen, id, ask) {
                news.settled.insert(id.clone());
            }
        } else if !known.contains(id) {
            let its = of_one.entry(&ask.from).or_default();
            if known.len() < ASKS && *its < ASKS_OF_ONE {
                *its += 1;
                known.insert(id);
                news.take(asked(id, ask));
            }
        }
    }
    known
}

pub(super) fn asked(id: &str, ask: &Ask) -> Entry {
    Entry::Asked {
        ask: id.to_owned(),
        from: ask.from.clone(),
        prompt: words(ask),
        goal: ask.goal.clone(),
        kind: ask.kind,
        asked: ask.asked,
    }
}

/// Whether letters are not ours to move: a worker's answered question is fetched by the worker, or brought to it if it
/// has died.
pub(super) fn is_held(ledger: &Ledger, seen: &Observation, id: &str, ask: &Ask) -> bool {
    let fleet = &seen.docs.fleet;
    let known = fleet.workers.contains_key(&ask.from) || fleet.fault.is_some() && ask.from != "pulse";
    ask.kind == AskKind::Question
        && !ask.fetched
        && known
        && !is_discharged(ledger, &ask.from)
        && seen.letters.answers.contains_key(id)
        && !ledger.redelivered.contains_key(id)
}

/// Whether nobody waits for an answer to what a session asked: a move ended it, or its work is proven, so that it went on
/// with the answer or without it.
fn is_discharged(ledger: &Ledger, session: &str) -> bool {
    ledger.workers.get(session).is_some_and(|record| record.discharged || record.proven == Some(true))
}

/// Pending asks whose letter is no longer there: the worker fetched its answer, or the ask was dismissed. A letter that
/// cannot be read is not gone.
fn gone(ledger: &Ledger, seen: &Observation) -> Vec<Entry> {
    let letters = &seen.letters;
    let is_broken = |id: &str| {
        let letter = format!("asks/{id}.json");
        letters.broken.iter().any(|(file, _)| *file == letter || file == "asks" || file == "answers")
    };
    let gone = ledger.asks.keys();
    let gone = gone.filter(|id| !letters.asks.contains_key(*id) && !ledger.parked.contains_key(*id));
    let gone = gone.filter(|id| !letters.answers.contains_key(*id) && !is_broken(id));
    gone.map(|ask| match letters.collected.get(ask) {
        Some(answer) => Entry::Answered { ask: ask.clone(), text: answer.text.clone() },
        None => Entry::Dismissed { ask: ask.clone() },
    })
    .collect()
}
