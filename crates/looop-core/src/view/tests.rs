//! Every entry has its event and its line, and every event has its name in the list.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::events::{EVENT_NAMES, events};
use super::lines::{Tone, lines};
use super::status::status;
use crate::approval::{Parked, Wish};
use crate::engine::tests::limits;
use crate::gate::Why;
use crate::ledger::entry::{Cause, Entry, FailureKind, Line, SensorState, Spend, Withdrawal};
use crate::ledger::state::{Failures, Ledger};
use crate::model::digest::Digest;
use crate::model::letter::AskKind;
use crate::model::money::{Allowance, Used};
use crate::model::moves::{Move, Proposal};
use crate::model::outcome::Outcome;
use crate::model::plan::{Act, Author, BeatId, Plan, RunId};
use crate::model::work::Work;
use crate::notice::NoticeKind;
use crate::time::{Now, Stamp};
use crate::world::baseline::Delta;
use crate::world::fleet::{Worker, WorkerState, worker_of};
use crate::world::observation::{Docs, Observation};

fn at() -> Stamp {
    Stamp { wall: 1_800_000_000_000, up: 0, boot: 1 }
}

fn now() -> Now {
    Now { wall: at().wall, up: 0, boot: 1, zone: TimeZone::UTC }
}

fn event(entry: Entry) -> Value {
    let found = events(&Line { seq: 7, at: at(), idle: 0, entries: vec![entry] });
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

fn shown(entry: Entry) -> Vec<String> {
    let found = lines(&Line { seq: 7, at: at(), idle: 0, entries: vec![entry] }, &now());
    found.iter().map(|line| format!("{} {:?} {}", line.glyph, line.tone, line.text)).collect()
}

fn asked(kind: AskKind) -> Entry {
    let (from, prompt) = ("w~1".to_owned(), "Really?".to_owned());
    Entry::Asked { ask: "a".into(), from, prompt, goal: None, kind, asked: 0 }
}

fn plan(action: Move, act: Act) -> Box<Plan> {
    Box::new(Plan::new(action, (Author::Builtin, act), at()))
}

/// One of every kind of entry. A new kind must be added here: the match below has no other arm.
fn one_of_each() -> Vec<Entry> {
    let (beat, run, why) = (BeatId(1), RunId(1), Why::Unchanged);
    let (spend, policy) = (Spend::default(), Digest::of(b""));
    let noop = Move::Noop { reason: None };
    let finished = |outcome| Entry::Finished { beat, outcome, journal: None, policy };
    vec![
        Entry::Seeded { files: vec!["PLAYBOOK.md".into()] },
        Entry::Saw {
            readings: [].into(),
            quiet: 0,
            some: false,
            ready: None,
            held: vec![],
            rewritten: Vec::new(),
            broke: None,
        },
        Entry::Flapping { reading: "ci".into() },
        Entry::SensorChanged { sensor: "ci".into(), state: SensorState::Failing { reason: "x".into() } },
        Entry::Withdrawn { ask: "a".into(), reason: Withdrawal::Gone },
        Entry::Forgot { goals: vec!["g".into()], files: vec![] },
        Entry::Renumbered { runs: 1, sessions: 2, asks: 3, beats: 4 },
        Entry::Skipped { beat, cause: Cause::Timer, why, changes: vec![], sees: None },
        Entry::DecideStarted {
            tainted: Vec::new(),
            beat,
            run,
            session: "decide~1".into(),
            decider: "m".into(),
            cause: Cause::Timer,
            forced: None,
            changes: vec![],
            sees: Delta::default(),
            files: [].into(),
            reserved_usd: 0.0,
            free: false,
            config: None,
        },
        Entry::Decided { beat, run, proposal: Proposal::of(noop.clone()), spend: spend.clone() },
        Entry::Failed {
            beat,
            run,
            failure: FailureKind::Lost,
            reason: "x".into(),
            spend,
            policy,
            until: None,
        },
        Entry::Rejected { beat, reason: "x".into(), policy },
        Entry::Overtaken { beat, reason: "x".into(), spend: None },
        Entry::Intended { beat, plan: plan(noop, Act::Nothing), cause: None, changes: vec![], why: None },
        Entry::Restarted { beat, session: "move~2".into() },
        finished(Outcome::done()),
        finished(Outcome::Interrupted { reason: "x".into() }),
        asked(AskKind::Question),
        asked(AskKind::Flag),
        asked(AskKind::Proposal),
        Entry::Answered { ask: "a".into(), text: "yes".into() },
        Entry::Dismissed { ask: "a".into() },
        Entry::Trusted { path: "sensors/a.sh".into(), journal: "x".into() },
        Entry::WorkerStarted { session: "w~1".into(), goal: None },
        Entry::WorkerEnded { session: "w~1".into(), state: WorkerState::Exited(0), strays: Vec::new() },
        Entry::Spent {
            session: "w~1".into(),
            goal: None,
            spend: Spend { usd: 0.5, ..Spend::default() },
            letter: None,
            recorded: Used::default(),
            metered: Used::default(),
            extra: Used::default(),
            closes: false,
        },
        Entry::Granted {
            session: "w~1".into(),
            grants: 1,
            up_to: Some(crate::meter::Micros::new(3_000_000)),
        },
        Entry::Verified {
            session: "w~1".into(),
            pass: true,
            text: "exit 0".into(),
            tail: String::new(),
            red: false,
        },
        Entry::WorkFound { session: "w~1".into(), work: Work::default() },
        Entry::GoalsHold { goals: vec!["g".into()] },
        Entry::WorkerNoted { session: "w~1".into(), journal: "- worker w~1: ended".into() },
        Entry::ClaimReaped { claim: "x".into(), session: "w~1".into() },
        Entry::Told { tell: "t".into(), session: "w~1".into(), text: "hi".into(), told: 0 },
        Entry::Pruned { sessions: vec!["w~1".into()] },
        Entry::Notified {
            key: "ask:a".into(),
            kind: NoticeKind::Question,
            id: "a".into(),
            message: "w asks: Really?".into(),
        },
        Entry::Undelivered { key: "ask:a".into(), channel: "ntfy".into(), error: "no".into() },
        Entry::Delivered { channel: "ntfy".into() },
        Entry::Paused { until: None },
        Entry::Resumed,
        Entry::Dropped { what: "x".into() },
        Entry::Stopped { reason: "x".into() },
        Entry::ScheduleDue { schedule: "s".into(), due: 0 },
        Entry::ConfigError { error: "x".into() },
        Entry::ConfigMended,
        Entry::Parked { beat: Some(beat), ask: "a".into(), parked: Box::new(parked()) },
        Entry::Approved { ask: "a".into(), always: None },
        Entry::Declined { ask: "a".into(), text: "no".into() },
        Entry::Lapsed { ask: "a".into(), reason: "x".into() },
        Entry::Reparked { ask: "a".into(), new: "b".into() },
        Entry::RuleWritten { ask: "a".into(), error: None },
    ]
}

fn parked() -> Parked {
    let wish = Wish { by: "m".into(), reason: "it cannot be taken back".into(), ..Wish::default() };
    let action = Move::RunShell { cmd: "rm x".into(), reason: None };
    Parked::new(wish, Proposal::of(action), &Docs::default(), &now())
}

/// A number for each kind, so that the list above cannot forget one.
fn kind(entry: &Entry) -> usize {
    match entry {
        Entry::Seeded { .. } => 0,
        Entry::Saw { .. } => 1,
        Entry::Flapping { .. } => 2,
        Entry::Skipped { .. } => 3,
        Entry::DecideStarted { .. } => 4,
        Entry::Decided { .. } => 5,
        Entry::Failed { .. } => 6,
        Entry::Rejected { .. } => 7,
        Entry::Overtaken { .. } => 8,
        Entry::Intended { .. } => 9,
        Entry::Restarted { .. } => 10,
        Entry::Finished { .. } => 11,
        Entry::Asked { .. } => 12,
        Entry::Answered { .. } => 13,
        Entry::Dismissed { .. } => 14,
        Entry::WorkerStarted { .. } => 15,
        Entry::WorkerEnded { .. } => 16,
        Entry::Verified { .. } => 17,
        Entry::ClaimReaped { .. } => 18,
        Entry::Told { .. } => 19,
        Entry::Pruned { .. } => 20,
        Entry::Paused { .. } => 21,
        Entry::Resumed => 22,
        Entry::Dropped { .. } => 23,
        Entry::Stopped { .. } => 24,
        Entry::ScheduleDue { .. } => 25,
        Entry::ConfigError { .. } => 26,
        Entry::ConfigMended => 27,
        Entry::Notified { .. } => 28,
        Entry::Undelivered { .. } => 29,
        Entry::Delivered { .. } => 30,
        Entry::Spent { .. } => 31,
        Entry::Granted { .. } => 32,
        Entry::Parked { .. } => 33,
        Entry::Approved { .. } => 34,
        Entry::Declined { .. } => 35,
        Entry::Lapsed { .. } => 36,
        Entry::Reparked { .. } => 37,
        Entry::RuleWritten { .. } => 38,
        Entry::Trusted { .. } => 39,
        Entry::SensorChanged { .. } => 40,
        Entry::Withdrawn { .. } => 41,
        Entry::Forgot { .. } => 42,
        Entry::Renumbered { .. } => 43,
        Entry::WorkFound { .. } => 44,
        Entry::GoalsHold { .. } => 45,
        Entry::WorkerNoted { .. } => 46,
    }
}

#[test]
fn the_names_are_those_of_the_events_in_order() {
    let kinds: BTreeSet<usize> = one_of_each().iter().map(kind).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), (0..47).collect::<Vec<_>>(), "one of each kind");
    let all = events(&Line { seq: 7, at: at(), idle: 0, entries: one_of_each() });
    let names: BTreeSet<&str> = all.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), EVENT_NAMES);
    for entry in one_of_each() {
        assert!(
            !events(&Line { seq: 7, at: at(), idle: 0, entries: vec![entry.clone()] }).is_empty(),
            "{entry:?}"
        );
    }
}

#[test]
fn events_about_workers_by_table() {
    let stamped = |name: &str, fields: Value| {
        let mut event = json!({"v": 1, "seq": 7, "ts": "2027-01-15T08:00:00.000Z", "event": name});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        event
    };
    let ended = |state| Entry::WorkerEnded { session: "w~1".into(), state, strays: Vec::new() };
    let ask = |fields: Value| {
        let mut ask = json!({"ask": "a", "from": "w~1", "prompt": "Really?"});
        ask.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        ask
    };
    let end =
        |state: &str, text: &str| json!({"worker": "w", "session": "w~1", "state": state, "text": text});
    let exit =
        json!({"worker": "w", "session": "w~1", "state": "exited", "exit_code": 137, "text": "signal 9"});
    let table = [
        (
            Entry::WorkerStarted { session: "w~1".into(), goal: Some("g".into()) },
            "worker_started",
            json!({"worker": "w", "session": "w~1", "goal": "g"}),
        ),
        (ended(WorkerState::Killed), "worker_ended", end("killed", "killed")),
        (ended(WorkerState::Lost), "worker_ended", end("lost", "lost: its host died")),
        (ended(WorkerState::Signalled(9)), "worker_ended", exit),
        (
            Entry::Verified {
                session: "w~1".into(),
                pass: false,
                text: "exit 1".into(),
                tail: String::new(),
                red: false,
            },
            "verify",
            json!({"worker": "w", "session": "w~1", "pass": false, "text": "exit 1"}),
        ),
        (
            Entry::ClaimReaped { claim: "x".into(), session: "w~1".into() },
            "claim_reaped",
            json!({"claim": "x", "session": "w~1"}),
        ),
        (
            Entry::Told { tell: "t".into(), session: "w~1".into(), text: "hi".into(), told: 5 },
            "told",
            json!({"tell": "t", "session": "w~1", "text": "hi"}),
        ),
        (Entry::Pruned { sessions: vec!["w~1".into()] }, "pruned", json!({"sessions": ["w~1"]})),
        (asked(AskKind::Question), "asked", ask(json!({}))),
        (asked(AskKind::Flag), "asked", ask(json!({"flag": true}))),
        (asked(AskKind::Proposal), "parked", ask(json!({}))),
    ];
    for (entry, name, fields) in table {
        assert_eq!(event(entry), stamped(name, fields));
    }
}

#[test]
fn lines_about_workers_by_table() {
    let ended = |state| Entry::WorkerEnded { session: "w~1".into(), state, strays: Vec::new() };
    let verified = |pass, text: &str| Entry::Verified {
        session: "w~1".into(),
        pass,
        text: text.into(),
        tail: String::new(),
        red: false,
    };
    let again = Act::Again {
        from: "w~1".into(),
        session: "w~2".into(),
        asks: vec!["a".into()],
        allowance: Allowance::Nothing,
        runner: None,
    };
    let restart = Move::RestartSession {
        id: crate::model::name::Name::new("w").unwrap(),
        reason: Some("it died".into()),
        force: false,
    };
    let intended = Entry::Intended {
        beat: BeatId(1),
        plan: plan(restart, again),
        cause: None,
        changes: vec![],
        why: Some("w~1 had died".into()),
    };
    let none: &[&str] = &[];
    let table = [
        (Entry::WorkerStarted { session: "w~1".into(), goal: None }, none),
        (Entry::Told { tell: "t".into(), session: "w~1".into(), text: "hi".into(), told: 5 }, none),
        (ended(WorkerState::Exited(0)), &["◦ Plain worker w~1 ended: exit 0"]),
        (ended(WorkerState::Lost), &["◦ Plain worker w~1 ended: lost: its host died"]),
        (verified(true, "exit 0"), &["✓ Good the work of w~1 is proven"]),
        (verified(false, "exit 1: no\nx"), &["✗ Bad the work of w~1 is not proven: exit 1: no x"]),
        (
            Entry::ClaimReaped { claim: "x".into(), session: "w~1".into() },
            &["- Dim claim x of w~1, which has ended, is free"],
        ),
        (
            Entry::Pruned { sessions: vec!["v~1".into(), "w~1".into()] },
            &["- Dim removed what was kept of v~1, w~1"],
        ),
        (asked(AskKind::Question), &["? Ask w~1 asks you (a): Really?"]),
        (asked(AskKind::Flag), &["? Ask w~1 wants you at its terminal (a): Really?"]),
        (asked(AskKind::Proposal), &["? Ask w~1 proposes (a): Really?"]),
        (
            Entry::Parked { beat: None, ask: "a".into(), parked: Box::new(parked()) },
            &["? Ask waits for your yes (a): m wants to run rm x (it cannot be taken back)"],
        ),
        (Entry::Approved { ask: "a".into(), always: None }, &["← Good a approved"]),
        (Entry::Declined { ask: "a".into(), text: "no: later".into() }, &["← Plain a: no: later"]),
        (
            Entry::Lapsed { ask: "a".into(), reason: "it waited over 1d".into() },
            &["~ Dim a can no longer be approved: it waited over 1d"],
        ),
        (intended, &["→ Plain restarted w: it died  (w~1 had died)"]),
    ];
    for (entry, expected) in table {
        assert_eq!(shown(entry.clone()), expected, "{entry:?}");
    }
}

#[test]
fn a_line_has_a_clock_a_sign_and_a_text() {
    let line = Line { seq: 1, at: at(), idle: 0, entries: vec![asked(AskKind::Flag)] };
    let found = lines(&line, &now());
    assert_eq!(found[0].plain().as_str(), "[08:00:00] ? w~1 wants you at its terminal (a): Really?");
    assert_eq!(found[0].tone, Tone::Ask);
}

#[test]
fn the_status_shows_each_workers_newest_session() {
    let mut seen = Observation::default();
    let states = [
        ("v~1", WorkerState::Killed),
        ("w~1", WorkerState::Exited(1)),
        ("w~2", WorkerState::Alive),
        ("x~1", WorkerState::Paused),
    ];
    for (session, state) in states {
        let worker = Worker {
            id: worker_of(session).to_owned(),
            session: session.to_owned(),
            ended: (!state.is_alive()).then(|| at().wall - 60_000),
            state,
            goal: Some("g".into()),
            runner: Some("claude".into()),
            started: at().wall - 90_500,
            silent_s: Some(7),
            strays: Vec::new(),
        };
        seen.docs.fleet.workers.insert(session.to_owned(), worker);
    }
    seen.docs.waiting = [("w~2".to_owned(), "a".to_owned()), ("v~1".to_owned(), "b".to_owned())].into();
    let found = status(&Ledger::default(), &seen, &[].into(), (&now(), &limits()), 1);
    let common = |mut row: Value| {
        let fields = json!({
            "goal": "g", "runner": "claude", "silent_s": 7, "spent_usd": 0.0, "reserved_usd": 0.0,
            "unreported_usd": 0.0, "allowed_usd": null, "verify": null, "exit_code": null, "over_allowance": false,
            "branch": null, "review": null,
        });
        row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        row
    };
    let dead = json!({
        "id": "v", "session": "v~1", "state": "killed", "text": "killed", "alive": false, "health": "dead",
        "paused": false, "waits_on": null, "ran_s": 30, "ended_ago_s": 60,
    });
    let paused = json!({
        "id": "x", "session": "x~1", "state": "alive", "text": "paused", "alive": true, "health": "busy",
        "paused": true, "waits_on": null, "ran_s": 90, "ended_ago_s": null,
    });
    let alive = json!({
        "id": "w", "session": "w~2", "state": "alive", "text": "alive", "alive": true, "health": "waiting",
        "paused": false, "waits_on": "a", "ran_s": 90, "ended_ago_s": null,
    });
    let rows = [dead, alive, paused].map(common);
    assert_eq!(serde_json::to_value(&found.workers).unwrap(), json!(rows));
}

#[test]
fn notices_in_events_lines_and_status() {
    let told = |id: &str| Entry::Notified {
        key: "ask:a".into(),
        kind: NoticeKind::Flag,
        id: id.into(),
        message: "w wants\nyou".into(),
    };
    let lost = Entry::Undelivered { key: "purse".into(), channel: "ntfy".into(), error: "status 500".into() };
    let found = Entry::Delivered { channel: "ntfy".into() };
    let table = [
        (
            told("a"),
            json!({"event": "notified", "key": "ask:a", "kind": "flag", "id": "a", "message": "w wants\nyou"}),
            "» Dim telling you: w wants you",
        ),
        (
            told(""),
            json!({"event": "notified", "key": "ask:a", "kind": "flag", "message": "w wants\nyou"}),
            "» Dim telling you: w wants you",
        ),
        (
            lost.clone(),
            json!({"event": "undelivered", "key": "purse", "channel": "ntfy", "error": "status 500"}),
            "✗ Bad notice not delivered by ntfy: status 500",
        ),
        (
            found,
            json!({"event": "delivered", "channel": "ntfy"}),
            "✓ Dim ntfy no longer fails to deliver notices",
        ),
    ];
    for (entry, fields, line) in table {
        let mut event = event(entry.clone());
        for name in ["v", "seq", "ts"] {
            event.as_object_mut().unwrap().remove(name);
        }
        assert_eq!(event, fields);
        assert_eq!(shown(entry), [line]);
    }
    let mut ledger = Ledger::default();
    crate::ledger::fold::apply(&mut ledger, &at(), &lost);
    let later = Now { up: 300_000, ..now() };
    let undelivered = |can_notify| {
        let limits = crate::gate::Limits { can_notify, ..limits() };
        status(&ledger, &Observation::default(), &[].into(), (&later, &limits), 1).undelivered
    };
    assert_eq!(undelivered(true), ["ntfy did not take 1 in a row, last 5m ago: status 500"]);
    assert_eq!(undelivered(false), Vec::<String>::new(), "no channel is configured any more");
}

#[test]
fn the_wait_after_a_failure_is_that_of_so_many_deciders() {
    let failures = |count| {
        Some(Failures { count, at: at(), reason: "no".into(), policy: Digest::of(b""), resumed: false })
    };
    let left = |count, deciders| {
        let ledger = Ledger { failures: failures(count), ..Ledger::default() };
        let found = status(&ledger, &Observation::default(), &[].into(), (&now(), &limits()), deciders);
        found.failures.unwrap().wait_left_s > 0
    };
    assert!(left(1, 1) && left(2, 1) && left(2, 2));
    assert!(!left(1, 2) && !left(3, 2), "the next of the list is tried at once");
}
