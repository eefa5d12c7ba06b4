//! When the loop looks next by itself: tables of the alarm.

use super::*;
use crate::engine::wake::{Alarm, Ring};
use crate::schedule::{Missed, Schedule, When};
use crate::world::fleet::WorkerState;
use crate::world::observation::ScheduleDoc;

const CADENCE: Cadence =
    Cadence { idle: Duration::from_mins(10), busy: Duration::from_secs(30), active: Duration::from_mins(2) };

fn alarm(world: &World) -> Alarm {
    world.engine.alarm(&CADENCE, &world.now)
}

/// Seconds until the next wait is over, its cause and its reason.
fn waits(world: &World) -> (u64, Cause, String) {
    let ring = alarm(world).up.expect("a wait");
    (ring.at.saturating_sub(world.now.up) / 1000, ring.cause, ring.why)
}

/// Seconds until something is due by the wall clock.
fn due(world: &World) -> Option<(i64, Cause)> {
    alarm(world).wall.map(|ring| ((ring.at - world.now.wall) / 1000, ring.cause))
}

fn plan(world: &mut World, name: &str, when: When) {
    let schedule =
        Schedule { v: 1, name: name.into(), when, missed: Missed::Once, note: None, created: world.now.wall };
    let doc = ScheduleDoc::Good { schedule, digest: Digest::of(name.as_bytes()) };
    world.seen.docs.schedules.insert(name.into(), doc);
}

/// A loop with a model that has seen all there is.
fn rested() -> World {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.beat();
    world
}

#[test]
fn the_interval_depends_on_what_goes_on() {
    let mut world = rested();
    assert_eq!(waits(&world), (600, Cause::Timer, "the interval of 10m is over".to_owned()));
    world.hire("w", None);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    assert_eq!(
        (waits(&world).0, waits(&world).2.as_str()),
        (120, "the interval while a worker lives of 2m is over")
    );
    world.dies("w~1", WorkerState::Exited(0));
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.beat();
    assert_eq!(waits(&world).0, 600);
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    world.beat();
    world.pass(Duration::from_secs(10));
    world.acted(shell(0));
    assert_eq!((waits(&world).0, waits(&world).2.as_str()), (30, "the interval after a move of 30s is over"));
}

#[test]
fn an_interval_is_armed_unless_a_full_look_is_ahead() {
    let mut world = World::new(true, &[]);
    assert_eq!(waits(&world).0, 600, "also before the first look");
    world.step(Event::Woke(Cause::Timer));
    assert_eq!(alarm(&world).up, None);
    world.sense();
    assert!(alarm(&world).up.is_some());
    world.step(Event::Woke(Cause::Files));
    assert!(alarm(&world).up.is_some(), "a quick look is none");
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: false });
    assert_eq!(alarm(&world), Alarm::default(), "a loop that ends waits for nothing");
}

#[test]
fn the_interval_counts_from_the_last_full_look() {
    let mut world = rested();
    world.pass(Duration::from_mins(4));
    assert_eq!(waits(&world).0, 360);
    world.step(Event::Woke(Cause::Files));
    let quick = Observation { scope: Scope::Quick, ..world.seen.clone() };
    world.step(Event::Sensed(Box::new(quick)));
    assert_eq!(waits(&world).0, 360, "a quick look does not put it off");
    world.seen.docs.goals.insert("g".into(), Doc::of("# G\n"));
    world.step(Event::Woke(Cause::Files));
    let quick = Observation { scope: Scope::Quick, ..world.seen.clone() };
    world.step(Event::Sensed(Box::new(quick)));
    world.decided(&json!({"action": "noop"}));
    assert!(waits(&world).0 <= 360, "nor does a decide");
}

#[test]
fn a_row_of_moves_does_not_put_off_a_full_look_for_ever() {
    let mut world = rested();
    let looked = world.now.up;
    for _ in 0..30 {
        world.pass(Duration::from_mins(4));
        world.make(json!({"action": "run_shell", "cmd": "true"}));
        world.acted(shell(0));
    }
    let at = alarm(&world).up.expect("a wait").at;
    assert!(at <= looked + 2 * 600_000, "{} s after the last one", (at - looked) / 1000);
}

#[test]
fn a_nudge_is_heeded_if_it_is_sooner_and_once() {
    for (seconds, expected) in [(45, (45, Cause::Nudge)), (3000, (600, Cause::Timer))] {
        let mut world = World::new(false, &["m"]);
        world.beat();
        world.decided(&json!({"action": "noop", "next_interval_s": seconds}));
        world.step(Event::Woke(Cause::Files));
        let quick = Observation { scope: Scope::Quick, ..world.seen.clone() };
        world.step(Event::Sensed(Box::new(quick)));
        let (left, cause, _) = waits(&world);
        assert_eq!((left, cause), expected, "a nudge of {seconds} s");
    }
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop", "next_interval_s": 20}));
    let stored = alarm(&world);
    world.pass(Duration::from_secs(20));
    assert_eq!(stored.rings(&world.now), Some(Cause::Nudge));
    world.step(Event::Woke(Cause::Nudge));
    world.effects.clear();
    world.sense();
    assert_eq!(world.decides(), 1);
    world.decided(&json!({"action": "noop"}));
    assert_eq!(waits(&world).1, Cause::Timer);
}

#[test]
fn a_wait_after_a_failure_ends_with_a_look() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.failed("no such model");
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { .. })));
    assert_eq!(waits(&world), (60, Cause::Timer, "the wait after a failure is over".to_owned()));
    world.pass(Duration::from_mins(1));
    assert_eq!(waits(&world).2, "the interval of 10m is over", "what is over does not ring again");
}

#[test]
fn the_end_of_a_pause_wakes() {
    let mut world = rested();
    world.ask(Request::Pause { until: Some(world.now.wall + 90_000) });
    assert_eq!(due(&world), Some((90, Cause::Timer)));
    world.pass(Duration::from_secs(90));
    assert_eq!(due(&world), None);
    world.ask(Request::Pause { until: None });
    assert_eq!(due(&world), None, "it has no end");
}

#[test]
fn the_first_schedule_to_become_due_wakes_and_what_is_due_does_not() {
    let mut world = World::new(true, &[]);
    let (wall, minute) = (world.now.wall, 60_000);
    plan(&mut world, "past", When::At(wall - minute));
    plan(&mut world, "later", When::At(wall + 5 * minute));
    plan(&mut world, "often", When::Every { seconds: 120, from: wall });
    world.beat();
    assert_eq!(due(&world), Some((120, Cause::Schedule)));
    for _ in 0..3 {
        let stored = alarm(&world);
        world.pass(Duration::from_mins(2));
        assert_eq!(stored.rings(&world.now), Some(Cause::Schedule));
        assert_eq!(alarm(&world).rings(&world.now), None, "an alarm that is set anew lies ahead");
    }
    let broken = ScheduleDoc::Broken { error: "no".into(), digest: None };
    world.seen.docs.schedules = [("often".to_owned(), broken)].into();
    world.beat();
    assert_eq!(due(&world), None);
}

#[test]
fn a_cron_line_is_read_in_its_own_zone_or_the_persons() {
    // 1800000000 is 2027-01-15 08:00 UTC, 09:00 in Berlin, 17:00 in Tokyo.
    let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let tokyo = TimeZone::posix("JST-9").unwrap();
    for (zone, hours) in [(None, 1), (Some("Asia/Tokyo"), 17), (Some("No/Where"), 1)] {
        let mut world = World::new(true, &[]);
        world.now.zone = berlin.clone();
        world.seen.docs.zones.insert("Asia/Tokyo".into(), tokyo.clone());
        plan(&mut world, "ten", When::Cron { line: "0 10 * * *".into(), zone: zone.map(str::to_owned) });
        world.beat();
        assert_eq!(due(&world), Some((hours * 3600, Cause::Schedule)), "{zone:?}");
    }
}

#[test]
fn a_wait_goes_by_the_one_clock_and_a_date_by_the_other() {
    let now = World::new(true, &[]).now;
    let up = |at| Some(Ring { at, cause: Cause::Timer, why: "waited".to_owned() });
    let wall = |at| Some(Ring { at, cause: Cause::Schedule, why: "due".to_owned() });
    let table = [
        (Alarm::default(), None, None),
        (Alarm { up: up(now.up + 1000), wall: None }, None, Some((1000, "waited"))),
        (Alarm { up: up(now.up), wall: None }, Some(Cause::Timer), Some((0, "waited"))),
        (Alarm { up: None, wall: wall(now.wall + 5) }, None, Some((5, "due"))),
        (Alarm { up: None, wall: wall(now.wall - 5) }, Some(Cause::Schedule), Some((-5, "due"))),
        (Alarm { up: up(now.up + 3), wall: wall(now.wall + 7) }, None, Some((3, "waited"))),
        (Alarm { up: up(now.up), wall: wall(now.wall) }, Some(Cause::Timer), Some((0, "waited"))),
    ];
    for (alarm, rings, next) in table {
        assert_eq!(alarm.rings(&now), rings, "{alarm:?}");
        let next = next.map(|(after, why): (i64, &str)| (now.wall + after, why.to_owned()));
        assert_eq!(alarm.next(&now).map(|next| (next.at, next.why)), next, "{alarm:?}");
    }
}

#[test]
fn a_persons_start_forces_a_decide_at_most_once_an_hour() {
    let mut world = rested();
    let table = [(59, true, 0), (1, false, 0), (0, true, 1), (30, true, 0), (31, true, 1), (0, true, 0)];
    for (minutes, by_person, decides) in table {
        world.pass(Duration::from_mins(minutes));
        world.effects.clear();
        world.step(Event::Began { by_person });
        world.sense();
        assert_eq!(world.decides(), decides, "after {minutes} min, by a person: {by_person}");
        if decides > 0 {
            let forced = world.engine.ledger().deciding.as_ref().and_then(|deciding| deciding.forced.clone());
            assert_eq!(forced, Some(crate::ledger::entry::Force::Start));
            world.decided(&json!({"action": "noop"}));
        }
    }
    world.audit();
}
