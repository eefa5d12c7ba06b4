//! What is remembered only so that it is not done twice, and what is forgotten.

use super::*;
use crate::bounds::{REMEMBERED, SCHEDULES};

#[test]
fn the_asks_that_were_settled_last_are_kept_whatever_their_letters_say() {
    let mut ledger = Ledger::default();
    for number in 0..=REMEMBERED {
        let id = format!("ask-{number}");
        let when = i64::try_from(REMEMBERED - number).unwrap();
        then(&mut ledger, &[asked(&id, None, when), Entry::Dismissed { ask: id.clone() }]);
    }
    assert_eq!(ledger.settled.len(), REMEMBERED);
    assert!(!ledger.settled.contains_key("ask-0"), "the one settled first goes");
    assert!(ledger.settled.contains_key(&format!("ask-{REMEMBERED}")), "and not the one asked first");
}

#[test]
fn tells_and_schedules_are_forgotten_by_age_and_not_by_their_own_times() {
    let mut ledger = Ledger::default();
    for number in 0..=REMEMBERED {
        let (tell, told) = (format!("w-{number}"), -i64::try_from(number).unwrap());
        then(&mut ledger, &[Entry::Told { tell, session: "w~1".into(), text: "x".into(), told }]);
    }
    assert!(!ledger.tells.contains_key("w-0") && ledger.tells.contains_key(&format!("w-{REMEMBERED}")));
    for number in 0..=2 * SCHEDULES {
        let (schedule, due) = (format!("s-{number}"), -i64::try_from(number).unwrap());
        then(&mut ledger, &[Entry::ScheduleDue { schedule, due }]);
    }
    assert!(!ledger.due.contains_key("s-0") && ledger.due.contains_key(&format!("s-{}", 2 * SCHEDULES)));
}

#[test]
fn nothing_stays_of_a_goal_that_only_a_letter_named() {
    let mut ledger = Ledger::default();
    for number in 0..50 {
        let (id, goal) = (format!("ask-{number}"), format!("no-such-goal-{number}"));
        then(&mut ledger, &[asked(&id, Some(&goal), 1)]);
        assert_eq!(ledger.goals[&goal].ask.as_ref(), Some(&id));
        then(&mut ledger, &[Entry::Dismissed { ask: id }]);
    }
    assert_eq!(ledger.goals, [].into());
}

#[test]
fn questions_of_a_decider_are_no_files_whose_author_matters() {
    let action = json!({"action": "ask_human", "prompt": "Really?"});
    let act = Act::File { path: "asks/ask-1.json".into(), before: None, after: Some(digest("letter")) };
    let mut plan = plan(model(), action, act);
    plan.tainted = true;
    let ledger = folded(&[intended(1, plan), finished(1, Outcome::done())]);
    assert_eq!((ledger.written.len(), ledger.tainted.len()), (0, 0));
    assert!(ledger.asks.contains_key("ask-1"));
}

#[test]
fn numbers_only_rise() {
    let mut ledger = Ledger { runs: 9, sessions: 3, ..Ledger::default() };
    then(&mut ledger, &[Entry::Renumbered { runs: 5, sessions: 57, asks: 2, beats: 1000 }]);
    assert_eq!((ledger.runs, ledger.sessions, ledger.asks_made, ledger.beats), (9, 57, 2, 1000));
}

#[test]
fn counts_and_times_at_their_ends_are_survived() {
    let most = GoalRecord { attempts: u32::MAX, fruitless: u32::MAX, ..GoalRecord::default() };
    let mut ledger = Ledger {
        sessions: u64::MAX,
        asks_made: u64::MAX,
        chain: u32::MAX,
        goals: [("g".to_owned(), most)].into(),
        ..Ledger::default()
    };
    let hosted = Act::Hosted { session: "move~1".into() };
    let shell = Plan {
        goal: Some("g".into()),
        ..plan(Author::Builtin, json!({"action": "run_shell", "cmd": "x"}), hosted)
    };
    then(
        &mut ledger,
        &[intended(1, shell), finished(1, Outcome::failed("x")), asked("a", Some("g"), i64::MIN)],
    );
    then(&mut ledger, &[Entry::Answered { ask: "a".into(), text: "yes".into() }]);
    assert_eq!(ledger.sessions, u64::MAX);
}
