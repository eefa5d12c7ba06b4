//! The question about a goal that still fails: it is there as long as its answer would change something, and no longer.

use super::*;
use crate::ledger::entry::Withdrawal;

/// A world in which the recipe of `x` was tried three times, and a person was asked.
fn asked() -> World {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    for _ in 0..3 {
        world.beat();
        world.acted(shell(1));
    }
    world.beat();
    let plan = world.act().expect("an ask").clone();
    assert_eq!(plan.action.action(), "ask_human");
    world.acted(Outcome::done());
    let bytes = crate::admit::content(&plan).unwrap();
    world.seen.letters.asks.insert("ask-1".into(), serde_json::from_slice(&bytes).unwrap());
    world.beat();
    assert_eq!(world.act(), None, "it waits for the answer");
    assert_eq!(world.engine.ledger().goal("x").last.as_deref(), Some("exit 1"), "a question is no attempt");
    world
}

/// The reason for which the question was taken back in the last beat.
fn withdrawn(world: &World) -> Option<Withdrawal> {
    let settles = world.effects.iter().any(|effect| matches!(effect, Effect::Settle(ask) if ask == "ask-1"));
    let last = world.lines.last().into_iter().flat_map(|line| &line.entries);
    let mut reason = last
        .filter_map(|entry| if let Entry::Withdrawn { reason, .. } = entry { Some(*reason) } else { None });
    let reason = reason.next_back();
    assert_eq!(reason.is_some(), settles, "the letter goes with the question");
    reason
}

fn answers(world: &mut World, text: &str) {
    let answer = Answer { v: 1, ask: "ask-1".into(), text: text.into(), answered: 0 };
    world.seen.letters.answers.insert("ask-1".into(), answer);
    world.beat();
    world.seen.letters = crate::world::observation::Letters::default();
}

#[test]
fn a_goal_that_is_gone_or_holds_takes_its_question_back() {
    let mut gone = asked();
    gone.seen.docs.goals.remove("x");
    gone.beat();
    assert_eq!(withdrawn(&gone), Some(Withdrawal::Gone));

    let mut fixed = asked();
    fixed.check("x", 0);
    fixed.beat();
    assert_eq!(withdrawn(&fixed), Some(Withdrawal::Holds));
    for world in [gone, fixed] {
        assert!(world.engine.ledger().asks.is_empty());
        world.audit();
    }
}

#[test]
fn a_rewritten_recipe_takes_the_question_back_and_is_tried() {
    let mut world = asked().goal("x", &format!("{RECIPE}Words that change nothing.\n"));
    world.beat();
    assert_eq!((withdrawn(&world), world.act()), (None, None), "the recipe is the same");
    let mut world = world.goal("x", &RECIPE.replace("run: ", "run: true; "));
    world.beat();
    assert_eq!(withdrawn(&world), Some(Withdrawal::Rewritten));
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"));
    world.audit();
}

#[test]
fn a_recipe_that_is_rewritten_before_anyone_is_asked_is_counted_anew() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    for _ in 0..3 {
        world.beat();
        world.acted(shell(1));
    }
    let mut world = world.goal("x", &RECIPE.replace("run: ", "run: true; "));
    for _ in 0..3 {
        world.beat();
        assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"));
        world.acted(shell(1));
    }
    world.beat();
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("ask_human"));
}

#[test]
fn whatever_is_not_again_leaves_the_goal_alone_until_its_recipe_changes() {
    for text in ["leave", "no idea"] {
        let mut world = asked();
        answers(&mut world, text);
        for _ in 0..3 {
            world.beat();
            assert_eq!(world.act(), None, "{text}");
        }
        let mut world = world.goal("x", &RECIPE.replace("run: ", "run: true; "));
        world.beat();
        assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"), "{text}");
        world.audit();
    }
}

#[test]
fn a_goal_that_was_left_alone_and_held_since_is_tried_when_it_fails_again() {
    let mut world = asked();
    answers(&mut world, "leave");
    world.check("x", 0);
    world.beat();
    world.check("x", 1);
    world.beat();
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"));
}

#[test]
fn only_the_options_of_a_closed_question_are_answers() {
    let ask = asked().seen.letters.asks.remove("ask-1").unwrap();
    assert!(ask.closed);
    let table = [("again", Some("again")), (" Again\n", Some("again")), ("l", Some("leave")), ("", None)];
    for (text, choice) in table.into_iter().chain([("try again", None), ("yes", None)]) {
        assert_eq!(ask.choice(text), choice, "{text}");
    }
}
