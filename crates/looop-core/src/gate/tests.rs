//! The gates, one by one: what opens each of them, what shuts it, and at which moment.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::{Asking, Limits, Verdict, Why, backoff_wait, gate, paused};
use crate::engine::tests::limits;
use crate::ledger::entry::Force;
use crate::ledger::state::{Failures, GoalRecord, Ledger, Note, NoteKind, Nudge, Paused, ReadingRecord};
use crate::meter::Micros;
use crate::model::digest::Digest;
use crate::model::outcome::Ended;
use crate::purse::Fee;
use crate::time::{Now, Stamp};
use crate::world::baseline::{Change, ChangeKind};

const HOUR: u64 = 3600;

/// Noon of a day, ten days after boot.
fn noon() -> Now {
    Now { wall: 1_799_928_000_000, up: 864_000_000, boot: 1, zone: TimeZone::UTC }
}

fn ago(seconds: u64) -> Stamp {
    let now = noon();
    let ms = seconds * 1000;
    Stamp { wall: now.wall - i64::try_from(ms).unwrap(), up: now.up - ms, boot: now.boot }
}

fn policy() -> Digest {
    Digest::of(b"policy")
}

/// A world in which nothing changed and nobody asks.
fn quiet<'a>() -> Asking<'a> {
    Asking {
        begun: false,
        changes: &[],
        by_person: false,
        fee: Fee::Usual,
        limited: None,
        open_work: false,
        policy: policy(),
        deciders: 1,
        stopping: false,
    }
}

fn changed(items: &[&str]) -> Vec<Change> {
    let change =
        |item: &&str| Change { item: (*item).to_owned(), kind: ChangeKind::Changed, old: None, new: None };
    items.iter().map(change).collect()
}

fn ask(ledger: &Ledger, asking: &Asking<'_>, limits: &Limits) -> Verdict {
    gate(ledger, asking, &noon(), limits)
}

fn lets_through(ledger: &Ledger, asking: &Asking<'_>) -> bool {
    matches!(ask(ledger, asking, &limits()), Verdict::Decide { .. })
}

/// What lets a decide through in a world that did not change.
fn force(ledger: &Ledger, asking: &Asking<'_>) -> Option<Force> {
    match ask(ledger, asking, &limits()) {
        Verdict::Decide { forced, .. } => Some(forced.expect("an unchanged world needs a reason")),
        Verdict::Skip(why) => {
            assert_eq!(why, Why::Unchanged);
            None
        }
    }
}

fn shell_note(own: bool) -> Note {
    let what = NoteKind::Shell { cmd: "x".into(), ended: Ended::Exited(0), tail: String::new(), own };
    Note { tainted: false, seq: 1, what }
}

#[test]
fn a_changed_world_needs_no_reason_and_an_unchanged_one_needs_one() {
    let changes = changed(&["goal:x"]);
    let verdict = ask(&Ledger::default(), &Asking { changes: &changes, ..quiet() }, &limits());
    assert_eq!(verdict, Verdict::Decide { forced: None, reserve: Micros::new(1_000_000) });
    assert_eq!(ask(&Ledger::default(), &quiet(), &limits()), Verdict::Skip(Why::Unchanged));
}

#[test]
fn only_a_persons_wish_is_named_beside_a_change() {
    let changes = changed(&["goal:x"]);
    let due = Ledger { nudge: Some(Nudge { at: ago(60), seconds: 60 }), ..Ledger::default() };
    let by_person = Asking { changes: &changes, by_person: true, ..quiet() };
    let forced = |asking: &Asking<'_>| match ask(&due, asking, &limits()) {
        Verdict::Decide { forced, .. } => forced,
        Verdict::Skip(why) => panic!("{why:?}"),
    };
    assert_eq!(forced(&by_person), Some(Force::Person));
    assert_eq!(forced(&Asking { by_person: false, ..by_person }), None);
}

#[test]
fn stopping_and_pausing_come_before_everything() {
    let changes = changed(&["goal:x"]);
    let wanted = Asking { changes: &changes, by_person: true, ..quiet() };
    let paused = Ledger { paused: Some(Paused { at: ago(5), until: None }), ..Ledger::default() };
    let stopping = Asking { stopping: true, ..wanted };
    assert_eq!(ask(&paused, &stopping, &limits()), Verdict::Skip(Why::Stopping));
    let wanted = Asking { stopping: false, ..stopping };
    assert_eq!(ask(&paused, &wanted, &limits()), Verdict::Skip(Why::Paused { until: None }));
}

#[test]
fn a_pause_lasts_to_its_end_and_no_longer_whatever_the_wall_clock_does() {
    let began = ago(0);
    let until = began.wall + 60_000;
    let ledger = Ledger { paused: Some(Paused { at: began, until: Some(until) }), ..Ledger::default() };
    for (seconds, still) in [(0, true), (59, true), (60, false), (61, false)] {
        for step in [-HOUR.cast_signed(), 0, HOUR.cast_signed()] {
            let mut now = noon();
            now.up += seconds * 1000;
            now.wall += (seconds.cast_signed() + step) * 1000;
            assert_eq!(paused(&ledger, &now).is_some(), still, "after {seconds} s, stepped by {step} s");
        }
    }
    assert_eq!(paused(&Ledger::default(), &noon()), None);
}

#[test]
fn a_pause_until_a_moment_that_was_past_already_is_none() {
    let at = ago(0);
    let ledger = Ledger { paused: Some(Paused { at, until: Some(at.wall - 1) }), ..Ledger::default() };
    assert_eq!(paused(&ledger, &noon()), None);
}

#[test]
fn reasons_to_look_at_an_unchanged_world() {
    let empty = Ledger::default;
    let answer = NoteKind::Answer { ask: "a".into(), prompt: String::new(), text: "yes".into() };
    let refused = NoteKind::Refused { reason: "no".into() };
    let table = [
        ("nothing", empty(), None),
        ("a nudge not due", Ledger { nudge: Some(Nudge { at: ago(59), seconds: 60 }), ..empty() }, None),
        (
            "a due nudge",
            Ledger { nudge: Some(Nudge { at: ago(60), seconds: 60 }), ..empty() },
            Some(Force::Nudge),
        ),
        ("output of its own", Ledger { notes: vec![shell_note(true)], ..empty() }, Some(Force::Shell)),
        ("output of a person's", Ledger { notes: vec![shell_note(false)], ..empty() }, None),
        (
            "an answer",
            Ledger { notes: vec![Note { tainted: false, seq: 1, what: answer }], ..empty() },
            Some(Force::Answer),
        ),
        (
            "a refusal",
            Ledger { notes: vec![Note { tainted: false, seq: 1, what: refused }], ..empty() },
            None,
        ),
    ];
    for (name, ledger, reason) in table {
        assert_eq!(force(&ledger, &quiet()), reason, "{name}");
    }
    assert_eq!(force(&empty(), &Asking { by_person: true, ..quiet() }), Some(Force::Person));
}

#[test]
fn an_old_noop_is_stale_only_while_work_is_open() {
    for (hours, open_work, reason) in [
        (5, true, None),
        (6, true, Some(Force::StaleNoop)),
        (6, false, None),
        (7, true, Some(Force::StaleNoop)),
    ] {
        let ledger = Ledger { noop: Some(ago(hours * HOUR)), ..Ledger::default() };
        assert_eq!(force(&ledger, &Asking { open_work, ..quiet() }), reason, "{hours} h, open: {open_work}");
    }
    assert_eq!(force(&Ledger::default(), &Asking { open_work: true, ..quiet() }), None);
}

fn goal(ready: Option<u64>, served: Option<u64>) -> GoalRecord {
    let hours = |h: u64| ago(h * HOUR);
    GoalRecord { ready: ready.map(hours), served: served.map(hours), ..GoalRecord::default() }
}

#[test]
fn a_ready_goal_unserved_for_a_day_is_overdue() {
    let table = [
        ("not ready", goal(None, Some(100)), false),
        ("ready for less", goal(Some(23), None), false),
        ("ready for a day", goal(Some(24), None), true),
        ("served within the day", goal(Some(48), Some(23)), false),
        ("served a day ago", goal(Some(48), Some(24)), true),
        ("ready again since less", goal(Some(23), Some(48)), false),
    ];
    for (name, record, overdue) in table {
        let ledger = Ledger { goals: [("x".to_owned(), record)].into(), ..Ledger::default() };
        let reason = overdue.then(|| Force::Overdue("x".to_owned()));
        assert_eq!(force(&ledger, &quiet()), reason, "{name}");
    }
}

#[test]
fn an_overdue_goal_forces_once_a_day_and_the_longest_waiting_first() {
    let goals = [("a".to_owned(), goal(Some(30), None)), ("b".to_owned(), goal(Some(40), None))];
    let table = [
        ("none asked about", vec![], Some("b")),
        ("the longest asked about", vec![("b".to_owned(), ago(23 * HOUR))], Some("a")),
        ("and again after a day", vec![("b".to_owned(), ago(24 * HOUR))], Some("b")),
        ("both asked about", vec![("a".to_owned(), ago(HOUR)), ("b".to_owned(), ago(HOUR))], None),
    ];
    for (name, asked, first) in table {
        let overdue = asked.into_iter().collect();
        let ledger = Ledger { goals: goals.clone().into(), overdue, ..Ledger::default() };
        assert_eq!(force(&ledger, &quiet()), first.map(|id| Force::Overdue(id.to_owned())), "{name}");
    }
}

#[test]
fn five_decides_of_our_own_doing_shut_the_gate_for_an_hour() {
    let nudge = Some(Nudge { at: ago(60), seconds: 60 });
    let table = [
        ("four in a row", 4, 60, true),
        ("five in a row", 5, 60, false),
        ("an hour less a second later", 5, HOUR - 1, false),
        ("an hour later", 5, HOUR, true),
    ];
    for (name, chain, last, open) in table {
        let ledger =
            Ledger { chain, last_decide: Some(ago(last)), nudge: nudge.clone(), ..Ledger::default() };
        assert_eq!(lets_through(&ledger, &quiet()), open, "{name}");
    }
}

#[test]
fn a_chain_holds_back_only_what_our_own_doing_forces() {
    let changes = changed(&["goal:x"]);
    let full = Ledger {
        chain: 5,
        last_decide: Some(ago(60)),
        nudge: Some(Nudge { at: ago(60), seconds: 60 }),
        ..Ledger::default()
    };
    assert_eq!(ask(&full, &quiet(), &limits()), Verdict::Skip(Why::Chain { count: 5 }));
    assert!(lets_through(&full, &Asking { changes: &changes, ..quiet() }), "a change");
    assert!(lets_through(&full, &Asking { by_person: true, ..quiet() }), "a person");
    let stale = Ledger { nudge: None, noop: Some(ago(6 * HOUR)), ..full };
    assert!(lets_through(&stale, &Asking { open_work: true, ..quiet() }), "work left open");
}

#[test]
fn the_wait_doubles_to_five_minutes_and_to_an_hour_from_the_fifth_failure_on() {
    let waits: Vec<u64> = (0..=9).map(|failures| backoff_wait(failures).as_secs()).collect();
    assert_eq!(waits, [60, 60, 120, 240, 300, 960, 1920, 3600, 3600, 3600]);
    assert_eq!(backoff_wait(u32::MAX), Duration::from_hours(1));
}

fn failed(count: u32, seconds: u64) -> Ledger {
    let failures = Failures {
        count,
        at: ago(seconds),
        reason: "no such model".into(),
        policy: policy(),
        resumed: false,
    };
    Ledger { failures: Some(failures), ..Ledger::default() }
}

#[test]
fn failures_shut_the_gate_for_their_wait_but_not_for_a_person() {
    let changes = changed(&["reading:ci"]);
    assert!(lets_through(&failed(3, 0), &Asking { changes: &changes, by_person: true, ..quiet() }));
    let asking = Asking { changes: &changes, ..quiet() };
    for (count, seconds, open) in [(1, 59, false), (1, 60, true), (3, 239, false), (3, 240, true)] {
        assert_eq!(lets_through(&failed(count, seconds), &asking), open, "{count} failures, {seconds} s ago");
    }
    let why = Why::Backoff { failures: 3, wait_s: 240, reason: "no such model".into() };
    assert_eq!(ask(&failed(3, 0), &asking, &limits()), Verdict::Skip(why));
}

#[test]
fn an_edit_of_the_policy_opens_the_gate_at_once() {
    let changes = changed(&["playbook"]);
    let edited = Asking { changes: &changes, policy: Digest::of(b"edited"), ..quiet() };
    assert!(lets_through(&failed(9, 0), &edited));
}

#[test]
fn each_decider_of_a_list_is_tried_before_the_wait_which_counts_rounds() {
    let changes = changed(&["reading:ci"]);
    let table = [
        ("one of two failed", 2, 1, 0, true),
        ("both failed", 2, 2, 59, false),
        ("both failed a minute ago", 2, 2, 60, true),
        ("the second round", 2, 4, 119, false),
        ("the second round, later", 2, 4, 120, true),
        ("two of three", 3, 2, 0, true),
        ("without any decider a wait is a wait", 0, 1, 59, false),
    ];
    for (name, deciders, count, seconds, open) in table {
        let asking = Asking { changes: &changes, deciders, ..quiet() };
        assert_eq!(lets_through(&failed(count, seconds), &asking), open, "{name}");
    }
}

#[test]
fn decides_of_the_last_hour_count_against_the_cap() {
    let changes = changed(&["goal:x"]);
    let table = [
        ("below", 3, vec![10, 20], true),
        ("full", 3, vec![10, 20, 30], false),
        ("one is an hour old", 3, vec![10, 20, HOUR], true),
        ("one is nearly an hour old", 3, vec![10, 20, HOUR - 1], false),
        ("a cap of 0 is none", 0, vec![10, 20], true),
    ];
    for (name, cap, starts, open) in table {
        let ledger = Ledger { decides: starts.into_iter().map(ago).collect(), ..Ledger::default() };
        let limits = Limits { decides_per_hour: cap, ..limits() };
        let verdict = ask(&ledger, &Asking { changes: &changes, ..quiet() }, &limits);
        let shut = Verdict::Skip(Why::DecidesPerHour { cap });
        assert_eq!(verdict == shut, !open, "{name}: {verdict:?}");
    }
}

#[test]
fn the_purse_is_asked_last() {
    let changes = changed(&["goal:x"]);
    let poor = Limits { daily_usd: Some(Micros::new(500_000)), ..limits() };
    let asking = Asking { changes: &changes, ..quiet() };
    assert!(matches!(ask(&Ledger::default(), &asking, &poor), Verdict::Skip(Why::Purse { .. })));
    let free = Asking { fee: Fee::Free, ..asking };
    assert_eq!(
        ask(&Ledger::default(), &free, &poor),
        Verdict::Decide { forced: None, reserve: Micros::ZERO },
        "what is free needs no money"
    );
}

fn flapper(streak: u32, last_decide: Option<u64>) -> Ledger {
    let record = ReadingRecord { digest: policy(), streak };
    let readings = [("clock".to_owned(), record)].into();
    Ledger { readings, last_decide: last_decide.map(ago), ..Ledger::default() }
}

#[test]
fn a_flapping_reading_alone_wakes_every_ten_minutes() {
    let table = [
        ("it does not flap yet", 4, Some(1), &["reading:clock"][..], true),
        ("it flaps", 5, Some(1), &["reading:clock"], false),
        ("nearly ten minutes", 5, Some(599), &["reading:clock"], false),
        ("ten minutes", 5, Some(600), &["reading:clock"], true),
        ("never decided before", 5, None, &["reading:clock"], true),
        ("another reading too", 5, Some(1), &["reading:ci", "reading:clock"], true),
        ("a goal too", 5, Some(1), &["goal:x", "reading:clock"], true),
        ("a goal of that name", 5, Some(1), &["goal:clock"], true),
    ];
    for (name, streak, last, items, open) in table {
        let changes = changed(items);
        let asking = Asking { changes: &changes, ..quiet() };
        let verdict = ask(&flapper(streak, last), &asking, &limits());
        let shut = Verdict::Skip(Why::Flapping { readings: vec!["clock".into()] });
        assert_eq!(verdict == shut, !open, "{name}: {verdict:?}");
    }
    let changes = changed(&["reading:clock"]);
    let by_person = Asking { changes: &changes, by_person: true, ..quiet() };
    assert!(lets_through(&flapper(5, Some(1)), &by_person), "a person is not held back");
}

#[test]
fn a_reading_that_never_changed_does_not_flap_even_without_a_bound() {
    let changes = changed(&["reading:clock"]);
    let asking = Asking { changes: &changes, ..quiet() };
    let none = Limits { flap_streak: 0, ..limits() };
    assert!(matches!(ask(&flapper(0, Some(1)), &asking, &none), Verdict::Decide { .. }));
    assert!(matches!(ask(&flapper(1, Some(1)), &asking, &none), Verdict::Skip(Why::Flapping { .. })));
}

#[test]
fn flapping_does_not_hold_back_a_forced_look_at_an_unchanged_world() {
    let ledger = Ledger { nudge: Some(Nudge { at: ago(60), seconds: 60 }), ..flapper(5, Some(1)) };
    assert_eq!(force(&ledger, &quiet()), Some(Force::Nudge));
}

#[test]
fn the_gates_are_asked_in_their_order() {
    let nudge = Some(Nudge { at: ago(60), seconds: 60 });
    let all = Ledger { chain: 5, last_decide: Some(ago(1)), nudge, decides: vec![ago(1)], ..failed(1, 0) };
    let poor = Limits { decides_per_hour: 1, daily_usd: Some(Micros::new(500_000)), ..limits() };
    let why = |ledger: &Ledger| match ask(ledger, &quiet(), &poor) {
        Verdict::Skip(why) => why,
        Verdict::Decide { forced, .. } => panic!("{forced:?}"),
    };
    assert_eq!(why(&all), Why::Chain { count: 5 });
    let all = Ledger { chain: 0, ..all };
    assert!(matches!(why(&all), Why::Backoff { .. }));
    let all = Ledger { failures: None, ..all };
    assert_eq!(why(&all), Why::DecidesPerHour { cap: 1 });
    assert!(matches!(why(&Ledger { decides: Vec::new(), ..all }), Why::Purse { .. }));
}

#[test]
fn reasons_read_like_speech() {
    let until = noon().wall + 60_000;
    let backoff = |failures| Why::Backoff { failures, wait_s: 120, reason: "no such model".into() };
    let table = [
        (Why::Stopping, "the loop is ending"),
        (Why::Paused { until: None }, "paused until `looop resume`"),
        (Why::Paused { until: Some(until) }, "paused until 2027-01-14 12:01"),
        (Why::Unchanged, "nothing changed since the last decision"),
        (
            Why::Chain { count: 5 },
            "5 decides in a row looked only at the loop's own doing; waiting for a change or an hour",
        ),
        (
            backoff(1),
            "deciding failed once; the next try is 2m after that (looop beat tries now); last: no such model",
        ),
        (
            backoff(2),
            "deciding failed 2 times in a row; the next try is 2m after that (looop beat tries now); last: no such model",
        ),
        (Why::DecidesPerHour { cap: 3 }, "3 decides in the last hour, which is the cap"),
        (Why::Purse { reason: "spent".into() }, "spent"),
        (Why::NothingReady { reason: "no goal".into() }, "no goal"),
        (
            Why::Flapping { readings: vec!["a".into(), "b".into()] },
            "only a, b changed, which flaps; looking at it every 10m",
        ),
        (Why::BadFile { error: "goals/x.md is a FIFO".into() }, "goals/x.md is a FIFO"),
        (Why::Busy { with: "decide 000001 by m".into() }, "decide 000001 by m is under way"),
    ];
    for (why, text) in table {
        assert_eq!(why.text(&noon()), text);
    }
}
