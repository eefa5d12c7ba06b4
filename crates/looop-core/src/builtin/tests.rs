//! The built-in decider: when a goal wants something, which goal is served first, and what is said about the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::json;

use super::{Choice, Idle, Readiness, Standing, choose, nothing_text, readiness};
use crate::engine::tests::limits;
use crate::ledger::state::{GoalRecord, Ledger};
use crate::model::goal;
use crate::model::letter::Claim;
use crate::model::moves::Move;
use crate::model::name::Name;
use crate::model::outcome::Ended;
use crate::time::{Now, Stamp};
use crate::world::condition::Unknown;
use crate::world::fleet::{Worker, WorkerState, worker_of};
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

fn unmet() -> Readiness {
    Readiness::Unmet("ci.red > 1 does not hold: it is 1".to_owned())
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
        ("when: ci.red > 1", &never, None, unmet()),
        ("when: cii.red > 1", &never, None, Readiness::Unknown(Unknown::NoReading("cii".into()))),
        ("when: ci.red > 1 | check: x", &never, exited(1), unmet()),
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

fn look(ledger: &Ledger, seen: &Observation) -> Choice {
    choose(ledger, seen, &readings(), (&noon(), &limits()))
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
    look(&ledger, &seen)
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

/// A decider cannot put its own goals before those of the person.
#[test]
fn the_priority_of_a_goal_that_a_decider_wrote_does_not_count() {
    let mut seen = Observation::default();
    let mut ledger = Ledger::default();
    for (id, fields) in [("a", RECIPE), ("z", "check: x | run: mend | priority: 9")] {
        seen.docs.goals.insert(id.to_owned(), Doc::of(text(fields)));
        seen.checks.insert(id.to_owned(), checked(Ended::Exited(1)));
    }
    let first = |ledger: &Ledger| {
        look(ledger, &seen).pick.and_then(|(proposal, _)| proposal.goal).map(|name| name.to_string())
    };
    assert_eq!(first(&ledger).as_deref(), Some("z"));
    let digest = seen.docs.goals["z"].digest().unwrap();
    ledger.written.insert("goals/z.md".to_owned(), digest);
    assert_eq!(first(&ledger).as_deref(), Some("a"));
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
        assert_eq!(
            (options, reference.as_deref()),
            (vec!["again".to_owned(), "leave".to_owned()], Some("goals/x.md"))
        );
    }
}

#[test]
fn what_is_not_served_says_why_not() {
    let waits = GoalRecord { ask: Some("ask-1".into()), attempts: 3, ..GoalRecord::default() };
    let never = GoalRecord::default;
    let table = [
        ("check: x", never(), "its check fails, and it has no recipe: only a model can serve it"),
        (RECIPE, waits, "it waits for your answer to ask-1"),
        ("run: x", never(), "its recipe never becomes due: give it a check, an every or a when"),
        ("goal: words", never(), "it is prose: only a model can serve it"),
        ("every: 1h | run: x", served(10), "due again in 50m"),
        ("when: ci.red > 1 | run: x", never(), "ci.red > 1 does not hold: it is 1"),
        (
            "when: cii.red > 1 | run: x",
            never(),
            "it is not known whether its condition holds: there is no sensor \"cii\"; did you mean ci?",
        ),
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
    let choice = look(&Ledger::default(), &seen);
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
        let choice = look(&Ledger::default(), &seen);
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
        ("g", "run: x", never()),
    ]);
    assert_eq!(
        nothing_text(&choice),
        "no goal to serve: 1 broken, 2 for a model to serve, 2 not due, \
         1 waiting for your answer"
    );
    let holds = [("x".to_owned(), Standing::Not(Idle::Holds("its check holds".into())))].into();
    assert_eq!(nothing_text(&Choice { pick: None, standings: holds }), "no goal to serve: 1 as it should be");
}

// Recipes that a worker carries out.

const WORKED: &str = "check: test -e x | worker: make x";

/// A world with the goal `x`, whose recipe is a worker.
fn worked(fields: &str) -> Observation {
    let mut seen = Observation::default();
    seen.docs.goals.insert("x".into(), Doc::of(text(fields)));
    seen.checks.insert("x".into(), checked(Ended::Exited(1)));
    seen
}

fn employ(seen: &mut Observation, session: &str, state: WorkerState, goal: Option<&str>) {
    let worker = Worker {
        id: worker_of(session).to_owned(),
        session: session.to_owned(),
        state,
        goal: goal.map(str::to_owned),
        runner: None,
        started: 0,
        ended: None,
        silent_s: None,
        strays: Vec::new(),
    };
    seen.docs.fleet.workers.insert(session.to_owned(), worker);
}

fn claim(seen: &mut Observation, name: &str, session: &str) {
    let claim = Claim { v: 1, name: name.into(), session: session.into(), ts: 0, nonce: String::new() };
    seen.letters.claims.insert(name.into(), claim);
}

fn standing_of(seen: &Observation, record: GoalRecord) -> (Option<&'static str>, String) {
    let ledger = Ledger { goals: [("x".to_owned(), record)].into(), ..Ledger::default() };
    let choice = look(&ledger, seen);
    (choice.pick.map(|(proposal, _)| proposal.action.action()), choice.standings["x"].text())
}

#[test]
fn a_ready_goal_gets_a_worker_that_is_told_the_recipe_and_proven_by_the_check() {
    let choice = look(&Ledger::default(), &worked(WORKED));
    let (proposal, why) = choice.pick.expect("a worker");
    let Move::StartWorker {
        id,
        prompt,
        goal,
        runner,
        command,
        verify,
        sandbox: false,
        repo: None,
        cwd: None,
    } = proposal.action
    else {
        panic!("{proposal:?}")
    };
    assert_eq!((id.as_str(), goal.as_ref().map(Name::as_str)), ("x", Some("x")));
    assert_eq!((verify.as_deref(), runner, command), (Some("test -e x"), None, None));
    assert_eq!(prompt, "make x\n\nThe goal \"x\", which you serve:\n\nA goal.\n");
    assert_eq!(
        (proposal.goal.as_ref().map(Name::as_str), why.as_str()),
        (Some("x"), "goal x: its check fails")
    );
    let choice = look(&Ledger::default(), &worked("every: 1h | worker: make x"));
    let (proposal, _) = choice.pick.expect("a worker");
    assert!(matches!(proposal.action, Move::StartWorker { verify: None, .. }), "nothing proves it");
}

#[test]
fn no_worker_is_started_for_a_goal_that_somebody_works_on_or_has_claimed() {
    type Setting = fn(&mut Observation);
    let on_it = "worker w~1 is on it";
    let table: [(&str, Setting, Option<&str>); 12] = [
        ("serves it", |seen| employ(seen, "w~1", WorkerState::Alive, Some("x")), Some(on_it)),
        ("paused", |seen| employ(seen, "w~1", WorkerState::Paused, Some("x")), Some(on_it)),
        ("its name", |seen| employ(seen, "x~4", WorkerState::Alive, None), Some("worker x~4 is on it")),
        ("ended", |seen| employ(seen, "w~1", WorkerState::Exited(0), Some("x")), None),
        ("another goal", |seen| employ(seen, "w~1", WorkerState::Alive, Some("y")), None),
        (
            "claimed",
            |seen| {
                employ(seen, "w~1", WorkerState::Alive, None);
                claim(seen, "x", "w~1");
            },
            Some("w~1 has claimed it"),
        ),
        (
            "claimed by the dead",
            |seen| {
                employ(seen, "w~1", WorkerState::Lost, None);
                claim(seen, "x", "w~1");
            },
            None,
        ),
        (
            "another claim",
            |seen| {
                employ(seen, "w~1", WorkerState::Alive, None);
                claim(seen, "y", "w~1");
            },
            None,
        ),
        ("claimed by nobody", |seen| claim(seen, "x", "w~1"), None),
        (
            "claimed in a worker's name",
            |seen| {
                employ(seen, "w~1", WorkerState::Alive, None);
                claim(seen, "x", "w");
            },
            Some("w has claimed it"),
        ),
        (
            "claimed in a dead worker's name",
            |seen| {
                employ(seen, "w~1", WorkerState::Exited(0), None);
                claim(seen, "x", "w");
            },
            None,
        ),
        (
            "claimed by who may live",
            |seen| {
                seen.docs.fleet.fault = Some("unreadable".into());
                claim(seen, "x", "w~1");
            },
            Some("w~1 has claimed it"),
        ),
    ];
    for (name, setting, why_not) in table {
        let mut seen = worked(WORKED);
        setting(&mut seen);
        let expected = match why_not {
            Some(why_not) => (None, why_not.to_owned()),
            None => (Some("start_worker"), "its check fails".to_owned()),
        };
        assert_eq!(standing_of(&seen, GoalRecord::default()), expected, "{name}");
    }
}

#[test]
fn no_worker_is_started_for_a_goal_that_waits_on_a_person_or_wants_nothing() {
    let waits = GoalRecord { ask: Some("ask-1".into()), fruitless: 2, ..GoalRecord::default() };
    assert_eq!(standing_of(&worked(WORKED), waits), (None, "it waits for your answer to ask-1".to_owned()));
    let mut holds = worked(WORKED);
    holds.checks.insert("x".into(), checked(Ended::Exited(0)));
    let never = GoalRecord::default();
    assert_eq!(standing_of(&holds, never.clone()), (None, "its check holds".to_owned()));
    let never_due = "its recipe never becomes due: give it a check, an every or a when";
    assert_eq!(standing_of(&worked("worker: make x"), never), (None, never_due.to_owned()));
}

#[test]
fn a_goal_whose_workers_come_to_nothing_is_a_persons_to_look_at() {
    let tried = |fruitless, attempts| GoalRecord { attempts, fruitless, ..GoalRecord::default() };
    for (record, action) in [
        (tried(1, 1), "start_worker"),
        (tried(0, 2), "start_worker"),
        (tried(2, 2), "start_worker"),
        (tried(3, 0), "ask_human"),
        (tried(0, 3), "ask_human"),
    ] {
        let found = standing_of(&worked(WORKED), record.clone());
        assert_eq!(found.0, Some(action), "{record:?}");
    }
    let ledger = Ledger { goals: [("x".to_owned(), tried(3, 2))].into(), ..Ledger::default() };
    let (proposal, _) = look(&ledger, &worked(WORKED)).pick.unwrap();
    assert_eq!(proposal.goal.as_ref().map(Name::as_str), Some("x"), "the goal waits for the answer");
    let Move::AskHuman { options, reference, .. } = proposal.action else { panic!("{proposal:?}") };
    assert_eq!(
        (options, reference.as_deref()),
        (vec!["again".to_owned(), "leave".to_owned()], Some("goals/x.md"))
    );
}

#[test]
fn a_goal_with_both_recipes_runs_the_command() {
    let (action, _) = standing_of(&worked("check: x | run: mend | worker: make x"), GoalRecord::default());
    assert_eq!(action, Some("run_shell"));
}

#[test]
fn what_is_worked_on_is_counted_as_such() {
    let mut seen = worked(WORKED);
    employ(&mut seen, "w~1", WorkerState::Alive, Some("x"));
    let choice = look(&Ledger::default(), &seen);
    assert_eq!(nothing_text(&choice), "no goal to serve: 1 being worked on");
}

#[test]
fn a_worker_that_nothing_can_start_is_not_chosen_and_the_goal_says_why() {
    type Setting = fn(&mut crate::gate::Limits, &mut Observation);
    let bare: Setting = |limits, _| limits.worker_runners.clear();
    let full: Setting = |limits, seen| {
        limits.max_workers = Some(1);
        employ(seen, "w~1", WorkerState::Alive, None);
    };
    let room: Setting = |limits, seen| {
        limits.max_workers = Some(2);
        employ(seen, "w~1", WorkerState::Alive, None);
        employ(seen, "v~1", WorkerState::Lost, None);
    };
    let uncapped: Setting = |limits, seen| {
        limits.max_workers = None;
        employ(seen, "w~1", WorkerState::Alive, None);
    };
    let no_runner = "its check fails, and no runner can start its worker; set runners.<name>.interactive";
    for (name, setting, why_not) in [
        ("no runner", bare, Some(no_runner)),
        ("no room", full, Some("it waits for room: max_workers is 1")),
        ("room", room, None),
        ("no cap", uncapped, None),
    ] {
        let (mut limits, mut seen) = (limits(), worked(WORKED));
        setting(&mut limits, &mut seen);
        let choice = choose(&Ledger::default(), &seen, &readings(), (&noon(), &limits));
        assert_eq!(choice.pick.is_none(), why_not.is_some(), "{name}");
        assert_eq!(choice.standings["x"].text(), why_not.unwrap_or("its check fails"), "{name}");
        if why_not.is_some() {
            assert_eq!(nothing_text(&choice), "no goal to serve: 1 for a worker to serve", "{name}");
        }
    }
}

#[test]
fn the_worker_of_a_goal_is_started_as_the_goal_says_or_the_goal_says_why_not() {
    let mut limits = limits();
    limits.worker_runners = ["claude", "codex"].map(str::to_owned).into();
    limits.model_runners = vec!["claude".to_owned()];
    let look = |more: &str| {
        let seen = worked(&format!("{WORKED} | {more}"));
        choose(&Ledger::default(), &seen, &readings(), (&noon(), &limits))
    };
    let (proposal, _) = look("runner: codex").pick.expect("a worker");
    assert!(matches!(&proposal.action, Move::StartWorker { runner: Some(name), .. } if name == "codex"));
    for (more, words) in [
        ("runner: cladue", "goal x says runner: cladue, and no configured runner of that name"),
        ("runner: codex | model: o3", "goal x says model: o3, and the command of runner codex runs no agent"),
        ("budget_usd: ten", "goal x, line 4: budget_usd: \"ten\" is not an amount of dollars"),
    ] {
        let choice = look(more);
        assert!(choice.pick.is_none(), "{more}");
        assert!(choice.standings["x"].text().starts_with(words), "{}", choice.standings["x"].text());
        assert_eq!(nothing_text(&choice), "no goal to serve: 1 broken");
    }
}

#[test]
fn a_recipe_is_not_run_beside_a_worker_or_a_claim() {
    let mut seen = worked(RECIPE);
    employ(&mut seen, "w~1", WorkerState::Alive, Some("x"));
    assert_eq!(standing_of(&seen, GoalRecord::default()), (None, "worker w~1 is on it".to_owned()));
    let mut seen = worked(RECIPE);
    employ(&mut seen, "w~1", WorkerState::Alive, None);
    assert_eq!(standing_of(&seen, GoalRecord::default()).0, Some("run_shell"));
    claim(&mut seen, "x", "w~1");
    assert_eq!(standing_of(&seen, GoalRecord::default()), (None, "w~1 has claimed it".to_owned()));
}
