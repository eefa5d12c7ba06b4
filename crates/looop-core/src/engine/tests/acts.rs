//! Moves from the intention to the journal line.

use super::*;

fn journal(world: &World) -> Vec<&str> {
    world.each(|effect| if let Effect::Journal(line) = effect { Some(line.as_str()) } else { None })
}

fn goal_of_a_person(id: &str) -> Request {
    let body = "# G".to_owned();
    Request::Make { proposal: Proposal::of(Move::WriteGoal { id: Name::new(id).unwrap(), body }) }
}

fn command_of_a_person() -> Request {
    Request::Make { proposal: Proposal::of(Move::RunShell { cmd: "x".into(), reason: None }) }
}

#[test]
fn a_move_belongs_to_the_beat_of_its_decide() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    let beat = world.engine.ledger().deciding.as_ref().unwrap().beat;
    world.ask(goal_of_a_person("g"));
    world.acted(Outcome::done());
    world.effects.clear();
    world.decided(&json!({"action": "run_shell", "cmd": "x"}));
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Act(found, _) if *found == beat)));
    world.acted(shell(0));
    world.beat();
    let next = world.engine.ledger().deciding.as_ref().unwrap().beat;
    assert_eq!((beat, next), (BeatId(1), BeatId(3)), "the person's move was beat 2");
    world.audit();
}

#[test]
fn a_recipes_move_is_a_beat_of_its_own_also_while_a_model_thinks() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 0);
    world.beat();
    assert_eq!(world.decides(), 1);
    world.check("x", 1);
    world.beat();
    assert_eq!(world.engine.ledger().acting.as_ref().map(|acting| acting.beat), Some(BeatId(2)));
    world.acted(shell(0));
    world.check("x", 0);
    world.decided(&json!({"action": "noop"}));
    world.audit();
}

#[test]
fn who_asked_for_a_beat_hears_whether_its_move_failed() {
    for (outcome, failed) in
        [(shell(0), false), (shell(1), true), (Outcome::Interrupted { reason: "a crash".into() }, true)]
    {
        let mut world = World::new(true, &[]).goal("x", RECIPE);
        world.check("x", 1);
        let id = world.beat_by_person();
        assert_eq!(world.reply(id), None, "the beat is not over before its move is");
        world.acted(outcome);
        assert_eq!(world.reply(id), Some(Reply::Beat { why: None, failed, failing: [].into() }));
        world.audit();
    }
}

#[test]
fn a_persons_own_move_that_fails_is_no_failure_of_the_beat() {
    let mut world = World::new(false, &["m"]);
    let id = world.beat_by_person();
    world.ask(command_of_a_person());
    world.acted(shell(1));
    world.decided(&json!({"action": "noop"}));
    assert_eq!(world.reply(id), Some(Reply::Beat { why: None, failed: false, failing: [].into() }));
    world.audit();
}

#[test]
fn a_failed_beat_stays_failed_whatever_a_person_does_meanwhile() {
    let mut world = World::new(false, &["m"]);
    let id = world.beat_by_person();
    world.ask(command_of_a_person());
    world.failed("no such model");
    assert_eq!(world.reply(id), None, "the person's move is still under way");
    world.acted(shell(0));
    assert_eq!(
        world.reply(id),
        Some(Reply::Beat { why: Some("no such model".into()), failed: true, failing: [].into() })
    );
    world.audit();
}

#[test]
fn the_journal_says_who_did_what_and_how_it_ended() {
    let interrupted = || Outcome::Interrupted { reason: "a crash".into() };
    let shell_of = |fields: Value| {
        let mut decision = json!({"action": "run_shell", "cmd": "x"});
        decision.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        decision
    };
    let table = [
        (shell_of(json!({})), shell(0), "ran x"),
        (shell_of(json!({"goal": "g"})), shell(0), "[g] ran x"),
        (shell_of(json!({"journal": "looked"})), shell(0), "looked"),
        (shell_of(json!({})), shell(1), "ran x — failed: exit 1"),
        (shell_of(json!({"journal": "looked"})), interrupted(), "looked — interrupted: a crash"),
    ];
    for (decision, outcome, said) in table {
        let mut world = World::new(false, &["m"]).goal("g", "# G\n");
        world.beat();
        world.decided(&decision);
        world.acted(outcome);
        assert_eq!(journal(&world), [format!("- 2027-01-15 08:00 {said}")], "{decision}");
        assert_eq!(world.engine.ledger().journal, journal(&world), "the brief shows the same line");
        world.audit();
    }
}

#[test]
fn a_noop_is_journaled_only_if_it_has_something_to_say() {
    for (decision, said) in [
        (json!({"action": "noop", "reason": "fine"}), vec![]),
        (json!({"action": "noop", "journal": "all well"}), vec!["- 2027-01-15 08:00 all well"]),
    ] {
        let mut world = World::new(false, &["m"]);
        world.beat();
        world.decided(&decision);
        assert_eq!(journal(&world), said);
        assert!(!world.engine.is_busy(), "a noop is over at once");
    }
}

#[test]
fn a_journal_line_is_one_line_of_bounded_length() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop", "journal": format!("a\n{}", "b".repeat(900))}));
    let line = journal(&world)[0];
    assert_eq!(line.chars().count(), "- 2027-01-15 08:00 ".len() + 500);
    assert!(line.starts_with("- 2027-01-15 08:00 a bbb") && line.ends_with('…'), "{line}");
}

#[test]
fn a_person_hears_what_came_of_a_move() {
    let mut world = World::new(false, &["m"]);
    let id = world.ask(command_of_a_person());
    world.acted(shell(1));
    let (beat, summary) = (BeatId(1), "ran x".to_owned());
    let session = Some("move~1".to_owned());
    assert_eq!(world.reply(id), Some(Reply::Made { beat, session, summary, outcome: shell(1) }));
    assert_eq!(journal(&world), ["- 2027-01-15 08:00 you ran x — failed: exit 1"]);
    let id = world.ask(goal_of_a_person("g"));
    world.acted(Outcome::done());
    let (beat, summary) = (BeatId(2), "wrote goal g".to_owned());
    assert_eq!(world.reply(id), Some(Reply::Made { beat, session: None, summary, outcome: Outcome::done() }));
    world.audit();
}

#[test]
fn only_the_move_under_way_can_turn_out_never_to_have_run() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    world.beat();
    let lines = world.lines.len();
    world.effects.clear();
    world.step(Event::ActNeverRan(BeatId(99)));
    assert!(world.lines.len() == lines && world.effects.is_empty());
    world.acted(shell(0));
    let lines = world.lines.len();
    world.step(Event::ActNeverRan(BeatId(1)));
    assert_eq!(world.lines.len(), lines, "it is over");
}

#[test]
fn a_move_that_never_ran_is_not_started_by_a_loop_that_ends() {
    let mut world = World::new(true, &[]).goal("x", RECIPE);
    world.check("x", 1);
    world.beat();
    world.crash();
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    world.effects.clear();
    world.step(Event::ActNeverRan(BeatId(1)));
    assert_eq!(world.act(), None);
    assert_eq!(world.engine.ledger().goal("x").last.as_deref(), Some("the loop ended before it ran"));
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Exit)));
    world.audit();
}
