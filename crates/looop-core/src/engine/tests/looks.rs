//! Full and quick looks: which are begun, which wait, and what they may decide.

use super::*;

/// The looks that were begun, oldest first.
fn begun(world: &World) -> Vec<(Scope, Vec<String>)> {
    world.each(|effect| {
        if let Effect::Sense(scope, stale) = effect {
            Some((*scope, stale.iter().cloned().collect()))
        } else {
            None
        }
    })
}

fn scopes(world: &World) -> Vec<Scope> {
    begun(world).into_iter().map(|(scope, _)| scope).collect()
}

/// A look of this scope ends with the world as it is.
fn seen(world: &mut World, scope: Scope) {
    let seen = Observation { scope, ..world.seen.clone() };
    world.step(Event::Sensed(Box::new(seen)));
}

fn woke(world: &mut World, cause: Cause) {
    world.step(Event::Woke(cause));
}

#[test]
fn a_quick_look_does_not_wait_for_a_full_one() {
    let mut world = World::new(false, &["m"]);
    woke(&mut world, Cause::Timer);
    woke(&mut world, Cause::Files);
    assert_eq!(scopes(&world), [Scope::Full, Scope::Quick]);
    seen(&mut world, Scope::Quick);
    assert_eq!(world.decides(), 1, "the quick one decides at once");
    assert!(!world.engine.looks.is_empty() && world.engine.looked() == 0);
    world.decided(&json!({"action": "noop"}));
    seen(&mut world, Scope::Full);
    assert_eq!((world.decides(), world.engine.looked(), world.engine.is_idle()), (1, 1, true));
    world.audit();
}

#[test]
fn causes_are_as_wide_as_they_say() {
    let table = [
        (Cause::Start, Scope::Full),
        (Cause::Timer, Scope::Full),
        (Cause::Nudge, Scope::Full),
        (Cause::Person, Scope::Full),
        (Cause::Files, Scope::Quick),
        (Cause::Session, Scope::Quick),
        (Cause::Schedule, Scope::Quick),
        (Cause::Clock, Scope::Quick),
        (Cause::Followup, Scope::Quick),
    ];
    for (cause, scope) in table {
        let mut world = World::new(true, &[]);
        woke(&mut world, cause);
        assert_eq!(scopes(&world), [scope], "{cause:?}");
    }
}

#[test]
fn what_is_wanted_while_a_look_is_under_way_is_one_more_look() {
    for (cause, scope) in [(Cause::Timer, Scope::Full), (Cause::Files, Scope::Quick)] {
        let mut world = World::new(true, &[]);
        for _ in 0..5 {
            woke(&mut world, cause);
        }
        assert_eq!(scopes(&world), [scope]);
        seen(&mut world, scope);
        assert_eq!(scopes(&world), [scope, scope]);
        seen(&mut world, scope);
        assert_eq!(scopes(&world), [scope, scope], "and no other");
        assert!(world.engine.is_idle());
    }
}

#[test]
fn a_beat_that_joins_a_wanted_look_is_still_a_persons() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.effects.clear();
    woke(&mut world, Cause::Timer);
    woke(&mut world, Cause::Timer);
    let id = world.ask(Request::Beat);
    seen(&mut world, Scope::Full);
    assert_eq!((world.decides(), world.reply(id)), (0, None), "the look under way was not for them");
    seen(&mut world, Scope::Full);
    assert_eq!(world.decides(), 1, "forced by the person");
    world.decided(&json!({"action": "noop"}));
    assert!(world.reply(id).is_some());
    world.audit();
}

#[test]
fn a_look_that_nobody_began_is_ignored() {
    let mut world = World::new(false, &["m"]);
    seen(&mut world, Scope::Quick);
    world.step(Event::Blind("no".into(), Scope::Full));
    assert_eq!((world.decides(), world.lines.len()), (0, 0));
    woke(&mut world, Cause::Timer);
    seen(&mut world, Scope::Quick);
    assert_eq!(world.decides(), 0, "it is not the one that was begun");
    seen(&mut world, Scope::Full);
    assert_eq!(world.decides(), 1);
}

#[test]
fn a_blind_look_ends_the_look_of_its_own_scope() {
    let mut world = World::new(true, &[]);
    woke(&mut world, Cause::Timer);
    woke(&mut world, Cause::Files);
    world.step(Event::Blind("goals/ cannot be read".into(), Scope::Quick));
    assert!(matches!(world.why(), Some(Why::BadFile { .. })));
    assert!(!world.engine.is_idle());
    seen(&mut world, Scope::Full);
    assert!(matches!(world.why(), Some(Why::NothingReady { .. })));
    assert!(world.engine.is_idle());
    world.audit();
}

#[test]
fn a_full_look_waits_for_a_move_and_a_quick_one_is_owed() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    world.beat();
    world.decided(&json!({"action": "run_shell", "cmd": "true"}));
    world.effects.clear();
    woke(&mut world, Cause::Timer);
    assert_eq!(scopes(&world), [], "it would see the move half done");
    world.seen.docs.goals.insert("g".into(), Doc::of("# Edited\n"));
    woke(&mut world, Cause::Files);
    assert_eq!(scopes(&world), [Scope::Quick]);
    seen(&mut world, Scope::Quick);
    assert_eq!((world.decides(), world.engine.is_idle()), (0, false), "one move at a time");
    world.acted(shell(0));
    assert_eq!(scopes(&world), [Scope::Quick, Scope::Full, Scope::Quick], "both are begun now");
    seen(&mut world, Scope::Quick);
    assert_eq!(world.decides(), 1, "and what was owed is paid");
    world.audit();
}

#[test]
fn several_looks_during_a_move_are_one_debt() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "run_shell", "cmd": "true"}));
    world.effects.clear();
    for _ in 0..3 {
        woke(&mut world, Cause::Files);
        seen(&mut world, Scope::Quick);
    }
    world.acted(shell(0));
    assert_eq!(scopes(&world).len(), 4);
}

#[test]
fn the_next_look_runs_the_check_of_a_goal_that_was_served() {
    for cause in [Cause::Files, Cause::Timer] {
        let mut world = World::new(true, &[]).goal("x", RECIPE);
        world.check("x", 1);
        world.beat();
        world.acted(shell(0));
        world.check("x", 0);
        world.effects.clear();
        woke(&mut world, cause);
        assert_eq!(begun(&world), [(cause.scope(), vec!["x".to_owned()])]);
        seen(&mut world, cause.scope());
        woke(&mut world, cause);
        assert_eq!(begun(&world)[1].1, Vec::<String>::new(), "once");
    }
}

#[test]
fn a_goal_just_served_is_not_served_again_by_an_older_look() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    woke(&mut world, Cause::Timer);
    woke(&mut world, Cause::Files);
    seen(&mut world, Scope::Quick);
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"));
    world.acted(shell(0));
    world.effects.clear();
    // The full look began before the move, and its check says what was true then.
    seen(&mut world, Scope::Full);
    assert_eq!(world.act(), None);
    let Some(Why::NothingReady { reason }) = world.why() else { panic!("{:?}", world.why()) };
    assert!(reason.contains("x was served a moment ago"), "{reason}");
    world.beat();
    assert_eq!(world.act().map(|plan| plan.action.action()), Some("run_shell"), "the next one tells");
    world.audit();
}

#[test]
fn a_goal_just_served_does_not_keep_a_model_from_being_asked() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 1);
    woke(&mut world, Cause::Timer);
    woke(&mut world, Cause::Files);
    seen(&mut world, Scope::Quick);
    world.acted(shell(0));
    seen(&mut world, Scope::Full);
    assert_eq!(world.decides(), 1);
    world.decided(&json!({"action": "noop"}));
    woke(&mut world, Cause::Files);
    seen(&mut world, Scope::Quick);
    let Some(Why::NothingReady { reason }) = world.why() else { panic!("{:?}", world.why()) };
    assert!(reason.contains("x was served a moment ago"), "the goal's own reason is on record: {reason}");
    world.audit();
}

#[test]
fn a_dry_run_joins_a_look_and_leaves_the_rest_alone() {
    let mut world = World::new(false, &["m"]);
    woke(&mut world, Cause::Files);
    let id = world.ask(Request::DryRun);
    assert_eq!(scopes(&world), [Scope::Quick, Scope::Full]);
    seen(&mut world, Scope::Full);
    assert!(matches!(world.reply(id), Some(Reply::DryRun { .. })));
    assert_eq!((world.decides(), world.lines.len()), (0, 0));
    seen(&mut world, Scope::Quick);
    assert_eq!(world.decides(), 1);
}
