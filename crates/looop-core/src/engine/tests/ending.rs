//! Ending the loop: what is in flight, then the workers, then the loop itself.

use super::*;
use crate::world::fleet::WorkerState;

fn clears(world: &World) -> usize {
    world.each(|effect| matches!(effect, Effect::Clear).then_some(())).len()
}

fn exits(world: &World) -> usize {
    world.each(|effect| matches!(effect, Effect::Exit).then_some(())).len()
}

fn down(world: &mut World, keep_workers: bool) -> RequestId {
    world.ask(Request::Down { keep_workers })
}

fn cleared(world: &mut World, problems: &[&str]) {
    let problems = problems.iter().map(|text| (*text).to_owned()).collect();
    world.step(Event::Cleared(Box::new(world.seen.docs.fleet.clone()), problems));
}

#[test]
fn a_loop_at_rest_ends_its_workers_and_then_itself() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    let id = down(&mut world, false);
    assert_eq!((clears(&world), exits(&world), world.reply(id)), (1, 0, None));
    world.dies("w~1", WorkerState::Killed);
    cleared(&mut world, &[]);
    assert_eq!((clears(&world), exits(&world), world.reply(id)), (1, 1, Some(Reply::Done)));
    assert_eq!(world.ends(), [("w~1".to_owned(), WorkerState::Killed)]);
    world.audit();
}

#[test]
fn workers_that_are_kept_are_left_alone() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    let id = down(&mut world, true);
    assert_eq!((clears(&world), exits(&world), world.reply(id)), (0, 1, Some(Reply::Done)));
    assert_eq!(world.ends(), []);
}

#[test]
fn what_could_not_be_ended_is_said_and_the_loop_ends_all_the_same() {
    let mut world = World::new(true, &[]);
    let id = down(&mut world, false);
    cleared(&mut world, &["w~1 lives", "v~2 lives"]);
    let said = Reply::Refused { reason: "w~1 lives; v~2 lives".into() };
    assert_eq!((exits(&world), world.reply(id)), (1, Some(said)));
}

#[test]
fn what_is_in_flight_ends_before_the_workers_do() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    let id = down(&mut world, false);
    let ended =
        world.each(|effect| if let Effect::End(session) = effect { Some(session.clone()) } else { None });
    assert_eq!((ended.as_slice(), clears(&world)), (["decide~1".to_owned()].as_slice(), 0));
    assert!(
        world.entries().any(|entry| matches!(entry, Entry::Stopped { reason } if reason == "looop down"))
    );
    world.decided(&json!({"action": "run_shell", "cmd": "true"}));
    assert_eq!((world.act(), clears(&world)), (None, 1), "its decision is not carried out");
    cleared(&mut world, &[]);
    assert_eq!((exits(&world), world.reply(id)), (1, Some(Reply::Done)));
    world.audit();
}

#[test]
fn a_move_under_way_is_waited_for() {
    let mut world = World::new(false, &["m"]);
    world.make(json!({"action": "write_goal", "id": "g", "body": "# G"}));
    let id = down(&mut world, false);
    assert_eq!((clears(&world), exits(&world)), (0, 0));
    world.acted(Outcome::done());
    assert_eq!((clears(&world), exits(&world)), (1, 0));
    cleared(&mut world, &[]);
    assert_eq!(world.reply(id), Some(Reply::Done));
    world.audit();
}

#[test]
fn whoever_asks_twice_is_answered_twice() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    let (first, second) = (down(&mut world, true), down(&mut world, false));
    world.failed("ended on request");
    assert_eq!((clears(&world), exits(&world)), (1, 0), "the second wants the workers ended too");
    let third = down(&mut world, true);
    cleared(&mut world, &[]);
    assert_eq!((clears(&world), exits(&world)), (1, 1));
    for id in [first, second, third] {
        assert_eq!(world.reply(id), Some(Reply::Done));
    }
    world.audit();
}

#[test]
fn what_happens_meanwhile_does_not_keep_it_from_ending() {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    let id = down(&mut world, false);
    // The workers that end make noise, and so does the person.
    for cause in [Cause::Session, Cause::Files, Cause::Timer, Cause::Clock] {
        world.step(Event::Woke(cause));
    }
    world.step(Event::Began { by_person: true });
    let beat = world.ask(Request::Beat);
    assert!(matches!(world.reply(beat), Some(Reply::Refused { .. })));
    world.dies("w~1", WorkerState::Killed);
    cleared(&mut world, &[]);
    assert_eq!((exits(&world), world.reply(id)), (1, Some(Reply::Done)));
    assert_eq!(world.each(|effect| matches!(effect, Effect::Sense(..)).then_some(())).len(), 0);
    world.audit();
}

#[test]
fn a_look_under_way_is_not_waited_for_and_comes_to_nothing() {
    let mut world = World::new(false, &["m"]);
    world.step(Event::Woke(Cause::Timer));
    let id = down(&mut world, true);
    assert_eq!((exits(&world), world.reply(id)), (1, Some(Reply::Done)));
    world.sense();
    assert_eq!((world.decides(), world.lines.len()), (0, 0));
}

#[test]
fn whoever_waits_for_a_move_or_a_beat_is_told() {
    let mut world = World::new(false, &["m"]);
    world.make(json!({"action": "run_shell", "cmd": "true"}));
    let waits = world.make(json!({"action": "write_goal", "id": "g", "body": "# G"}));
    let beat = world.ask(Request::Beat);
    down(&mut world, true);
    assert!(matches!(world.reply(waits), Some(Reply::Refused { .. })), "{:?}", world.reply(waits));
    world.acted(shell(0));
    assert_eq!(exits(&world), 1);
    assert!(world.reply(beat).is_some(), "nobody is left waiting");
    world.audit();
}
