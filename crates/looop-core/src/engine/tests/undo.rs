//! A person takes back what was done.

use super::*;

/// A world in which a decider has rewritten goal `g`, whose earlier body is kept.
fn rewritten() -> World {
    let mut world = World::new(false, &["m"]).goal("g", "# Old\n");
    world.beat();
    world.decided(&json!({"action": "write_goal", "id": "g", "body": "# New\n"}));
    world.acted(Outcome::done());
    world.seen.docs.goals.insert("g".into(), Doc::of("# New\n"));
    world.seen.docs.kept.insert(Digest::of(b"# Old\n"));
    world.effects.clear();
    world
}

fn refused(world: &mut World, beat: Option<BeatId>) -> String {
    let id = world.ask(Request::Undo { beat });
    match world.reply(id) {
        Some(Reply::Refused { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_undo_is_a_small_beat_of_its_own() {
    let mut world = rewritten();
    let last = world.engine.ledger().undo[0].beat;
    let id = world.ask(Request::Undo { beat: Some(last) });
    let plan = world.act().expect("a move").clone();
    let (before, after) = (Some(Digest::of(b"# New\n")), Some(Digest::of(b"# Old\n")));
    assert_eq!(plan.act, Act::File { path: "goals/g.md".into(), before, after });
    assert_eq!(world.reply(id), None, "the answer comes when it is done");
    world.acted(Outcome::done());
    let Some(Reply::Made { summary, outcome, .. }) = world.reply(id) else { panic!("no reply") };
    assert_eq!((summary.as_str(), outcome), ("took back: wrote goal g", Outcome::done()));
    let line = world.engine.ledger().journal.last().unwrap();
    assert!(line.ends_with(" you took back: wrote goal g"), "{line}");
    assert_eq!((world.engine.ledger().undo.len(), world.engine.ledger().written.len()), (0, 0));
    assert_eq!(refused(&mut world, None), "there is no move that could be taken back");
    world.audit();
}

#[test]
fn what_is_refused_leaves_no_trace() {
    let mut world = rewritten();
    let lines = world.lines.len();
    world.seen.docs.goals.insert("g".into(), Doc::of("# Mine\n"));
    let reason = refused(&mut world, None);
    assert!(reason.starts_with("goals/g.md was changed after \"wrote goal g\""), "{reason}");
    world.seen.docs.goals.insert("g".into(), Doc::of("# New\n"));
    assert!(refused(&mut world, Some(BeatId(99))).contains("beat 99"));
    world.seen.docs.kept.clear();
    assert!(refused(&mut world, None).ends_with("is no longer kept"));
    assert_eq!((world.lines.len(), world.engine.ledger().undo.len()), (lines, 1));
    world.audit();
}

#[test]
fn an_undo_waits_for_the_move_under_way_and_is_asked_again_with_fresh_files() {
    let mut world = rewritten();
    let beat = Some(world.engine.ledger().undo[0].beat);
    let cmd = "x".to_owned();
    world.ask(Request::Make { proposal: Proposal::of(Move::RunShell { cmd, reason: None }) });
    let id = world.ask(Request::Undo { beat });
    assert_eq!(world.reply(id), None);
    world.acted(shell(0));
    let again =
        |effect: &Effect| matches!(effect, Effect::Again(_, request) if **request == Request::Undo { beat });
    assert!(world.effects.iter().any(again), "{:?}", world.effects);
    world.effects.clear();
    world.step(Event::Asked(id, Box::new(Request::Undo { beat }), None));
    assert!(world.effects.iter().any(again), "without the files it is asked for again");
    world.audit();
}

#[test]
fn a_crash_in_the_middle_takes_back_once() {
    let mut world = rewritten();
    let beat = Some(world.engine.ledger().undo[0].beat);
    world.ask(Request::Undo { beat });
    world.crash();
    let recovered = world
        .each(|effect| if let Effect::Recover(_, plan) = effect { Some(plan.action.action()) } else { None });
    assert_eq!(recovered, ["undo"]);
    world.acted(Outcome::done());
    assert_eq!(world.engine.ledger().undo, []);
    assert!(refused(&mut world, beat).contains("has been taken back"));
    world.audit();
}

#[test]
fn an_undo_overtakes_the_decision_that_rests_on_what_it_takes_back() {
    let mut world = rewritten();
    world.reading("ci", json!({"signal": 1}));
    world.beat();
    assert_eq!(world.decides(), 1);
    world.ask(Request::Undo { beat: None });
    world.acted(Outcome::done());
    world.seen.docs.goals.insert("g".into(), Doc::of("# Old\n"));
    world.effects.clear();
    world.decided(&json!({"action": "write_goal", "id": "g", "body": "# Newer\n"}));
    assert_eq!(world.act(), None);
    world.audit();
}
