//! Corners: what happens between two looks, what is cut off, and what stands in the way of what.

use super::crew::WORKED;
use super::*;
use crate::model::letter::AskKind;
use crate::world::fleet::WorkerState;

fn intents(world: &World, action: &str) -> usize {
    let named = world.logged(|entry| {
        if let Entry::Intended { plan, .. } = entry { Some(plan.action.action() == action) } else { None }
    });
    named.into_iter().filter(|found| *found).count()
}

/// `w~1` asked, died, and was answered.
fn answered_too_late() -> World {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.dies("w~1", WorkerState::Exited(1));
    world.answers("a", "yes");
    world
}

#[test]
fn an_answer_whose_bringing_was_cut_off_is_not_brought_again_and_a_person_hears_of_it() {
    let mut world = answered_too_late();
    world.beat();
    world.acted(Outcome::Interrupted { reason: "its host died".into() });
    world.beat();
    assert_eq!(world.doing(), Some("ask_human"));
    world.asked_a_person();
    world.beat();
    assert_eq!((intents(&world, "restart_session"), intents(&world, "ask_human")), (1, 1));
    world.audit();
}

#[test]
fn a_worker_that_cannot_be_started_does_not_keep_other_goals_from_being_served() {
    type Setting = fn(&mut World);
    let cap: Setting = |world| {
        world.put("other~1", WorkerState::Alive, None);
        world.limit(|limits| limits.max_workers = Some(1));
    };
    let runner: Setting = |world| world.limit(|limits| limits.worker_runners.clear());
    let name: Setting = |world| {
        world.seen.docs.goals.insert("decide".into(), Doc::of(WORKED));
        world.check("decide", 1);
        world.check("a", 0);
    };
    for (name, setting) in [("the cap", cap), ("no runner", runner), ("a name of our own", name)] {
        let mut world = World::new(true, &["m"]).goal("a", WORKED).goal("x", RECIPE);
        world.check("a", 1);
        world.check("x", 1);
        setting(&mut world);
        world.beat();
        assert_eq!(world.doing(), Some("run_shell"), "{name}");
        world.acted(shell(0));
        world.check("x", 0);
        world.beat();
        assert_eq!(world.decides(), 1, "{name}: and the model is asked");
    }
}

#[test]
fn the_letters_of_workers_stay_while_nobody_knows_who_lives() {
    for answered in [false, true] {
        let mut world = World::new(true, &[]);
        world.hire("w", None);
        world.asks("a", "w~1", AskKind::Question);
        world.beat();
        world.answers("a", "yes");
        if answered {
            world.beat();
        }
        world.seen.docs.fleet.workers.clear();
        world.seen.docs.fleet.fault = Some("unreadable".into());
        world.beat();
        assert_eq!(world.settle(), Vec::<String>::new());
    }
}

#[test]
fn workers_that_cannot_be_seen_do_not_look_gone() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    let fleet = world.seen.docs.fleet.clone();
    world.seen.docs.fleet.workers.clear();
    world.seen.docs.fleet.fault = Some("unreadable".into());
    world.beat();
    let changes = world.logged(|entry| {
        if let Entry::DecideStarted { changes, .. } = entry { Some(changes.clone()) } else { None }
    });
    let last: Vec<String> = changes[1..].iter().flatten().map(crate::world::baseline::Change::text).collect();
    assert!(!last.iter().any(|change| change.starts_with("- worker:")), "{last:?}");
    if world.decides() == 1 {
        world.decided(&json!({"action": "noop"}));
    }
    world.seen.docs.fleet = fleet;
    world.beat();
    let changes = world.logged(|entry| {
        if let Entry::DecideStarted { changes, .. } = entry { Some(changes.clone()) } else { None }
    });
    let last: Vec<String> = changes[1..].iter().flatten().map(crate::world::baseline::Change::text).collect();
    assert!(!last.iter().any(|change| change.contains("worker:")), "{last:?}");
    world.audit();
}

#[test]
fn a_recipe_is_not_run_while_a_worker_is_on_its_goal_or_has_claimed_it() {
    type Setting = fn(&mut World);
    let table: [(&str, Setting); 2] = [
        ("a worker", |world| world.put("w~1", WorkerState::Alive, Some("x"))),
        ("a claim", |world| {
            world.put("w~1", WorkerState::Alive, None);
            world.claims("x", "w~1");
        }),
    ];
    for (name, setting) in table {
        let mut world = World::new(true, &[]).goal("x", RECIPE);
        world.check("x", 1);
        setting(&mut world);
        world.beat();
        assert_eq!(world.doing(), None, "{name}");
        world.dies("w~1", WorkerState::Exited(0));
        world.beat();
        assert_eq!(world.doing(), Some("run_shell"), "{name}");
    }
}

#[test]
fn what_is_kept_of_a_session_stays_until_its_answer_was_brought() {
    for by_person in [true, false] {
        let mut world = answered_too_late();
        world.put("v~1", WorkerState::Alive, None);
        world.limit(|limits| limits.max_workers = Some(1));
        world.beat();
        if by_person {
            let id = world.ask(Request::Prune { only: None });
            let gone: Vec<_> = world.prunes().into_iter().filter(|(_, gone)| !gone.is_empty()).collect();
            assert_eq!(gone, [], "{:?}", world.reply(id));
        } else {
            world.pass(Duration::from_hours(100));
            world.beat();
            assert_eq!(world.prunes(), []);
        }
    }
}

#[test]
fn who_is_restarted_by_force_waits_for_no_answer() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.make(json!({"action": "restart_session", "id": "w", "force": true}));
    world.begun();
    world.dies("w~1", WorkerState::Killed);
    world.settle();
    world.beat();
    assert_eq!(world.engine.ledger().asks.len(), 0);
    world.audit();
}

#[test]
fn who_is_killed_by_force_waits_for_no_answer_to_what_the_loop_has_not_noted_yet() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.make(json!({"action": "kill_worker", "id": "w", "force": true}));
    world.acted(Outcome::done());
    world.settle();
    world.dies("w~1", WorkerState::Killed);
    world.beat();
    world.settle();
    world.beat();
    assert_eq!(world.engine.ledger().asks.len(), 0);
    world.audit();
}

#[test]
fn a_worker_that_was_killed_on_request_is_not_brought_back_by_an_answer() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.answers("a", "yes");
    world.beat();
    world.make(json!({"action": "kill_worker", "id": "w"}));
    world.acted(Outcome::done());
    world.dies("w~1", WorkerState::Killed);
    world.beat();
    assert_eq!(world.doing(), None);
    world.audit();
}

#[test]
fn all_answers_of_one_session_are_brought_at_once() {
    let mut world = answered_too_late();
    world.asks("b", "w~1", AskKind::Question);
    world.answers("b", "no");
    world.beat();
    world.begun();
    world.beat();
    world.settle();
    world.dies("w~2", WorkerState::Exited(0));
    world.beat();
    assert_eq!(world.doing(), None);
    world.audit();
}

#[test]
fn what_is_pruned_of_a_worker_whose_older_session_stays_is_no_change() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world.dies("w~1", WorkerState::Exited(1));
    world.asks("a", "w~1", AskKind::Question);
    world.hire("w", None);
    world.dies("w~2", WorkerState::Exited(0));
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.seen.docs.fleet.workers.remove("w~2");
    world.step(Event::Pruned(None, vec!["w~2".into()], Vec::new()));
    world.beat();
    assert_eq!(world.decides(), 0);
    world.audit();
}

#[test]
fn no_progress_holds_for_restarts_of_a_decider_too() {
    let mut world = World::new(false, &["m"]).goal("g", WORKED);
    for _ in 0..3 {
        let session = world.hire("w", Some("g"));
        world.dies(&session, WorkerState::Exited(1));
        world.beat_by_person();
        world.decided(&json!({"action": "noop"}));
    }
    world.beat_by_person();
    world.effects.clear();
    world.decided(&json!({"action": "restart_session", "id": "w"}));
    assert_eq!(world.doing(), Some("ask_human"));
}

#[test]
fn a_dead_worker_is_not_restarted_beyond_the_cap() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world.dies("w~1", WorkerState::Exited(1));
    world.put("v~1", WorkerState::Alive, None);
    world.limit(|limits| limits.max_workers = Some(1));
    let id = world.make(json!({"action": "restart_session", "id": "w"}));
    let reason = "1 workers live and max_workers is 1".to_owned();
    assert_eq!(world.reply(id), Some(Reply::Refused { reason }));
    world.audit();
}

#[test]
fn nothing_is_decided_while_nobody_knows_who_lives() {
    let mut world = World::new(true, &["m"]).goal("a", WORKED).goal("x", RECIPE);
    world.check("a", 1);
    world.check("x", 1);
    world.seen.docs.fleet.fault = Some("sessions/ cannot be read".into());
    world.beat();
    assert_eq!((world.doing(), world.decides()), (None, 0));
    assert_eq!(world.why(), Some(Why::BadFile { error: "sessions/ cannot be read".into() }));
    world.seen.docs.fleet.fault = None;
    world.beat();
    assert_eq!(world.doing(), Some("start_worker"));
    world.begun();
    world.audit();
}

#[test]
fn who_was_ended_by_no_move_of_ours_still_has_its_question_and_gets_its_answer() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.dies("w~1", WorkerState::Killed);
    world.beat();
    assert_eq!(
        (world.settle(), world.engine.ledger().asks.len()),
        (vec![], 1),
        "the end of the loop took it"
    );
    world.answers("a", "yes");
    world.beat();
    assert_eq!(world.doing(), Some("restart_session"));
    world.begun();
    world.audit();
}
