//! The agents of the presets as deciders whose provider fails: what went wrong is known for what it is, and what was
//! refused costs nothing.

use serde_json::json;

use crate::agents::{Agent, claude, codex, gemini, opencode, pi};
use crate::decides::Beat;
use crate::needs::found;
use crate::till::Till;

/// What is known of the cost.
enum Cost {
    /// Nothing was charged, and that is known.
    Nothing,
    /// What was charged is known.
    Known,
    /// It is not known, or only that it is at least so much: what was set aside counts.
    Unknown,
}

/// A scenario of the server, how the decide fails (nothing where the decision arrives all the same), words of its
/// reason, and what is known of its cost.
type Case = (&'static str, &'static str, &'static str, Cost);

fn stumbles(agent: &Agent, cases: &[Case]) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    for (scenario, kind, words, cost) in cases {
        let Beat { record, model, .. } = Beat::of(agent, scenario);
        let (failed, reason) = (&record["failure"][0], record["failure"][1].as_str().unwrap_or_default());
        assert_eq!(failed.as_str().unwrap_or_default(), *kind, "{scenario}: {record}");
        assert!(reason.contains(words), "{scenario}: {record}");
        assert_eq!(record["decision"].is_object(), kind.is_empty(), "{scenario}: {record}");
        let spend = &record["spend"];
        let certain = spend["source"].as_str().is_some_and(|source| !source.contains("at least"));
        match cost {
            Cost::Nothing => {
                assert_eq!((&spend["usd"], certain), (&json!(0.0), true), "{scenario}: {record}");
            }
            Cost::Known => {
                assert_eq!((Till::said(spend), certain), (Till::of(&model), true), "{scenario}: {record}");
            }
            Cost::Unknown => assert!(!certain, "{scenario}: {record}"),
        }
    }
}

/// A limit that the provider says ends in two hours is waited for until then. Agents name the minute.
#[track_caller]
fn waits_two_hours(agent: &Agent) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let before = jiff::Timestamp::now().as_millisecond();
    let Beat { record, .. } = Beat::of(agent, "quota");
    assert_eq!(record["failure"][0], "limited", "{record}");
    let told = record["until"].as_i64().unwrap() - 7_200_000;
    let meanwhile = before - 60_000..=record["ended"].as_i64().unwrap();
    assert!(meanwhile.contains(&told), "{record}");
    assert_eq!(record["spend"]["usd"], json!(0.0), "{record}");
}

#[test]
fn claude_stumbles() {
    stumbles(
        &claude(),
        &[
            ("e401", "runner", "Invalid API key · Fix external API key (status 401)", Cost::Nothing),
            ("e529", "runner", "Overloaded", Cost::Nothing),
            // It does not say when it ends to those who pay by the call.
            ("quota", "limited", "would exceed your account's rate limit", Cost::Nothing),
            ("cut", "", "", Cost::Known),
        ],
    );
}

#[test]
fn codex_stumbles() {
    stumbles(
        &codex(),
        &[
            ("e401", "runner", "unexpected status 401 Unauthorized", Cost::Nothing),
            ("e529", "runner", "unexpected status 529", Cost::Nothing),
            ("cut", "runner", "stream disconnected before completion", Cost::Unknown),
        ],
    );
    waits_two_hours(&codex());
}

#[test]
fn opencode_stumbles() {
    stumbles(
        &opencode(),
        &[
            ("e401", "runner", "(status 401)", Cost::Nothing),
            // It would ask for ever.
            ("cut", "", "", Cost::Unknown),
        ],
    );
}

#[test]
fn pi_stumbles() {
    stumbles(
        &pi(),
        &[
            ("e401", "no_decision", "401: ", Cost::Nothing),
            ("e529", "no_decision", "529: ", Cost::Nothing),
            ("cut", "no_decision", "Stream ended without finish_reason", Cost::Unknown),
        ],
    );
    waits_two_hours(&pi());
}

#[test]
fn gemini_stumbles() {
    stumbles(&gemini(), &[("e401", "runner", "invalid x-api-key", Cost::Nothing)]);
}
