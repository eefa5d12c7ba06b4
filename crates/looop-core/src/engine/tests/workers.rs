//! Workers from their start to their end: what is logged, once, and what is left of a crash.

use super::crew::WORKED;
use super::*;
use crate::model::letter::AskKind;
use crate::world::fleet::WorkerState;

/// The worker act of a plan: session, verify and repository.
fn start(plan: &Plan) -> (&str, Option<&str>, Option<&str>) {
    let Act::Worker { session, verify, repo, .. } = &plan.act else { panic!("{plan:?}") };
    (session, verify.as_deref(), repo.as_deref())
}

fn starts(world: &World) -> Vec<(String, Option<String>)> {
    world.logged(|entry| {
        if let Entry::WorkerStarted { session, goal } = entry {
            Some((session.clone(), goal.clone()))
        } else {
            None
        }
    })
}

fn proofs(world: &World) -> Vec<(String, bool, String)> {
    world.logged(|entry| {
        if let Entry::Verified { session, pass, text, .. } = entry {
            Some((session.clone(), *pass, text.clone()))
        } else {
            None
        }
    })
}

#[test]
fn a_decider_starts_a_worker_that_the_log_knows_to_its_end_and_proof() {
    let mut world = World::new(false, &["m"]).goal("g", WORKED);
    world.check("g", 1);
    world.beat();
    world.decided(&json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"}));
    assert_eq!(start(world.act().unwrap()), ("w~1", Some("test -e x"), None));
    assert_eq!(starts(&world), [], "it is not started before that is known");
    assert_eq!(world.begun(), "w~1");
    assert_eq!(starts(&world), [("w~1".to_owned(), Some("g".to_owned()))]);
    assert_eq!(world.engine.unproven(), [("w~1".to_owned(), "test -e x".to_owned())]);
    world.beat();
    assert_eq!(world.ends(), []);
    world.dies("w~1", WorkerState::Exited(0));
    world.proof("w~1", 0);
    for _ in 0..3 {
        world.beat();
        if world.decides() == 1 {
            world.decided(&json!({"action": "noop"}));
        }
    }
    assert_eq!(world.ends(), [("w~1".to_owned(), WorkerState::Exited(0))], "once");
    assert_eq!(proofs(&world), [("w~1".to_owned(), true, "exit 0: the last".to_owned())], "once");
    assert_eq!(world.engine.unproven(), [], "it is not proven again");
    world.audit();
}

#[test]
fn an_exit_status_alone_proves_nothing() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.dies("w~1", WorkerState::Exited(0));
    world.beat();
    assert_eq!((proofs(&world).len(), world.engine.ledger().workers["w~1"].proven), (0, None));
    assert_eq!(world.engine.unproven(), [], "nothing can prove it");
    world.audit();
}

#[test]
fn a_proof_says_how_it_ended_and_what_it_printed_last() {
    for (checked, pass, said) in [
        (Checked { ended: Ended::Exited(3), output: "a\nno x\n".into() }, false, "exit 3: no x"),
        (Checked { ended: Ended::TimedOut, output: String::new() }, false, "timed out"),
        (Checked { ended: Ended::Exited(0), output: String::new() }, true, "exit 0"),
    ] {
        let mut world = World::new(true, &[]).goal("g", WORKED);
        world.hire("w", Some("g"));
        world.dies("w~1", WorkerState::Exited(0));
        world.seen.proofs.insert("w~1".into(), checked);
        world.beat();
        assert_eq!(proofs(&world), [("w~1".to_owned(), pass, said.to_owned())]);
        world.audit();
    }
}

#[test]
fn a_proof_of_a_session_that_nobody_knows_is_nothing() {
    let mut world = World::new(true, &[]);
    world.proof("stranger~1", 0);
    world.beat();
    assert_eq!(proofs(&world), []);
    world.audit();
}

#[test]
fn every_way_to_end_is_told_as_it_was_and_once() {
    let states = [
        WorkerState::Exited(0),
        WorkerState::Exited(3),
        WorkerState::Signalled(9),
        WorkerState::TimedOut,
        WorkerState::Killed,
        WorkerState::Spawn("no such file".to_owned()),
        WorkerState::Lost,
    ];
    for state in states {
        let mut world = World::new(true, &[]);
        world.hire("w", None);
        world.beat();
        world.dies("w~1", state.clone());
        world.beat();
        world.crash();
        world.beat();
        assert_eq!(world.ends(), [("w~1".to_owned(), state)]);
        world.audit();
    }
}

#[test]
fn a_session_whose_folder_vanished_is_lost_and_an_unknown_fleet_ends_nobody() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    let fleet = world.seen.docs.fleet.clone();
    world.seen.docs.fleet.workers.clear();
    world.seen.docs.fleet.fault = Some("sessions/ cannot be read".into());
    world.beat();
    assert_eq!(world.ends(), [], "what is not known has not ended");
    world.seen.docs.fleet = fleet;
    world.beat();
    assert_eq!(world.ends(), []);
    world.seen.docs.fleet.workers.clear();
    world.beat();
    world.beat();
    assert_eq!(world.ends(), [("w~1".to_owned(), WorkerState::Lost)]);
    world.audit();
}

#[test]
fn a_paused_worker_lives() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.seen.docs.fleet.workers.get_mut("w~1").unwrap().state = WorkerState::Paused;
    world.beat();
    assert_eq!(world.ends(), []);
}

#[test]
fn a_beat_over_busy_workers_writes_nothing() {
    let mut world = World::new(true, &[]).goal("g", WORKED);
    world.check("g", 1);
    world.beat();
    world.begun();
    world.claims("x", "g~1");
    world.beat();
    let written = world.lines.len();
    for minute in 0..10 {
        world.pass(Duration::from_mins(1));
        world.seen.docs.fleet.workers.get_mut("g~1").unwrap().silent_s = Some(minute * 60);
        world.beat();
    }
    assert_eq!(world.lines.len(), written);
    world.audit();
}

#[test]
fn a_failed_start_is_no_worker_and_its_number_is_used_up() {
    let mut world = World::new(false, &["m"]);
    let id = world.make(json!({"action": "start_worker", "id": "w", "prompt": "p"}));
    world.acted(Outcome::failed("it died at once: exit 127"));
    let Some(Reply::Made { session, outcome, .. }) = world.reply(id) else { panic!("a reply") };
    assert_eq!(session.as_deref(), Some("w~1"));
    assert_eq!(outcome, Outcome::failed("it died at once: exit 127"));
    assert!(starts(&world).is_empty() && world.engine.ledger().workers.is_empty());
    assert_eq!(world.hire("w", None), "w~2");
    world.audit();
}

#[test]
fn a_worker_that_never_ran_starts_under_the_next_number() {
    let mut world = World::new(true, &[]).goal("g", WORKED);
    world.check("g", 1);
    world.beat();
    assert_eq!(start(world.act().unwrap()).0, "g~1");
    world.crash();
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Recover(..))));
    let beat = world.engine.ledger().acting.as_ref().unwrap().beat;
    world.effects.clear();
    world.step(Event::ActNeverRan(beat));
    assert_eq!(start(world.act().unwrap()), ("g~2", Some("test -e x"), None));
    assert_eq!(world.begun(), "g~2");
    assert_eq!(starts(&world), [("g~2".to_owned(), Some("g".to_owned()))]);
    assert_eq!(world.engine.ledger().sessions, 0, "moves of the loop are numbered apart");
    world.dies("g~2", WorkerState::Exited(1));
    world.beat();
    assert_eq!(start(world.act().unwrap()).0, "g~3");
    world.audit();
}

#[test]
fn a_restart_that_never_ran_keeps_the_session_it_came_from() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.make(json!({"action": "restart_session", "id": "w"}));
    world.crash();
    let beat = world.engine.ledger().acting.as_ref().unwrap().beat;
    world.step(Event::ActNeverRan(beat));
    let act = &world.act().unwrap().act;
    assert_eq!(
        *act,
        Act::Again {
            from: "w~1".into(),
            session: "w~3".into(),
            asks: Vec::new(),
            allowance: paid(),
            runner: None
        }
    );
    world.audit();
}

#[test]
fn a_worker_that_never_ran_is_not_started_by_a_loop_that_ends() {
    let mut world = World::new(true, &[]);
    world.make(json!({"action": "start_worker", "id": "w", "prompt": "p"}));
    world.crash();
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    assert!(
        !world.effects.iter().any(|effect| matches!(effect, Effect::End(_))),
        "a worker outlives the loop that starts it"
    );
    world.effects.clear();
    world.step(Event::ActNeverRan(BeatId(1)));
    assert_eq!(world.act(), None);
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Exit)));
    world.audit();
}

#[test]
fn a_restart_ends_the_one_session_and_begins_the_other_with_the_same_task() {
    let mut world = World::new(false, &["m"]).goal("g", WORKED);
    world.hire("w", Some("g"));
    world.beat();
    world.decided(&json!({"action": "restart_session", "id": "w", "reason": "it is stuck"}));
    let act = world.act().unwrap().act.clone();
    assert_eq!(
        act,
        Act::Again {
            from: "w~1".into(),
            session: "w~2".into(),
            asks: Vec::new(),
            allowance: paid(),
            runner: None
        }
    );
    assert_eq!(world.begun(), "w~2");
    world.dies("w~1", WorkerState::Killed);
    world.beat();
    let record = &world.engine.ledger().workers["w~2"];
    assert_eq!((record.goal.as_deref(), record.verify.as_deref()), (Some("g"), Some("test -e x")));
    assert_eq!((record.after.clone(), record.ended.clone()), (None, None));
    assert_eq!(world.engine.ledger().workers["w~1"].ended, Some(WorkerState::Killed));
    world.audit();
}

#[test]
fn a_decider_types_into_a_live_worker_once() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world.beat();
    world.decided(&json!({"action": "steer_session", "id": "w", "input": "go on"}));
    let act = world.act().unwrap().act.clone();
    let Act::Typed { session, .. } = &act else { panic!("{act:?}") };
    assert_eq!(session, "w~1");
    world.crash();
    let again = world.each(
        |effect| {
            if let Effect::Recover(_, plan) = effect { Some(plan.act.clone()) } else { None }
        },
    );
    assert_eq!(again, [act], "under the same id, so that its host knows it");
    world.acted(Outcome::done());
    world.audit();
}

#[test]
fn a_decider_cannot_force() {
    for action in ["kill_worker", "restart_session"] {
        let mut world = World::new(false, &["m"]);
        world.hire("w", None);
        world.asks("a", "w~1", AskKind::Question);
        world.beat();
        world.decided(&json!({"action": action, "id": "w", "force": true}));
        assert_eq!(world.doing(), None, "{action}");
        assert!(world.engine.ledger().failures.is_some(), "{action}: refused");
        world.audit();
    }
}

#[test]
fn who_is_killed_by_force_waits_for_no_answer() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world.hire("v", None);
    world.asks("a", "w~1", AskKind::Question);
    world.asks("b", "w~1", AskKind::Flag);
    world.asks("c", "v~1", AskKind::Question);
    world.beat();
    let id = world.make(json!({"action": "kill_worker", "id": "w"}));
    assert!(matches!(world.reply(id), Some(Reply::Refused { .. })));
    world.effects.clear();
    world.make(json!({"action": "kill_worker", "id": "w", "force": true}));
    assert_eq!(world.act().unwrap().act, Act::Ended { session: "w~1".into(), also: Vec::new() });
    assert_eq!(world.engine.ledger().asks.len(), 3, "not before it is dead");
    world.acted(Outcome::done());
    assert_eq!(world.settle(), ["a", "b"]);
    assert_eq!(world.engine.ledger().asks.keys().collect::<Vec<_>>(), ["c"]);
    world.dies("w~1", WorkerState::Killed);
    world.decided(&json!({"action": "noop"}));
    world.beat();
    assert_eq!(world.engine.ledger().asks.keys().collect::<Vec<_>>(), ["c"]);
    assert_eq!(world.engine.ledger().workers["w~1"].ended, Some(WorkerState::Killed));
    world.audit();
}

#[test]
fn a_kill_that_failed_leaves_the_asks() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.make(json!({"action": "kill_worker", "id": "w", "force": true}));
    world.acted(Outcome::failed("its host does not answer"));
    assert_eq!(world.settle(), Vec::<String>::new());
    assert_eq!(world.engine.ledger().asks.len(), 1);
    assert_eq!(world.engine.ledger().workers["w~1"].ended, None);
    world.audit();
}

#[test]
fn every_input_has_an_id_of_its_own() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    let id = |world: &World| {
        let act = &world.engine.ledger().acting.as_ref().unwrap().plan.act;
        if let Act::Typed { input, .. } = act { input.clone() } else { panic!("{act:?}") }
    };
    let mut ids = BTreeSet::new();
    for _ in 0..3 {
        world.beat_by_person();
        world.decided(&json!({"action": "steer_session", "id": "w", "input": "go on"}));
        ids.insert(id(&world));
        world.acted(Outcome::done());
        world.make(json!({"action": "send_key", "id": "w", "keys": ["Enter"]}));
        ids.insert(id(&world));
        world.acted(Outcome::done());
    }
    assert_eq!(ids.len(), 6, "{ids:?}");
    world.audit();
}
