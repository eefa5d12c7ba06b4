//! What an earlier lock holder left under way.

use super::*;

#[test]
fn after_a_crash_what_was_under_way_is_settled_first() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 1);
    world.beat();
    world.crash();
    let recovers = world.effects.iter().filter(|effect| matches!(effect, Effect::Recover(..))).count();
    assert_eq!(recovers, 1);
    world.beat();
    assert!(
        world.effects.iter().all(|effect| !matches!(effect, Effect::Sense(..))),
        "nothing begins before that"
    );
    let beat = world.engine.ledger().acting.as_ref().unwrap().beat;
    world.step(Event::ActNeverRan(beat));
    let plan = world.act().expect("it starts anew").clone();
    assert_eq!(plan.act, Act::Hosted { session: "move~2".into() });
    world.acted(shell(0));
    world.audit();
}

#[test]
fn an_adopted_decide_is_used_once_and_not_when_stale() {
    for (age_min, used) in [(0, true), (11, false)] {
        let mut world = World::new(true, &["m"]);
        world.beat();
        world.crash();
        assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Adopt(..))));
        let run = world.engine.ledger().deciding.as_ref().unwrap().run;
        let ended = world.now.wall;
        world.pass(Duration::from_mins(age_min));
        let record = record(run, Some(json!({"action": "run_shell", "cmd": "x"})), None, ended);
        let docs = Box::new(world.seen.docs.clone());
        world.step(Event::Decided(run, Box::new(record.clone()), docs.clone()));
        assert_eq!(world.act().is_some(), used);
        if used {
            world.acted(shell(0));
        }
        world.effects.clear();
        world.step(Event::Decided(run, Box::new(record), docs));
        assert_eq!(world.act(), None, "used once");
        world.audit();
    }
}

#[test]
fn a_decide_that_never_ran_costs_nothing_and_is_asked_again() {
    let mut world = World::new(true, &["m"]);
    world.beat();
    world.crash();
    let run = world.engine.ledger().deciding.as_ref().unwrap().run;
    world.step(Event::RunNeverRan(run));
    assert_eq!((world.engine.ledger().failures.clone(), world.engine.ledger().spend.len()), (None, 0));
    world.beat();
    assert_eq!(world.decides(), 1);
    world.audit();
}

#[test]
fn a_decision_that_waited_ten_minutes_is_used_and_one_that_nobody_had_to_adopt_always_is() {
    for (adopted, minutes, used) in [(true, 10, true), (true, 11, false), (false, 60, true)] {
        let mut world = World::new(true, &["m"]);
        world.beat();
        if adopted {
            world.crash();
        }
        let run = world.engine.ledger().deciding.as_ref().unwrap().run;
        let record = record(run, Some(json!({"action": "run_shell", "cmd": "x"})), None, world.now.wall);
        world.pass(Duration::from_mins(minutes));
        let docs = Box::new(world.seen.docs.clone());
        world.step(Event::Decided(run, Box::new(record), docs));
        assert_eq!(world.act().is_some(), used, "adopted: {adopted}, {minutes} minutes");
        world.audit();
    }
}

#[test]
fn the_decide_after_an_adopted_one_is_our_own() {
    let mut world = World::new(true, &["m"]);
    world.beat();
    world.crash();
    world.decided(&json!({"action": "noop"}));
    world.reading("ci", json!(1));
    world.beat();
    let run = world.engine.ledger().deciding.as_ref().unwrap().run;
    let record = record(run, Some(json!({"action": "run_shell", "cmd": "x"})), None, world.now.wall);
    world.pass(Duration::from_hours(1));
    let docs = Box::new(world.seen.docs.clone());
    world.step(Event::Decided(run, Box::new(record), docs));
    assert!(world.act().is_some());
    world.audit();
}

#[test]
fn only_the_decide_under_way_can_turn_out_never_to_have_run() {
    let mut world = World::new(true, &["m"]);
    world.beat();
    let lines = world.lines.len();
    world.step(Event::RunNeverRan(RunId(99)));
    assert_eq!(world.lines.len(), lines);
    assert!(world.engine.ledger().deciding.is_some());
}
