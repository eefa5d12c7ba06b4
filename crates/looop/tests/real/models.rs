//! The model that a goal names is the one that its workers ask.

use std::collections::BTreeSet;
use std::thread;

use serde_json::Value;

use crate::agents::{Agent, OTHER, claude, codex, gemini, hired, opencode, pi};
use crate::needs::found;

/// An agent, the model as the goal names it, and as the server is asked for it.
type Row = (fn() -> Agent, &'static str, &'static str);

const TABLE: [Row; 5] = [
    (claude, "claude-haiku-4-5", "claude-haiku-4-5"),
    (codex, OTHER, OTHER),
    (opencode, "fake/other-model", OTHER),
    (pi, "fake/other-model", OTHER),
    (gemini, "gemini-2.5-flash", "gemini-2.5-flash"),
];

/// The models that the server was asked for in conversations. gemini names it in the path.
fn asked(requests: &[Value]) -> BTreeSet<String> {
    let talk = requests.iter().filter(|request| request["side"] == false);
    let named = |request: &Value| {
        let path = request["path"].as_str().unwrap();
        let in_path = path.rsplit('/').next().unwrap().split(':').next().unwrap();
        request["model"].as_str().unwrap_or(in_path).to_owned()
    };
    talk.map(named).collect()
}

fn asks(agent: &Agent, model: &str, expected: &str) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, server, _gate) = hired(agent, "herons", "job");
    let profile = desk.profile();
    profile.run(&["init", "--runner", agent.runner]).ok();
    let config = profile.file("config.toml").unwrap();
    let config =
        config.replace(&format!("default = [\"builtin\", \"{}\"]", agent.runner), "default = \"builtin\"");
    profile.write("config.toml", config);
    let goal = "---\ncheck: test -s reports/herons.md\nmodel: MODEL\n\
        worker: run: echo three > reports/herons.md; $LOOOP_BIN kill herons\n---\nThe herons are counted.\n";
    profile.write("goals/herons.md", goal.replace("MODEL", model));
    profile.beat().ok();
    desk.wait();
    assert!(profile.data().join("reports/herons.md").exists(), "{}", agent.runner);
    assert_eq!(asked(&server.requests()), [expected.to_owned()].into(), "{}", agent.runner);
    desk.left_nothing();
}

#[test]
fn the_model_of_a_goal_is_asked_for() {
    thread::scope(|scope| {
        for (agent, model, expected) in TABLE {
            scope.spawn(move || asks(&agent(), model, expected));
        }
    });
}
