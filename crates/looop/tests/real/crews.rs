//! The agents of the presets as workers that a goal wants, from its recipe to the bill.

use serde_json::Value;

use crate::agents::{Agent, claude, codex, gemini, hired, opencode, pi};
use crate::apart::has_run_apart;
use crate::desk::Desk;
use crate::needs::found;
use crate::till::{Bill, PRICES};

/// The work, and that the worker ends itself when it is done.
const GOAL: &str = "---\ncheck: test -s reports/herons.md\n\
    worker: run: echo three > reports/herons.md; $LOOOP_BIN kill herons\n---\nThe herons are counted.\n";

/// A goal's recipe starts the worker, the worker does what its brief says and ends itself, its work is proven, and it has
/// cost what the server charged.
fn serves(agent: &Agent, test: &str) {
    if !found(&[agent.runner, "python3", "bwrap"]) || has_run_apart(test) {
        return;
    }
    let (desk, model, gate) = hired(agent, "herons", "job");
    let profile = desk.profile();
    profile.run(&["init", "--runner", agent.runner]).ok();
    let config = profile.file("config.toml").unwrap();
    let config =
        config.replace(&format!("default = [\"builtin\", \"{}\"]", agent.runner), "default = \"builtin\"");
    assert!(config.contains("default = \"builtin\""), "{config}");
    profile.write("config.toml", format!("{config}{PRICES}"));
    profile.write("goals/herons.md", GOAL);
    profile.beat().ok();
    desk.wait();
    let after = profile.beat().ok().stdout;
    assert!(after.contains("the work of herons~1 is proven"), "{after}");
    let cost = cost(&desk);
    Bill::of(agent.runner).agrees(&cost, &model, |_| true);
    let beside = |asked: &String| !agent.habits.iter().any(|host| asked.contains(host));
    assert_eq!(gate.asked().into_iter().filter(beside).collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(profile.survivors(), Vec::<String>::new());
}

/// What looop says that the worker has cost.
fn cost(desk: &Desk) -> Value {
    let report = desk.profile().run(&["cost", "--json", "--by", "worker"]).ok().json();
    let groups = report["groups"].as_array().unwrap();
    groups.iter().find(|group| group["name"] == "herons").unwrap_or_else(|| panic!("{report}")).clone()
}

#[test]
fn claude_serves() {
    serves(&claude(), "crews::claude_serves");
}

#[test]
fn codex_serves() {
    serves(&codex(), "crews::codex_serves");
}

#[test]
fn opencode_serves() {
    serves(&opencode(), "crews::opencode_serves");
}

#[test]
fn pi_serves() {
    serves(&pi(), "crews::pi_serves");
}

#[test]
fn gemini_serves() {
    serves(&gemini(), "crews::gemini_serves");
}
