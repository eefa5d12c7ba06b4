//! What a beat makes of what it saw.

use super::*;
use crate::model::letter::{Ask, AskKind};
use crate::world::baseline::Change;

pub(super) fn letter(id: &str, asked: i64) -> Ask {
    let (from, prompt) = ("worker".to_owned(), "Really?".to_owned());
    Ask {
        limit: None,
        closed: false,
        fetched: false,
        v: 1,
        id: id.to_owned(),
        from,
        kind: AskKind::Question,
        prompt,
        options: Vec::new(),
        reference: None,
        goal: None,
        proposal: None,
        asked,
    }
}

fn answer(id: &str) -> Answer {
    Answer { v: 1, ask: id.to_owned(), text: "yes".into(), answered: 0 }
}

fn settled(world: &World) -> Vec<&str> {
    world.each(|effect| if let Effect::Settle(id) = effect { Some(id.as_str()) } else { None })
}

/// The brief of the decide that the last beat began.
fn brief(world: &World) -> &str {
    let orders = world.each(|effect| if let Effect::Decide(order) = effect { Some(order) } else { None });
    &orders.first().expect("a decide").brief
}

/// What the recipes of a goal do in each of these rounds, an hour apart: whether the recipe works, and whether the
/// check holds afterwards.
fn rounds(goal: &str, rounds: &[(bool, bool)]) -> Vec<&'static str> {
    let mut world = World::new(true, &[]).goal("x", goal);
    let mut moves = Vec::new();
    for (works, holds) in rounds {
        world.check("x", 1);
        world.beat();
        moves.push(world.act().map_or("nothing", |plan| plan.action.action()));
        if world.engine.is_acting() {
            world.acted(shell(i32::from(!works)));
        }
        world.check("x", i32::from(!holds));
        world.pass(Duration::from_mins(30));
        world.beat();
        if world.engine.is_acting() {
            world.acted(shell(i32::from(!works)));
        }
        world.pass(Duration::from_mins(30));
    }
    world.audit();
    moves
}

#[test]
fn attempts_count_from_the_last_time_that_a_goal_held() {
    let mended = [(true, true); 5];
    assert_eq!(rounds(RECIPE, &mended), ["run_shell"; 5], "each time it is broken anew");
    let table = [
        ("the work is done each time", "---\nevery: 1h\nrun: x\n---\n", (true, true), "run_shell"),
        ("the work fails each time", "---\nevery: 1h\nrun: x\n---\n", (false, true), "ask_human"),
        ("the check is the judge", "---\ncheck: c\nevery: 1h\nrun: x\n---\n", (false, true), "run_shell"),
    ];
    for (name, goal, round, fourth) in table {
        let expected = ["run_shell", "run_shell", "run_shell", fourth];
        assert_eq!(rounds(goal, &[round; 4]), expected, "{name}");
    }
}

#[test]
fn a_condition_that_no_longer_holds_starts_the_attempts_anew() {
    let mut world = World::new(true, &[]).goal("x", "---\nwhen: ci.red > 0\nrun: x\n---\n");
    for _ in 0..5 {
        world.reading("ci", json!({"red": 1}));
        world.beat();
        assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"));
        world.acted(shell(0));
        world.reading("ci", json!({"red": 0}));
        world.beat();
        assert_eq!(world.act(), None);
    }
    world.audit();
}

#[test]
fn a_reading_that_begins_to_flap_is_named_once() {
    let mut world = World::new(true, &[]);
    for beat in 0..9 {
        world.reading("clock", json!(beat));
        world.reading("still", json!(1));
        world.beat();
    }
    let named: Vec<_> = world
        .entries()
        .filter_map(
            |entry| if let Entry::Flapping { reading } = entry { Some(reading.as_str()) } else { None },
        )
        .collect();
    assert_eq!(named, ["clock"]);
    world.audit();
}

#[test]
fn quiet_beats_calm_a_flapping_reading_although_they_write_nothing() {
    let mut world = World::new(false, &["m"]);
    let change = |world: &mut World, value: i32| {
        world.reading("clock", json!(value));
        world.beat();
        if world.decides() == 1 {
            world.decided(&json!({"action": "noop"}));
            return true;
        }
        false
    };
    for value in 0..6 {
        change(&mut world, value);
    }
    assert!(!change(&mut world, 6), "it flaps");
    for _ in 0..5 {
        world.beat();
    }
    assert!(change(&mut world, 7), "five quiet beats are enough");
    world.audit();
}

#[test]
fn the_probes_of_the_loop_itself_are_no_sensors_that_flap() {
    let mut world = World::new(true, &[]).goal("x", "---\ncheck: c\n---\n");
    for beat in 0..20 {
        world.check("x", beat % 2);
        world.beat();
    }
    assert_eq!(world.engine.ledger().readings.len(), 0);
    assert!(!world.entries().any(|entry| matches!(entry, Entry::Flapping { .. })));
}

#[test]
fn where_there_is_no_model_the_built_in_decider_has_seen_the_world() {
    let mut world = World::new(true, &[]).goal("g", "# Prose\n");
    world.beat();
    assert!(world.engine.ledger().baseline.contains_key("goal:g"));
    let lines = world.lines.len();
    world.beat();
    assert_eq!(world.lines.len(), lines);
    world.seen.docs.goals.insert("g".into(), Doc::of("# Prose, edited\n"));
    world.beat();
    let Some(Entry::Skipped { changes, .. }) = world.entries().last() else { panic!() };
    assert_eq!(changes.iter().map(Change::text).collect::<Vec<_>>(), ["~ goal:g"]);
    world.audit();
}

#[test]
fn a_beat_that_finds_a_model_at_work_leaves_the_world_for_later() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.reading("ci", json!(1));
    world.beat();
    assert_eq!(world.decides(), 0);
    assert_eq!(world.why(), Some(Why::Busy { with: "decide 000001 by m".into() }));
    world.decided(&json!({"action": "noop"}));
    world.beat();
    assert_eq!(world.decides(), 1, "the change is still one");
    world.audit();
}

#[test]
fn the_world_is_written_down_for_people_at_each_beat_that_looks() {
    let mut world = World::new(true, &[]);
    world.reading("ci", json!(1));
    world.beat();
    let written = world.each(|effect| if let Effect::Snapshots(all) = effect { Some(all) } else { None });
    let names: Vec<_> = written[0].keys().collect();
    assert_eq!(names, ["ci", "sys-asks", "sys-claims", "sys-goals", "sys-schedules", "sys-sessions"]);
}

#[test]
fn a_brief_shows_the_world_and_ranks_the_goals_by_their_wait() {
    let mut world = World::new(false, &["m"]).goal("a", "# A\n").goal("b", "# B\n").goal("c", "# C\n");
    world.beat();
    assert!(brief(&world).contains("Be careful."));
    for (goal, wait) in [("b", 1), ("a", 1)] {
        world.decided(&json!({"action": "run_shell", "cmd": "x", "goal": goal}));
        world.acted(shell(0));
        world.pass(Duration::from_mins(wait));
        world.beat();
    }
    let brief = brief(&world);
    let place = |text: &str| brief.find(text).unwrap_or_else(|| panic!("no {text} in {brief}"));
    let (never, longer, shorter) = (place("c: never served"), place("b: served 2m"), place("a: served 1m"));
    assert!(never < longer && longer < shorter, "{brief}");
}

#[test]
fn stale_work_is_a_ready_goal_or_a_failing_sensor() {
    use crate::world::reading::{Fault, FaultDetail};
    for failing in [true, false] {
        let mut world = World::new(false, &["m"]);
        let detail = FaultDetail { message: "exit 3".into(), ..FaultDetail::default() };
        let reading = Reading::of_fault(&Fault::Exit(3), &detail, Trust::Owner);
        let reading = if failing { reading } else { Reading::of_value(json!(1), Trust::Owner) };
        world.seen.readings.insert("ci".into(), reading);
        world.beat();
        world.decided(&json!({"action": "noop"}));
        world.pass(Duration::from_hours(6));
        world.beat();
        assert_eq!(world.decides(), usize::from(failing));
        world.audit();
    }
}

// Letters.

#[test]
fn a_letter_is_taken_once_and_its_answer_settles_it() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.seen.letters.asks.insert("a".into(), letter("a", 7));
    world.beat();
    assert_eq!(world.decides(), 0, "what somebody asks a person does not wake the model");
    world.beat();
    assert_eq!(world.entries().filter(|entry| matches!(entry, Entry::Asked { .. })).count(), 1);
    world.seen.letters.answers.insert("a".into(), answer("a"));
    world.beat();
    assert_eq!((settled(&world), world.decides()), (vec!["a"], 1), "the answer wakes the model");
    assert!(brief(&world).contains("yes"));
    world.decided(&json!({"action": "noop"}));
    world.effects.clear();
    world.beat();
    assert_eq!(world.decides(), 0, "its brief has shown the answer");
    assert_eq!(settled(&world), ["a"], "letters that a crash left behind are put away");
    assert_eq!(world.entries().filter(|entry| matches!(entry, Entry::Asked { .. })).count(), 1);
    assert_eq!(world.entries().filter(|entry| matches!(entry, Entry::Answered { .. })).count(), 1);
    world.seen.letters.answers.clear();
    world.seen.letters.asks.insert("a".into(), letter("a", 8));
    world.beat();
    assert!(settled(&world).is_empty(), "a new letter under an old name");
    assert_eq!(world.engine.ledger().asks["a"].asked, 8);
    world.audit();
}

#[test]
fn an_answer_that_comes_with_its_question_settles_it_too() {
    let mut world = World::new(true, &[]);
    world.seen.letters.asks.insert("a".into(), letter("a", 7));
    world.seen.letters.answers.insert("a".into(), answer("a"));
    world.seen.letters.answers.insert("stray".into(), answer("stray"));
    world.beat();
    assert_eq!(settled(&world), ["a", "stray"]);
    let of = |ask: fn(&Entry) -> bool| world.entries().filter(|entry| ask(entry)).count();
    let asked = of(|entry| matches!(entry, Entry::Asked { .. }));
    let answered = of(|entry| matches!(entry, Entry::Answered { ask, .. } if ask == "a"));
    let others =
        of(|entry| matches!(entry, Entry::Answered { ask, .. } | Entry::Dismissed { ask } if ask != "a"));
    assert_eq!((asked, answered, others), (1, 1, 0), "an answer to nothing is nothing");
    world.audit();
}

#[test]
fn an_ask_whose_letter_is_gone_is_dismissed_and_one_that_cannot_be_read_is_not() {
    let broken = |file: &str| vec![(file.to_owned(), "not JSON".to_owned())];
    let table = [
        ("both there", true, vec![], vec!["a", "b"]),
        ("gone", false, vec![], vec!["b"]),
        ("cannot be read", false, broken("asks/a.json"), vec!["a", "b"]),
        ("the folder cannot be read", false, broken("asks"), vec!["a", "b"]),
        ("another cannot be read", false, broken("asks/c.json"), vec!["b"]),
    ];
    for (name, there, broken, pending) in table {
        let mut world = World::new(true, &[]);
        for id in ["a", "b"] {
            world.seen.letters.asks.insert(id.into(), letter(id, 7));
        }
        world.beat();
        if !there {
            world.seen.letters.asks.remove("a");
        }
        world.seen.letters.broken = broken;
        world.beat();
        assert_eq!(world.engine.ledger().asks.keys().collect::<Vec<_>>(), pending, "{name}");
        world.audit();
    }
}
