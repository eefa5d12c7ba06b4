//! Workers that wait for their provider: told to go on once, when the stated time has come.

use super::*;
use crate::engine::wake::Cadence;
use crate::model::letter::{AskKind, Limit};
use crate::world::fleet::WorkerState;

const CADENCE: Cadence =
    Cadence { idle: Duration::from_mins(10), busy: Duration::from_secs(30), active: Duration::from_mins(30) };

/// A world in which `w~1` waits for its provider for another hour.
fn limited() -> World {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    flag(&mut world, "w-1", Duration::from_hours(1));
    world.beat();
    world
}

/// The screen of the worker says that a limit ends after so long.
fn flag(world: &mut World, id: &str, left: Duration) {
    world.asks(id, "w~1", AskKind::Flag);
    let until = world.now.wall + i64::try_from(left.as_millis()).unwrap();
    let ask = world.seen.letters.asks.get_mut(id).unwrap();
    ask.limit = Some(Limit { until, program: "codex".into() });
}

/// What the move under way types, and for which flag.
fn typed(world: &World) -> Option<(String, Option<String>)> {
    let plan = &world.engine.ledger().acting.as_ref()?.plan;
    let (Move::SteerSession { input, .. }, Act::Typed { wakes, .. }) = (&plan.action, &plan.act) else {
        return None;
    };
    Some((input.clone(), wakes.clone()))
}

#[test]
fn a_worker_is_told_to_go_on_a_minute_after_its_limit_and_once() {
    let mut world = limited();
    assert_eq!(typed(&world), None);
    let ring = world.engine.alarm(&CADENCE, &world.now).wall.expect("a time to wake");
    assert_eq!(ring.at - world.now.wall, 61 * 60_000, "{ring:?}");
    world.pass(Duration::from_hours(1));
    world.beat();
    assert_eq!(typed(&world), None, "the minute that was named is not over");
    world.pass(Duration::from_mins(1));
    world.beat();
    let (input, wakes) = typed(&world).expect("a text");
    assert_eq!((input.as_str(), wakes.as_deref()), (crate::agents::go_on("codex").unwrap(), Some("w-1")));
    world.acted(Outcome::failed("its composer is not seen to be empty"));
    world.pass(Duration::from_hours(1));
    world.beat();
    assert_eq!(typed(&world), None, "that is tried once");
    assert_eq!(world.engine.alarm(&CADENCE, &world.now).wall, None);
}

#[test]
fn who_waits_again_at_once_is_not_told_in_a_row() {
    let mut world = limited();
    world.pass(Duration::from_mins(61));
    world.beat();
    world.acted(Outcome::done());
    world.seen.letters.asks.clear();
    flag(&mut world, "w-2", Duration::ZERO);
    world.pass(Duration::from_mins(2));
    world.beat();
    assert_eq!(typed(&world), None);
    world.pass(Duration::from_mins(5));
    world.beat();
    assert_eq!(typed(&world).and_then(|(_, wakes)| wakes).as_deref(), Some("w-2"));
}

#[test]
fn who_does_not_wait_any_more_is_told_nothing() {
    for case in ["answered", "dead", "paused", "unknown program"] {
        let mut world = limited();
        match case {
            "answered" => world.answers("w-1", "attached"),
            "dead" => world.dies("w~1", WorkerState::Exited(0)),
            "paused" => world.put("w~1", WorkerState::Paused, None),
            _ => {
                let ask = world.seen.letters.asks.get_mut("w-1").unwrap();
                ask.limit.as_mut().unwrap().program = "pi".into();
            }
        }
        world.pass(Duration::from_hours(2));
        world.beat();
        assert_eq!(typed(&world), None, "{case}");
    }
}
