//! The built-in decider: when a goal wants something, which goal is served first, and what is said about the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::json;

use super::{Choice, Idle, Readiness, Standing, choose, nothing_text, readiness};
use crate::ledger::state::{GoalRecord, Ledger};
use crate::model::goal;
use crate::model::moves::Move;
use crate::model::outcome::Ended;
use crate::time::{Now, Stamp};
use crate::world::observation::{Checked, Doc, Observation};
use crate::world::reading::{Reading, Trust};

fn noon() -> Now {
    Now { wall: 1_799_928_000_000, up: 864_000_000, boot: 1, zone: TimeZone::UTC }
}

fn ago(minutes: u64) -> Stamp {
    let ms = minutes * 60_000;
    Stamp { wall: noon().wall - ms.cast_signed(), up: noon().up - ms, boot: 1 }
}

fn served(minutes: u64) -> GoalRecord {
    GoalRecord { served: Some(ago(minutes)), ..GoalRecord::default() }
}

fn readings() -> BTreeMap<String, Reading> {
    [("ci".to_owned(), Reading::of_value(json!({"red": 1}), Trust::Owner))].into()
}

fn checked(ended: Ended) -> Checked {
    Checked { ended, output: String::new() }
}

fn text(fields: &str) -> String {
    format!("---\n{}\n---\nA goal.\n", fields.replace(" | ", "\n"))
}

fn ready(why: &str) -> Readiness {
    Readiness::Ready(why.to_owned())
}

#[test]
fn a_goal_is_ready_when_its_check_fails_or_it_is_due_or_its_condition_alone_holds() {
    let never = GoalRecord::default();
    let exited = |code| Some(checked(Ended::Exited(code)));
    let error = |text: &str| Readiness::CheckError(text.to_owned());
    let table = [
        ("check: x", &never, None, error("its check has not run yet")),
        ("check: x", &never, exited(0), Readiness::Holds("its check holds".into())),
        ("check: x", &never, exited(1), ready("its check fails")),
        ("check: x", &never, exited(2), error("its check gave exit 2")),
        ("check: x", &never, Some(checked(Ended::TimedOut)), error("its check gave timed out")),
        ("every: 1h", &never, None, ready("it is due every 1h and was never served")),
        ("every: 1h", &served(59), None, Readiness::NotDue(Duration::from_mins(1))),
        ("every: 1h", &served(60), None, ready("it is due every 1h")),
        ("check: x | every: 1h", &served(59), exited(0), Readiness::NotDue(Duration::from_mins(1))),
        ("check: x | every: 1h", &served(59), exited(1), ready("its check fails")),
        ("when: ci.red > 0", &never, None, ready("ci.red > 0 holds")),
        ("when: ci.red > 1", &never, None, Readiness::Unmet("ci.red > 1".into())),
        ("when: ci.red > 1 | check: x", &never, exited(1), Readiness::Unmet("ci.red > 1".into())),
        ("when: ci.red > 0 | check: x", &never, exited(0), Readiness::Holds("its check holds".into())),
        ("when: ci.red > 0 | every: 1h", &served(60), None, ready("it is due every 1h")),
        ("run: x", &never, None, Readiness::Prose),
        ("goal: words", &never, None, Readiness::Prose),
    ];
    for (fields, record, checked, state) in table {
        let goal = goal::parse(&text(fields));
        assert_eq!(readiness(&goal, record, checked.as_ref(), &readings(), &noon()), state, "{fields}");
    }
}

#[test]
fn a_condition_that_cannot_be_read_is_an_error_of_the_goal() {
    let goal = goal::parse(&text("when: ci.red"));
    let state = readiness(&goal, &GoalRecord::default(), None, &readings(), &noon());
    assert!(matches!(&state, Readiness::CheckError(text) if text.starts_with("when: ")), "{state:?}");
}

/// A ledger with these goals, and a choice among them.
fn chosen(goals: &[(&str, &str, GoalRecord)]) -> Choice {
    let mut seen = Observation::default();
    let mut ledger = Ledger::default();
    for (id, fields, record) in goals {
        seen.docs.goals.insert((*id).to_owned(), Doc::of(text(fields)));
        seen.checks.insert((*id).to_owned(), checked(Ended::Exited(1)));
        ledger.goals.insert((*id).to_owned(), record.clone());
    }
    choose(&ledger, &seen, &readings(), &noon())
}

fn first(goals: &[(&str, &str, GoalRecord)]) -> Option<String> {
    chosen(goals).pick.and_then(|(proposal, _)| proposal.goal).map(|name| name.to_string())
}

const RECIPE: &str = "check: x | run: mend";

#[test]
fn the_highest_priority_goes_first_and_then_the_longest_unserved() {
    let urgent = "check: x | run: mend | priority: 1";
    let table = [
        ("equals: the first by name", [("a", RECIPE, served(5)), ("b", RECIPE, served(5))], "a"),
        ("longest unserved", [("a", RECIPE, served(5)), ("b", RECIPE, served(6))], "b"),
        ("never served", [("a", RECIPE, served(5)), ("b", RECIPE, GoalRecord::default())], "b"),
        ("priority", [("a", RECIPE, GoalRecord::default()), ("b", urgent, served(1))], "b"),
        ("not servable", [("a", "check: x", GoalRecord::default()), ("b", RECIPE, served(1))], "b"),
    ];
    for (name, goals, id) in table {
        assert_eq!(first(&goals).as_deref(), Some(id), "{name}");
    }
}

#[test]
fn a_servable_goal_runs_its_recipe_and_says_why() {
    let (proposal, why) = chosen(&[("x", RECIPE, GoalRecord::default())]).pick.unwrap();
    assert_eq!(proposal.action, Move::RunShell { cmd: "mend".into(), reason: None });
    assert_eq!(why, "goal x: its check fails");
}

#[test]
fn after_the_third_attempt_a_person_is_asked() {
    let tried = |attempts, last: Option<&str>| GoalRecord {
        attempts,
        last: last.map(str::to_owned),
        ..GoalRecord::default()
    };
    let (proposal, _) = chosen(&[("x", RECIPE, tried(2, Some("exit 1")))]).pick.unwrap();
    assert_eq!(proposal.action.action(), "run_shell");
    for (last, said) in [(Some("exit 1"), "exit 1"), (None, "no result")] {
        let (proposal, why) = chosen(&[("x", RECIPE, tried(3, last))]).pick.unwrap();
        assert_eq!(why, format!("goal x: its check fails after 3 attempts; the last: {said}"));
        let Move::AskHuman { prompt, options, reference } = proposal.action else { panic!("{proposal:?}") };
        assert!(
            prompt.contains("Goal \"x\"") && prompt.contains("`mend`") && prompt.contains(said),
            "{prompt}"
        );
        assert_eq!((options, reference.as_deref()), (vec!["again".to_owned()], Some("goals/x.md")));
    }
}

#[test]
fn what_is_not_served_says_why_not() {
    let waits = GoalRecord { ask: Some("ask-1".into()), attempts: 3, ..GoalRecord::default() };
    let never = GoalRecord::default;
    let table = [
        ("check: x", never(), "its check fails, and it has no recipe: only a model can serve it"),
        (
            "check: x | worker: do it",
            never(),
            "its check fails, and its recipe is a worker, which this version cannot start",
        ),
        (RECIPE, waits, "it waits for your answer to ask-1"),
        ("run: x", never(), "its recipe never becomes due: give it a check, an every or a when"),
        ("goal: words", never(), "it is prose: only a model can serve it"),
        ("every: 1h | run: x", served(10), "due again in 50m"),
        ("when: ci.red > 1 | run: x", never(), "ci.red > 1 does not hold"),
    ];
    for (fields, record, said) in table {
        let choice = chosen(&[("x", fields, record)]);
        assert!(choice.pick.is_none(), "{fields}");
        assert_eq!(choice.standings["x"].text(), said, "{fields}");
    }
}

#[test]
fn a_broken_goal_is_named_and_an_absent_one_is_not_there() {
    let mut seen = Observation::default();
    seen.docs.goals.insert("bad".into(), Doc::Broken { error: "goals/bad.md is not UTF-8".into() });
    seen.docs.goals.insert("gone".into(), Doc::Absent);
    let choice = choose(&Ledger::default(), &seen, &readings(), &noon());
    let broken = Standing::Not(Idle::Broken("goals/bad.md is not UTF-8".into()));
    assert_eq!(choice.standings, [("bad".to_owned(), broken)].into());
    assert_eq!(choice.standings["bad"].text(), "goals/bad.md is not UTF-8");
}

#[test]
fn a_check_that_holds_or_errs_is_told_as_it_is() {
    for (code, said) in [(0, "its check holds"), (7, "its check gave exit 7")] {
        let mut seen = Observation::default();
        seen.docs.goals.insert("x".into(), Doc::of(text(RECIPE)));
        seen.checks.insert("x".into(), checked(Ended::Exited(code)));
        let choice = choose(&Ledger::default(), &seen, &readings(), &noon());
        assert!(choice.pick.is_none());
        assert_eq!(choice.standings["x"].text(), said);
    }
}

#[test]
fn with_nothing_to_do_the_goals_are_counted_by_why() {
    assert_eq!(nothing_text(&chosen(&[])), "there are no goals; write one with `looop goal write <id>`");
    let waits = GoalRecord { ask: Some("ask-1".into()), ..GoalRecord::default() };
    let never = GoalRecord::default;
    let choice = chosen(&[
        ("a", "goal: words", never()),
        ("b", "check: x", never()),
        ("c", "every: 1h | run: x", served(10)),
        ("d", "when: ci.red > 1 | run: x", never()),
        ("e", RECIPE, waits),
        ("f", "check: x | worker: do it", never()),
        ("g", "run: x", never()),
    ]);
    assert_eq!(
        nothing_text(&choice),
        "no goal to serve: 1 broken, 2 for a model to serve, 1 for a worker to serve, 2 not due, \
         1 waiting for your answer"
    );
    let holds = [("x".to_owned(), Standing::Not(Idle::Holds("its check holds".into())))].into();
    assert_eq!(nothing_text(&Choice { pick: None, standings: holds }), "no goal to serve: 1 as it should be");
}
