//! Days and crashes of a simulated loop in fine weather: what costs nothing, what happens once, and what never happens.

use std::time::Duration;

use looop_core::engine::io::Request;
use looop_core::gate::Why;
use looop_core::ledger::entry::Entry;
use looop_core::model::moves::{Move, Proposal};
use looop_core::model::name::Name;
use looop_core::model::plan::Author;
use looop_sim::storm::Storm;
use looop_sim::storm::config::Config;
use looop_sim::storm::decider::Mind;
use looop_store::mail::Lease;
use serde_json::{Value, json};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A loop that looks every minute, with a PLAYBOOK and one goal of prose.
fn loop_of(builtin: bool, paid: usize, seed: u64) -> Storm {
    let mut config = Config::new(builtin, paid, 60);
    config.setup.limits.worker_stuck = Duration::from_hours(100);
    // What waits for a person is told again and again, which is no idleness.
    config.setup.limits.can_notify = false;
    config.setup.limits.session_ttl = Duration::from_hours(1000);
    let storm = Storm::calm(seed, config);
    storm.site.disk.put("PLAYBOOK.md", b"# PLAYBOOK\n");
    storm.site.disk.put("goals/ship.md", b"# Ship it\n");
    storm
}

fn decides(storm: &Storm) -> u64 {
    storm.site.tale.counted("entry decide_started")
}

fn entries(storm: &Storm) -> Vec<Entry> {
    storm.lines().into_iter().flat_map(|line| line.entries).collect()
}

/// A day in which nothing may be decided and nothing written.
fn idle_day(storm: &mut Storm, what: &str) {
    let (bytes, before) = (storm.log_bytes(), decides(storm));
    let looks = storm.site.tale.counted("full looks");
    storm.run_for(DAY);
    assert_eq!(decides(storm) - before, 0, "{what}: {:?}", entries(storm).last());
    assert_eq!(storm.log_bytes(), bytes, "{what}: {:?}", entries(storm).last());
    let looked = storm.site.tale.counted("full looks") - looks;
    assert!((1_300..=1_440).contains(&looked), "{what}: {looked} looks in a day of one a minute");
    storm.audit().expect("a sound log");
}

#[test]
fn an_idle_day_costs_nothing() {
    for (builtin, paid) in [(true, 0), (false, 1), (true, 1)] {
        let mut storm = loop_of(builtin, paid, 1);
        for n in 0..50 {
            // What they print has times in its details, and its keys change places.
            storm.site.disk.put_as(&format!("sensors/s{n}.sh"), b"#!/bin/sh\n", 0o700);
        }
        storm.site.disk.put("goals/holds.md", b"---\ncheck: true\nrun: do it\n---\n");
        storm.start(true);
        storm.run_for(10 * MINUTE);
        assert_eq!(decides(&storm), u64::from(paid > 0), "one decide has seen the world");
        idle_day(&mut storm, &format!("builtin {builtin}, paid {paid}"));
    }
}

#[test]
fn our_own_doing_does_not_echo() {
    let mut storm = loop_of(true, 1, 2);
    storm.site.shift = Some(2 * DAY);
    storm.site.mind =
        Mind::Fixed(json!({"action": "start_worker", "id": "w", "prompt": "go", "goal": "ship"}), SECOND);
    storm.start(true);
    storm.run_for(10 * SECOND);
    storm.site.mind = Mind::Fixed(json!({"action": "write_goal", "id": "more", "body": "# More"}), SECOND);
    storm.ask(Request::Beat);
    storm.run_for(10 * SECOND);
    storm.site.mind =
        Mind::Fixed(json!({"action": "write_schedule", "name": "yearly", "every_s": 31_536_000}), SECOND);
    storm.ask(Request::Beat);
    storm.run_for(10 * SECOND);
    storm.site.mind = Mind::Fixed(json!({"action": "ask_human", "prompt": "Which?"}), SECOND);
    storm.ask(Request::Beat);
    storm.run_for(10 * SECOND);
    storm.site.mind = Mind::Idle;
    let alive = |_: &str| true;
    let lease = Lease { nonce: "n", wall: storm.site.clock.wall(), alive: &alive };
    storm.site.reader().expect("a profile").claim("ship", "w~1", &lease).expect("a claim");
    storm.site.disk.put("reports/w.md", b"# Report\n");
    storm.run_for(10 * MINUTE);
    let moves = ["start_worker", "write_goal", "write_schedule", "ask_human"];
    assert_eq!(moves.map(|name| storm.site.tale.counted(name)), [1; 4], "{:?}", storm.site.tale.counts);
    assert_eq!(decides(&storm), 4, "{:?}", entries(&storm).last());
    idle_day(&mut storm, "own doing");
}

/// What a decision may rest on, and the edit that overtakes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Playbook,
    Goal,
    Worker,
}

fn overtake(storm: &mut Storm, edit: Edit, n: u64) {
    match edit {
        Edit::Playbook => storm.site.disk.put("PLAYBOOK.md", format!("# Edit {n}\n").as_bytes()),
        Edit::Goal if n.is_multiple_of(3) => storm.site.disk.erase("goals/ship.md"),
        Edit::Goal => storm.site.disk.put("goals/ship.md", format!("# Edit {n}\n").as_bytes()),
        Edit::Worker => storm.site.exit_worker("w~1", 3),
    }
}

/// Decisions that rest on what is edited.
fn decision(edit: Edit, n: u64) -> Value {
    match (edit, n % 4) {
        (Edit::Worker, 0) => json!({"action": "kill_worker", "id": "w"}),
        (Edit::Worker, 1) => json!({"action": "steer_session", "id": "w", "input": "go on"}),
        (Edit::Worker, 2) => json!({"action": "send_key", "id": "w", "keys": ["Enter"]}),
        (Edit::Worker, _) => json!({"action": "restart_session", "id": "w"}),
        (_, 0) => json!({"action": "run_shell", "cmd": "do it", "goal": "ship"}),
        (_, 1) => json!({"action": "write_goal", "id": "ship", "body": "# Mine"}),
        (_, 2) => json!({"action": "start_worker", "id": "v", "prompt": "go", "goal": "ship"}),
        (_, _) => json!({"action": "archive_goal", "id": "ship"}),
    }
}

#[test]
fn a_decide_that_is_overtaken_is_never_executed() {
    for n in 0..300 {
        let edit = [Edit::Playbook, Edit::Goal, Edit::Worker][(n % 3) as usize];
        let mut storm = loop_of(n % 2 == 0, 1, n);
        storm.site.shift = Some(DAY);
        storm.start(true);
        storm.run_for(MINUTE);
        let hire = Move::StartWorker {
            id: Name::new("w").expect("a name"),
            prompt: "go".to_owned(),
            goal: None,
            runner: None,
            command: None,
            verify: None,
            sandbox: false,
            repo: None,
            cwd: None,
        };
        storm.site.mind = Mind::Fixed(decision(edit, n / 3), 40 * SECOND);
        storm.ask(Request::Make { proposal: Proposal::of(hire) });
        storm.run_for(5 * SECOND);
        storm.ask(Request::Wake);
        storm.run_for(2 * SECOND);
        let run = storm.engine().and_then(|engine| engine.ledger().deciding.clone()).expect("a decide").run;
        // Live, adopted after the edit, edited while nobody was there, and over before anybody came back.
        let gap = n % 5;
        if gap == 1 || gap == 2 {
            storm.kill();
        }
        if gap == 1 {
            storm.start(false);
        }
        storm.run_for((n % 7) * SECOND);
        overtake(&mut storm, edit, n);
        if gap == 3 || gap == 4 {
            storm.kill();
        }
        storm.run_for(SECOND);
        if gap == 4 {
            storm.run_for(50 * SECOND);
            storm.site.mind = Mind::Idle;
        }
        storm.start(false);
        storm.run_for(45 * SECOND);
        storm.site.mind = Mind::Idle;
        storm.run_for(5 * MINUTE);
        let entries = entries(&storm);
        let decided =
            entries.iter().any(|entry| matches!(entry, Entry::Decided { run: of, .. } if *of == run));
        let overtaken = entries.iter().filter(|entry| matches!(entry, Entry::Overtaken { .. })).count();
        let executed = entries.iter().filter(|entry| {
            matches!(entry, Entry::Intended { plan, .. }
                if matches!(plan.author, Author::Decider(_)) && !matches!(plan.action, Move::Noop { .. }))
        });
        assert_eq!(executed.count(), 0, "{n}: {edit:?}, gap {gap}: {:?}", decision(edit, n / 3));
        assert!(
            decided && overtaken >= 1,
            "{n}: {edit:?}, gap {gap}: decided {decided}, overtaken {overtaken}"
        );
        storm.audit().expect("a sound log");
    }
}

/// A loop that is started and crashes a hundred times in ten minutes, and how many decides that costs.
fn crash_a_hundred_times(by_person: bool, mind: Mind) -> u64 {
    let mut storm = loop_of(true, 1, 3);
    storm.site.mind = mind;
    for n in 0..100 {
        storm.start(by_person);
        storm.run_for(100 + n * 59 % 5_900);
        storm.kill();
        storm.run_for(6 * SECOND - (100 + n * 59 % 5_900));
    }
    storm.start(by_person);
    storm.run_for(10 * SECOND);
    storm.audit().expect("a sound log");
    decides(&storm)
}

#[test]
fn a_hundred_restarts_cost_one_decide() {
    let noop = json!({"action": "noop"});
    for by_person in [true, false] {
        for takes in [50, 3 * SECOND, 100 * SECOND] {
            let decides = crash_a_hundred_times(by_person, Mind::Fixed(noop.clone(), takes));
            assert_eq!(decides, 1, "by a person: {by_person}, a decide takes {takes} ms");
        }
        // What fails is tried again after 60, 120, 240 s, with or without crashes, and no start makes it sooner.
        let decides = crash_a_hundred_times(by_person, Mind::Failing);
        assert!((1..=4).contains(&decides), "by a person: {by_person}: {decides} failing decides");
    }
}

#[test]
fn a_shell_move_that_forces_a_look_does_not_chain_for_ever() {
    let mut storm = loop_of(true, 1, 4);
    storm.site.mind = Mind::Fixed(json!({"action": "run_shell", "cmd": "do it"}), SECOND);
    storm.start(true);
    storm.run_for(HOUR);
    let first = decides(&storm);
    assert!((2..=6).contains(&first), "{first} decides in the first hour");
    let held = storm.engine().and_then(|engine| engine.ledger().skipped.clone()).map(|skip| skip.why);
    assert!(matches!(held, Some(Why::Chain { .. })), "{held:?}");
    storm.run_for(DAY);
    let day = decides(&storm) - first;
    assert!((20..=25).contains(&day), "{day} decides a day: one an hour");
    storm.audit().expect("a sound log");
}

/// A schedule's file.
fn schedule(storm: &Storm, name: &str, when: &Value, missed: &str) {
    let text =
        json!({"v": 1, "name": name, "when": when, "missed": missed, "created": storm.site.clock.wall()});
    storm.site.disk.put(&format!("schedules/{name}.json"), text.to_string().as_bytes());
}

/// Looks of an hour, which neither spin nor stall.
fn steady_hour(storm: &mut Storm, what: &str) {
    let looks = storm.site.tale.counted("full looks");
    storm.run_for(HOUR);
    let looked = storm.site.tale.counted("full looks") - looks;
    assert!((55..=61).contains(&looked), "{what}: {looked} full looks in an hour of one a minute");
    let quick = storm.site.tale.counted("quick looks");
    assert!(quick < 200, "{what}: {quick} quick looks");
}

#[test]
fn a_clock_that_is_set_by_a_day_neither_spins_nor_stalls() {
    let day = i64::try_from(DAY).expect("a day");
    for heard in [true, false] {
        for by in [day, -day] {
            for missed in ["once", "skip"] {
                let what = format!("by {by}, heard {heard}, missed {missed}");
                let mut storm = loop_of(true, 1, 5);
                let noon =
                    json!({"at": storm.site.clock.wall() + 12 * i64::try_from(HOUR).expect("an hour")});
                schedule(&storm, "noon", &noon, missed);
                let hourly = json!({"every": {"seconds": 3600, "from": storm.site.clock.wall()}});
                schedule(&storm, "hourly", &hourly, missed);
                storm.start(true);
                storm.run_for(10 * MINUTE);
                let before = decides(&storm);
                storm.set_clock(by, heard);
                storm.run_for(2 * MINUTE);
                let made = decides(&storm) - before;
                // Forward, the one-shot is due, whatever the policy; and what was missed of the other one, if it is made up for.
                let expected = u64::from(by > 0);
                assert_eq!(made, expected, "{what}");
                steady_hour(&mut storm, &what);
                storm.audit().expect("a sound log");
            }
        }
    }
}

#[test]
fn what_was_missed_in_a_nap_is_made_up_for_once_or_let_go() {
    for (missed, expected) in [("once", 1), ("skip", 0)] {
        let mut storm = loop_of(true, 1, 6);
        storm.start(true);
        storm.run_for(10 * MINUTE);
        let hourly = json!({"every": {"seconds": 3600, "from": storm.site.clock.wall()}});
        schedule(&storm, "hourly", &hourly, missed);
        storm.run_for(10 * MINUTE);
        let before = decides(&storm);
        storm.nap(8 * HOUR);
        storm.run_for(10 * MINUTE);
        assert_eq!(decides(&storm) - before, expected, "{missed}");
        // The next one comes in its time, to the second.
        storm.run_for(40 * MINUTE + 5 * SECOND);
        assert_eq!(decides(&storm) - before, expected + 1, "{missed}");
        steady_hour(&mut storm, missed);
        storm.audit().expect("a sound log");
    }
}
