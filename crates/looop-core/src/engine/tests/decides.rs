//! What a decide left behind: a failure, or a decision that has to wait.

use super::*;
use crate::ledger::state::DaySpend;

#[test]
fn a_decide_without_a_decision_is_a_failure_and_costs_what_was_set_aside() {
    let table = [
        (None, None, FailureKind::NoDecision, "the decider left no decision"),
        (Some(json!(7)), None, FailureKind::Unusable, ""),
        (None, Some((FailureKind::Timeout, "too slow".to_owned())), FailureKind::Timeout, "too slow"),
    ];
    for (decision, failure, kind, said) in table {
        let mut world = World::new(false, &["m"]);
        world.beat();
        let run = world.engine.ledger().deciding.as_ref().unwrap().run;
        let record = record(run, decision, failure, world.now.wall);
        let docs = Box::new(world.seen.docs.clone());
        world.step(Event::Decided(run, Box::new(record), docs));
        let Some(Entry::Failed { failure, reason, spend, .. }) = world.entries().last() else { panic!() };
        assert_eq!((*failure, spend.usd, spend.source.as_str()), (kind, 1.0, "reserved"));
        assert!(reason.contains(said) && !reason.is_empty(), "{reason}");
        let day = DaySpend {
            spent: Micros::new(1_000_000),
            unreported: Micros::new(1_000_000),
            unreported_by: Some("m".to_owned()),
            decides: 1,
            since: Some(world.now.stamp()),
            ..DaySpend::default()
        };
        assert_eq!(world.engine.ledger().spend["2027-01-15"], day);
        world.audit();
    }
}

fn adopts(world: &World) -> usize {
    world.effects.iter().filter(|effect| matches!(effect, Effect::Adopt(..))).count()
}

#[test]
fn a_decision_waits_for_the_move_under_way_and_is_fetched_again_after_it() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 0);
    world.beat();
    world.check("x", 1);
    world.beat();
    let recipe = world.act().expect("the recipe").clone();
    world.decided(&json!({"action": "run_shell", "cmd": "y"}));
    assert_eq!((world.act(), adopts(&world)), (Some(&recipe), 0), "one move at a time");
    world.effects.clear();
    world.acted(shell(0));
    assert_eq!((adopts(&world), world.engine.ledger().goal("x").attempts), (1, 1));
    world.decided(&json!({"action": "run_shell", "cmd": "y"}));
    assert_eq!(world.act().map(|plan| plan.action.summary()).as_deref(), Some("ran y"));
    world.effects.clear();
    world.acted(shell(0));
    assert_eq!(adopts(&world), 0, "used once");
    world.audit();
}

#[test]
fn a_persons_move_is_answered_for_itself_and_overtakes_the_decision_that_waited() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    let body = "New.".to_owned();
    let id = world.ask(Request::Make { proposal: Proposal::of(Move::WritePlaybook { body }) });
    world.decided(&json!({"action": "noop"}));
    assert_eq!(world.reply(id), None);
    world.acted(Outcome::done());
    let reply = world.reply(id);
    assert!(
        matches!(&reply, Some(Reply::Made { summary, .. }) if summary == "wrote PLAYBOOK.md"),
        "{reply:?}"
    );
    world.seen.docs.playbook = Doc::of("New.\n");
    world.decided(&json!({"action": "noop"}));
    assert!(matches!(world.entries().last(), Some(Entry::Overtaken { .. })));
    world.audit();
}

#[test]
fn a_decision_that_waited_is_not_used_by_a_loop_that_ends() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 0);
    world.beat();
    world.check("x", 1);
    world.beat();
    world.decided(&json!({"action": "run_shell", "cmd": "y"}));
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    world.effects.clear();
    world.acted(shell(0));
    assert_eq!(adopts(&world), 1, "its spend is still to be settled");
    world.decided(&json!({"action": "run_shell", "cmd": "y"}));
    assert_eq!(world.act(), None);
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Exit)));
    world.audit();
}
