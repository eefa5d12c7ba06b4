//! What needs a person, and when they are told.

use jiff::tz::TimeZone;

use super::*;
use crate::ledger::entry::{Cause, Entry, FailureKind, Line, Spend};
use crate::ledger::fold::{apply, apply_line};
use crate::model::digest::Digest;
use crate::model::plan::{BeatId, RunId};
use crate::time::Stamp;

fn at(ms: u64) -> Stamp {
    Stamp { wall: 1_800_000_000_000 + i64::try_from(ms).unwrap(), up: ms, boot: 1 }
}

fn now(ms: u64) -> Now {
    Now { wall: at(ms).wall, up: ms, boot: 1, zone: TimeZone::UTC }
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap()
}

fn ledger(entries: &[Entry]) -> Ledger {
    let mut ledger = Ledger::default();
    for entry in entries {
        apply(&mut ledger, &at(0), entry);
    }
    ledger
}

fn asked(id: &str, from: &str, kind: AskKind) -> Entry {
    let (ask, from, prompt) = (id.to_owned(), from.to_owned(), "Ship\nit\u{1b}?".to_owned());
    Entry::Asked { ask, from, prompt, goal: None, kind, asked: 0 }
}

fn skipped(why: Why) -> Entry {
    Entry::Skipped { beat: BeatId(1), cause: Cause::Timer, why, changes: vec![], sees: None }
}

fn no_money() -> Entry {
    skipped(Why::Purse { reason: "$9.50 of today's $10.00 is spent".to_owned() })
}

fn failed() -> Entry {
    let (beat, run, failure) = (BeatId(1), RunId(1), FailureKind::Runner);
    let (spend, policy) = (Spend::default(), Digest::of(b""));
    Entry::Failed { beat, run, failure, reason: "no such model".to_owned(), spend, policy, until: None }
}

fn decide_started() -> Entry {
    Entry::DecideStarted {
        tainted: Vec::new(),
        beat: BeatId(2),
        run: RunId(2),
        session: "decide~2".into(),
        decider: "m".into(),
        cause: Cause::Timer,
        forced: None,
        changes: vec![],
        sees: crate::world::baseline::Delta::default(),
        files: [].into(),
        reserved_usd: 1.0,
        free: false,
        config: None,
    }
}

fn told(key: &str) -> Entry {
    let (kind, id) = (NoticeKind::Question, String::new());
    Entry::Notified { key: key.to_owned(), kind, id, message: "m".to_owned() }
}

#[test]
fn each_need_says_who_wants_what_and_what_to_do() {
    let table = [
        (vec![], vec![]),
        (
            vec![asked("ask-1", "pulse", AskKind::Question)],
            vec![("ask:ask-1", "question", "ask-1", "looop asks: Ship it\\u{1b}? (looop answer ask-1 '…')")],
        ),
        (
            vec![asked("t-1", "t~3", AskKind::Flag)],
            vec![("ask:t-1", "flag", "t-1", "t wants you at its terminal: Ship it\\u{1b}? (looop attach t)")],
        ),
        (
            vec![asked("t-1", "t~3", AskKind::Proposal)],
            vec![("ask:t-1", "proposal", "t-1", "t proposes: Ship it\\u{1b}? (looop asks)")],
        ),
        (vec![asked("a", "t~1", AskKind::Question), Entry::Dismissed { ask: "a".into() }], vec![]),
        (
            vec![no_money()],
            vec![("purse", "purse", "", "the budget stops deciding: $9.50 of today's $10.00 is spent")],
        ),
        (vec![no_money(), skipped(Why::Unchanged)], vec![]),
        (vec![failed(), failed()], vec![]),
        (
            vec![failed(), failed(), failed()],
            vec![(
                "failures",
                "failures",
                "",
                "deciding failed 3 times in a row; last: no such model (looop why)",
            )],
        ),
    ];
    for (entries, expected) in table {
        let found = needs(&ledger(&entries));
        let found: Vec<_> = found
            .iter()
            .map(|(key, need)| (key.as_str(), need.kind.word(), need.id.as_str(), need.message.as_str()))
            .collect();
        assert_eq!(found, expected, "{entries:?}");
    }
}

#[test]
fn gaps_grow_to_a_day() {
    let minutes = [0, 15, 60, 240, 960, 1440, 1440];
    for (count, minutes) in (0..).zip(minutes) {
        assert_eq!(gap(count), Duration::from_mins(minutes), "{count}");
    }
    assert_eq!(gap(u32::MAX), Duration::from_hours(24));
}

#[test]
fn a_need_is_told_again_when_its_gap_is_over_and_not_before() {
    let mut ledger = ledger(&[asked("a", "pulse", AskKind::Question)]);
    let (mut time, mut count) = (0, 0);
    while count < 7 {
        assert_eq!(due(&ledger, &now(time)).len(), 1, "after {count}");
        assert_eq!(next(&ledger, &now(time)), Some(Duration::ZERO));
        apply(&mut ledger, &at(time), &told("ask:a"));
        count += 1;
        assert_eq!(due(&ledger, &now(time + ms(gap(count)) - 1)), vec![], "after {count}");
        assert_eq!(next(&ledger, &now(time)), Some(gap(count)));
        time += ms(gap(count));
    }
    assert_eq!((ledger.notices["ask:a"].first, ledger.notices["ask:a"].count), (at(0), 7));
}

#[test]
fn gaps_follow_the_boot_clock_and_outlive_a_boot() {
    let mut ledger = ledger(&[asked("a", "pulse", AskKind::Question)]);
    apply(&mut ledger, &at(0), &told("ask:a"));
    let stepped = Now { wall: at(0).wall + 86_400_000, up: 1000, boot: 1, zone: TimeZone::UTC };
    assert_eq!(due(&ledger, &stepped), vec![], "the wall clock was set forward");
    let rebooted = Now { wall: at(0).wall + 900_000, up: 5, boot: 2, zone: TimeZone::UTC };
    assert_eq!(due(&ledger, &rebooted).len(), 1);
}

#[test]
fn the_loops_own_troubles_come_first_and_asks_in_their_order() {
    let mut entries = vec![failed(), failed(), failed(), no_money()];
    for (id, when) in [("b", 2), ("a", 3), ("c", 1)] {
        if let Entry::Asked { ask, from, prompt, goal, kind, .. } = asked(id, "pulse", AskKind::Question) {
            entries.push(Entry::Asked { ask, from, prompt, goal, kind, asked: when });
        }
    }
    let keys: Vec<String> = due(&ledger(&entries), &now(0)).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["failures", "purse", "ask:c", "ask:b", "ask:a"]);
}

#[test]
fn what_was_said_is_forgotten_with_its_need() {
    let done = |entries: Vec<Entry>, settles: Entry, key: &str| {
        let mut ledger = ledger(&entries);
        apply(&mut ledger, &at(0), &told(key));
        assert!(ledger.notices.contains_key(key), "{key}");
        apply(&mut ledger, &at(1), &Entry::Resumed);
        assert!(ledger.notices.contains_key(key), "{key}: something else settles nothing");
        apply(&mut ledger, &at(2), &settles);
        assert_eq!(ledger.notices.len(), 0, "{key}");
    };
    let ask = || vec![asked("a", "w~1", AskKind::Question)];
    done(ask(), Entry::Answered { ask: "a".into(), text: "yes".into() }, "ask:a");
    done(ask(), Entry::Dismissed { ask: "a".into() }, "ask:a");
    done(vec![no_money()], decide_started(), "purse");
    let mut failing = ledger(&[failed(), failed(), failed()]);
    apply(&mut failing, &at(0), &told("failures"));
    failing.failures = None;
    apply(&mut failing, &at(1), &Entry::Resumed);
    assert_eq!(failing.notices.len(), 0);
}

#[test]
fn money_that_comes_and_goes_is_not_told_of_each_time() {
    let mut ledger = ledger(&[no_money()]);
    apply(&mut ledger, &at(0), &told("purse"));
    apply(&mut ledger, &at(1), &skipped(Why::Unchanged));
    apply(&mut ledger, &at(2), &no_money());
    assert_eq!(due(&ledger, &now(3)), vec![]);
    apply(&mut ledger, &at(4), &decide_started());
    apply(&mut ledger, &at(5), &no_money());
    assert_eq!(due(&ledger, &now(6)).len(), 1, "a decide came in between");
}

#[test]
fn entries_about_notices_are_legal_in_every_state() {
    let strays = [
        told("ask:gone"),
        told("failures"),
        told("nonsense"),
        Entry::Undelivered { key: "ask:gone".into(), channel: "ntfy".into(), error: "no".into() },
        Entry::Undelivered { key: "x".into(), channel: "ntfy".into(), error: "never".into() },
        Entry::Delivered { channel: "webhook".into() },
    ];
    let found = ledger(&strays);
    assert_eq!(found.notices.len(), 0, "nothing is kept of needs that are not there");
    let record = &found.undelivered["ntfy"];
    assert_eq!((record.error.as_str(), record.count), ("never", 2));
    let mut healed = found.clone();
    apply(&mut healed, &at(1), &Entry::Delivered { channel: "ntfy".into() });
    assert_eq!(healed.undelivered.len(), 0);
}

#[test]
fn entries_and_snapshots_survive_a_round_trip() {
    let entries = vec![
        asked("a", "pulse", AskKind::Question),
        Entry::Notified {
            key: "ask:a".into(),
            kind: NoticeKind::Question,
            id: "a".into(),
            message: "x".into(),
        },
        Entry::Undelivered { key: "ask:a".into(), channel: "ntfy".into(), error: "no".into() },
    ];
    let line = Line { seq: 1, at: at(0), idle: 0, entries };
    let text = serde_json::to_string(&line).unwrap();
    assert!(
        text.contains(r#"{"notified":{"key":"ask:a","kind":"question","id":"a","message":"x"}}"#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
    let mut folded = Ledger::default();
    apply_line(&mut folded, &line);
    let text = serde_json::to_string(&folded).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), folded);
}
