//! Answers for the dead: brought once by beginning the task anew, and a second death is a person's to hear of.

use super::crew::WORKED;
use super::*;
use crate::model::letter::AskKind;
use crate::world::fleet::WorkerState;

/// A world in which `w~1` asked, died, and was answered.
fn answered_too_late(builtin: bool) -> World {
    let paid: &[&str] = if builtin { &[] } else { &["m"] };
    let mut world = World::new(builtin, paid).goal("g", WORKED);
    world.check("g", 0);
    world.hire("w", Some("g"));
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    if world.decides() == 1 {
        world.decided(&json!({"action": "noop"}));
    }
    world.dies("w~1", WorkerState::Exited(1));
    world.answers("a", "yes");
    world
}

fn again(session: &str) -> Act {
    Act::Again {
        from: "w~1".into(),
        session: session.into(),
        asks: vec!["a".into()],
        allowance: paid(),
        runner: None,
    }
}

/// All restarts that the log intends.
fn restarts(world: &World) -> usize {
    let is_restart = |plan: &Plan| matches!(plan.act, Act::Again { .. });
    world
        .logged(|entry| if let Entry::Intended { plan, .. } = entry { Some(is_restart(plan)) } else { None })
        .into_iter()
        .filter(|found| *found)
        .count()
}

/// All questions of the loop that the log intends.
fn questions(world: &World) -> Vec<String> {
    world.logged(|entry| {
        let Entry::Intended { plan, .. } = entry else { return None };
        if let Move::AskHuman { prompt, .. } = &plan.action { Some(prompt.clone()) } else { None }
    })
}

/// Lets the loop be, while nothing changes.
fn some_beats(world: &mut World) {
    for _ in 0..4 {
        world.pass(Duration::from_mins(20));
        world.beat();
        world.settle();
        if world.doing() == Some("ask_human") {
            world.asked_a_person();
        }
        if world.engine.ledger().deciding.is_some() {
            world.decided(&json!({"action": "noop"}));
        }
        assert!(!world.engine.is_busy(), "{:?}", world.effects);
    }
}

#[test]
fn an_answer_is_brought_to_the_dead_once_and_without_a_model() {
    for builtin in [true, false] {
        let mut world = answered_too_late(builtin);
        world.beat();
        let plan = world.act().expect("a restart").clone();
        assert_eq!((plan.action.action(), &plan.act), ("restart_session", &again("w~2")));
        assert_eq!((plan.author.word(), plan.goal.as_deref()), ("builtin", Some("g")));
        assert_eq!((world.decides(), world.settle()), (0, vec![]), "the letters stay until it is told");
        assert_eq!(world.begun(), "w~2");
        let record = world.engine.ledger().workers["w~2"].clone();
        assert_eq!((record.after.as_deref(), record.goal.as_deref()), (Some("a"), Some("g")));
        assert_eq!(record.verify.as_deref(), Some("test -e x"));
        world.beat();
        assert_eq!(world.settle(), ["a"], "and go then");
        world.dies("w~2", WorkerState::Exited(0));
        some_beats(&mut world);
        assert_eq!((restarts(&world), questions(&world).len()), (1, 0));
        world.audit();
    }
}

#[test]
fn a_worker_that_asked_and_was_answered_between_two_looks_is_brought_its_answer_too() {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.answers("a", "yes");
    world.dies("w~1", WorkerState::Lost);
    world.beat();
    assert_eq!(world.act().map(|plan| &plan.act), Some(&again("w~2")));
    world.begun();
    world.audit();
}

#[test]
fn no_answer_is_brought_where_nobody_is_to_have_it() {
    type Setting = fn(&mut World);
    let table: [(&str, Setting); 8] = [
        ("its work is proven", |world| world.proof("w~1", 0)),
        ("it lives", |world| world.dies("w~1", WorkerState::Alive)),
        ("it is paused", |world| world.dies("w~1", WorkerState::Paused)),
        ("a newer session of it lives", |world| world.put("w~7", WorkerState::Alive, None)),
        ("it is not known who lives", |world| world.seen.docs.fleet.fault = Some("unreadable".into())),
        ("the cap is reached", |world| {
            world.put("v~1", WorkerState::Alive, None);
            world.limit(|limits| limits.max_workers = Some(1));
        }),
        ("it is not answered", |world| world.seen.letters.answers.clear()),
        ("it has fetched the answer", |world| world.fetches("a")),
    ];
    for (name, setting) in table {
        let mut world = answered_too_late(true);
        setting(&mut world);
        world.docs_of_now();
        world.beat();
        world.beat();
        assert_eq!(restarts(&world), 0, "{name}");
        world.audit();
    }
}

#[test]
fn what_stood_in_the_way_only_delays_it() {
    let mut world = answered_too_late(true);
    world.put("w~7", WorkerState::Alive, None);
    world.put("v~1", WorkerState::Alive, None);
    world.limit(|limits| limits.max_workers = Some(2));
    world.beat();
    assert_eq!((world.doing(), world.settle()), (None, vec![]));
    world.dies("w~7", WorkerState::Exited(0));
    world.beat();
    assert_eq!(world.act().map(|plan| &plan.act), Some(&again("w~8")), "under a number of its own");
    world.begun();
    world.audit();
}

#[test]
fn flags_and_proposals_of_the_dead_are_not_brought_back() {
    for kind in [AskKind::Flag, AskKind::Proposal] {
        let mut world = World::new(true, &[]);
        world.hire("w", None);
        world.asks("a", "w~1", kind);
        world.beat();
        world.dies("w~1", WorkerState::Exited(1));
        world.answers("a", "yes");
        world.beat();
        let settled = if kind == AskKind::Flag { vec!["a".to_owned()] } else { vec![] };
        assert_eq!((restarts(&world), world.settle()), (0, settled), "{kind:?}");
        world.audit();
    }
}

#[test]
fn a_worker_that_dies_again_is_a_persons_to_hear_of_once() {
    let table = [
        (WorkerState::Exited(1), true),
        (WorkerState::Signalled(9), true),
        (WorkerState::TimedOut, true),
        (WorkerState::Lost, true),
        (WorkerState::Exited(0), false),
        (WorkerState::Killed, false),
    ];
    for (state, heard) in table {
        for builtin in [true, false] {
            let mut world = answered_too_late(builtin);
            world.beat();
            world.begun();
            world.beat();
            world.settle();
            world.dies("w~2", state.clone());
            some_beats(&mut world);
            world.crash();
            some_beats(&mut world);
            let text = format!("w~2 was told your answer to a and died again ({})", state.text());
            let asked = questions(&world);
            assert_eq!(asked.len(), usize::from(heard), "{state:?}: {asked:?}");
            assert!(asked.iter().all(|question| question.starts_with(&text)), "{asked:?}");
            assert_eq!(restarts(&world), 1, "{state:?}");
            world.audit();
        }
    }
}

#[test]
fn a_proven_worker_that_died_again_is_nobodys_worry() {
    let mut world = answered_too_late(true);
    world.beat();
    world.begun();
    world.dies("w~2", WorkerState::Exited(1));
    world.proof("w~2", 0);
    some_beats(&mut world);
    assert_eq!(questions(&world), Vec::<String>::new());
    world.audit();
}

#[test]
fn an_answer_that_could_not_be_brought_is_a_persons_to_hear_of_once() {
    for builtin in [true, false] {
        let mut world = answered_too_late(builtin);
        world.beat();
        world.acted(Outcome::failed("no space left"));
        some_beats(&mut world);
        world.crash();
        some_beats(&mut world);
        let asked = questions(&world);
        assert_eq!((restarts(&world), asked.len()), (1, 1), "{asked:?}");
        let text = "w~2 was told your answer to a and died again (could not be started: no space left)";
        assert!(asked[0].starts_with(text), "{asked:?}");
        assert_eq!(world.engine.ledger().workers["w~2"].goal.as_deref(), Some("g"));
        world.audit();
    }
}

#[test]
fn a_restart_that_never_ran_before_a_crash_still_brings_the_answer() {
    let mut world = answered_too_late(true);
    world.beat();
    world.crash();
    let beat = world.engine.ledger().acting.as_ref().unwrap().beat;
    world.effects.clear();
    world.step(Event::ActNeverRan(beat));
    assert_eq!(world.act().map(|plan| &plan.act), Some(&again("w~3")));
    assert_eq!(world.begun(), "w~3");
    world.beat();
    assert_eq!(world.settle(), ["a"]);
    assert_eq!((world.engine.ledger().redelivered["a"].as_str(), restarts(&world)), ("w~3", 1));
    world.audit();
}

#[test]
fn the_question_about_a_death_survives_a_crash() {
    let mut world = answered_too_late(true);
    world.beat();
    world.begun();
    world.dies("w~2", WorkerState::Lost);
    world.beat();
    assert_eq!(world.doing(), Some("ask_human"));
    world.crash();
    let (ask, _) = world.asked_a_person();
    assert_eq!(world.engine.ledger().goal("g").ask.as_ref(), Some(&ask));
    some_beats(&mut world);
    assert_eq!(questions(&world).len(), 1);
    world.audit();
}

#[test]
fn an_ending_loop_brings_nothing() {
    let mut world = answered_too_late(true);
    world.step(Event::Woke(Cause::Timer));
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    world.sense();
    assert_eq!(restarts(&world), 0);
    world.audit();
}

#[test]
fn answers_to_several_dead_workers_are_brought_one_after_the_other() {
    let mut world = World::new(true, &[]);
    for (id, ask) in [("u", "a"), ("v", "b"), ("w", "c")] {
        let session = world.hire(id, None);
        world.asks(ask, &session, AskKind::Question);
        world.answers(ask, "yes");
        world.dies(&session, WorkerState::Lost);
    }
    let mut brought = Vec::new();
    for _ in 0..5 {
        world.beat();
        world.settle();
        if world.doing() == Some("restart_session") {
            brought.push(world.begun());
        }
    }
    assert_eq!(brought, ["u~2", "v~2", "w~2"]);
    assert!(world.seen.letters.asks.is_empty());
    world.audit();
}

/// A world in which `w~1` runs, and was answered when nobody blocked on it.
fn answered_unheard() -> World {
    let mut world = World::new(true, &[]);
    world.hire("w", None);
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.answers("a", "take  the\nsecond");
    world
}

/// What is being typed as an answer, and to whom.
fn typing(world: &World) -> Option<(String, Option<String>, String)> {
    let plan = world.act()?;
    match (&plan.act, &plan.action) {
        (Act::Typed { session, answers, .. }, Move::SteerSession { input, .. }) => {
            Some((session.clone(), answers.clone(), input.clone()))
        }
        _ => None,
    }
}

#[test]
fn an_answer_is_typed_into_the_living_once_and_without_a_model() {
    let mut world = answered_unheard();
    world.beat();
    let (session, answers, input) = typing(&world).expect("an answer that is typed");
    assert_eq!((session.as_str(), answers.as_deref()), ("w~1", Some("a")));
    let told = "The person answered your question a (\"Really?\"): \"take the second\" Go on with that, and do not ask it again.";
    assert_eq!(input, told);
    assert_eq!((world.decides(), world.settle()), (0, vec![]), "the letters stay until it is told");
    world.acted(Outcome::done());
    world.beat();
    assert_eq!((typing(&world), world.settle()), (None, vec!["a".to_owned()]));
    some_beats(&mut world);
    assert_eq!(world.engine.ledger().redelivered["a"], "w~1");
    world.audit();
}

#[test]
fn nothing_is_typed_into_one_that_blocks_is_paused_or_has_fetched_it() {
    type Setting = fn(&mut World);
    let table: [(&str, Setting); 3] = [
        ("it blocks", |world| world.seen.letters.awaited = ["a".to_owned()].into()),
        ("it is paused", |world| world.dies("w~1", WorkerState::Paused)),
        ("it has fetched the answer", |world| world.fetches("a")),
    ];
    for (name, setting) in table {
        let mut world = answered_unheard();
        setting(&mut world);
        world.beat();
        assert_eq!(typing(&world), None, "{name}");
        world.audit();
    }
}

#[test]
fn what_could_not_be_typed_is_tried_again_when_the_screen_has_changed() {
    let mut world = answered_unheard();
    world.beat();
    world.acted(Outcome::failed("not typed: a dialog"));
    let silent = |world: &mut World, seconds| {
        world.seen.docs.fleet.workers.get_mut("w~1").unwrap().silent_s = Some(seconds);
    };
    // The gap, and what was printed since: (seconds since the last try, seconds of silence, whether it is tried).
    for (passed, quiet, tried) in [(4, 0, false), (2, 30, false), (1, 1, true), (6, 0, false), (5, 0, true)] {
        world.pass(Duration::from_secs(passed));
        silent(&mut world, quiet);
        world.beat();
        assert_eq!(typing(&world).is_some(), tried, "after {passed} s with {quiet} s of silence");
        if tried {
            world.acted(Outcome::failed("not typed: a dialog"));
        }
    }
    world.pass(Duration::from_hours(1));
    silent(&mut world, 0);
    world.beat();
    world.acted(Outcome::done());
    assert_eq!(world.engine.ledger().workers["w~1"].untyped, None);
    world.audit();
}
