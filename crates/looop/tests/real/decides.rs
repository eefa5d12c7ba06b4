//! The agents of the presets as deciders: one whole beat each, on a scripted model.

use looop_sim::model::Model;
use serde_json::Value;

use crate::agents::{Agent, claude, codex, gemini, hired, opencode, pi};
use crate::apart::{Gate, has_run_apart};
use crate::desk::Desk;
use crate::needs::found;
use crate::till::{PRICES, Till};

/// One beat of an agent as `looop init` sets it up, in a scenario of the server.
pub(crate) struct Beat {
    pub(crate) desk: Desk,
    pub(crate) model: Model,
    pub(crate) gate: Gate,
    pub(crate) record: Value,
}

impl Beat {
    pub(crate) fn of(agent: &Agent, scenario: &str) -> Self {
        let (desk, model, gate) = hired(agent, agent.runner, scenario);
        let profile = desk.profile();
        profile.run(&["init", "--runner", agent.runner]).ok();
        let config = profile.file("config.toml").unwrap();
        profile.write("config.toml", format!("{config}{PRICES}"));
        profile.beat();
        let record = profile.file("runs/000001/record.json").unwrap();
        assert_eq!(profile.survivors(), Vec::<String>::new());
        let record = serde_json::from_str(&record).unwrap();
        Self { desk, model, gate, record }
    }
}

/// One beat: the decision arrives with one request, which is hardly larger than the brief, and costs what the server
/// charged; nothing else is asked for, by an agent that could reach nothing else.
fn decides(agent: &Agent, scenario: &str, test: &str, overhead: usize) {
    if !found(&[agent.runner, "python3", "bwrap"]) || has_run_apart(test) {
        return;
    }
    let Beat { desk, model, gate, record } = Beat::of(agent, scenario);
    assert_eq!(record["decision"]["reason"], "scripted model", "{record}");
    let requests = model.requests();
    let (brief, sent) = (desk.profile().last_brief().len(), model.request(1).len());
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(sent <= brief * 105 / 100 + overhead, "{sent} bytes for a brief of {brief}");
    assert_eq!(Till::said(&record["spend"]), Till::of(&model), "{record}");
    assert!(!record["spend"]["source"].as_str().unwrap().contains("at least"), "{record}");
    assert_eq!(gate.asked(), Vec::<String>::new());
}

#[test]
fn claude_decides() {
    decides(&claude(), "write", "decides::claude_decides", 4096);
}

#[test]
fn codex_decides() {
    decides(&codex(), "write", "decides::codex_decides", 11_000);
}

#[test]
fn opencode_decides() {
    decides(&opencode(), "text", "decides::opencode_decides", 1000);
}

#[test]
fn pi_decides() {
    decides(&pi(), "text", "decides::pi_decides", 1000);
}

#[test]
fn gemini_decides() {
    decides(&gemini(), "text", "decides::gemini_decides", 3000);
}
