//! Telling the person: once, again with growing gaps, and never of what is settled.

use super::*;
use crate::model::letter::{Ask, AskKind};
use crate::notice::{Notice, NoticeKind, gap};

impl World {
    fn letter(&mut self, id: &str, kind: AskKind) {
        let (id, from, prompt) = (id.to_owned(), "w~1".to_owned(), "Ship it?".to_owned());
        let (options, asked) = (Vec::new(), self.now.wall);
        let ask = Ask {
            closed: false,
            fetched: false,
            limit: None,
            v: 1,
            from,
            kind,
            prompt,
            options,
            reference: None,
            goal: None,
            proposal: (kind == AskKind::Proposal).then(|| json!({"action": "noop"})),
            asked,
            id,
        };
        self.seen.letters.asks.insert(ask.id.clone(), ask);
    }

    fn reply_to(&mut self, id: &str) {
        let answer = Answer { v: 1, ask: id.to_owned(), text: "yes".to_owned(), answered: 0 };
        self.seen.letters.answers.insert(id.to_owned(), answer);
    }

    fn notices(&self) -> Vec<Notice> {
        self.each(|effect| if let Effect::Notify(notice) = effect { Some(*notice.clone()) } else { None })
    }

    pub(super) fn told(&self) -> Vec<String> {
        self.notices().into_iter().map(|notice| notice.key).collect()
    }

    fn results(&mut self, key: &str, results: &[(&str, Option<&str>)]) {
        let results = results.iter().map(|(name, error)| ((*name).to_owned(), error.map(str::to_owned)));
        let results = results.collect();
        self.step(Event::Notified(key.to_owned(), results));
    }

    fn notified(&self) -> usize {
        self.entries().filter(|entry| matches!(entry, Entry::Notified { .. })).count()
    }
}

#[test]
fn an_ask_is_told_once_and_again_with_growing_gaps() {
    let mut world = World::new(true, &[]);
    world.letter("a", AskKind::Question);
    world.beat();
    let notice = Notice {
        key: "ask:a".into(),
        kind: NoticeKind::Question,
        id: "a".into(),
        message: "w asks: Ship it? (looop answer a '…')".into(),
    };
    assert_eq!(world.notices(), [notice]);
    for count in 1..8 {
        for _ in 0..3 {
            world.beat();
            assert_eq!(world.told(), Vec::<String>::new(), "pending, and told {count} times");
        }
        world.pass(gap(count).checked_sub(Duration::from_millis(1)).unwrap());
        world.beat();
        assert_eq!(world.told(), Vec::<String>::new(), "the gap after {count} is not over");
        world.pass(Duration::from_millis(1));
        world.beat();
        assert_eq!(world.told(), ["ask:a"], "the gap after {count} is over");
    }
    world.audit();
}

#[test]
fn what_is_settled_anywhere_is_not_told_again() {
    type Settle = fn(&mut World);
    let ways: [(&str, Settle); 3] = [
        ("answered", |world| world.reply_to("a")),
        ("the letter is gone", |world| drop(world.seen.letters.asks.remove("a"))),
        ("dismissed", |world| {
            world.ask(Request::Dismiss { ask: "a".into() });
            world.seen.letters.asks.remove("a");
        }),
    ];
    for (way, settle) in ways {
        for kind in [AskKind::Question, AskKind::Flag, AskKind::Proposal] {
            let mut world = World::new(true, &[]);
            world.letter("a", kind);
            world.beat();
            assert_eq!(world.told(), ["ask:a"], "{way}");
            settle(&mut world);
            world.pass(Duration::from_hours(48));
            world.beat();
            assert_eq!(world.told(), Vec::<String>::new(), "{way}, {kind:?}");
            assert!(world.engine.ledger().notices.is_empty(), "{way}");
            world.audit();
        }
    }
}

#[test]
fn a_crash_between_the_log_and_the_sending_never_sends_twice() {
    let mut world = World::new(true, &[]);
    world.letter("a", AskKind::Question);
    world.beat();
    assert_eq!(world.told(), ["ask:a"]);
    world.crash();
    world.beat();
    assert_eq!(world.told(), Vec::<String>::new());
    world.pass(gap(1));
    world.beat();
    assert_eq!(world.told(), ["ask:a"], "it comes again after its gap");
    world.audit();
}

#[test]
fn without_a_channel_nothing_is_logged() {
    let mut world = World::new(true, &["m"]);
    world.engine.setup.limits.can_notify = false;
    world.letter("a", AskKind::Question);
    world.beat();
    for _ in 0..4 {
        world.failed("no");
        world.pass(Duration::from_hours(2));
        world.beat();
    }
    assert_eq!((world.told(), world.notified()), (Vec::new(), 0));
    let next = world.waits(Duration::from_hours(100));
    assert_eq!(next, Duration::from_hours(100), "and nobody wakes for it");
    world.engine.setup.limits.can_notify = true;
    world.beat();
    assert_eq!(world.told(), ["failures", "ask:a"], "a channel that comes later tells what waits");
    world.audit();
}

#[test]
fn a_dry_run_tells_nothing() {
    let mut world = World::new(true, &[]);
    world.letter("a", AskKind::Question);
    world.ask(Request::DryRun);
    world.sense();
    assert_eq!((world.told(), world.lines.len()), (Vec::new(), 0));
    world.audit();
}

#[test]
fn a_pause_keeps_nothing_from_the_person() {
    let mut world = World::new(true, &["m"]);
    world.ask(Request::Pause { until: None });
    world.letter("a", AskKind::Flag);
    world.beat();
    assert_eq!(world.told(), ["ask:a"]);
    assert!(matches!(world.why(), Some(Why::Paused { .. })));
    world.audit();
}

#[test]
fn the_third_failure_in_a_row_is_told_at_once_and_a_success_ends_it() {
    let mut world = World::new(false, &["m"]);
    for count in 1..=3 {
        world.beat();
        world.failed("no such model");
        assert_eq!(world.told().len(), usize::from(count == 3), "failure {count}");
        world.pass(Duration::from_mins(6));
    }
    assert_eq!(
        world.notices()[0].message,
        "deciding failed 3 times in a row; last: no such model (looop why)"
    );
    world.beat();
    world.failed("no such model");
    assert_eq!(world.told(), Vec::<String>::new(), "the fourth is no news yet");
    world.pass(Duration::from_mins(15));
    world.beat();
    assert_eq!(world.told(), ["failures"]);
    assert!(world.notices()[0].message.contains("failed 4 times"), "{:?}", world.notices());
    world.decided(&json!({"action": "noop"}));
    assert!(world.engine.ledger().notices.is_empty());
    world.pass(Duration::from_hours(48));
    world.beat();
    assert_eq!(world.told(), Vec::<String>::new());
    world.audit();
}

#[test]
fn refused_proposals_count_as_failures_and_no_decider_ends_the_trouble() {
    let mut world = World::new(false, &["m"]);
    for _ in 0..3 {
        world.beat();
        world.decided(&json!({"action": "archive_goal", "id": "nope"}));
        world.pass(Duration::from_mins(6));
    }
    assert_eq!(world.told(), ["failures"]);
    world.engine.setup.paid.clear();
    world.pass(Duration::from_hours(48));
    world.beat();
    assert_eq!(world.told(), Vec::<String>::new(), "nobody is asked any more");
    world.audit();
}

#[test]
fn a_budget_stop_is_told_and_ends_with_the_next_decide() {
    let mut world = World::new(false, &["m"]).goal("g", "# G\n");
    world.engine.setup.limits.daily_usd = Some(Micros::new(500_000));
    world.beat();
    assert_eq!((world.told(), world.decides()), (vec!["purse".to_owned()], 0));
    assert!(world.notices()[0].message.contains("$0.00 of today's $0.50 is spent"));
    world.beat();
    assert_eq!(world.told(), Vec::<String>::new());
    world.engine.setup.limits.daily_usd = None;
    world.beat();
    assert_eq!((world.told(), world.decides()), (Vec::new(), 1));
    assert!(world.engine.ledger().notices.is_empty());
    world.audit();
}

#[test]
fn an_ask_of_the_loop_itself_is_told_as_soon_as_it_is_made() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "ask_human", "prompt": "Ship it?"}));
    assert_eq!(world.told(), Vec::<String>::new(), "it is not written yet");
    world.acted(Outcome::done());
    assert_eq!(world.notices()[0].message, "looop asks: Ship it? (looop answer ask-1 '…')");
    world.audit();
}

#[test]
fn what_was_told_before_is_not_repeated_by_the_end_of_a_move() {
    let mut world = World::new(false, &["m"]);
    world.letter("a", AskKind::Question);
    world.beat();
    assert_eq!(world.told(), ["ask:a"]);
    world.pass(Duration::from_hours(48));
    world.effects.clear();
    world.decided(&json!({"action": "run_shell", "cmd": "x"}));
    world.acted(shell(0));
    assert_eq!(world.told(), Vec::<String>::new(), "its answer may lie there; the next look knows");
    world.beat();
    assert_eq!(world.told(), ["ask:a"]);
    world.audit();
}

#[test]
fn many_at_once_are_summed_up() {
    let mut world = World::new(true, &[]);
    for n in 1..=8 {
        world.letter(&format!("a{n}"), AskKind::Question);
        world.pass(Duration::from_secs(1));
    }
    world.beat();
    assert_eq!(world.told(), ["ask:a1", "ask:a2", "ask:a3", "ask:a4", "ask:a5", "more"]);
    let last = world.notices().pop().unwrap();
    assert_eq!((last.kind, last.message.as_str()), (NoticeKind::More, "and 3 more; looop asks"));
    assert_eq!((world.notified(), world.engine.ledger().notices.len()), (8, 8), "all of them are told");
    world.beat();
    assert_eq!(world.told(), Vec::<String>::new());
    world.audit();
}

#[test]
fn a_channel_that_fails_is_remembered_until_it_works_or_is_gone() {
    let failing = |world: &World| world.engine.ledger().undelivered.keys().cloned().collect::<Vec<_>>();
    let mut world = World::new(true, &[]);
    world.results("ask:a", &[("command", None), ("ntfy", None)]);
    assert_eq!(world.lines.len(), 0, "that all is well is no news");
    world.results("ask:a", &[("command", Some("exit 1:\n no")), ("ntfy", None), ("webhook", Some("x"))]);
    world.results("ask:a", &[("command", Some("exit 2")), ("ntfy", None), ("webhook", Some("x"))]);
    assert_eq!(failing(&world), ["command", "webhook"]);
    let record = &world.engine.ledger().undelivered["command"];
    assert_eq!((record.error.as_str(), record.count), ("exit 2", 2));
    world.results("ask:a", &[("command", None), ("ntfy", None)]);
    assert_eq!(failing(&world), Vec::<String>::new(), "one works, the other is no longer configured");
    world.audit();
}

#[test]
fn the_next_look_is_no_later_than_the_next_notice() {
    let mut world = World::new(true, &[]);
    let day = Duration::from_hours(24);
    assert_eq!(world.waits(day), day);
    world.letter("a", AskKind::Question);
    world.beat();
    assert_eq!(world.waits(day), gap(1));
    world.pass(Duration::from_mins(5));
    assert_eq!(world.waits(day), Duration::from_mins(10));
    world.pass(Duration::from_mins(10));
    let left = day.saturating_sub(Duration::from_mins(15));
    assert_eq!(world.waits(day), left, "what is due does not make the loop spin");
}

#[test]
fn a_loop_that_ends_tells_nothing_more() {
    let mut world = World::new(false, &["m"]);
    world.beat();
    world.decided(&json!({"action": "ask_human", "prompt": "Ship it?"}));
    world.step(Event::Stop { reason: "looop down".into(), keep_workers: true });
    world.acted(Outcome::done());
    assert_eq!(world.told(), Vec::<String>::new());
    world.crash();
    let bytes =
        json!({"v": 1, "id": "ask-1", "from": "pulse", "prompt": "Ship it?", "asked": world.now.wall});
    world.seen.letters.asks.insert("ask-1".into(), serde_json::from_value(bytes).unwrap());
    world.beat();
    assert_eq!(world.told(), ["ask:ask-1"], "the next one does");
    world.audit();
}
