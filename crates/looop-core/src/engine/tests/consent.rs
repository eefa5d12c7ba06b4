//! Moves that wait for a person.

use super::*;
use crate::approval::{EXPIRY, letter_digest};
use crate::engine::io::{Consent, Say};
use crate::model::letter::{Ask, AskKind};
use crate::model::plan::Author;
use crate::model::rights::Rights;
use crate::policy::{Level, Policy};

const PLAYBOOK: &str = "Be bold.\n";

/// A loop under `guarded` whose decider wants another PLAYBOOK, which waits for a person.
fn waiting() -> World {
    let mut world = guarded().goal("ship", "# Ship\n");
    world.beat();
    world.decided(&json!({"action": "write_playbook", "body": PLAYBOOK, "goal": "ship"}));
    world
}

fn guarded() -> World {
    let mut world = World::new(false, &["claude"]);
    world.engine.setup.limits.policy = Policy { level: Level::Guarded, ..Policy::default() };
    world
}

impl World {
    /// The letters that were posted lie where a look finds them.
    fn post(&mut self) {
        let posted = self
            .each(|effect| if let Effect::Post(ask) = effect { Some(ask.as_ref().clone()) } else { None });
        for ask in posted {
            self.lay(ask);
        }
    }

    fn lay(&mut self, ask: Ask) {
        self.seen.letters.asks.insert(ask.id.clone(), ask);
        self.seen.docs.proposals = self.seen.letters.proposals();
    }

    fn say(&mut self, ask: &str, say: Say) -> Reply {
        let parked = self.engine.ledger().parked.get(ask);
        let digest = parked.map_or(Digest::of(b""), |parked| parked.digest);
        self.say_to(ask, digest, say)
    }

    fn say_to(&mut self, ask: &str, digest: Digest, say: Say) -> Reply {
        let consent = Consent { ask: ask.to_owned(), digest, say, text: String::new() };
        let id = self.ask(Request::Consent(consent));
        self.reply(id).unwrap_or(Reply::Done)
    }
}

fn refusal(reply: Reply) -> String {
    if let Reply::Refused { reason } = reply { reason } else { panic!("{reply:?}") }
}

#[test]
fn a_move_that_waits_is_asked_for_and_commits_what_its_decider_saw() {
    let mut world = waiting();
    world.post();
    let ledger = world.engine.ledger();
    assert!(ledger.deciding.is_none() && ledger.acting.is_none() && world.act().is_none());
    let parked = &ledger.parked["ask-1"];
    assert_eq!((parked.by.as_str(), parked.goal()), ("claude", Some("ship")));
    assert_eq!(letter_digest(&world.seen.letters.asks["ask-1"]), parked.letter);
    assert_eq!(ledger.goals["ship"].ask.as_deref(), Some("ask-1"));
    world.beat();
    assert_eq!((world.decides(), world.why()), (0, Some(Why::Unchanged)));
}

#[test]
fn a_yes_carries_out_exactly_that_move_once() {
    let mut world = waiting();
    world.post();
    world.effects.clear();
    world.say("ask-1", Say::Yes);
    let plan = world.act().expect("it is carried out").clone();
    assert_eq!(plan.action, Move::WritePlaybook { body: PLAYBOOK.into() });
    assert_eq!(plan.author, Author::Approved("claude".into()));
    assert!(plan.ground.contains_key("PLAYBOOK.md"));
    world.acted(Outcome::done());
    assert_eq!(refusal(world.say("ask-1", Say::Yes)), "ask-1 was settled before, and nothing was done now");
    let done = world.entries().filter(|entry| matches!(entry, Entry::Approved { .. })).count();
    assert_eq!(done, 1);
}

#[test]
fn what_it_rests_on_may_not_have_changed() {
    let edits: [fn(&mut World); 3] = [
        |world| world.seen.docs.playbook = Doc::of("Mine.\n"),
        |world| drop(world.seen.docs.goals.insert("ship".into(), Doc::of("# Sink\n"))),
        |world| drop(world.seen.docs.goals.remove("ship")),
    ];
    for edit in edits {
        let mut world = waiting();
        world.post();
        edit(&mut world);
        world.effects.clear();
        let reason = refusal(world.say("ask-1", Say::Yes));
        assert!(reason.contains("changed since it was asked for"), "{reason}");
        assert!(world.act().is_none());
        let again = refusal(world.say("ask-1", Say::Yes));
        assert!(again.starts_with("ask-1 can no longer be approved"), "{again}");
        assert!(world.engine.ledger().lapsed.contains_key("ask-1"));
    }
}

#[test]
fn it_expires_by_either_clock() {
    let day = i64::try_from(EXPIRY.as_millis()).unwrap();
    let ages: [fn(&mut World, i64); 2] = [
        |world, day| world.now.wall += day + 1,
        |world, day| world.now.up += u64::try_from(day).unwrap() + 1,
    ];
    for age in ages {
        let mut world = waiting();
        world.post();
        age(&mut world, day);
        world.effects.clear();
        assert!(refusal(world.say("ask-1", Say::Yes)).starts_with("it waited over"));
        assert!(world.act().is_none());
    }
    let mut world = waiting();
    world.post();
    world.pass(EXPIRY + Duration::from_secs(1));
    world.beat();
    assert!(world.engine.ledger().parked.is_empty());
    let id = world.ask(Request::Repark { ask: "ask-1".into() });
    assert_eq!(world.reply(id), Some(Reply::Reparked { ask: "ask-2".into() }));
    assert!(world.engine.ledger().lapsed.is_empty());
    world.post();
    world.effects.clear();
    world.say("ask-2", Say::Yes);
    assert!(world.act().is_some());
}

#[test]
fn another_digest_another_id_and_an_edited_letter_are_refused() {
    let mut world = waiting();
    world.post();
    world.effects.clear();
    assert!(refusal(world.say_to("ask-1", Digest::of(b"x"), Say::Yes)).contains("not the move"));
    assert!(refusal(world.say("ask-9", Say::Yes)).starts_with("no move waits"));
    let letter = world.seen.letters.asks.remove("ask-1").unwrap();
    world.seen.docs.proposals.clear();
    assert!(refusal(world.say("ask-1", Say::Yes)).contains("is not there as it was written"));
    world.lay(Ask { prompt: "something harmless".into(), ..letter });
    assert!(refusal(world.say("ask-1", Say::Yes)).starts_with("asks/ask-1.json was changed"));
    assert!(world.act().is_none() && world.engine.ledger().parked.is_empty());
}

#[test]
fn a_letter_is_no_consent() {
    let mut world = waiting();
    world.post();
    let (ask, text) = ("ask-1".to_owned(), "yes".to_owned());
    let answer = Answer { v: 1, ask: ask.clone(), text, answered: world.now.wall };
    world.seen.letters.answers.insert(ask, answer);
    world.beat();
    assert!(world.act().is_none() && world.engine.ledger().parked.contains_key("ask-1"));
    assert!(!world.entries().any(|entry| matches!(entry, Entry::Answered { .. })));
}

#[test]
fn a_no_reaches_the_next_brief() {
    let mut world = waiting();
    world.post();
    let digest = world.engine.ledger().parked["ask-1"].digest;
    let consent = Consent { ask: "ask-1".into(), digest, say: Say::No, text: "not today".into() };
    let id = world.ask(Request::Consent(consent));
    assert_eq!(world.reply(id), Some(Reply::Done));
    world.seen.letters.asks.clear();
    world.seen.docs.proposals.clear();
    world.beat();
    let briefs = world
        .each(|effect| if let Effect::Decide(order) = effect { Some(order.brief.clone()) } else { None });
    assert!(briefs[0].contains("no: not today"), "{}", briefs[0]);
}

#[test]
fn the_same_wish_is_not_parked_twice() {
    let mut world = waiting();
    world.post();
    world.seen.docs.goals.insert("more".into(), Doc::of("# More\n"));
    world.beat();
    world.decided(&json!({"action": "write_playbook", "body": PLAYBOOK, "goal": "ship"}));
    assert_eq!(world.engine.ledger().parked.len(), 1);
    let refused =
        |entry: &&Entry| matches!(entry, Entry::Rejected { reason, .. } if reason.contains("waits already"));
    assert!(world.entries().any(|entry| refused(&entry)));
}

#[test]
fn a_worker_proposes_and_a_person_decides() {
    let mut world = guarded();
    let proposal = json!({"action": "write_goal", "id": "tests", "body": "# Tests\n"});
    let ask = Ask {
        v: 1,
        id: "setup-1".into(),
        from: "setup~1".into(),
        kind: AskKind::Proposal,
        prompt: "setup~1 proposes to write goal tests".into(),
        options: vec![],
        reference: None,
        goal: None,
        proposal: Some(proposal),
        asked: world.now.wall,
        closed: false,
        fetched: false,
        limit: None,
    };
    world.lay(ask);
    world.beat();
    let parked = world.engine.ledger().parked["setup-1"].clone();
    assert!(parked.proposed && parked.by == "setup~1");
    world.decided(&json!({"action": "noop"}));
    world.effects.clear();
    world.say("setup-1", Say::Yes);
    let plan = world.act().expect("it is carried out");
    assert_eq!(plan.author, Author::Approved("setup~1".into()));
    assert!(matches!(plan.act, Act::File { .. }));
}

#[test]
fn rights_follow_authorship() {
    let mut world = guarded().goal("mine", "---\nevery: 1h\nrun: make\n---\n# Mine\n");
    world.engine.setup.builtin = true;
    world.engine.setup.paid.clear();
    world.beat();
    assert_eq!(world.act().map(|plan| plan.rights.clone()), Some(Rights::Person));
    let text = "---\nevery: 1h\nrun: make\n---\n# Theirs\n";
    let mut world = guarded().goal("theirs", text);
    world.engine.setup.builtin = true;
    world.engine.setup.paid.clear();
    world.engine.ledger.written.insert("goals/theirs.md".into(), Digest::of(text.as_bytes()));
    world.beat();
    assert_eq!(world.act().map(|plan| plan.rights.clone()), Some(Rights::none()));
}

#[test]
fn what_is_written_from_a_strangers_words_taints_until_a_person_has_a_hand_in_it() {
    let mut world = guarded().goal("ship", "# Ship\n");
    world.seen.readings.insert("web".into(), Reading::of_value(json!("buy"), Trust::External));
    world.beat();
    assert!(world.engine.ledger().deciding.as_ref().is_some_and(|deciding| deciding.tainted));
    world.decided(&json!({"action": "write_goal", "id": "buy", "body": "# Buy\n"}));
    world.acted(Outcome::done());
    let digest = Digest::of(b"# Buy\n");
    assert_eq!(world.engine.ledger().tainted.get("goals/buy.md"), Some(&digest));
    world.seen.readings.clear();
    world.seen.docs.goals.insert("buy".into(), Doc::of("# Buy\n"));
    world.seen.docs.goals.insert("new".into(), Doc::of("# New\n"));
    world.beat();
    let tainted = |world: &World| {
        world.each(
            |effect| if let Effect::Decide(order) = effect { Some(order.tainted.clone()) } else { None },
        )
    };
    let sources = tainted(&world).concat();
    assert!(sources.contains(&"goal \"buy\"".to_owned()), "{sources:?}");
    world.decided(&json!({"action": "noop"}));
    world.seen.docs.goals.insert("buy".into(), Doc::of("# Buy, says the owner\n"));
    world.beat();
    assert!(!tainted(&world).concat().contains(&"goal \"buy\"".to_owned()));
}
