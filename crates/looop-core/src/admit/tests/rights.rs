//! With whose rights moves are carried out.

use super::*;
use crate::model::rights::Rights;

/// A desk at which goal `g` carries a check and was written by a decider, or by a person.
fn desk(author: Author, by_decider: bool) -> Desk {
    let mut desk = Desk::of(author);
    let goal = Doc::of("---\ncheck: test -e x\n---\n# G\n");
    if by_decider {
        desk.ledger.written.insert("goals/g.md".into(), goal.digest().unwrap());
    }
    desk.docs.goals.insert("g".into(), goal);
    desk.limits.worker_runners = vec!["r".into()];
    desk
}

#[test]
fn authorship_gives_rights() {
    let shell = || json!({"action": "run_shell", "cmd": "true", "goal_served": "g"});
    let sensor = || json!({"action": "write_sensor", "name": "s", "script": "#!/bin/sh\n"});
    let worker = || json!({"action": "start_worker", "id": "w", "prompt": "x", "goal": "g"});
    let proven =
        || json!({"action": "start_worker", "id": "w", "prompt": "x", "goal": "g", "verify": "true"});
    let posing =
        || json!({"action": "start_worker", "id": "w", "prompt": "x", "goal": "g", "goal_served": "broken"});
    let note = || json!({"action": "ask_human", "prompt": "?"});
    let model = || Author::Decider("m".into());
    let approved = || Author::Approved("m".into());
    // The author, whether a decider wrote the goal, the move, whether it is confined.
    let table = [
        (Author::Person, true, shell(), false),
        (Author::Builtin, false, shell(), false),
        (Author::Builtin, true, shell(), true),
        (model(), false, shell(), true),
        (approved(), true, shell(), false),
        (Author::Person, true, sensor(), false),
        (model(), false, sensor(), true),
        (approved(), false, sensor(), true),
        (Author::Person, true, worker(), false),
        (model(), false, worker(), false),
        (model(), true, worker(), true),
        (model(), true, posing(), true),
        (model(), false, proven(), true),
        (Author::Builtin, false, proven(), false),
        (Author::Builtin, true, proven(), true),
        (model(), true, note(), false),
    ];
    for (author, by_decider, action, confined) in table {
        let plan = desk(author.clone(), by_decider).plan(action.clone());
        let expected = if confined { Rights::none() } else { Rights::Person };
        assert_eq!(plan.rights, expected, "{author:?}, {by_decider}: {action}");
    }
}

#[test]
fn a_persons_edit_takes_a_goal_over() {
    let mut desk = desk(Author::Builtin, true);
    let shell = json!({"action": "run_shell", "cmd": "true", "goal_served": "g"});
    assert_eq!(desk.plan(shell.clone()).rights, Rights::none());
    desk.docs.goals.insert("g".into(), Doc::of("# Mine\n"));
    assert_eq!(desk.plan(shell).rights, Rights::Person);
}
