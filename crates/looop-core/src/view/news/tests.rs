//! What is new is told once, whichever way it comes and wherever the waiting is cut.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::ledger::fold::apply_line;
use crate::model::digest::Digest;
use crate::model::letter::AskKind;
use crate::model::plan::{Author, BeatId};
use crate::view::events::EVENT_NAMES;
use crate::world::fleet::WorkerState;

fn now() -> Now {
    Now { wall: 1_800_000_000_000, up: 0, boot: 1, zone: TimeZone::UTC }
}

fn line(seq: u64, entries: Vec<Entry>) -> Line {
    Line { seq, at: now().stamp(), idle: 0, entries }
}

fn ask(id: &str, from: &str, asked: i64) -> Ask {
    let (prompt, kind) = ("Really?".to_owned(), AskKind::Question);
    let (id, from) = (id.to_owned(), from.to_owned());
    let (options, reference, goal, proposal) = (vec![], None, None, None);
    Ask {
        limit: None,
        v: 1,
        id,
        from,
        kind,
        prompt,
        options,
        reference,
        goal,
        proposal,
        asked,
        closed: false,
        fetched: false,
    }
}

fn asks(asks: &[Ask]) -> BTreeMap<String, Ask> {
    asks.iter().map(|ask| (ask.id.clone(), ask.clone())).collect()
}

fn plain(watch: &Watch) -> Vec<String> {
    watch.news().lines.iter().map(|line| format!("{} {}", line.glyph, line.text)).collect()
}

fn names(watch: &Watch) -> Vec<&str> {
    watch.news().events.iter().filter_map(|event| event["event"].as_str()).collect()
}

#[test]
fn cursors_are_texts_with_one_spelling() {
    for text in ["0", "412", "412:ask-3@1731700000123", "7:a@-5,w-1@12,w.2_x@0", "18446744073709551615"] {
        assert_eq!(text.parse::<Cursor>().map(|cursor| cursor.to_string()), Ok(text.to_owned()));
    }
    let odd = ["", "x", "-1", "+1", "01", " 1", "1 ", "1:", "1:,", "1:a", "1:a@", "1:@5", "1:a@x", "1:a@05"];
    let more = ["1:b@1,a@1", "1:a@1,a@1", "1:a@1,", "1:.a@1", "1:a b@1", "18446744073709551616", "1:a@1:b@1"];
    for text in odd.iter().chain(&more) {
        assert_eq!(text.parse::<Cursor>(), Err(NotACursor(shown(text))), "{text:?}");
    }
}

#[test]
fn filters_take_what_they_say() {
    let event = |name: &str| json!({"event": name, "pass": false});
    let all: BTreeSet<&str> =
        EVENT_NAMES.into_iter().filter(|name| Filter::All.takes(&event(name))).collect();
    let noise: Vec<&str> = EVENT_NAMES.into_iter().filter(|name| !all.contains(name)).collect();
    assert_eq!(noise, ["beat_started", "sensed", "skipped"]);
    let taken = |filter: Filter| EVENT_NAMES.into_iter().filter(move |name| filter.takes(&event(name)));
    let mut actionable: Vec<&str> = taken(Filter::Actionable).collect();
    actionable.retain(|name| *name != "notified");
    assert_eq!(
        actionable,
        ["asked", "failed", "interrupted", "parked", "rejected", "verify", "worker_ended"]
    );
    assert_eq!(taken(Filter::Asks).collect::<Vec<_>>(), ["asked", "parked"]);
    assert!(Filter::Actionable.takes(&event("notified")));
    assert!(!Filter::Actionable.takes(&json!({"event": "verify", "pass": true})));
}

#[test]
fn what_every_beat_says_moves_the_cursor_and_is_no_news() {
    let mut watch = Watch::new(Cursor::default().moved_to(4), Filter::All);
    let (readings, ready, held) = (BTreeMap::new(), None, Vec::new());
    let saw = Entry::Saw { readings, quiet: 0, some: false, ready, held, rewritten: Vec::new(), broke: None };
    watch.line(&Ledger::default(), &line(5, vec![saw]), &now());
    watch.letters(&Ledger::default(), &BTreeMap::new(), &now());
    assert_eq!((names(&watch).len(), watch.cursor().to_string().as_str()), (0, "5"));
}

#[test]
fn each_entry_with_a_wanted_event_has_a_line() {
    let entries = vec![
        Entry::WorkerStarted { session: "w~1".into(), goal: None },
        Entry::Told { tell: "t".into(), session: "w~1".into(), text: "hi".into(), told: 0 },
        Entry::WorkerEnded { session: "w~1".into(), state: WorkerState::Exited(0), strays: Vec::new() },
        Entry::Seeded { files: vec![] },
    ];
    let mut watch = Watch::new(Cursor::default(), Filter::All);
    watch.line(&Ledger::default(), &line(1, entries.clone()), &now());
    let expected = ["· worker started w~1", "· told w~1", "◦ worker w~1 ended: exit 0", "· seeded"];
    assert_eq!(plain(&watch), expected);
    let mut watch = Watch::new(Cursor::default(), Filter::Actionable);
    watch.line(&Ledger::default(), &line(1, entries), &now());
    assert_eq!(plain(&watch), ["◦ worker w~1 ended: exit 0"]);
    assert_eq!(watch.news().events[0]["seq"], 1);
}

#[test]
fn a_letter_is_news_before_the_log_knows_it_and_not_after() {
    let mut ledger = Ledger::default();
    let letters = asks(&[ask("w-1", "w~1", 5)]);
    let mut watch = Watch::new(Cursor::default(), Filter::Asks);
    watch.letters(&ledger, &letters, &now());
    assert_eq!(plain(&watch), ["? w~1 asks you (w-1): Really?"]);
    let event = &watch.news().events[0];
    assert_eq!((&event["event"], &event["ask"], event.get("seq")), (&"asked".into(), &"w-1".into(), None));
    assert_eq!(event["ts"], "1970-01-01T00:00:00.005Z");
    assert_eq!(watch.cursor().to_string(), "0:w-1@5");

    let mut next = Watch::new(watch.cursor().clone(), Filter::All);
    next.letters(&ledger, &letters, &now());
    let folded = line(1, vec![entry_of("w-1", &letters["w-1"])]);
    next.line(&ledger, &folded, &now());
    apply_line(&mut ledger, &folded);
    next.letters(&ledger, &letters, &now());
    assert_eq!((names(&next).len(), next.cursor().to_string().as_str()), (0, "1"));
    // Another ask by the same name is another ask.
    next.letters(&ledger, &asks(&[ask("w-1", "w~1", 6)]), &now());
    assert_eq!((names(&next), next.cursor().to_string().as_str()), (vec!["asked"], "1:w-1@6"));
}

#[test]
fn a_letter_that_is_gone_is_forgotten_in_the_end() {
    let then = now().wall - LATE_MS;
    let mut watch = Watch::new(Cursor::default(), Filter::Asks);
    watch.letters(&Ledger::default(), &asks(&[ask("w-1", "w~1", then), ask("w-2", "w~1", then + 1)]), &now());
    assert_eq!(watch.cursor().to_string(), format!("0:w-1@{then},w-2@{}", then + 1));
    watch.letters(&Ledger::default(), &BTreeMap::new(), &now());
    assert_eq!(watch.cursor().to_string(), format!("0:w-2@{}", then + 1));
}

/// The loop asks: what it intends, and the end of it.
fn own(asked: i64) -> (Line, Line) {
    let (beat, at) = (BeatId(1), Stamp { wall: asked, up: 0, boot: 1 });
    let action = Move::AskHuman { prompt: "Really?".into(), options: vec![], reference: None };
    let act = Act::File { path: "asks/ask-1.json".into(), before: None, after: None };
    let (author, goal) = (Author::Builtin, Some("ship".to_owned()));
    let plan = Box::new(Plan { goal, ..Plan::new(action, (author, act), at) });
    let intended = Entry::Intended { beat, plan, cause: None, changes: vec![], why: None };
    let policy = Digest::of(b"");
    let finished = Entry::Finished { beat, outcome: Outcome::done(), journal: None, policy };
    (line(1, vec![intended]), line(2, vec![finished]))
}

#[test]
fn the_loops_own_ask_is_news_once() {
    let (intended, finished) = own(9);
    let letters = asks(&[ask("ask-1", "pulse", 9)]);
    for letter_first in [false, true] {
        let mut ledger = Ledger::default();
        let mut watch = Watch::new(Cursor::default(), Filter::Asks);
        watch.line(&ledger, &intended, &now());
        apply_line(&mut ledger, &intended);
        if letter_first {
            watch.letters(&ledger, &letters, &now());
            assert_eq!(watch.cursor().to_string(), "1:ask-1@9");
        }
        watch.line(&ledger, &finished, &now());
        apply_line(&mut ledger, &finished);
        watch.letters(&ledger, &letters, &now());
        assert_eq!(plain(&watch), ["? looop asks you (ask-1): Really?"], "{letter_first}");
        assert_eq!(watch.news().events[0]["from"], "pulse");
        assert_eq!(watch.cursor().to_string(), "2");
    }
    let mut ledger = Ledger::default();
    apply_line(&mut ledger, &intended);
    let mut all = Watch::new(Cursor::default(), Filter::All);
    all.line(&ledger, &finished, &now());
    assert_eq!(names(&all), ["finished", "asked"]);
}

#[test]
fn an_ask_that_could_not_be_made_is_no_ask() {
    let (intended, mut finished) = own(9);
    let mut ledger = Ledger::default();
    apply_line(&mut ledger, &intended);
    if let Entry::Finished { outcome, .. } = &mut finished.entries[0] {
        *outcome = Outcome::failed("the disk is full".to_owned());
    }
    let mut watch = Watch::new(Cursor::default(), Filter::Asks);
    watch.line(&ledger, &finished, &now());
    assert_eq!(names(&watch).len(), 0);
}

/// A world in which workers ask and fetch their answers, the loop takes letters up, and somebody waits.
#[derive(Clone, Debug)]
enum Step {
    /// A worker asks; the number is that of its letter.
    Ask(u8),
    /// An ask is answered and its letters are put away by the loop.
    Settle(u8),
    /// A worker fetches its answer, and the letter is gone.
    Fetch(u8),
    /// The loop looks at the letters.
    Sense,
    /// The loop logs what it saw.
    Log,
    /// Whoever waits looks.
    Look,
    /// Whoever waits ends, and begins again with the cursor that was printed.
    Again,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ask = 0..4_u8;
    let step = prop_oneof![
        ask.clone().prop_map(Step::Ask),
        ask.clone().prop_map(Step::Settle),
        ask.prop_map(Step::Fetch),
        Just(Step::Sense),
        Just(Step::Log),
        Just(Step::Look),
        Just(Step::Again),
    ];
    prop::collection::vec(step, 0..60)
}

struct World {
    ledger: Ledger,
    letters: BTreeMap<String, Ask>,
    sensed: BTreeMap<String, Ask>,
    /// Lines that nobody has looked at.
    fresh: Vec<(Ledger, Line)>,
    watch: Watch,
    told: Vec<(String, i64)>,
    /// Asks that a look could see, in their folder or in the log.
    seen: BTreeSet<(String, i64)>,
    clock: i64,
}

impl World {
    fn new() -> Self {
        let watch = Watch::new(Cursor::default(), Filter::Asks);
        let (letters, sensed) = (BTreeMap::new(), BTreeMap::new());
        let (fresh, told, seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { ledger: Ledger::default(), letters, sensed, fresh, watch, told, seen, clock: now().wall }
    }

    fn log(&mut self, entries: Vec<Entry>) {
        if !entries.is_empty() {
            let line = line(self.ledger.seq + 1, entries);
            self.fresh.push((self.ledger.clone(), line.clone()));
            apply_line(&mut self.ledger, &line);
        }
    }

    fn look(&mut self) {
        let letters = self.letters.clone();
        for (before, line) in std::mem::take(&mut self.fresh) {
            self.watch.line(&before, &line, &now());
        }
        self.watch.letters(&self.ledger, &letters, &now());
        self.seen.extend(letters.values().map(|ask| (ask.id.clone(), ask.asked)));
    }

    fn again(&mut self) {
        let cursor = self.watch.cursor().to_string();
        for line in &self.watch.news().events {
            let asked: jiff::Timestamp = line["ts"].as_str().unwrap().parse().unwrap();
            let asked = if line.get("seq").is_some() {
                line["prompt"].as_str().unwrap().parse().unwrap()
            } else {
                asked.as_millisecond()
            };
            self.told.push((line["ask"].as_str().unwrap().to_owned(), asked));
        }
        self.watch = Watch::new(cursor.parse().unwrap(), Filter::Asks);
        // Whoever begins again reads the log after its cursor.
        assert_eq!(self.watch.cursor().seq + self.fresh.len() as u64, self.ledger.seq);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Ask(n) if !self.letters.contains_key(&format!("w-{n}")) => {
                self.clock += 1;
                let mut ask = ask(&format!("w-{n}"), "w~1", self.clock);
                ask.prompt = self.clock.to_string();
                self.letters.insert(ask.id.clone(), ask);
            }
            Step::Settle(n) if self.ledger.asks.contains_key(&format!("w-{n}")) => {
                let ask = format!("w-{n}");
                self.letters.remove(&ask);
                self.log(vec![Entry::Answered { ask, text: "yes".into() }]);
            }
            Step::Fetch(n) => drop(self.letters.remove(&format!("w-{n}"))),
            Step::Sense => self.sensed = self.letters.clone(),
            Step::Log => {
                let sensed = std::mem::take(&mut self.sensed);
                let new = sensed.iter().filter(|(id, ask)| !knows(&self.ledger, id, ask.asked));
                let entries: Vec<Entry> = new.map(|(id, ask)| entry_of(id, ask)).collect();
                self.seen.extend(sensed.into_values().map(|ask| (ask.id, ask.asked)));
                self.log(entries);
            }
            Step::Look => self.look(),
            Step::Again => self.again(),
            Step::Ask(_) | Step::Settle(_) => {}
        }
    }
}

proptest! {
    #[test]
    fn each_ask_is_told_exactly_once(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        for step in [Step::Sense, Step::Log, Step::Look, Step::Again] {
            world.step(&step);
        }
        let mut told = world.told.clone();
        told.sort();
        prop_assert_eq!(told, world.seen.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_printed_is_read_back(seq: u64, letters in prop::collection::btree_set(("[a-z0-9][a-z0-9._-]{0,9}", any::<i64>()), 0..5)) {
        let cursor = Cursor { seq, letters };
        prop_assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
    }

    #[test]
    fn no_text_is_read_as_what_it_is_not(text in "[0-9:@,a.+ -]{0,12}") {
        if let Ok(cursor) = text.parse::<Cursor>() {
            prop_assert_eq!(cursor.to_string(), text);
        }
    }
}
