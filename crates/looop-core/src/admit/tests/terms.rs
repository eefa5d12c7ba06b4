//! What a goal says of its workers holds for every worker that serves it.

use super::workers::start;
use super::*;
use crate::model::moves::Move;
use crate::policy::{Level, Policy};
use crate::world::fleet::WorkerState;

fn desk(front: &str) -> Desk {
    let mut desk = Desk::person().goal_text(&format!("---\n{front}\n---\nText.\n"));
    desk.limits.worker_runners = ["claude", "codex", "plain"].map(str::to_owned).into();
    desk.limits.model_runners = ["claude", "codex"].map(str::to_owned).into();
    desk
}

/// The runner and the model that a worker for goal `g` is started with, and the runner that its move says.
fn started(desk: &Desk, mut fields: Value) -> [Option<String>; 3] {
    fields["goal"] = "g".into();
    let plan = desk.plan(start(&fields));
    let Move::StartWorker { runner: said, .. } = plan.action else { panic!("no start") };
    let Act::Worker { runner, model, .. } = plan.act else { panic!("no worker") };
    [runner, model, said]
}

#[test]
fn the_goal_names_runner_and_model_and_only_a_person_names_others() {
    let none: [Option<&str>; 3] = [None; 3];
    let codex = [Some("codex"), Some("o3"), Some("codex")];
    let claude = [Some("claude"), None, Some("claude")];
    let both = "runner: codex\nmodel: o3";
    let table = [
        (both, json!({}), codex, codex),
        (both, json!({"runner": "codex"}), codex, codex),
        (both, json!({"runner": "claude"}), claude, codex),
        (both, json!({"command": "x"}), none, none),
        (
            "runner: plain",
            json!({}),
            [Some("plain"), None, Some("plain")],
            [Some("plain"), None, Some("plain")],
        ),
        (
            "model: opus",
            json!({}),
            [Some("claude"), Some("opus"), None],
            [Some("claude"), Some("opus"), None],
        ),
        (
            "model: opus",
            json!({"runner": "codex"}),
            [Some("codex"), None, Some("codex")],
            [Some("codex"), None, Some("codex")],
        ),
        ("priority: 1", json!({}), [Some("claude"), None, None], [Some("claude"), None, None]),
    ];
    for (front, fields, by_person, by_decider) in table {
        let desk = desk(front);
        assert_eq!(
            started(&desk, fields.clone()),
            by_person.map(|word| word.map(str::to_owned)),
            "{front} {fields}"
        );
        let decider = desk.up_to_date();
        assert_eq!(
            started(&decider, fields.clone()),
            by_decider.map(|word| word.map(str::to_owned)),
            "{front} {fields}"
        );
    }
}

#[test]
fn what_cannot_be_started_as_the_goal_says_is_refused_in_one_sentence() {
    let unknown = "goal g says runner: cladue, and no configured runner of that name can start a worker (those that can: \
                   claude, codex, plain)";
    let no_model = "goal g says model: opus, and the command of runner plain runs no agent that takes one (claude, codex, \
                    opencode, pi, gemini)";
    for (front, reason) in [
        ("runner: cladue", unknown),
        ("runner: plain\nmodel: opus", no_model),
        (
            "model: --opus",
            "goal g, line 2: model: \"--opus\" is not the name of a model: letters, digits and - _ . / : @ + [ ], and no - in front",
        ),
        ("max_workers: none", "goal g, line 2: max_workers: \"none\" is not a whole number from 1 on"),
        ("budget_usd: ten", "goal g, line 2: budget_usd: \"ten\" is not an amount of dollars"),
    ] {
        let desk = desk(front);
        assert_eq!(desk.refusal(start(&json!({"goal": "g"}))), reason);
        assert_eq!(desk.up_to_date().refusal(start(&json!({"goal": "g"}))), reason);
    }
    let desk = desk("runner: cladue");
    assert_eq!(started(&desk, json!({"runner": "codex"}))[0].as_deref(), Some("codex"));
}

#[test]
fn a_goal_has_no_more_live_workers_than_it_says() {
    let serve = |desk: Desk, session: &str, state, goal: &str| {
        let mut desk = desk.with(session, state);
        desk.docs.fleet.workers.get_mut(session).unwrap().goal = Some(goal.to_owned());
        desk
    };
    let one = serve(desk("max_workers: 2"), "a~1", WorkerState::Alive, "g");
    let one = serve(one, "b~1", WorkerState::Exited(0), "g");
    let one = serve(one, "c~1", WorkerState::Alive, "h").with("d~1", WorkerState::Alive);
    started(&one, json!({}));
    let two = serve(one, "e~1", WorkerState::Paused, "g");
    let reason = "2 workers serve goal g, and its max_workers is 2";
    assert_eq!(two.refusal(start(&json!({"goal": "g"}))), reason);
    assert_eq!(two.refusal(json!({"action": "restart_session", "id": "b"})), reason);
    two.plan(json!({"action": "restart_session", "id": "a"}));
    two.plan(start(&json!({})));
    assert_eq!(two.up_to_date().refusal(start(&json!({"goal": "g"}))), reason);
}

#[test]
fn the_policy_judges_the_runner_that_the_goal_names() {
    let mut desk = desk("runner: codex").up_to_date();
    let rule = json!({"move": "start_worker", "when": {"runner": ["codex"]}, "then": "deny", "message": "not this one"});
    let rules = vec![serde_json::from_value(rule).unwrap()];
    desk.limits.policy = Policy { level: Level::Open, rules, ..Policy::default() };
    assert!(desk.refusal(start(&json!({"goal": "g"}))).starts_with("not this one"));
    assert!(desk.refusal(start(&json!({"goal": "g", "runner": "claude"}))).starts_with("not this one"));
}
