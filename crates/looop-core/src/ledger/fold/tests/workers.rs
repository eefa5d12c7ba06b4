//! What entries about workers make of the ledger.

use super::*;
use crate::bounds::{GENERATIONS, REMEMBERED};
use crate::ledger::state::WorkerRecord;
use crate::model::money::Allowance;
use crate::world::baseline::{seen_of_value, worker_item};
use crate::world::fleet::WorkerState;

fn start_of(author: Author, session: &str, goal: Option<&str>) -> Plan {
    let action = json!({"action": "start_worker", "id": "w", "prompt": "p", "goal": goal});
    let act = Act::Worker {
        session: session.into(),
        verify: Some("true".into()),
        repo: None,
        foreign: false,
        allowance: Allowance::Nothing,
        runner: None,
        model: None,
        last: None,
    };
    Plan { goal: goal.map(str::to_owned), ..plan(author, action, act) }
}

fn again_of(author: Author, from: &str, session: &str, ask: Option<&str>) -> Plan {
    let (from, session) = (from.to_owned(), session.to_owned());
    let action = json!({"action": "restart_session", "id": "w"});
    let asks = ask.into_iter().map(str::to_owned).collect();
    plan(author, action, Act::Again { from, session, asks, allowance: Allowance::Nothing, runner: None })
}

fn kill_of(author: Author, session: &str) -> Plan {
    plan(
        author,
        json!({"action": "kill_worker", "id": "w"}),
        Act::Ended { session: session.into(), also: Vec::new() },
    )
}

/// A move from its intention to its end.
fn made(plan: Plan, outcome: Outcome) -> [Entry; 2] {
    [intended(1, plan), finished(1, outcome)]
}

fn started(session: &str, goal: Option<&str>) -> Ledger {
    folded(&made(start_of(model(), session, goal), Outcome::done()))
}

fn ended(session: &str, state: WorkerState) -> Entry {
    Entry::WorkerEnded { session: session.into(), state, strays: Vec::new() }
}

fn verified(session: &str, pass: bool) -> Entry {
    Entry::Verified { session: session.into(), pass, text: String::new(), tail: String::new(), red: false }
}

#[test]
fn a_number_is_used_up_by_the_intention_whatever_comes_of_it() {
    let outcomes =
        [Outcome::done(), Outcome::failed("full"), Outcome::Interrupted { reason: "crash".into() }];
    for outcome in outcomes {
        let plan = start_of(model(), "w~4", None);
        let mut ledger = folded(&[intended(1, plan)]);
        assert_eq!((ledger.generations["w"], ledger.sessions), (4, 0));
        then(&mut ledger, &[finished(1, outcome.clone())]);
        assert_eq!(ledger.generations["w"], 4);
        let may_be_there = !matches!(outcome, Outcome::Failed { .. });
        assert_eq!(ledger.workers.contains_key("w~4"), may_be_there, "{outcome:?}");
        then(&mut ledger, &[intended(2, again_of(model(), "w~4", "w~6", None))]);
        let restarted = Entry::Restarted { beat: BeatId(2), session: "w~7".into() };
        then(&mut ledger, &[restarted]);
        assert_eq!((ledger.generations["w"], ledger.sessions), (7, 0));
        assert_eq!(ledger.acting.as_ref().unwrap().plan.act.starts(), Some("w~7"));
        then(&mut ledger, &[Entry::Pruned { sessions: vec!["w~4".into(), "w~7".into()] }]);
        assert_eq!(ledger.generations["w"], 7, "also when nothing is kept");
    }
}

#[test]
fn numbers_never_go_back() {
    let plan = |session| intended(1, start_of(Author::Person, session, None));
    let ledger = folded(&[plan("w~7"), plan("w~2"), plan("v~1")]);
    assert_eq!(ledger.generations, [("v".to_owned(), 1), ("w".to_owned(), 7)].into());
}

#[test]
fn a_worker_is_remembered_with_what_it_was_started_for() {
    for author in [model(), Author::Builtin, Author::Person] {
        let ledger = folded(&made(start_of(author.clone(), "w~1", Some("g")), Outcome::done()));
        let record = WorkerRecord {
            goal: Some("g".into()),
            verify: Some("true".into()),
            ..WorkerRecord::new(author.clone(), at(2000))
        };
        assert_eq!(ledger.workers, [("w~1".to_owned(), record)].into());
        assert_eq!(ledger.baseline.contains_key("worker:w"), author != Author::Person, "{author:?}");
    }
}

#[test]
fn the_row_that_is_folded_is_the_one_that_the_probe_will_show() {
    let mut ledger = started("w~1", Some("g"));
    let row = |state: &str, alive: bool, health: &str| {
        seen_of_value(&json!({
            "id": "w", "state": state, "alive": alive, "exit_code": null, "health": health, "goal": "g", "verify": null,
        }))
    };
    assert_eq!(ledger.baseline[&worker_item("w")], row("alive", true, "busy"));
    then(&mut ledger, &made(kill_of(model(), "w~1"), Outcome::done()));
    assert_eq!(ledger.baseline[&worker_item("w")], row("killed", false, "dead"));
    let mut ledger = started("w~1", Some("g"));
    then(&mut ledger, &made(kill_of(Author::Person, "w~1"), Outcome::done()));
    assert_eq!(ledger.baseline[&worker_item("w")], row("alive", true, "busy"), "a person's is news");
}

#[test]
fn each_end_without_proof_counts_against_the_goal_once() {
    let mut ledger = started("w~1", Some("g"));
    then(&mut ledger, &[ended("w~1", WorkerState::Exited(0)), ended("w~1", WorkerState::Lost)]);
    assert_eq!(ledger.goal("g").fruitless, 1);
    assert_eq!(ledger.workers["w~1"].ended, Some(WorkerState::Exited(0)), "the first word counts");
    then(&mut ledger, &[verified("w~1", false)]);
    assert_eq!((ledger.goal("g").fruitless, ledger.workers["w~1"].proven), (1, Some(false)));
    then(&mut ledger, &made(start_of(model(), "w~2", Some("g")), Outcome::done()));
    then(&mut ledger, &made(kill_of(model(), "w~2"), Outcome::done()));
    then(&mut ledger, &[ended("w~2", WorkerState::Killed)]);
    assert_eq!(ledger.goal("g").fruitless, 2, "a killed one has proven nothing either");
    then(&mut ledger, &made(start_of(Author::Person, "w~3", Some("g")), Outcome::done()));
    then(&mut ledger, &[ended("w~3", WorkerState::Exited(0)), verified("w~3", true)]);
    assert_eq!((ledger.goal("g").fruitless, ledger.goal("g").attempts), (0, 0), "a pass starts anew");
}

#[test]
fn a_kill_that_failed_ends_nobody() {
    let mut ledger = started("w~1", Some("g"));
    then(&mut ledger, &made(kill_of(model(), "w~1"), Outcome::failed("it does not die")));
    assert_eq!((ledger.workers["w~1"].ended.clone(), ledger.goal("g").fruitless), (None, 0));
}

#[test]
fn what_is_not_known_is_passed_over() {
    let mut ledger = Ledger::default();
    then(&mut ledger, &[ended("x~1", WorkerState::Lost), verified("x~1", true)]);
    then(&mut ledger, &[Entry::Pruned { sessions: vec!["x~1".into()] }]);
    assert!(ledger.workers.is_empty() && ledger.goals.is_empty());
}

#[test]
fn a_task_begun_anew_keeps_its_goal_and_proof_and_ends_the_one_before() {
    let mut ledger = started("w~1", Some("g"));
    then(&mut ledger, &made(again_of(Author::Builtin, "w~1", "w~2", Some("ask-7")), Outcome::done()));
    assert_eq!(ledger.workers["w~1"].ended, Some(WorkerState::Killed));
    let record = &ledger.workers["w~2"];
    assert_eq!((record.goal.as_deref(), record.verify.as_deref()), (Some("g"), Some("true")));
    assert_eq!((record.after.as_deref(), &record.author), (Some("ask-7"), &Author::Builtin));
    assert_eq!(ledger.redelivered, [("ask-7".to_owned(), "w~2".to_owned())].into());
    let mut ledger = started("w~1", None);
    then(&mut ledger, &[ended("w~1", WorkerState::Exited(1))]);
    then(&mut ledger, &made(again_of(Author::Person, "w~1", "w~2", None), Outcome::done()));
    assert_eq!(ledger.workers["w~1"].ended, Some(WorkerState::Exited(1)), "it ended as it did");
    assert!(ledger.redelivered.is_empty());
}

#[test]
fn an_answer_that_could_not_be_brought_counts_as_brought_to_one_that_died() {
    let mut ledger = started("w~1", Some("g"));
    then(&mut ledger, &[ended("w~1", WorkerState::Lost)]);
    let fails = Outcome::failed("no space");
    then(&mut ledger, &made(again_of(Author::Builtin, "w~1", "w~2", Some("a")), fails.clone()));
    let record = &ledger.workers["w~2"];
    assert_eq!(record.ended, Some(WorkerState::Spawn("no space".into())));
    assert_eq!(
        (record.after.as_deref(), record.mourned, record.goal.as_deref()),
        (Some("a"), false, Some("g"))
    );
    assert_eq!(ledger.redelivered["a"], "w~2");
    then(&mut ledger, &made(again_of(Author::Person, "w~1", "w~3", None), fails));
    assert!(!ledger.workers.contains_key("w~3"), "a restart without an answer is no such thing");
}

#[test]
fn a_question_about_a_death_is_remembered_with_the_session() {
    for (reference, mourned) in [("sessions/w~1", true), ("sessions/w~2", false), ("goals/g.md", false)] {
        let mut ledger = started("w~1", None);
        let action = json!({"action": "ask_human", "prompt": "What now?", "ref": reference});
        let plan = plan(Author::Builtin, action, file("asks/ask-1.json", Some("a")));
        then(&mut ledger, &made(plan.clone(), Outcome::failed("no space")));
        assert!(!ledger.workers["w~1"].mourned, "nobody was asked");
        then(&mut ledger, &made(plan, Outcome::done()));
        assert_eq!(ledger.workers["w~1"].mourned, mourned, "{reference}");
    }
}

#[test]
fn what_is_pruned_is_forgotten_with_its_row() {
    let interrupted = Outcome::Interrupted { reason: "its host died".into() };
    for second in [Outcome::done(), interrupted] {
        let mut ledger = started("w~1", None);
        then(&mut ledger, &made(start_of(model(), "w~2", None), second.clone()));
        then(&mut ledger, &[Entry::Pruned { sessions: vec!["w~1".into()] }]);
        assert_eq!(ledger.workers.keys().collect::<Vec<_>>(), ["w~2"], "{second:?}");
        assert!(ledger.baseline.contains_key("worker:w"), "another of its sessions is kept: {second:?}");
        then(&mut ledger, &[Entry::Pruned { sessions: vec!["w~2".into()] }]);
        assert!(ledger.workers.is_empty() && ledger.baseline.is_empty(), "{second:?}");
    }
}

#[test]
fn an_answer_to_a_worker_is_no_note_for_the_decider() {
    let mut ledger = started("worker", None);
    let answered = Entry::Answered { ask: "a".into(), text: "yes".into() };
    then(&mut ledger, &[asked("a", None, 1), answered.clone()]);
    assert_eq!((notes(&ledger), ledger.asks.len(), ledger.settled["a"]), (vec![], 0, 1));
    let mut ledger = folded(&[asked("a", None, 1), answered]);
    assert_eq!(notes(&ledger).len(), 1);
    then(&mut ledger, &[Entry::Dismissed { ask: "a".into() }]);
    assert_eq!(notes(&ledger).len(), 1);
}

#[test]
fn a_redelivery_is_forgotten_by_its_age_and_not_by_its_name() {
    let mut ledger = Ledger::default();
    for number in 0..REMEMBERED {
        let again =
            again_of(Author::Builtin, "z~1", &format!("z~{}", number + 2), Some(&format!("z-{number}")));
        then(&mut ledger, &made(again, Outcome::done()));
    }
    then(&mut ledger, &made(again_of(Author::Builtin, "a~1", "a~2", Some("a-1")), Outcome::done()));
    assert_eq!(ledger.redelivered.get("a-1").map(String::as_str), Some("a~2"), "it is not brought again");
    assert!(!ledger.redelivered.contains_key("z-0"), "the oldest is forgotten");
    assert_eq!(ledger.redelivered.len(), REMEMBERED);
}

#[test]
fn the_number_of_a_worker_is_forgotten_by_its_age_and_not_by_its_name() {
    let mut ledger = Ledger::default();
    let start = |ledger: &mut Ledger, id: &str| {
        let session = format!("{id}~1");
        let plan = start_of(model(), &session, None);
        then(ledger, &made(plan, Outcome::failed("no")));
    };
    for number in 0..GENERATIONS {
        start(&mut ledger, &format!("z{number}"));
    }
    start(&mut ledger, "a");
    start(&mut ledger, "b");
    assert!(ledger.generations.contains_key("a") && ledger.generations.contains_key("b"));
    assert!(!ledger.generations.contains_key("z0") && !ledger.generations.contains_key("z1"));
    assert_eq!(ledger.generations.len(), GENERATIONS);
}
