//! No letter, proposal or answer makes an append or a snapshot that is too large.

use super::*;
use crate::bounds::{self, json_width};
use crate::engine::io::Numbers;
use crate::ledger::state::NoteKind;
use crate::model::letter::AskKind;

const MEGABYTE: usize = 1 << 20;

fn employed() -> World {
    let mut world = World::new(false, &["m"]);
    world.hire("w", None);
    world
}

impl World {
    /// A question of so many bytes.
    fn asks_at_length(&mut self, id: &str, bytes: usize) {
        self.asks(id, "w~1", AskKind::Question);
        self.seen.letters.asks.get_mut(id).unwrap().prompt = "?".repeat(bytes);
    }

    fn longest_line(&self) -> usize {
        self.lines.iter().map(json_width).max().unwrap_or(0)
    }

    /// Looks until nothing more is wanted.
    fn look_on(&mut self) {
        let wanted = |effect: &Effect| if let Effect::Sense(scope, _) = effect { Some(*scope) } else { None };
        self.effects.retain(|effect| wanted(effect) != Some(Scope::Full));
        while let Some(scope) = self.effects.iter().find_map(wanted) {
            self.effects.clear();
            self.seen.scope = scope;
            self.sense();
        }
        self.seen.scope = Scope::Full;
    }
}

#[test]
fn seventy_questions_of_a_megabyte_are_cut_and_the_cut_says_where_the_whole_is() {
    let mut world = employed();
    for n in 0..70 {
        world.asks_at_length(&format!("a-{n}"), MEGABYTE);
    }
    world.beat();
    world.look_on();
    let ledger = world.engine.ledger();
    assert_eq!(ledger.asks.len(), 70);
    let prompt = &ledger.asks["a-7"].prompt;
    assert!(
        prompt.len() <= bounds::PROMPT && prompt.ends_with("more bytes; the whole is in asks/a-7.json)"),
        "{prompt}"
    );
    assert!(world.longest_line() < MEGABYTE, "{}", world.longest_line());
    assert!(json_width(ledger) < MEGABYTE, "{}", json_width(ledger));
    world.audit();
}

#[test]
fn an_answer_of_a_megabyte_reaches_the_brief_cut() {
    let mut world = employed();
    world.asks("a", "other~1", AskKind::Question);
    world.beat();
    world.decided(&json!({"action": "noop"}));
    world.answers("a", &"!".repeat(MEGABYTE));
    world.beat();
    let note = world.engine.ledger().notes.iter().find_map(|note| {
        if let NoteKind::Answer { text, .. } = &note.what { Some(text.clone()) } else { None }
    });
    let text = note.expect("the answer");
    assert!(text.len() <= bounds::ANSWER && text.contains("mail.d/a.answer.json"), "{}", text.len());
    world.audit();
}

#[test]
fn of_a_flood_of_questions_as_many_are_taken_in_as_a_person_can_read() {
    let mut world = employed();
    for n in 0..2000 {
        world.asks_at_length(&format!("a-{n}"), 20_000);
    }
    world.asks("z", "other~1", AskKind::Question);
    world.beat();
    world.look_on();
    let asks = &world.engine.ledger().asks;
    assert_eq!(asks.values().filter(|ask| ask.from == "w~1").count(), bounds::ASKS_OF_ONE);
    assert!(asks.contains_key("z"), "the flood of one keeps nobody else out");
    // The same look again says nothing new.
    let lines = world.lines.len();
    world.beat();
    assert!(
        world.lines[lines..]
            .iter()
            .all(|line| !line.entries.iter().any(|e| matches!(e, Entry::Asked { .. })))
    );
    world.audit();
}

#[test]
fn what_is_too_much_for_one_look_comes_with_the_next() {
    let mut world = World::new(false, &["m"]);
    for n in 0..1500 {
        let id = format!("a-{n}");
        world.asks(&id, &format!("w{}~1", n / 50), AskKind::Question);
        world.seen.letters.asks.get_mut(&id).unwrap().prompt = "\u{1}".repeat(20_000);
    }
    world.beat();
    let first = world.engine.ledger().asks.len();
    assert!(first > 0 && world.longest_line() < bounds::NEWS + MEGABYTE, "{first}, {}", world.longest_line());
    world.look_on();
    assert_eq!(world.engine.ledger().asks.len(), bounds::ASKS);
    assert!(world.longest_line() < bounds::NEWS + MEGABYTE, "{}", world.longest_line());
    assert!(json_width(world.engine.ledger()) < bounds::SNAPSHOT);
}

#[test]
fn a_decision_whose_json_is_too_large_is_refused_and_not_cut() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    // Each of these characters has six bytes in JSON.
    world.decided(&json!({"action": "write_playbook", "body": "\u{1}".repeat(250_000)}));
    let failed = world.logged(|entry| {
        if let Entry::Failed { failure, reason, .. } = entry {
            Some((*failure, reason.clone()))
        } else {
            None
        }
    });
    assert_eq!(failed.len(), 1);
    assert!(failed[0].1.contains("1048576"), "{failed:?}");
    assert!(world.longest_line() < MEGABYTE);
}

#[test]
fn a_persons_move_that_is_too_large_is_refused_with_its_size() {
    let mut world = World::new(true, &[]);
    let id = Name::new("g").unwrap();
    let proposal = Proposal::of(Move::WriteGoal { id, body: "b".repeat(2 * MEGABYTE) });
    world.ask(Request::Make { proposal });
    let reply = world
        .effects
        .iter()
        .find_map(|effect| if let Effect::Reply(_, reply) = effect { Some(*reply.clone()) } else { None });
    let Some(Reply::Refused { reason }) = reply else { panic!("{reply:?}") };
    assert!(reason.contains("2097") && reason.contains("1048576"), "{reason}");
}

#[test]
fn proposals_wait_as_long_as_there_is_room_and_are_whole() {
    let mut world = employed();
    let body = "c".repeat(200_000);
    for n in 0..40 {
        let id = format!("p-{n:02}");
        world.asks(&id, "w~1", AskKind::Proposal);
        let ask = world.seen.letters.asks.get_mut(&id).unwrap();
        ask.proposal = Some(json!({"action": "write_goal", "id": "g", "body": body}));
    }
    world.beat();
    world.look_on();
    let ledger = world.engine.ledger();
    let waits = ledger.parked.len();
    assert!((10..=20).contains(&waits), "{waits}");
    assert!(ledger.parked_width() <= bounds::PARKED, "{}", ledger.parked_width());
    for parked in ledger.parked.values() {
        let Move::WriteGoal { body: kept, .. } = &parked.proposal.action else { panic!("another move") };
        assert_eq!(*kept, body, "a move that waits is never cut");
    }
    let dropped =
        world.logged(|entry| if let Entry::Dropped { what } = entry { Some(what.clone()) } else { None });
    assert_eq!(dropped.len(), 40 - waits);
    assert!(dropped[0].contains("moves of") && dropped[0].contains("wait for you already"), "{}", dropped[0]);
    assert!(world.longest_line() < bounds::LINE);
    world.audit();
}

#[test]
fn the_same_long_reason_is_not_logged_twice() {
    let mut world = World::new(true, &[]);
    let error = "e".repeat(100_000);
    for _ in 0..3 {
        world.step(Event::Configured(Some(error.clone())));
        world.step(Event::Woke(Cause::Timer));
        world.step(Event::Blind(error.clone(), Scope::Full));
    }
    let count = |of: fn(&Entry) -> Option<()>| world.logged(of).len();
    assert_eq!(count(|entry| matches!(entry, Entry::ConfigError { .. }).then_some(())), 1);
    assert_eq!(count(|entry| matches!(entry, Entry::Skipped { .. }).then_some(())), 1);
    assert!(world.longest_line() < 10_000);
}

#[test]
fn of_goals_that_are_gone_the_longest_unserved_are_forgotten() {
    let mut world = World::new(true, &[]).goal("kept", "Prose.\n");
    let mut ledger = Ledger::default();
    for number in 0..3 * bounds::ABSENT {
        let served = Some(crate::time::Stamp { wall: i64::try_from(number).unwrap(), up: 0, boot: 1 });
        let record = crate::ledger::state::GoalRecord { served, attempts: 1, ..Default::default() };
        ledger.goals.insert(format!("gone-{number}"), record);
        ledger.written.insert(format!("goals/gone-{number}.md"), Digest::of(b"x"));
        ledger.tainted.insert(format!("goals/gone-{number}.md"), Digest::of(b"x"));
    }
    ledger
        .goals
        .insert("kept".to_owned(), crate::ledger::state::GoalRecord { attempts: 7, ..Default::default() });
    ledger.written.insert("goals/kept.md".to_owned(), Digest::of(b"x"));
    world.engine = Engine::new(ledger, Setup { limits: limits(), builtin: true, paid: Vec::new() });
    world.beat();
    let ledger = world.engine.ledger();
    assert!(ledger.goals.len() <= bounds::ABSENT, "{}", ledger.goals.len());
    assert!(
        ledger.goals.contains_key(&format!("gone-{}", 3 * bounds::ABSENT - 1)),
        "the last served is remembered"
    );
    assert!(ledger.goals.contains_key("kept") && ledger.written.contains_key("goals/kept.md"));
    assert_eq!((ledger.written.len(), ledger.tainted.len()), (1, 0));
    let lines = world.lines.len();
    world.beat();
    let forgot = world.lines[lines..].iter().flat_map(|line| &line.entries);
    assert_eq!(forgot.filter(|entry| matches!(entry, Entry::Forgot { .. })).count(), 0, "once");
}

#[test]
fn higher_numbers_on_the_disk_are_counted_on_from() {
    let mut world = World::new(true, &[]);
    world.step(Event::Numbered(Numbers { runs: 12, sessions: 57, asks: 3 }));
    world.step(Event::Numbered(Numbers { runs: 12, sessions: 57, asks: 3 }));
    assert_eq!(
        world.logged(|entry| matches!(entry, Entry::Renumbered { .. }).then_some(())).len(),
        1,
        "once"
    );
    world.ask(Request::Make { proposal: Proposal::of(Move::RunShell { cmd: "true".into(), reason: None }) });
    let session = world.engine.ledger().acting.as_ref().and_then(|acting| acting.plan.act.starts()).unwrap();
    assert_eq!(session, "move~58");
}
