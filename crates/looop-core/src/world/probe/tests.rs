//! The probes of workers and claims.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::*;
use crate::engine::tests::limits;
use crate::ledger::state::WorkerRecord;
use crate::model::letter::{Ask, AskKind, Claim};
use crate::time::Stamp;
use crate::world::baseline::ChangeKind;

const MINUTE: i64 = 60_000;

fn now() -> Now {
    Now { wall: 1_799_928_000_000, up: 864_000_000, boot: 1, zone: TimeZone::UTC }
}

fn worker(session: &str, state: WorkerState) -> Worker {
    let ended = (!state.is_alive()).then_some(2 * MINUTE);
    Worker {
        id: crate::world::fleet::worker_of(session).to_owned(),
        session: session.to_owned(),
        state,
        goal: None,
        runner: None,
        started: MINUTE,
        ended,
        silent_s: None,
        strays: Vec::new(),
    }
}

fn seen(workers: &[(&str, WorkerState)]) -> Observation {
    let mut seen = Observation::default();
    for (session, state) in workers {
        seen.docs.fleet.workers.insert((*session).to_owned(), worker(session, state.clone()));
    }
    seen
}

fn reading(name: &str, ledger: &Ledger, seen: &Observation) -> Reading {
    with_probes(ledger, seen, &now(), &limits()).remove(name).expect("a probe")
}

fn record(author: Author, proven: Option<bool>) -> WorkerRecord {
    let at = Stamp { wall: 0, up: 0, boot: 1 };
    WorkerRecord { proven, ..WorkerRecord::new(author, at) }
}

fn asks(seen: &mut Observation, from: &str, prompt: &str) {
    let ask = Ask {
        closed: false,
        fetched: false,
        limit: None,
        v: 1,
        id: "a".into(),
        from: from.into(),
        kind: AskKind::Question,
        prompt: prompt.into(),
        options: Vec::new(),
        reference: None,
        goal: None,
        proposal: None,
        asked: 0,
    };
    seen.letters.asks.insert("a".into(), ask);
    seen.docs.waiting = seen.letters.waiting();
}

#[test]
fn each_worker_is_one_row_about_its_newest_session() {
    let mut seen = seen(&[
        ("b~1", WorkerState::Killed),
        ("a~9", WorkerState::Exited(1)),
        ("a~10", WorkerState::Alive),
        ("c~1", WorkerState::Signalled(9)),
        ("d~1", WorkerState::Lost),
    ]);
    seen.docs.fleet.workers.get_mut("a~10").unwrap().goal = Some("g".into());
    let mut ledger = Ledger::default();
    ledger.workers.insert("b~1".into(), record(Author::Person, Some(true)));
    ledger.workers.insert("c~1".into(), record(Author::Person, Some(false)));
    let found = reading("sys-sessions", &ledger, &seen);
    let row = |id: &str, state: &str, code: Value, health: &str, goal: Value, verify: Value| {
        json!({
            "id": id, "state": state, "alive": state == "alive", "exit_code": code, "health": health, "goal": goal,
            "verify": verify,
        })
    };
    let none = || Value::Null;
    let rows = [
        row("a", "alive", none(), "busy", json!("g"), none()),
        row("b", "killed", none(), "dead", none(), json!("pass")),
        row("c", "exited", json!(137), "dead", none(), json!("fail")),
        row("d", "lost", none(), "dead", none(), none()),
    ];
    assert_eq!(found.signal, json!({"workers": rows}));
    let session =
        |name: &str, ended: Value| json!({"session": name, "started_unix": 60, "ended_unix": ended});
    let detail = json!({"count": 1, "sessions": {
        "a": session("a~10", none()), "b": session("b~1", json!(120)), "c": session("c~1", json!(120)),
        "d": session("d~1", json!(120)),
    }});
    assert_eq!((found.detail, found.failed, found.trust), (detail, false, Trust::External));
}

#[test]
fn without_workers_there_are_no_rows_and_an_unknown_fleet_says_so() {
    let mut seen = seen(&[]);
    assert_eq!(reading("sys-sessions", &Ledger::default(), &seen).signal, json!({"workers": []}));
    seen.docs.fleet.fault = Some("sessions/ cannot be read".into());
    let signal = reading("sys-sessions", &Ledger::default(), &seen).signal;
    assert_eq!(signal["error"], "sessions/ cannot be read");
}

#[test]
fn a_worker_that_waits_says_what_for_while_it_lives() {
    let mut seen = seen(&[("w~1", WorkerState::Alive), ("v~1", WorkerState::Alive)]);
    asks(&mut seen, "w~1", "Really?\nI mean it.");
    let rows =
        |seen: &Observation| reading("sys-sessions", &Ledger::default(), seen).signal["workers"].clone();
    let found = rows(&seen);
    assert_eq!((&found[1]["health"], &found[1]["note"]), (&json!("waiting"), &json!("Really? I mean it.")));
    assert_eq!((&found[0]["health"], found[0].get("note")), (&json!("busy"), None), "another one");
    seen.docs.fleet.workers.get_mut("w~1").unwrap().state = WorkerState::Lost;
    let found = rows(&seen);
    assert_eq!((&found[1]["health"], found[1].get("note")), (&json!("dead"), None));
    asks(&mut seen, "v~1", &"long ".repeat(100));
    let note = rows(&seen)[0]["note"].as_str().map(|note| note.chars().count());
    assert_eq!(note, Some(300));
}

#[test]
fn health_by_table() {
    let minutes = |minutes: u64| Some(minutes * 60);
    let table = [
        (WorkerState::Alive, false, None, Health::Busy),
        (WorkerState::Alive, false, minutes(14), Health::Busy),
        (WorkerState::Alive, false, minutes(15), Health::Stuck),
        (WorkerState::Alive, true, minutes(60), Health::Waiting),
        (WorkerState::Paused, false, minutes(60), Health::Busy),
        (WorkerState::Paused, true, None, Health::Waiting),
        (WorkerState::Exited(0), false, minutes(60), Health::Dead),
        (WorkerState::Lost, true, None, Health::Dead),
    ];
    assert_eq!(limits().worker_stuck, Duration::from_mins(15));
    for (state, waits, silent_s, health) in table {
        let worker = Worker { silent_s, ..worker("w~1", state.clone()) };
        assert_eq!(Health::of(&worker, waits, &limits()), health, "{state:?}, {waits}, {silent_s:?}");
    }
}

#[test]
fn how_long_a_worker_runs_or_is_silent_is_no_signal() {
    let mut seen = seen(&[("w~1", WorkerState::Alive)]);
    let before = reading("sys-sessions", &Ledger::default(), &seen);
    let worker = seen.docs.fleet.workers.get_mut("w~1").unwrap();
    (worker.silent_s, worker.started, worker.runner) = (Some(30), 9 * MINUTE, Some("codex".into()));
    assert_eq!(reading("sys-sessions", &Ledger::default(), &seen).digest(), before.digest());
}

#[test]
fn claims_of_live_sessions_are_shown() {
    let mut seen =
        seen(&[("own~1", WorkerState::Alive), ("mine~1", WorkerState::Paused), ("old~1", WorkerState::Lost)]);
    for (name, session) in
        [("a", "own~1"), ("b", "mine~1"), ("c", "old~1"), ("d", "nobody~1"), ("e", "mine"), ("f", "old")]
    {
        let claim = Claim { v: 1, name: name.into(), session: session.into(), ts: 0, nonce: String::new() };
        seen.letters.claims.insert(name.into(), claim);
    }
    let mut ledger = Ledger::default();
    ledger.workers.insert("own~1".into(), record(Author::Builtin, None));
    ledger.workers.insert("mine~1".into(), record(Author::Person, None));
    let shown = json!({"claims": [
        {"name": "a", "claim": "own~1", "own": true}, {"name": "b", "claim": "mine~1"}, {"name": "e", "claim": "mine"},
    ]});
    assert_eq!(reading("sys-claims", &ledger, &seen).signal, shown);
    seen.docs.fleet = crate::world::fleet::Fleet { fault: Some("unreadable".into()), ..Default::default() };
    let all = reading("sys-claims", &ledger, &seen).signal["claims"].as_array().map(Vec::len);
    assert_eq!(all, Some(6), "what is not known counts as alive");
}

#[test]
fn a_decider_is_shown_the_workers_that_matter() {
    let rows = json!([
        {"id": "live", "alive": true},
        {"id": "old", "alive": false},
        {"id": "news", "alive": false},
    ]);
    let reading = Reading {
        signal: json!({"workers": rows}),
        detail: Value::Null,
        failed: false,
        trust: Trust::External,
    };
    let change =
        |item: &str| Change { item: item.to_owned(), kind: ChangeKind::Changed, old: None, new: None };
    let shown = that_matter(
        &[("sys-sessions".to_owned(), reading)].into(),
        &[change("worker:news"), change("goal:old")],
    );
    let ids: Vec<&str> = shown["sys-sessions"].signal["workers"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["id"].as_str())
        .collect();
    assert_eq!(ids, ["live", "news"]);
}
