//! Looks: which are owed, which come too late, and what the first ones may do.

use super::beats::letter;
use super::*;

#[test]
fn what_changed_while_somebody_decided_is_looked_at_afterwards() {
    for overtaken in [true, false] {
        let mut world = World::new(false, &["m"]).goal("g", "Do it.");
        world.beat();
        assert_eq!(world.decides(), 1);
        world.seen.docs.goals.insert("g".to_owned(), Doc::of("Do it not."));
        world.seen.scope = Scope::Quick;
        world.step(Event::Woke(Cause::Files));
        world.sense();
        assert!(matches!(
            world.lines.last().unwrap().entries.last(),
            Some(Entry::Skipped { why: Why::Busy { .. }, .. })
        ));
        world.effects.clear();
        if overtaken {
            world.decided(&json!({"action": "run_shell", "cmd": "true", "goal": "g"}));
        } else {
            let run = world.engine.ledger().deciding.as_ref().unwrap().run;
            world.step(Event::RunNeverRan(run));
        }
        assert!(
            world.effects.iter().any(|effect| matches!(effect, Effect::Sense(Scope::Quick, _))),
            "{:?}",
            world.effects
        );
        world.sense();
        assert_eq!(world.decides(), 1, "it is decided upon without waiting");
        world.audit();
    }
}

#[test]
fn a_wake_while_the_loop_ends_does_not_keep_it_from_its_end() {
    let mut world = World::new(true, &[]);
    world.beat();
    world.step(Event::Stop { reason: "SIGTERM".to_owned(), keep_workers: false });
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Clear)));
    // The workers that are being ended say so.
    world.step(Event::Woke(Cause::Session));
    world.step(Event::Woke(Cause::Followup));
    world.step(Event::Cleared(Box::default(), Vec::new()));
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Exit)), "{:?}", world.effects);
}

#[test]
fn before_the_first_full_look_is_over_letters_are_taken_in_and_nothing_is_decided() {
    let mut world = World::new(false, &["m"]).goal("g", "Do it.");
    assert!(!world.engine.is_early());
    world.step(Event::Began { by_person: false });
    assert!(world.engine.is_early());
    world.seen.letters.asks.insert("a".to_owned(), letter("a", world.now.wall));
    world.step(Event::Woke(Cause::Files));
    let full = std::mem::take(&mut world.seen.readings);
    (world.seen.scope, world.seen.early) = (Scope::Quick, true);
    world.step(Event::Sensed(Box::new(world.seen.clone())));
    let entries = &world.lines.last().unwrap().entries;
    assert!(matches!(entries[..], [Entry::Asked { .. }, ..]), "{entries:?}");
    assert_eq!(world.decides(), 0);
    let quick = |world: &World| {
        world.each(|effect| matches!(effect, Effect::Sense(Scope::Quick, _)).then_some(())).len()
    };
    assert_eq!(quick(&world), 1, "and no other before that");
    (world.seen.scope, world.seen.early, world.seen.readings) = (Scope::Full, false, full);
    world.step(Event::Sensed(Box::new(world.seen.clone())));
    assert_eq!(world.decides(), 1);
    world.decided(&json!({"action": "noop"}));
    assert_eq!(quick(&world), 2, "what the early one saw is looked at again");
    world.seen.scope = Scope::Quick;
    world.sense();
    assert!(!world.engine.is_early());
    world.audit();
}
