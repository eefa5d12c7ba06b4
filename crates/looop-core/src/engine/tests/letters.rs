//! Letters: what workers ask, what people answer and tell, and what is taken from the dead.

use super::*;
use crate::ledger::state::NoteKind;
use crate::model::letter::AskKind;
use crate::world::fleet::WorkerState;

/// A live worker of a person.
fn employed() -> World {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world
}

fn said(world: &World) -> Vec<String> {
    world.logged(|entry| {
        if let Entry::Asked { ask, from, kind, .. } = entry {
            Some(format!("{from} asked {ask} ({kind:?})"))
        } else if let Entry::Answered { ask, text } = entry {
            Some(format!("{ask} answered {text}"))
        } else if let Entry::Dismissed { ask } = entry {
            Some(format!("{ask} dismissed"))
        } else if let Entry::Told { tell, session, text, .. } = entry {
            Some(format!("{session} told {tell}: {text}"))
        } else {
            None
        }
    })
}

#[test]
fn what_a_worker_asks_is_noted_once_with_its_kind() {
    let mut world = employed();
    world.asks("a", "w~1", AskKind::Question);
    world.asks("b", "w~1", AskKind::Flag);
    world.asks("c", "w~1", AskKind::Proposal);
    world.beat();
    world.crash();
    world.beat();
    let asked = ["w~1 asked a (Question)", "w~1 asked b (Flag)", "w~1 asked c (Proposal)"];
    assert_eq!(said(&world), asked);
    assert_eq!(world.engine.ledger().asks["b"].kind, AskKind::Flag);
    world.audit();
}

#[test]
fn the_answer_to_a_live_worker_that_blocks_on_it_is_left_for_it_to_fetch() {
    let mut world = employed();
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.answers("a", "yes");
    world.seen.letters.awaited.insert("a".to_owned());
    for _ in 0..3 {
        world.beat();
        assert_eq!((world.settle(), world.doing()), (vec![], None), "the letters are the worker's");
        if world.decides() == 1 {
            world.decided(&json!({"action": "noop"}));
        }
    }
    world.fetches("a");
    world.beat();
    assert_eq!(said(&world), ["w~1 asked a (Question)", "a answered yes"], "told once");
    assert_eq!(world.engine.ledger().asks.len(), 0);
    world.audit();
}

#[test]
fn an_answer_that_was_fetched_between_two_looks_is_an_answer() {
    let mut world = employed();
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.answers("a", "yes");
    world.fetches("a");
    world.beat();
    world.beat();
    assert_eq!(said(&world), ["w~1 asked a (Question)", "a answered yes"]);
    world.audit();
}

#[test]
fn an_ask_that_vanished_is_dismissed_and_one_that_cannot_be_read_is_not() {
    for (broken, dismissed) in [
        (None, true),
        (Some("asks/a.json"), false),
        (Some("asks"), false),
        (Some("asks/b.json"), true),
        (Some("answers/a.json"), true),
    ] {
        let mut world = employed();
        world.asks("a", "w~1", AskKind::Question);
        world.beat();
        world.seen.letters.asks.clear();
        world.seen.letters.broken.extend(broken.map(|file| (file.to_owned(), "not JSON".to_owned())));
        world.beat();
        world.beat();
        assert_eq!(world.engine.ledger().asks.is_empty(), dismissed, "{broken:?}");
        let told = said(&world).into_iter().filter(|line| line == "a dismissed").count();
        assert_eq!(told, usize::from(dismissed), "{broken:?}");
        world.audit();
    }
}

#[test]
fn what_a_worker_asked_is_told_to_the_worker_and_not_to_the_decider() {
    let told = |world: &World| {
        let notes = &world.engine.ledger().notes;
        notes.iter().any(|note| matches!(note.what, NoteKind::Answer { .. }))
    };
    for (from, decider) in [("w~1", false), ("stranger~1", true)] {
        let mut world = employed();
        world.asks("a", from, AskKind::Question);
        world.beat();
        world.answers("a", "yes");
        world.beat();
        assert_eq!(told(&world), decider, "{from}");
        world.audit();
    }
}

#[test]
fn the_letters_of_flags_and_strangers_go_when_they_are_answered() {
    let table = [
        ("w~1", AskKind::Question, false),
        ("w~1", AskKind::Flag, true),
        // A letter is no consent, so it settles none.
        ("w~1", AskKind::Proposal, false),
        ("gone~1", AskKind::Question, true),
        ("pulse", AskKind::Question, true),
    ];
    for (from, kind, goes) in table {
        let mut world = employed();
        world.asks("a", from, kind);
        world.beat();
        world.answers("a", "yes");
        world.beat();
        let expected = if goes { vec!["a".to_owned()] } else { vec![] };
        assert_eq!(world.settle(), expected, "{kind:?} of {from}");
        world.audit();
    }
}

#[test]
fn a_crash_between_the_log_and_the_letters_settles_them_later() {
    let mut world = employed();
    world.asks("a", "w~1", AskKind::Flag);
    world.beat();
    world.answers("a", "");
    world.beat();
    world.crash();
    world.beat();
    assert!(world.settle().contains(&"a".to_owned()), "they were still there");
    assert_eq!(said(&world), ["w~1 asked a (Flag)", "a answered "]);
    world.audit();
}

#[test]
fn a_goal_waits_for_what_its_worker_asks() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    world.hire("w", Some("g"));
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    assert_eq!(world.engine.ledger().goal("g").ask.as_deref(), Some("a"));
    world.decided(&json!({"action": "start_worker", "id": "v", "prompt": "p", "goal": "g"}));
    assert_eq!(world.doing(), None, "it waits on a person");
    world.answers("a", "yes");
    world.fetches("a");
    world.beat();
    assert_eq!(world.engine.ledger().goal("g").ask, None);
    world.audit();
}

#[test]
fn what_a_worker_is_told_is_noted_once() {
    let mut world = employed();
    world.tells("t", "w~1");
    world.beat();
    world.crash();
    world.beat();
    assert_eq!((said(&world), world.reaps()), (vec!["w~1 told t: be brief".to_owned()], 0));
    world.seen.letters.tells.clear();
    world.beat();
    assert_eq!(said(&world).len(), 1);
    world.audit();
}

// What the dead leave behind.

#[test]
fn claims_and_tells_of_the_dead_are_taken_and_of_the_living_are_not() {
    type Setting = fn(&mut World);
    let alive: Setting = |_| {};
    let paused: Setting =
        |world| world.seen.docs.fleet.workers.get_mut("w~1").unwrap().state = WorkerState::Paused;
    let dead: Setting = |world| world.dies("w~1", WorkerState::Exited(0));
    let gone: Setting = |world| world.seen.docs.fleet.workers.clear();
    let unknown: Setting = |world| {
        world.seen.docs.fleet.workers.clear();
        world.seen.docs.fleet.fault = Some("sessions/ cannot be read".into());
    };
    let table = [
        ("alive", alive, false),
        ("paused", paused, false),
        ("dead", dead, true),
        ("gone", gone, true),
        ("unknown", unknown, false),
    ];
    for (name, setting, reaped) in table {
        for tell in [true, false] {
            let mut world = employed();
            if tell {
                world.tells("t", "w~1");
            } else {
                world.claims("x", "w~1");
            }
            setting(&mut world);
            world.beat();
            assert_eq!(world.reaps(), usize::from(reaped), "{name}, tell: {tell}");
            world.audit();
        }
    }
    let mut world = employed();
    world.beat();
    assert_eq!(world.reaps(), 0, "nothing to take");
}

#[test]
fn a_claim_in_the_name_of_a_worker_holds_as_long_as_one_of_its_sessions_lives() {
    let mut world = employed();
    world.claims("x", "w");
    world.beat();
    assert_eq!(world.reaps(), 0);
    world.dies("w~1", WorkerState::Exited(0));
    world.beat();
    assert_eq!(world.reaps(), 1);
}

#[test]
fn what_was_taken_is_logged() {
    let mut world = employed();
    world.step(Event::Reaped(vec![("x".into(), "w~1".into()), ("y".into(), "w~1".into())]));
    let taken = world.logged(|entry| {
        if let Entry::ClaimReaped { claim, session } = entry {
            Some(format!("{claim} of {session}"))
        } else {
            None
        }
    });
    assert_eq!(taken, ["x of w~1", "y of w~1"]);
    let lines = world.lines.len();
    world.step(Event::Reaped(Vec::new()));
    assert_eq!(world.lines.len(), lines, "nothing is no news");
    world.audit();
}

#[test]
fn a_dry_run_leaves_no_trace_of_any_of_it() {
    let mut world = World::new(true, &["m"]).goal("g", super::crew::WORKED);
    world.check("g", 0);
    for id in ["w", "v", "u"] {
        world.hire(id, None);
    }
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.answers("a", "yes");
    world.asks("b", "v~1", AskKind::Flag);
    world.tells("t", "v~1");
    world.claims("x", "u~1");
    world.dies("w~1", WorkerState::Exited(1));
    world.dies("u~1", WorkerState::Lost);
    world.proof("u~1", 0);
    world.pass(Duration::from_hours(100));
    world.effects.clear();
    let (lines, ledger) = (world.lines.len(), world.engine.ledger().clone());
    let id = world.ask(Request::DryRun);
    world.sense();
    let Some(Reply::DryRun { verdict, .. }) = world.reply(id) else { panic!("a reply") };
    assert_eq!(verdict, "the loop itself would restart_session: w~1 had died when a was answered");
    assert_eq!((world.lines.len(), world.engine.ledger()), (lines, &ledger));
    let other =
        world.each(|effect| (!matches!(effect, Effect::Sense(..) | Effect::Reply(..))).then_some(effect));
    assert!(other.is_empty(), "{other:?}");
    world.beat();
    assert_eq!((world.reaps(), world.doing()), (1, Some("restart_session")), "a beat does all of it");
    assert!(world.lines.len() > lines);
    world.audit();
}

#[test]
fn what_a_confined_worker_is_done_with_is_put_away_for_it() {
    let mut world = employed();
    world.asks("a", "w~1", AskKind::Question);
    world.asks("b", "w~1", AskKind::Flag);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.answers("a", "yes");
    world.seen.letters.awaited.insert("a".to_owned());
    world.beat();
    assert_eq!(world.settle(), Vec::<String>::new(), "the letters are the worker's");
    for ask in ["a", "b"] {
        world.seen.letters.asks.get_mut(ask).unwrap().fetched = true;
    }
    assert!(world.seen.letters.waiting().is_empty() && world.seen.letters.unfetched().is_empty());
    world.beat();
    assert_eq!(world.settle(), ["a", "b"]);
    assert!(said(&world).contains(&"b dismissed".to_owned()), "{:?}", said(&world));
    world.audit();
}

#[test]
fn neither_a_workers_question_nor_its_answer_costs_a_decide() {
    let mut world = employed();
    world.beat();
    if world.decides() == 1 {
        world.decided(&json!({"action": "noop"}));
    }
    world.asks("a", "w~1", AskKind::Question);
    world.beat();
    assert_eq!((world.decides(), world.engine.ledger().asks.len()), (0, 1), "a question");
    world.answers("a", "yes");
    world.seen.letters.awaited.insert("a".to_owned());
    world.beat();
    assert_eq!((world.decides(), world.engine.ledger().asks.len()), (0, 0), "an answer");
    world.fetches("a");
    world.beat();
    assert_eq!(world.decides(), 0, "an answer that was fetched");
    world.audit();
}

#[test]
fn a_question_of_a_decider_that_waits_is_not_asked_twice() {
    let mut world = World::new(false, &["m"]).goal("g", "A goal in prose.");
    let ask = |prompt: &str| json!({"action": "ask_human", "prompt": prompt, "goal": "g"});
    world.beat();
    world.decided(&ask("Main or release?"));
    world.asked_a_person();
    world.pass(Duration::from_hours(1));
    world.seen.docs.playbook = Doc::of("something changed");
    world.beat();
    world.decided(&ask("main or  Release?"));
    let refused = world
        .logged(|entry| if let Entry::Rejected { reason, .. } = entry { Some(reason.clone()) } else { None });
    assert_eq!(refused, ["ask you: main or Release?: ask-1 asks the same and waits for an answer"]);
    assert_eq!(world.engine.ledger().asks.len(), 1);
    world.audit();
}
