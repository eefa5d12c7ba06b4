//! The engine's own state: what is under way, when it looks again, and how it ends.

use super::*;
use crate::ledger::state::DaySpend;

fn exits(world: &World) -> usize {
    world.effects.iter().filter(|effect| matches!(effect, Effect::Exit)).count()
}

fn ended(world: &World) -> Vec<&str> {
    world.each(|effect| if let Effect::End(session) = effect { Some(session.as_str()) } else { None })
}

fn states(world: &World) -> (bool, bool, bool) {
    (world.engine.is_busy(), world.engine.is_acting(), world.engine.is_idle())
}

fn goal_of_a_person() -> Request {
    let proposal = Proposal::of(Move::WriteGoal { id: Name::new("g").unwrap(), body: "text".into() });
    Request::Make { proposal }
}

#[test]
fn busy_acting_and_idle_are_told_apart() {
    let mut world = World::new(false, &["m"]);
    assert_eq!(states(&world), (false, false, true), "at the start");
    world.step(Event::Woke(Cause::Timer));
    assert_eq!(states(&world), (false, false, false), "looking");
    world.sense();
    assert_eq!(states(&world), (true, false, false), "deciding");
    world.ask(goal_of_a_person());
    assert_eq!(states(&world), (true, true, false), "deciding and acting");
    world.acted(Outcome::done());
    world.decided(&json!({"action": "noop"}));
    assert_eq!(states(&world), (false, false, true), "at the end");
}

#[test]
fn a_look_waits_for_the_move_under_way_and_for_the_look_under_way() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    let senses = |effects: &[Effect]| effects.iter().filter(|e| matches!(e, Effect::Sense(..))).count();
    world.check("x", 1);
    let first = world.step(Event::Woke(Cause::Timer));
    let second = world.step(Event::Woke(Cause::Timer));
    assert_eq!((senses(&first), senses(&second)), (1, 0));
    world.effects.clear();
    world.sense();
    assert!(world.act().is_some());
    assert_eq!(senses(&world.effects), 0, "the move comes first");
    world.acted(shell(0));
    assert_eq!(senses(&world.effects), 1, "then the look that was wanted");
}

#[test]
fn moves_that_wait_come_one_by_one() {
    let mut world = World::new(false, &[]);
    let agains = |effects: &[Effect]| effects.iter().filter(|e| matches!(e, Effect::Again(..))).count();
    for _ in 0..3 {
        world.ask(goal_of_a_person());
    }
    assert_eq!(agains(&world.effects), 0, "the first is under way");
    assert!(!world.engine.is_idle());
    world.acted(Outcome::done());
    assert_eq!(agains(&world.effects), 1, "the second may begin");
    assert!(!world.engine.is_idle(), "the third still waits");
}

#[test]
fn the_next_look_is_a_nudge_away_if_that_is_sooner() {
    let minute = Duration::from_mins(1);
    for (wish, next) in [(30, 30), (60, 60), (90, 60)] {
        let mut world = World::new(false, &["m"]);
        assert_eq!(world.wait(), minute);
        world.beat();
        world.decided(&json!({"action": "noop", "next_interval_s": wish}));
        assert_eq!(world.wait(), Duration::from_secs(next), "{wish} s");
    }
}

#[test]
fn beats_that_do_the_same_nothing_are_counted_in_the_next_line() {
    let mut world = World::new(true, &[]);
    world.beat();
    for _ in 0..3 {
        world.beat();
    }
    world.reading("ci", json!(1));
    world.beat();
    world.reading("ci", json!(2));
    world.beat();
    let counts: Vec<u32> = world.lines.iter().map(|line| line.idle).collect();
    assert_eq!(counts, [0, 3, 0]);
    world.audit();
}

#[test]
fn seeding_is_remembered() {
    let mut world = World::new(true, &[]);
    world.step(Event::Seeded(vec!["PLAYBOOK.md".into()]));
    assert!(world.engine.ledger().seeded);
    world.audit();
}

#[test]
fn a_quiet_loop_ends_at_once_and_without_a_word() {
    let mut world = World::new(true, &["m"]);
    world.step(Event::Woke(Cause::Timer));
    world.effects.clear();
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    assert_eq!((exits(&world), world.lines.len()), (1, 0));
    world.effects.clear();
    world.sense();
    assert_eq!((world.act(), world.decides()), (None, 0), "what is seen late is not acted upon");
    world.effects.clear();
    world.step(Event::Woke(Cause::Timer));
    assert!(!world.effects.iter().any(|effect| matches!(effect, Effect::Sense(..))));
}

#[test]
fn stopping_ends_what_is_in_flight_and_begins_nothing() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.beat();
    world.effects.clear();
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    assert!(
        world.effects.iter().any(|effect| matches!(effect, Effect::End(session) if session == "decide~1"))
    );
    assert!(!world.effects.iter().any(|effect| matches!(effect, Effect::Exit)), "it waits for the end");
    world.decided(&json!({"action": "run_shell", "cmd": "x"}));
    assert_eq!(world.act(), None, "a late decision is not executed");
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Exit)));
    world.audit();
}

#[test]
fn a_loop_that_ends_ends_what_runs_and_says_so_once() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    world.beat();
    world.effects.clear();
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    assert_eq!((ended(&world), exits(&world)), (vec!["move~1"], 0));
    assert_eq!(world.entries().filter(|entry| matches!(entry, Entry::Stopped { .. })).count(), 1);
    world.acted(shell(0));
    assert_eq!(exits(&world), 1);
    world.audit();
}

#[test]
fn a_file_that_is_being_written_is_waited_for_and_not_ended() {
    let mut world = World::new(false, &[]);
    world.ask(goal_of_a_person());
    world.effects.clear();
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    assert_eq!((ended(&world), exits(&world)), (vec![], 0));
    world.acted(Outcome::done());
    assert_eq!(exits(&world), 1);
}

#[test]
fn nothing_is_decided_by_a_loop_that_was_told_to_end_while_it_decides() {
    let mut world = World::new(false, &["m"]);
    let id = world.beat_by_person();
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    world.decided(&json!({"action": "run_shell", "cmd": "x"}));
    let why = Some("decide 000001 by m: the loop was ended meanwhile".to_owned());
    assert_eq!(world.reply(id), Some(Reply::Beat { why, failed: false, failing: [].into() }));
    let day = DaySpend {
        spent: Micros::new(1_000_000),
        unreported: Micros::new(1_000_000),
        unreported_by: Some("m".to_owned()),
        decides: 1,
        since: Some(world.now.stamp()),
        ..DaySpend::default()
    };
    assert_eq!(world.engine.ledger().spend["2027-01-15"], day, "it cost what it cost");
    assert_eq!((world.act(), world.engine.ledger().failures.clone()), (None, None));
    world.audit();
}

#[test]
fn an_edit_of_playbook_goals_or_configuration_cuts_the_wait_and_a_reading_does_not() {
    type Edit = fn(&mut World);
    let table: [(&str, Edit, usize); 5] = [
        ("nothing", |_| {}, 0),
        ("the playbook", |world| world.seen.docs.playbook = Doc::of("New.\n"), 1),
        ("a goal", |world| drop(world.seen.docs.goals.insert("g".into(), Doc::of("New.\n"))), 1),
        (
            "the configuration",
            |world| {
                let paid = vec![PaidDecider { name: "m".into(), free: false, tool: false, bound: None }];
                let limits = Limits { config: Digest::of(b"edited"), ..limits() };
                world.engine.configure(Setup { limits, builtin: false, paid });
            },
            1,
        ),
        ("a reading", |world| world.reading("ci", json!(1)), 0),
    ];
    for (name, edit, decides) in table {
        let mut world = World::new(false, &["m"]).goal("g", "# G\n");
        world.beat();
        world.failed("no such model");
        edit(&mut world);
        world.beat();
        assert_eq!(world.decides(), decides, "{name}");
        world.audit();
    }
}

#[test]
fn an_edit_while_a_decide_runs_is_known_when_it_fails() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.seen.docs.playbook = Doc::of("New.\n");
    world.failed("no such model");
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { .. })), "the edit came before the failure");
    world.audit();
}

#[test]
fn a_crash_does_not_cut_the_wait() {
    let mut world = World::new(true, &["m"]);
    world.beat();
    world.decided(&json!({"action": "run_shell", "cmd": "x"}));
    world.crash();
    world.acted(shell(1));
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { failures: 1, .. })), "{:?}", world.why());
    world.audit();
}
