//! Workers and the baseline: what of them wakes a paid decider, and what is our own doing.

use super::*;
use crate::model::letter::AskKind;
use crate::world::baseline::Change;
use crate::world::fleet::WorkerState;

/// A beat, and whether a decider was asked; its noop settles the world.
fn wakes(world: &mut World) -> bool {
    world.pass(Duration::from_mins(1));
    world.beat();
    let woke = world.decides() == 1;
    if woke {
        world.decided(&json!({"action": "noop"}));
    }
    woke
}

fn changes(world: &World) -> Vec<String> {
    let last = world.logged(|entry| {
        if let Entry::DecideStarted { changes, .. } = entry { Some(changes.clone()) } else { None }
    });
    last.last().into_iter().flatten().map(Change::text).collect()
}

/// A decider starts `w`, and all is settled.
fn own() -> World {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    world.beat();
    world.decided(&json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": "g"}));
    world.begun();
    world
}

#[test]
fn our_own_start_and_its_claims_do_not_wake_and_its_end_does() {
    let mut world = own();
    assert!(!wakes(&mut world));
    world.claims("x", "w~1");
    assert!(!wakes(&mut world), "what it claims is part of what it was started for");
    world.dies("w~1", WorkerState::Exited(3));
    assert!(wakes(&mut world));
    let old = r#"{"alive":true,"exit_code":null,"goal":"g","health":"busy","id":"w","state":"alive","verify":null}"#;
    let new =
        r#"{"alive":false,"exit_code":3,"goal":"g","health":"dead","id":"w","state":"exited","verify":null}"#;
    assert_eq!(changes(&world), [format!("~ worker:w {old} → {new}")]);
    assert!(!wakes(&mut world), "once");
    world.audit();
}

#[test]
fn a_persons_start_and_its_claims_wake() {
    let mut world = World::new(false, &["m"]);
    assert!(wakes(&mut world));
    world.hire("w", None);
    assert!(wakes(&mut world));
    assert!(!wakes(&mut world));
    world.claims("x", "w~1");
    assert!(wakes(&mut world));
    assert_eq!(changes(&world), [r#"+ claim:x {"claim":"w~1","name":"x"}"#]);
    world.seen.letters.claims.clear();
    assert!(wakes(&mut world));
    assert_eq!(changes(&world), ["- claim:x"]);
    world.audit();
}

#[test]
fn a_start_of_a_recipe_does_not_wake_the_model_beside_it() {
    let mut world = World::new(true, &["m"]).goal("g", super::crew::WORKED);
    world.check("g", 0);
    assert!(wakes(&mut world));
    world.check("g", 1);
    world.beat();
    assert_eq!(world.doing(), Some("start_worker"));
    world.begun();
    assert!(wakes(&mut world), "the failed check is a change");
    assert!(changes(&world).iter().all(|change| !change.contains("worker:")), "{:?}", changes(&world));
    assert!(!wakes(&mut world));
    world.audit();
}

#[test]
fn a_kill_or_a_restart_of_our_own_does_not_wake_and_a_persons_kill_does() {
    let mut world = own();
    world.reading("ci", json!(1));
    world.beat();
    world.decided(&json!({"action": "restart_session", "id": "w"}));
    world.begun();
    world.dies("w~1", WorkerState::Killed);
    assert!(!wakes(&mut world), "restarted");
    world.reading("ci", json!(2));
    world.beat();
    world.decided(&json!({"action": "kill_worker", "id": "w"}));
    world.acted(Outcome::done());
    world.dies("w~2", WorkerState::Killed);
    assert!(!wakes(&mut world), "killed");
    world.audit();
    let mut world = own();
    world.make(json!({"action": "kill_worker", "id": "w"}));
    world.acted(Outcome::done());
    world.dies("w~1", WorkerState::Killed);
    assert!(wakes(&mut world), "killed by a person");
    world.audit();
}

#[test]
fn a_proof_and_a_silence_wake_and_a_wait_does_not() {
    let mut world = own();
    assert!(!wakes(&mut world));
    world.asks("a", "w~1", AskKind::Flag);
    assert!(!wakes(&mut world), "it waits on a person");
    world.seen.letters.asks.clear();
    world.docs_of_now();
    assert!(!wakes(&mut world), "and no longer");
    world.seen.docs.fleet.workers.get_mut("w~1").unwrap().silent_s = Some(15 * 60);
    assert!(wakes(&mut world), "it is stuck");
    world.dies("w~1", WorkerState::Exited(0));
    assert!(wakes(&mut world), "it ended");
    world.proof("w~1", 0);
    assert!(wakes(&mut world), "its work is proven");
    assert!(!wakes(&mut world));
    world.audit();
}

#[test]
fn what_is_pruned_is_no_change() {
    for by_person in [true, false] {
        let mut world = if by_person { World::new(false, &["m"]) } else { own() };
        if by_person {
            world.hire("w", None);
        }
        world.dies("w~1", WorkerState::Exited(0));
        assert!(wakes(&mut world));
        world.seen.docs.fleet.workers.clear();
        world.step(Event::Pruned(None, vec!["w~1".into()], Vec::new()));
        assert!(!wakes(&mut world), "by a person: {by_person}");
        assert_eq!(world.engine.ledger().baseline.keys().find(|item| item.starts_with("worker:")), None);
        world.audit();
    }
}

#[test]
fn what_is_pruned_of_a_worker_that_lives_again_is_no_change() {
    let mut world = own();
    world.dies("w~1", WorkerState::Exited(0));
    assert!(wakes(&mut world));
    world.hire("w", None);
    assert!(wakes(&mut world));
    world.seen.docs.fleet.workers.remove("w~1");
    world.step(Event::Pruned(None, vec!["w~1".into()], Vec::new()));
    assert!(!wakes(&mut world));
    world.audit();
}

#[test]
fn an_answer_that_is_brought_does_not_wake() {
    let mut world = own();
    world.asks("a", "w~1", AskKind::Question);
    assert!(!wakes(&mut world));
    world.answers("a", "yes");
    world.dies("w~1", WorkerState::Lost);
    world.beat();
    assert_eq!(world.doing(), Some("restart_session"));
    world.begun();
    world.beat();
    world.settle();
    let woke = world.decides() == 1;
    let changed = changes(&world);
    assert!(!woke || !changed.iter().any(|change| change.contains("worker:w")), "{changed:?}");
    world.audit();
}
