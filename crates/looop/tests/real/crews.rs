//! The agents of the presets as workers that a goal wants, from its recipe to the bill.

use serde_json::Value;

use crate::agents::{Agent, claude, codex, gemini, hired, opencode, pi};
use crate::apart::has_run_apart;
use crate::desk::Desk;
use crate::needs::found;
use crate::till::{PRICES, Till};

/// The work, and that the worker ends itself when it is done.
const GOAL: &str = "---\ncheck: test -s reports/herons.md\n\
    worker: run: echo three > reports/herons.md; $LOOOP_BIN kill herons\n---\nThe herons are counted.\n";

/// What is set aside for a worker, in millionths of a dollar.
const ALLOWANCE: u64 = 2_000_000;

/// What is known of a worker's money in the end.
enum Bill {
    /// All of it, and nothing was asked beside the conversation.
    Whole,
    /// What was asked in the conversation, and not the title that was asked for beside it.
    Talk,
    /// Tokens of the conversation. It asks so much beside it that this is a lower bound, and the rest of its allowance is unreported.
    AtLeast,
    /// Nothing, since its sessions are in a database: all of its allowance is unreported.
    Nothing,
}

/// A goal's recipe starts the worker, the worker does what its brief says and ends itself, its work is proven, and it has
/// cost what the server charged.
fn serves(agent: &Agent, test: &str, bill: &Bill) {
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
    let in_talk = Till::of_those(&model, |request| request["side"] == false);
    match bill {
        Bill::Whole => assert_eq!((Till::said(&cost), Till::of(&model)), (in_talk, in_talk)),
        Bill::Talk | Bill::AtLeast => assert_eq!(Till::said(&cost), in_talk),
        Bill::Nothing => assert_eq!(Till::said(&cost), Till::default()),
    }
    let unreported = match bill {
        Bill::Whole | Bill::Talk => 0,
        Bill::AtLeast | Bill::Nothing => ALLOWANCE - Till::said(&cost).micros,
    };
    assert_eq!(Till::micros(&cost["unreported_usd"]), unreported, "{cost}");
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
    serves(&claude(), "crews::claude_serves", &Bill::Whole);
}

#[test]
fn codex_serves() {
    serves(&codex(), "crews::codex_serves", &Bill::Talk);
}

#[test]
fn opencode_serves() {
    serves(&opencode(), "crews::opencode_serves", &Bill::Nothing);
}

#[test]
fn pi_serves() {
    serves(&pi(), "crews::pi_serves", &Bill::Whole);
}

#[test]
fn gemini_serves() {
    serves(&gemini(), "crews::gemini_serves", &Bill::AtLeast);
}
