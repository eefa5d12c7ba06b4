//! Every config form of looop 0.9 to 1.1 loads.

use std::time::Duration;

use super::given::*;
use crate::config::{Config, Cost, CostMode, DailyCap, Decider, RunnerName, Usd, Warning};

fn command(config: &Config, runner: &str) -> [Option<String>; 2] {
    let runner = &config.runners[runner];
    [&runner.tick, &runner.interactive].map(|t| t.as_ref().map(|t| t.as_str().to_owned()))
}

fn not_resumed(key: &str) -> Warning {
    Warning::NotResumed { key: key.to_owned() }
}

fn decider(name: &str) -> Decider {
    Decider::Command(RunnerName::new(name).unwrap())
}

#[test]
fn runners_table_of_0_9_to_0_31() {
    let loaded = json(
        r#"{"default":"pi","runners":{
            "claude":{"tick":"claude -p --verbose","interactive":"claude \"$(cat {{prompt_file}})\"","resume":"claude --resume"},
            "pi":{"tick":"pi -p --mode json 'Do it.' | \"$LOOOP_BIN\" _fmt","interactive":"pi @{{prompt_file}}","resume":"pi --session",
                  "cost":{"type":"message_end","pointer":"/message/usage/cost/total","mode":"sum"}}},
            "interval":60,"busy_interval":20,"active_interval":30,"session_ttl":259200,"max_daily_usd":10,
            "notification":"say {{message}} {{id}}"}"#,
    )
    .unwrap();
    let config = &loaded.config;
    assert_eq!(config.decider_chain(), [decider("pi")]);
    let [tick, interactive] = command(config, "pi");
    assert_eq!(tick.as_deref(), Some("pi -p --mode json 'Do it.'"));
    assert_eq!(interactive.as_deref(), Some("pi --approve @{{prompt_file}}"));
    assert!(matches!(&config.runners["pi"].cost, Cost::Field { mode: CostMode::Sum, .. }));
    assert_eq!(config.busy_interval, Duration::from_secs(20));
    assert_eq!(config.session_ttl, Duration::from_hours(72));
    assert_eq!(config.max_daily_usd, DailyCap::At(Usd::from_micros(10_000_000)));
    assert!(config.notification.is_none(), "a message is no part of a command");
    assert_eq!(
        loaded.warnings,
        [
            Warning::NoNotification,
            not_resumed("runners.claude.resume"),
            not_resumed("runners.pi.resume"),
            Warning::FormatterCut { key: "runners.pi.tick".to_owned() },
        ]
    );
}

#[test]
fn a_cost_without_mode_is_a_sum() {
    let text = r#"{"default":"x","runners":{"x":{"tick":"x","cost":{"type":"end","pointer":"/usd"}}}}"#;
    let config = json(text).unwrap().config;
    assert!(matches!(&config.runners["x"].cost, Cost::Field { mode: CostMode::Sum, .. }));
}

#[test]
fn a_table_of_workers_only_decides_with_the_built_in() {
    let loaded =
        json(r#"{"default":"pi","runners":{"pi":{"interactive":"pi --thinking medium @{{prompt_file}}"}}}"#)
            .unwrap();
    assert_eq!(loaded.config.decider_chain(), [Decider::Builtin]);
    assert_eq!(loaded.warnings, [Warning::CannotDecide { runner: "pi".to_owned() }]);
}

#[test]
fn flat_form_of_0_32_to_0_34() {
    let text = r#"{"tick":"claude -p | looop _ fmt","interactive":"claude \"$(cat {{prompt_file}})\"","resume":"claude --resume"}"#;
    let loaded = json(text).unwrap();
    assert_eq!(loaded.config.decider_chain(), [decider("default")]);
    let [tick, interactive] = command(&loaded.config, "default");
    assert_eq!(tick.as_deref(), Some("claude -p"));
    assert_eq!(interactive.as_deref(), Some("claude \"$(cat {{prompt_file}})\""));
    assert_eq!(
        loaded.warnings,
        [not_resumed("resume"), Warning::FormatterCut { key: "runners.default.tick".to_owned() }]
    );
}

#[test]
fn flat_form_of_0_35_to_1_1() {
    let loaded = json(
        r#"{"tick_command":"claude -p --model sonnet","worker_command":"claude --model opus \"$(cat {{prompt_file}})\"",
            "interval":60,"max_next_interval":300,"session_ttl":259200}"#,
    )
    .unwrap();
    assert_eq!(loaded.config.decider_chain(), [decider("default")]);
    let [tick, interactive] = command(&loaded.config, "default");
    assert_eq!(tick.as_deref(), Some("claude -p --model sonnet"));
    assert_eq!(interactive.as_deref(), Some("claude --model opus \"$(cat {{prompt_file}})\""));
    assert_eq!(loaded.config.max_next_interval, Duration::from_mins(5));
    assert_eq!(loaded.warnings, []);
}

#[test]
fn the_newer_name_wins_and_says_so() {
    let loaded = json(r#"{"tick":"old","tick_command":"new"}"#).unwrap();
    assert_eq!(command(&loaded.config, "default")[0].as_deref(), Some("new"));
    let said = loaded.warnings[0].to_string();
    assert_eq!(said, "`tick` is not read, since `tick_command` is there");
}

#[test]
fn a_command_that_resumed_a_worker_is_named_and_left_out() {
    let said = "is not used: a worker that is started again begins its task anew; delete it";
    let runner = "[runners.a]\ntick = \"a\"\n";
    let plain = toml(runner).unwrap().config;
    for value in ["\"a --resume {{session}}\"", "7"] {
        let loaded = toml(&format!("{runner}resume = {value}\n")).unwrap();
        assert_eq!(
            loaded.warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
            [format!("`runners.a.resume` {said}")]
        );
        assert_eq!(loaded.config, plain);
    }
    let loaded = json(r#"{"resume":"a --resume"}"#).unwrap();
    assert_eq!(
        loaded.warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
        [format!("`resume` {said}")]
    );
    assert!(loaded.config.runners.is_empty());
}

#[test]
fn models_in_keys_of_their_own() {
    let text = r#"{"tick_command":"pi -p","worker_command":"pi --model {{model}} --thinking {{thinking}} @{{prompt_file}}",
                   "worker_model":"claude-opus-4-8","worker_thinking":"medium"}"#;
    let config = json(text).unwrap().config;
    let [_, interactive] = command(&config, "default");
    assert_eq!(interactive.as_deref(), Some("pi --model claude-opus-4-8 --thinking medium @{{prompt_file}}"));
}

#[test]
fn a_model_that_is_missing_or_no_word_is_refused() {
    for model in ["", "--thinking", "x; rm -rf", "$(id)"] {
        let text = format!(
            r#"{{"worker_command":"pi --model {{{{model}}}} @{{{{prompt_file}}}}","worker_model":"{model}"}}"#
        );
        assert_eq!(
            refusal(json(&text)),
            "config.json: `runners.default.interactive`: unknown placeholder {{model}}; known here: {{prompt_file}}",
            "{model:?}"
        );
    }
}

#[test]
fn a_flat_default_is_kept_when_written() {
    let loaded = json(r#"{"tick_command":"x","default":"builtin"}"#).unwrap();
    assert_eq!(loaded.config.decider_chain(), [Decider::Builtin]);
}

#[test]
fn flat_keys_beside_a_runners_table_are_a_mistake() {
    let text = "tick = \"x\"\n[runners.a]\ntick = \"a\"\n";
    assert_eq!(
        refusal(toml(text)),
        "config.toml:1: `tick` is not a known key; it belongs under [runners.<name>]: tick = …\n  \
           1 | tick = \"x\"\n    | ^^^^"
    );
}
