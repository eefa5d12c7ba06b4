//! A sensor that fails is told: in the log, to whoever asks for a beat, and as a notice.

use super::*;
use crate::ledger::entry::SensorState;
use crate::notice::due;
use crate::world::reading::{Fault, FaultDetail};

fn fails(world: &mut World, code: i32) {
    let detail = FaultDetail { message: format!("exited with {code}"), ..FaultDetail::default() };
    let reading = Reading::of_fault(&Fault::Exit(code), &detail, Trust::External);
    world.seen.readings.insert("ci".into(), reading);
}

/// What the log says about sensors, from its n-th line on.
fn told(world: &World, from: usize) -> Vec<SensorState> {
    let state = |entry: &Entry| {
        if let Entry::SensorChanged { state, .. } = entry { Some(state.clone()) } else { None }
    };
    world.lines[from..].iter().flat_map(|line| line.entries.iter().filter_map(state)).collect()
}

fn failing(code: i32) -> SensorState {
    SensorState::Failing { reason: format!("exited with {code}") }
}

#[test]
fn the_log_says_once_that_a_sensor_fails_and_whoever_asks_is_told_each_time() {
    let mut world = World::new(true, &[]);
    let steps = [(3, vec![failing(3)]), (3, vec![]), (4, vec![failing(4)])];
    for (code, said) in steps {
        fails(&mut world, code);
        let before = world.lines.len();
        let id = world.beat_by_person();
        assert_eq!(told(&world, before), said);
        let Some(Reply::Beat { failing, .. }) = world.reply(id) else { panic!("no reply") };
        assert_eq!(failing, [("ci".to_owned(), format!("exited with {code}"))].into());
    }
    let before = world.lines.len();
    world.reading("ci", json!({"red": 0}));
    world.beat();
    fails(&mut world, 3);
    world.beat();
    world.seen.readings.clear();
    world.beat();
    assert_eq!(told(&world, before), [SensorState::Works, failing(3), SensorState::Removed]);
    assert!(world.engine.ledger().failing.is_empty());
    world.audit();
}

#[test]
fn a_sensor_that_comes_and_goes_is_not_a_notice_each_time() {
    let mut world = World::new(true, &[]);
    world.engine.setup.limits.can_notify = true;
    let notices =
        |world: &World| world.each(|effect| matches!(effect, Effect::Notify(_)).then_some(())).len();
    let mut sent = 0;
    for _ in 0..10 {
        fails(&mut world, 3);
        world.beat();
        sent += notices(&world);
        world.reading("ci", json!({"red": 0}));
        world.beat();
        world.pass(Duration::from_mins(1));
    }
    assert_eq!(sent, 1, "the gaps of one need count for all of it");
    world.pass(Duration::from_hours(2));
    fails(&mut world, 3);
    world.beat();
    assert_eq!(notices(&world), 1, "what worked for long and fails anew is told at once");
    assert_eq!(due(world.engine.ledger(), &world.now).len(), 0);
    world.audit();
}
