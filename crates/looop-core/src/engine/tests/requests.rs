//! What verbs want of the lock holder, and what they hear.

use super::*;
use crate::model::letter::AskKind;

fn refused(reason: &str) -> Reply {
    Reply::Refused { reason: reason.to_owned() }
}

fn letter(id: &str, goal: Option<&str>, asked: i64) -> crate::model::letter::Ask {
    let (from, prompt) = ("worker".to_owned(), "Really?".to_owned());
    let goal = goal.map(str::to_owned);
    crate::model::letter::Ask {
        closed: false,
        fetched: false,
        limit: None,
        v: 1,
        id: id.to_owned(),
        from,
        kind: AskKind::Question,
        prompt,
        options: Vec::new(),
        reference: None,
        goal,
        proposal: None,
        asked,
    }
}

/// What a dry run says that a beat would do.
fn verdict(world: &mut World) -> String {
    world.effects.clear();
    let (lines, ledger) = (world.lines.len(), world.engine.ledger().clone());
    let id = world.ask(Request::DryRun);
    world.sense();
    assert_eq!(world.lines.len(), lines, "a dry run writes nothing");
    assert_eq!(world.engine.ledger(), &ledger, "and remembers nothing");
    let other = |effect: &&Effect| !matches!(effect, Effect::Sense(..) | Effect::Reply(..));
    assert_eq!(world.effects.iter().filter(other).count(), 0, "and does nothing: {:?}", world.effects);
    match world.reply(id) {
        Some(Reply::DryRun { verdict, .. }) => verdict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pause_is_acknowledged_and_can_be_ended_once() {
    let mut world = World::new(false, &["m"]);
    let id = world.ask(Request::Resume);
    assert_eq!(world.reply(id), Some(refused("nothing is paused, and deciding waits for nothing")));
    let id = world.ask(Request::Pause { until: None });
    assert_eq!(world.reply(id), Some(Reply::Done));
    world.beat();
    assert_eq!((world.decides(), world.why()), (0, Some(Why::Paused { until: None })));
    let id = world.ask(Request::Resume);
    assert_eq!(world.reply(id), Some(Reply::Done));
    world.beat();
    assert_eq!(world.decides(), 1);
    let id = world.ask(Request::Resume);
    assert_eq!(world.reply(id), Some(refused("nothing is paused, and deciding waits for nothing")));
    world.audit();
}

#[test]
fn resume_ends_the_wait_after_a_failure_and_a_person_who_asks_for_a_beat_does_not_wait() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    world.beat();
    world.failed("no");
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { .. })), "the loop itself waits");
    let id = world.ask(Request::Resume);
    assert_eq!(world.reply(id), Some(Reply::Done));
    world.beat();
    assert_eq!(world.decides(), 1, "the wait is over");
    world.failed("no");
    world.beat();
    assert!(matches!(world.why(), Some(Why::Backoff { failures: 2, .. })), "the count goes on");
    world.beat_by_person();
    assert_eq!(world.decides(), 1, "a person tries now");
    world.failed("no");
    world.audit();
}

#[test]
fn an_ask_that_waits_can_be_dismissed() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    world.seen.letters.asks.insert("a".into(), letter("a", Some("g"), 7));
    world.beat();
    let id = world.ask(Request::Dismiss { ask: "b".into() });
    assert_eq!(world.reply(id), Some(refused("no ask \"b\" is pending")));
    assert_eq!(world.engine.ledger().goal("g").ask.as_deref(), Some("a"));
    let id = world.ask(Request::Dismiss { ask: "a".into() });
    assert_eq!(world.reply(id), Some(Reply::Done));
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Settle(ask) if ask == "a")));
    assert_eq!((world.engine.ledger().asks.len(), world.engine.ledger().goal("g").ask), (0, None));
    world.audit();
}

#[test]
fn a_move_that_comes_without_the_policy_files_is_asked_for_again() {
    let mut world = World::new(false, &[]);
    let proposal = Proposal::of(Move::RunShell { cmd: "x".into(), reason: None });
    let request = Request::Make { proposal };
    world.step(Event::Asked(RequestId(1), Box::new(request.clone()), None));
    assert!(matches!(&world.effects[..], [Effect::Again(RequestId(1), again)] if **again == request));
    let id =
        world.ask(Request::Make { proposal: Proposal::of(Move::RunShell { cmd: " ".into(), reason: None }) });
    assert_eq!(world.reply(id), Some(refused("the command is empty")));
    assert!(world.lines.is_empty());
}

#[test]
fn a_person_forces_a_look_at_an_unchanged_world() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    let id = world.beat_by_person();
    assert_eq!(world.decides(), 1);
    assert_eq!(world.reply(id), None);
    world.decided(&json!({"action": "noop"}));
    assert_eq!(world.reply(id), Some(Reply::Beat { why: None, failed: false, failing: [].into() }));
    world.audit();
}

#[test]
fn who_asks_for_a_beat_hears_why_nothing_was_done() {
    let mut world = World::new(true, &[]);
    let id = world.beat_by_person();
    let why = Some("there are no goals; write one with `looop goal write <id>`".to_owned());
    assert_eq!(world.reply(id), Some(Reply::Beat { why: why.clone(), failed: false, failing: [].into() }));
    let id = world.beat_by_person();
    assert_eq!(
        world.reply(id),
        Some(Reply::Beat { why, failed: false, failing: [].into() }),
        "also when it is not news"
    );
    world.seen.docs.playbook = Doc::Broken { error: "PLAYBOOK.md is not UTF-8".into() };
    let id = world.beat_by_person();
    let why = Some("PLAYBOOK.md is not UTF-8".to_owned());
    assert_eq!(world.reply(id), Some(Reply::Beat { why, failed: true, failing: [].into() }));
    world.audit();
}

#[test]
fn who_asks_for_a_beat_hears_what_became_of_the_proposal() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    let id = world.beat_by_person();
    world.decided(&json!({"action": "archive_goal", "id": "nope"}));
    let why = Some("the proposal was refused: archive goal nope: there is no goal nope".to_owned());
    assert_eq!(world.reply(id), Some(Reply::Beat { why, failed: true, failing: [].into() }));
    world.pass(Duration::from_mins(1));
    let id = world.beat_by_person();
    world.seen.docs.playbook = Doc::of("New.\n");
    world.decided(&json!({"action": "run_shell", "cmd": "x"}));
    let why = "the proposal was overtaken: run x: PLAYBOOK.md changed while it was being decided";
    assert_eq!(
        world.reply(id),
        Some(Reply::Beat { why: Some(why.into()), failed: false, failing: [].into() })
    );
    let id = world.beat_by_person();
    world.decided(&json!({"action": "noop"}));
    assert_eq!(
        world.reply(id),
        Some(Reply::Beat { why: None, failed: false, failing: [].into() }),
        "the next is a beat of its own"
    );
    world.audit();
}

#[test]
fn who_asks_for_a_beat_does_not_wait_for_the_moves_after_it() {
    let due = "---\nevery: 1h\nrun: echo\n---\n";
    let mut world = World::new(true, &[]);
    for id in ["a", "b", "c", "d", "e"] {
        world = world.goal(id, due);
    }
    let acts = |world: &World| world.engine.ledger().acting.as_ref().and_then(|it| it.plan.goal.clone());
    world.beat();
    assert_eq!(acts(&world).as_deref(), Some("a"));
    world.effects.clear();
    let id = world.ask(Request::Beat);
    // When a move ends, there is always a look under way and another one wanted.
    let next = |world: &mut World| {
        world.pass(Duration::from_secs(1));
        world.step(Event::Woke(Cause::Files));
        world.acted(Outcome::done());
        world.seen.scope = Scope::Quick;
        world.sense();
        (acts(world), world.reply(id).is_some())
    };
    let moves = |goal: &str, answered: bool| (Some(goal.to_owned()), answered);
    assert_eq!(next(&mut world), moves("b", false), "its look is under way");
    world.seen.scope = Scope::Full;
    world.sense();
    assert_eq!(
        next(&mut world),
        moves("c", false),
        "its look saw the world during a move, and decides later"
    );
    assert_eq!(next(&mut world), moves("d", false), "this is its move");
    assert_eq!(next(&mut world), moves("e", true), "this is the next");
    assert_eq!(world.reply(id), Some(Reply::Beat { why: None, failed: false, failing: [].into() }));
    world.audit();
}

#[test]
fn requests_for_a_beat_while_one_looks_share_the_next() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.effects.clear();
    world.step(Event::Woke(Cause::Timer));
    world.step(Event::Woke(Cause::Timer));
    let first = world.ask(Request::Beat);
    let dry = world.ask(Request::DryRun);
    let second = world.ask(Request::Beat);
    world.sense();
    assert_eq!((world.decides(), world.replies()), (0, 0), "the look under way was nobody's");
    let senses = world.effects.iter().filter(|effect| matches!(effect, Effect::Sense(..))).count();
    assert_eq!(senses, 2, "one look for all that came meanwhile");
    world.sense();
    assert_eq!(world.decides(), 1, "a person forces it");
    assert!(matches!(world.reply(dry), Some(Reply::DryRun { .. })));
    world.decided(&json!({"action": "noop"}));
    let over = Some(Reply::Beat { why: None, failed: false, failing: [].into() });
    assert_eq!((world.reply(first), world.reply(second)), (over.clone(), over));
    world.audit();
}

#[test]
fn a_wish_for_a_beat_turns_a_dry_look_that_waits_into_a_wet_one() {
    let mut world = World::new(false, &["m"]);
    world.step(Event::Woke(Cause::Timer));
    world.ask(Request::DryRun);
    world.step(Event::Woke(Cause::Timer));
    world.sense();
    world.decided(&json!({"action": "noop"}));
    world.reading("ci", json!(1));
    world.sense();
    assert_eq!(world.decides(), 2, "the second look found a change and acted upon it");
    world.audit();
}

#[test]
fn a_dry_run_says_what_a_beat_would_do() {
    let mut world = World::new(true, &["m"]).goal("x", RECIPE);
    world.check("x", 1);
    assert_eq!(verdict(&mut world), "the built-in decider would propose run_shell: goal x: its check fails");
    world.ask(Request::Pause { until: None });
    assert_eq!(verdict(&mut world), "would do nothing: paused until `looop resume`");
    world.ask(Request::Resume);
    world.check("x", 0);
    assert_eq!(verdict(&mut world), "would ask m: the world changed");
    world.beat();
    world.decided(&json!({"action": "noop", "next_interval_s": 30}));
    assert_eq!(verdict(&mut world), "would do nothing: nothing changed since the last decision");
    world.pass(Duration::from_secs(30));
    assert_eq!(verdict(&mut world), "would ask m: the decider asked for another look");
    world.seen.docs.playbook = Doc::Broken { error: "PLAYBOOK.md is not UTF-8".into() };
    assert_eq!(verdict(&mut world), "would do nothing: PLAYBOOK.md is not UTF-8");
    world.audit();
}

#[test]
fn a_dry_run_without_the_built_in_decider_asks_the_model_alone() {
    let mut world = World::new(false, &["m"]).goal("x", RECIPE);
    world.check("x", 1);
    assert_eq!(verdict(&mut world), "would ask m: the world changed");
    let mut alone = World::new(true, &[]);
    assert_eq!(
        verdict(&mut alone),
        "would do nothing: there are no goals; write one with `looop goal write <id>`"
    );
}

#[test]
fn a_dry_run_shows_letters_that_no_beat_has_taken_yet() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.seen.letters.asks.insert("a".into(), letter("a", None, 7));
    assert_eq!(verdict(&mut world), "would do nothing: nothing changed since the last decision");
    let id = RequestId(world.asked);
    let Some(Reply::DryRun { brief, changes, .. }) = world.reply(id) else { panic!() };
    assert!(brief.contains("Really?"), "{brief}");
    assert_eq!(changes, Vec::<String>::new(), "what a worker asks is no news");
}

#[test]
fn a_look_that_sees_nothing_refuses_a_dry_run_and_fails_a_beat() {
    let mut world = World::new(false, &["m"]);
    let dry = world.ask(Request::DryRun);
    world.step(Event::Blind("the profile is gone".into(), Scope::Full));
    assert_eq!(world.reply(dry), Some(refused("the profile is gone")));
    assert!(world.lines.is_empty(), "a dry run writes nothing");
    let id = world.ask(Request::Beat);
    world.step(Event::Blind("the profile is gone".into(), Scope::Full));
    let why = Some("the profile is gone".to_owned());
    assert_eq!(world.reply(id), Some(Reply::Beat { why, failed: true, failing: [].into() }));
    let lines = world.lines.len();
    world.step(Event::Blind("nobody looks".into(), Scope::Full));
    world.sense();
    assert_eq!((world.lines.len(), world.decides()), (lines, 0), "what nobody asked for is nothing");
    world.audit();
}

#[test]
fn a_loop_that_ends_refuses_what_waits_and_what_comes() {
    let mut world = World::new(false, &["m"]);
    let make = || {
        let proposal = Proposal::of(Move::RunShell { cmd: "x".into(), reason: None });
        Request::Make { proposal }
    };
    world.ask(make());
    let waits = world.ask(make());
    world.step(Event::Stop { reason: "SIGTERM".into(), keep_workers: true });
    assert_eq!(world.reply(waits), Some(refused("the loop is ending")));
    for request in [Request::Beat, Request::DryRun, make(), Request::Resume] {
        let id = world.ask(request);
        assert_eq!(world.reply(id), Some(refused("the loop is ending")));
    }
    world.effects.clear();
    world.acted(shell(0));
    assert!(
        matches!(&world.effects[..], [Effect::Journal(_), Effect::Reply(..), Effect::Exit]),
        "{:?}",
        world.effects
    );
    world.audit();
}

#[test]
fn what_a_decider_wrote_can_be_trusted_once() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    let path = || "goals/h.md".to_owned();
    let id = world.ask(Request::Trust { path: path() });
    assert_eq!(world.reply(id), Some(refused("no decider wrote goals/h.md, so it is yours already")));
    world.beat();
    world.decided(&json!({"action": "write_goal", "id": "h", "body": "# H"}));
    world.acted(Outcome::done());
    assert!(world.engine.ledger().written.contains_key("goals/h.md"));
    let id = world.ask(Request::Trust { path: path() });
    assert_eq!(world.reply(id), Some(Reply::Done));
    assert!(world.engine.ledger().written.is_empty());
    let line = world.engine.ledger().journal.last().cloned().unwrap();
    assert!(line.ends_with(" you trust goals/h.md"), "{line}");
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::Journal(text) if *text == line)));
    world.audit();
}
