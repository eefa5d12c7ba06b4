//! What is new since a cursor: for whoever waits for the loop to want something of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::events::events;
use super::lines::{HumanLine, Tone, clock, lines};
use crate::approval::{is_forged, words};
use crate::ledger::entry::{Entry, Line};
use crate::ledger::state::Ledger;
use crate::model::letter::Ask;
use crate::model::moves::Move;
use crate::model::name::{is_name, shown};
use crate::model::outcome::Outcome;
use crate::model::plan::{Act, Plan};
use crate::time::{Now, Stamp};

/// How long after it was asked a letter that is gone may still come into the log, in milliseconds. The loop takes a
/// letter up at once, but a look at the world can take minutes.
const LATE_MS: i64 = 10 * 60 * 1000;

/// Stands for everything up to some moment: the log's last append, and the asks whose letters were seen before the log
/// knew of them. As text `412`, or `412:ask-3@1731700000123,w-1@1731700000456`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Number of the last append.
    pub seq: u64,
    /// The letters: which, and when each was asked.
    letters: BTreeSet<(String, i64)>,
}

/// A text that is no cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a cursor; take one that `looop wait` printed")]
pub struct NotACursor(String);

impl Cursor {
    /// The same letters, with the log at another append.
    #[must_use]
    pub fn moved_to(self, seq: u64) -> Self {
        Self { seq, ..self }
    }

    fn has(&self, ask: &str, asked: i64) -> bool {
        self.letters.contains(&(ask.to_owned(), asked))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seq)?;
        for (at, (ask, asked)) in self.letters.iter().enumerate() {
            write!(f, "{}{ask}@{asked}", if at == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (seq, rest) = text.split_once(':').map_or((text, None), |(seq, rest)| (seq, Some(rest)));
        let letter = |part: &str| {
            let (ask, asked) = part.split_once('@').filter(|(ask, _)| is_name(ask))?;
            Some((ask.to_owned(), asked.parse().ok()?))
        };
        let letters = rest.into_iter().flat_map(|rest| rest.split(',')).map(letter).collect();
        let cursor =
            seq.parse().ok().zip(letters).map(|(seq, letters): (u64, BTreeSet<_>)| Self { seq, letters });
        // There is one spelling of each, so that two cursors can be compared as texts.
        cursor.filter(|cursor| cursor.to_string() == text).ok_or_else(|| NotACursor(shown(text)))
    }
}

/// What somebody wants to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// Everything but what every beat says.
    #[default]
    All,
    /// What a person may have to act upon.
    Actionable,
    /// What waits for a person's word.
    Asks,
}

impl Filter {
    /// Whether an event is wanted.
    pub fn takes(self, event: &Value) -> bool {
        let name = event["event"].as_str().unwrap_or_default();
        let asks = matches!(name, "asked" | "parked");
        match self {
            Self::All => !matches!(name, "sensed" | "beat_started" | "skipped"),
            Self::Actionable => {
                let bad = matches!(name, "failed" | "rejected" | "interrupted" | "notified" | "worker_ended");
                asks || bad || name == "verify" && event["pass"] == false
            }
            Self::Asks => asks,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// As events. One of a letter that the log does not know yet has no `seq`.
    pub events: Vec<Value>,
    /// As human lines: at least one for each entry that has a wanted event.
    pub lines: Vec<HumanLine>,
}

/// Gathers what is new since a cursor, look by look. In each look the letters are listed first, then every new append
/// is given to [`Watch::line`], in order, then the letters to [`Watch::letters`].
#[derive(Clone, Debug)]
pub struct Watch {
    cursor: Cursor,
    filter: Filter,
    news: News,
}

impl Watch {
    /// Begins after a cursor.
    pub fn new(since: Cursor, filter: Filter) -> Self {
        Self { cursor: since, filter, news: News::default() }
    }

    /// What was found so far.
    pub fn news(&self) -> &News {
        &self.news
    }

    /// Stands for everything that was looked at so far.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// One append, and the ledger before it.
    pub fn line(&mut self, before: &Ledger, line: &Line, now: &Now) {
        for entry in &line.entries {
            let known = matches!(entry, Entry::Asked { ask, asked, .. } if self.cursor.has(ask, *asked));
            if !known {
                self.found(&line.at, Some(line.seq), entry, now);
            }
            // The loop's own ask has no entry of its own: it is there once the move that writes its letter is done.
            if let Some(entry @ Entry::Asked { ask, asked, .. }) = &own_ask(before, entry)
                && !self.cursor.has(ask, *asked)
            {
                self.found(&line.at, Some(line.seq), entry, now);
            }
        }
        self.cursor.seq = line.seq;
    }

    /// The asks that lie in their folder, and the ledger as it is now. Those that it does not know yet are news.
    pub fn letters(&mut self, ledger: &Ledger, asks: &BTreeMap<String, Ask>, now: &Now) {
        let unknown: Vec<(&String, &Ask)> = asks
            .iter()
            .filter(|(id, ask)| !knows(ledger, id, ask.asked) && !is_forged(ledger, id, ask))
            .collect();
        for (id, ask) in &unknown {
            if !self.cursor.has(id, ask.asked) {
                let at = Stamp { wall: ask.asked, up: 0, boot: 0 };
                self.found(&at, None, &entry_of(id, ask), now);
            }
        }
        let mut letters: BTreeSet<(String, i64)> =
            unknown.into_iter().map(|(id, ask)| (id.clone(), ask.asked)).collect();
        // The loop may have seen a letter right before it was fetched: its entry is still to come.
        let gone = self.cursor.letters.iter().filter(|(id, asked)| !knows(ledger, id, *asked));
        letters.extend(gone.filter(|(_, asked)| now.wall.saturating_sub(*asked) < LATE_MS).cloned());
        self.cursor.letters = letters;
    }

    fn found(&mut self, at: &Stamp, seq: Option<u64>, entry: &Entry, now: &Now) {
        let line = Line { seq: seq.unwrap_or(0), at: *at, idle: 0, entries: vec![entry.clone()] };
        let mut wanted: Vec<Value> =
            events(&line).into_iter().filter(|event| self.filter.takes(event)).collect();
        if wanted.is_empty() {
            return;
        }
        for event in &mut wanted {
            if let (None, Value::Object(fields)) = (seq, event) {
                fields.remove("seq");
            }
        }
        self.news.lines.extend(human(&line, &wanted, now));
        self.news.events.append(&mut wanted);
    }
}

/// The human lines of an entry with these events. What `looop events` passes over in silence is named here, because
/// somebody is told that there is something.
fn human(line: &Line, events: &[Value], now: &Now) -> Vec<HumanLine> {
    let named: Vec<Entry> = line.entries.iter().map(|entry| by_name(entry.clone())).collect();
    let found = lines(&Line { entries: named, ..line.clone() }, now);
    if !found.is_empty() {
        return found;
    }
    let clock = clock(line.at.wall, &now.zone);
    let text = |event: &Value| {
        let subject = ["session", "goal", "reading", "ask"].iter().find_map(|key| event[*key].as_str());
        let words = [event["event"].as_str().map(|name| name.replace('_', " ")), subject.map(str::to_owned)];
        words.into_iter().flatten().collect::<Vec<String>>().join(" ")
    };
    let line = |event| HumanLine { clock: clock.clone(), glyph: '·', text: text(event), tone: Tone::Dim };
    events.iter().map(line).collect()
}

/// The loop's own ask as a line that can stand alone: elsewhere the move that made it has said it.
fn by_name(mut entry: Entry) -> Entry {
    if let Entry::Asked { from, .. } = &mut entry
        && from == "pulse"
    {
        "looop".clone_into(from);
    }
    entry
}

/// Whether the loop has taken up a letter, be it settled since.
fn knows(ledger: &Ledger, ask: &str, asked: i64) -> bool {
    ledger.asks.get(ask).is_some_and(|record| record.asked == asked)
        || ledger.settled.get(ask) == Some(&asked)
}

fn entry_of(id: &str, ask: &Ask) -> Entry {
    Entry::Asked {
        ask: id.to_owned(),
        from: ask.from.clone(),
        prompt: words(ask),
        goal: ask.goal.clone(),
        kind: ask.kind,
        asked: ask.asked,
    }
}

/// The ask that the loop itself has made, where an entry ends the move that makes one.
fn own_ask(before: &Ledger, entry: &Entry) -> Option<Entry> {
    let Entry::Finished { beat, outcome: Outcome::Done { .. }, .. } = entry else { return None };
    let Plan { action: Move::AskHuman { prompt, .. }, act: Act::File { path, .. }, goal, at, .. } =
        &*before.acting.as_ref().filter(|acting| acting.beat == *beat)?.plan
    else {
        return None;
    };
    Some(Entry::Asked {
        ask: path.strip_prefix("asks/")?.strip_suffix(".json")?.to_owned(),
        from: "pulse".to_owned(),
        prompt: prompt.clone(),
        goal: goal.clone(),
        kind: crate::model::letter::AskKind::Question,
        asked: at.wall,
    })
}

#[cfg(test)]
mod tests;
