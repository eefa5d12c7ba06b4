//! No progress: a fourth worker in a row for a goal, without proof of the work of three, is a person's to allow.

use super::crew::WORKED;
use super::*;
use crate::world::fleet::WorkerState;

/// One worker of the goal that ends without proof.
fn in_vain(world: &mut World, session: &str) {
    world.dies(session, WorkerState::Exited(0));
    world.proof(session, 1);
}

/// The answer to what the loop asked comes, and its letters go.
fn answered(world: &mut World, ask: &str) {
    world.answers(ask, "again");
    world.beat();
    world.settle();
}

/// A world whose decider has had three workers for the goal in vain.
fn after_three(decider: bool) -> World {
    let mut world = World::new(!decider, if decider { &["m"] } else { &[] }).goal("g", WORKED);
    world.check("g", 1);
    for _ in 0..3 {
        world.beat();
        if decider {
            world.decided(&json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"}));
        }
        assert_eq!(world.doing(), Some("start_worker"));
        let session = world.begun();
        world.beat();
        assert_eq!((world.doing(), world.decides()), (None, 0), "it is at work");
        in_vain(&mut world, &session);
    }
    world
}

#[test]
fn the_fourth_worker_of_a_decider_is_refused_and_a_person_is_asked_once() {
    let mut world = after_three(true);
    world.beat();
    let fourth = json!({"action": "start_worker", "id": "other", "prompt": "p", "goal": "g"});
    world.decided(&fourth);
    assert_eq!(world.doing(), Some("ask_human"));
    let plan = world.act().unwrap();
    assert_eq!((plan.goal.as_deref(), plan.author.word()), (Some("g"), "builtin"));
    let refusals = world
        .logged(|entry| if let Entry::Rejected { reason, .. } = entry { Some(reason.clone()) } else { None });
    let reason = "start worker other: p: its workers come to nothing; a person is asked";
    assert_eq!(refusals, [reason]);
    assert_eq!(world.engine.ledger().failures.as_ref().map(|failures| failures.count), Some(1));
    let (ask, prompt) = world.asked_a_person();
    assert!(
        prompt.starts_with("The workers for goal \"g\" end, or fail to start, without proof"),
        "{prompt}"
    );
    world.pass(Duration::from_mins(5));
    world.beat_by_person();
    world.effects.clear();
    world.decided(&fourth);
    assert_eq!(world.doing(), None, "asked once");
    let refusals = world
        .logged(|entry| if let Entry::Rejected { reason, .. } = entry { Some(reason.clone()) } else { None });
    let waits = format!("start worker other: p: goal g waits for a person's answer to {ask}");
    assert_eq!(refusals[1], waits);
    world.pass(Duration::from_mins(5));
    answered(&mut world, &ask);
    assert_eq!(world.decides(), 1, "an answer is news");
    world.decided(&fourth);
    assert_eq!(world.doing(), Some("start_worker"), "an answer starts anew");
    world.begun();
    world.audit();
}

#[test]
fn the_fourth_worker_of_a_recipe_is_not_started_and_a_person_is_asked_once() {
    let mut world = after_three(false);
    world.beat();
    assert_eq!(world.doing(), Some("ask_human"));
    let (ask, _) = world.asked_a_person();
    for _ in 0..3 {
        world.pass(Duration::from_hours(1));
        world.beat();
        assert_eq!(world.doing(), None, "asked once");
    }
    answered(&mut world, &ask);
    assert_eq!(world.doing(), Some("start_worker"));
    assert_eq!(world.begun(), "g~4");
    in_vain(&mut world, "g~4");
    for session in ["g~5", "g~6"] {
        world.beat();
        assert_eq!(world.doing(), Some("start_worker"), "one of three since the answer");
        world.begun();
        in_vain(&mut world, session);
    }
    world.beat();
    assert_eq!(world.doing(), Some("ask_human"));
    world.asked_a_person();
    world.audit();
}

/// A proof whose goal still fails proves nothing where there is no work to be merged.
#[test]
fn a_pass_starts_anew_only_if_the_goal_holds() {
    let mut world = World::new(true, &[]).goal("g", WORKED);
    let serve = |world: &mut World, code: i32, check: i32| {
        world.check("g", 1);
        world.beat();
        assert_eq!(world.doing(), Some("start_worker"));
        let session = world.begun();
        world.dies(&session, WorkerState::Exited(0));
        world.proof(&session, code);
        world.check("g", check);
        world.beat();
        world.effects.clear();
    };
    for (code, check) in [(1, 0), (1, 0), (0, 0), (1, 0)] {
        serve(&mut world, code, check);
        assert_eq!(world.engine.ledger().goal("g").fruitless, 0, "it holds");
    }
    world.check("g", 1);
    for code in [1, 0, 0] {
        world.beat();
        assert_eq!(world.doing(), Some("start_worker"));
        let session = world.begun();
        world.dies(&session, WorkerState::Exited(0));
        world.proof(&session, code);
    }
    world.beat();
    assert_eq!(world.doing(), Some("ask_human"), "three in a row, and the goal still fails");
    world.asked_a_person();
    world.audit();
}

#[test]
fn after_a_worker_that_failed_the_next_one_waits_longer_each_time() {
    let mut world = World::new(true, &[]).goal("g", WORKED);
    let limits = Limits { worker_retry: Duration::from_mins(1), ..limits() };
    world.engine.configure(Setup { limits, builtin: true, paid: Vec::new() });
    world.check("g", 1);
    for minutes in [1, 4] {
        world.beat();
        assert_eq!(world.doing(), Some("start_worker"));
        let session = world.begun();
        in_vain(&mut world, &session);
        world.beat();
        assert_eq!(world.doing(), None, "it waits");
        assert_eq!(world.waits(Duration::from_hours(1)), Duration::from_mins(minutes));
        world.pass(Duration::from_secs(minutes * 60 - 1));
        world.beat();
        assert_eq!(world.doing(), None, "it waits");
        world.pass(Duration::from_secs(1));
    }
    world.beat();
    assert_eq!(world.doing(), Some("start_worker"));
}

#[test]
fn a_persons_own_start_is_never_refused_for_it() {
    for decider in [true, false] {
        let mut world = after_three(decider);
        world.beat();
        if decider {
            world.decided(&json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"}));
        }
        world.asked_a_person();
        world.effects.clear();
        for number in 1..=3 {
            assert_eq!(world.hire("mine", Some("g")), format!("mine~{number}"));
            in_vain(&mut world, &format!("mine~{number}"));
        }
        world.audit();
    }
}

#[test]
fn workers_of_another_goal_or_of_none_do_not_count() {
    let mut world = World::new(false, &["m"]).goal("g", WORKED).goal("h", WORKED);
    for (session, goal) in [("a~1", Some("h")), ("a~2", Some("h")), ("b~1", None), ("b~2", None)] {
        assert_eq!(world.hire(crate::world::fleet::worker_of(session), goal), session);
        world.dies(session, WorkerState::Exited(1));
        world.beat_by_person();
        world.decided(&json!({"action": "noop"}));
    }
    world.beat_by_person();
    world.effects.clear();
    world.decided(&json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"}));
    assert_eq!(world.doing(), Some("start_worker"));
    world.begun();
    world.audit();
}

#[test]
fn what_a_crash_left_counts_the_same() {
    let mut world = after_three(false);
    world.beat();
    world.crash();
    let beat = world.engine.ledger().acting.as_ref().unwrap().beat;
    assert_eq!(world.engine.ledger().acting.as_ref().unwrap().plan.action.action(), "ask_human");
    world.step(Event::Acted(beat, Outcome::done()));
    assert_eq!(world.engine.ledger().goal("g").ask.as_deref(), Some("ask-1"));
    world.audit();
}

#[test]
fn a_recipe_whose_worker_cannot_be_started_asks_a_person_after_three_failures() {
    let mut world = World::new(true, &[]).goal("g", WORKED);
    world.check("g", 1);
    for _ in 0..3 {
        world.beat();
        assert_eq!(world.doing(), Some("start_worker"));
        world.acted(Outcome::failed("it died at once: exit 127"));
    }
    world.beat();
    assert_eq!(world.doing(), Some("ask_human"));
    world.asked_a_person();
    world.audit();
}
