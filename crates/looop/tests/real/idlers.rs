//! A worker whose agent no model has answered costs nothing.

use std::fs;

use serde_json::json;

use crate::agents::{Agent, claude, codex, gemini, hired, opencode, pi};
use crate::needs::found;
use crate::till::PRICES;

/// What agents show when the provider takes no calls.
const REFUSED: &str = "(?i)limit|quota|429";

/// The agent asks a server that refuses everything, is killed, and the worker has cost nothing.
fn costs_nothing(agent: &Agent) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, model, _gate) = hired(agent, "idler", "quota");
    let profile = desk.profile();
    profile.run(&["init", "--runner", agent.runner]).ok();
    let config = profile.file("config.toml").unwrap();
    let config =
        config.replace(&format!("default = [\"builtin\", \"{}\"]", agent.runner), "default = \"builtin\"");
    profile.write("config.toml", format!("{config}{PRICES}"));
    profile.run(&["worker", "start", "idler", "Count the herons."]).ok();
    model.until("a request", |requests| (!requests.is_empty()).then_some(()));
    desk.expect(REFUSED);
    if agent.runner == "opencode" {
        // It notes a refusal a little later than it shows it.
        let log = profile.outside().join("home/.local/share/opencode/log/opencode.log");
        let noted = |line: &str| line.contains("stream error") && line.contains("small=false");
        profile.until_is("a note of the refusal", || fs::read_to_string(&log).unwrap().lines().any(noted));
    }
    desk.verb("kill", &[]).ok();
    profile.beat().ok();
    let report = profile.run(&["cost", "--json", "--by", "worker"]).ok().json();
    let none = json!(0.0);
    let groups = report["groups"].as_array().unwrap();
    let cost = groups.iter().find(|group| group["name"] == "idler");
    let all = cost.map(|cost| (&cost["usd"], &cost["unreported_usd"]));
    assert!(all.is_none_or(|all| all == (&none, &none)), "{report}");
    desk.left_nothing();
}

#[test]
fn claude_that_was_refused_costs_nothing() {
    costs_nothing(&claude());
}

#[test]
fn codex_that_was_refused_costs_nothing() {
    costs_nothing(&codex());
}

#[test]
fn opencode_that_was_refused_costs_nothing() {
    costs_nothing(&opencode());
}

#[test]
fn pi_that_was_refused_costs_nothing() {
    costs_nothing(&pi());
}

#[test]
fn gemini_that_was_refused_costs_nothing() {
    costs_nothing(&gemini());
}
