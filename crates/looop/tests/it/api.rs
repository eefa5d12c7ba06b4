//! Models that decide without an agent between: real calls of the real binary to a scripted server on loopback.
#![expect(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use looop_core::ledger::entry::Entry;
use looop_sim::model::Model;
use looop_sim::profile::{Profile, Ran};
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/model/server.py");
/// What the server of the scenario `limit` asks for.
const TWO_HOURS_MS: i64 = 7_200_000;
/// Where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:9";
const KEY: &str = "sk-test-5f3759df";

/// How a provider is spoken to: its name, what its address ends in, a model, and what that costs in millionths of a
/// dollar per token: read and written.
type Provider = (&'static str, &'static str, &'static str, u64, u64);
const ANTHROPIC: Provider = ("anthropic", "", "claude-opus-5-5", 4, 20);
const OPENAI: Provider = ("openai", "/v1", "gpt-4o-mini-fake", 4, 20);
const BOTH: [Provider; 2] = [ANTHROPIC, OPENAI];

/// A profile whose decider is a model at this address.
fn profile(provider: Provider, url: &str, more: &str) -> Profile {
    let (name, end, model, ..) = provider;
    Profile::bare(LOOOP)
        .config(&format!(
            "default = \"m\"\n{more}\n[prices.\"gpt-4o-mini-fake\"]\ninput = 4\noutput = 20\n\
             [runners.m]\ninteractive = \"x {{{{prompt_file}}}}\"\n\
             api = {{ provider = \"{name}\", base_url = \"{url}{end}\", model = \"{model}\", key_env = \"KEY\" }}\n"
        ))
        .env("KEY", KEY)
        .env("HTTP_PROXY", NOWHERE)
        .env("HTTPS_PROXY", NOWHERE)
        .env("NO_PROXY", "127.0.0.1")
}

/// The same with a server that plays this scenario.
fn asks(provider: Provider, scenario: &str, more: &str) -> (Profile, Model) {
    let model = Model::start(SERVER);
    (profile(provider, &model.url(scenario), more), model)
}

fn record(profile: &Profile) -> Value {
    serde_json::from_str(&profile.file("runs/000001/record.json").unwrap()).unwrap()
}

/// What the server charged, in millionths of a dollar.
fn charged(provider: Provider, model: &Model, answers: usize) -> u64 {
    let tokens = |charge: &Value, name: &str| charge[name].as_u64().unwrap();
    let of = |charge: &Value| tokens(charge, "in") * provider.3 + tokens(charge, "out") * provider.4;
    model.charged(answers).iter().map(of).sum()
}

/// What the record says it cost, in millionths of a dollar.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small amount of money")]
fn cost(record: &Value) -> u64 {
    (record["spend"]["usd"].as_f64().unwrap() * 1e6).round() as u64
}

/// The decide failed with these words, and the loop did nothing.
#[track_caller]
fn fails(profile: &Profile, kind: &str, said: &str) -> Value {
    let beat: Ran = profile.beat();
    let record = record(profile);
    assert!(beat.code == 1 && beat.stdout.contains(said), "expected {said:?} in {beat:?}");
    assert_eq!(record["failure"][0], kind, "{record}");
    assert_eq!((&record["decision"], &record["spend"]["runner"]), (&Value::Null, &json!("m")), "{record}");
    assert!(profile.file("journal.md").unwrap_or_default().is_empty());
    record
}

#[test]
fn the_decision_arrives_and_costs_what_was_charged() {
    for provider in BOTH {
        let (profile, model) = asks(provider, "write", "");
        profile.beat().ok();
        let record = record(&profile);
        assert_eq!((&record["decision"]["action"], &record["source"]), (&json!("noop"), &json!("tool")));
        assert_eq!(cost(&record), charged(provider, &model, 1));
        let spend = &record["spend"];
        assert_eq!((&spend["source"], &spend["model"]), (&json!("api prices"), &json!(provider.2)));
        let day = profile.ledger().spend.into_values().next().unwrap();
        assert_eq!((Some(day.spent.dollars()), day.decides), (spend["usd"].as_f64(), 1));
        let output = profile.file("runs/000001/output.log").unwrap();
        assert!(output.contains("→ {\"action\"") && output.contains("tokens in"), "{output}");
    }
}

#[test]
fn a_call_is_hardly_larger_than_its_brief_and_says_the_moves_once() {
    for provider in BOTH {
        let (profile, model) = asks(provider, "write", "");
        profile.beat().ok();
        let (brief, sent) = (profile.last_brief(), model.request(1));
        assert_eq!(model.requests().len(), 1);
        assert!(sent.len() * 100 <= brief.len() * 105 + 400_000, "{} for {}", sent.len(), brief.len());
        assert_eq!((brief.matches("- run_shell(").count(), sent.matches("- run_shell(").count()), (0, 1));
        assert_eq!(sent.matches("- start_worker(").count(), 1);
        assert_eq!(sent.contains("cache_control"), provider == ANTHROPIC);
    }
}

#[test]
fn an_answer_is_stopped_at_the_first_event_that_costs_too_much() {
    for provider in BOTH {
        let (profile, model) = asks(provider, "costly", "max_decide_usd = 0.5");
        let record = fails(&profile, "budget", "stopped: it had spent $5.");
        assert!(record["failure"][1].as_str().unwrap().ends_with(" set aside for it"));
        assert!(
            cost(&record) >= 5_000_000 && record["spend"]["source"] == "api prices (at least)",
            "{record}"
        );
        // There would be two hundred more, one each 0.3 s; a few fit into the buffers of a connection that is gone.
        let events = model.charged(1)[0]["events"].as_u64().unwrap();
        assert!(events < 20, "{events} events were taken");
        assert_eq!(model.requests().len(), 1);
    }
}

#[test]
fn a_call_that_might_cost_too_much_is_not_made() {
    let (profile, model) = asks(ANTHROPIC, "write", "max_decide_usd = 0.01");
    let said = "max_decide_usd is $0.01; raise it, or lower max_tokens of the runner's api";
    for _ in 0..2 {
        let beat = profile.beat();
        assert!(beat.stdout.contains(said), "{beat:?}");
    }
    let ledger = profile.ledger();
    assert_eq!((model.requests().len(), ledger.runs, ledger.failures), (0, 0, None));
    assert!(profile.run(&["why"]).ok().stdout.contains(said));
}

#[test]
fn what_is_set_aside_for_a_call_is_what_it_may_cost_and_no_third_starts_under_a_cap_for_two() {
    for provider in BOTH {
        let (profile, model) = asks(provider, "write", "");
        profile.beat().ok();
        let reserved = |profile: &Profile| -> Vec<f64> {
            let started = profile.entries().into_iter().filter_map(|entry| {
                if let Entry::DecideStarted { reserved_usd, .. } = entry { Some(reserved_usd) } else { None }
            });
            started.collect()
        };
        let (first, brief) = (reserved(&profile)[0], profile.last_brief().len());
        // Every byte that is sent, as a token at $5 a million (written to a cache) or $4, and an answer of 8192.
        let (dear, sent) = (if provider == ANTHROPIC { 5e-6 } else { 4e-6 }, model.request(1).len());
        let answer = 8192.0 * 20e-6;
        #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
        let least = brief as f64 * dear + answer;
        assert!(first >= least && first < least + 0.05, "{first} for {brief} and {sent} bytes");
        let config = profile.file("config.toml").unwrap();
        profile.write("config.toml", format!("max_daily_usd = {}\n{config}", first * 1.5));
        for round in 0..3 {
            profile.write("PLAYBOOK.md", format!("# PLAYBOOK\nRound {round}.\n"));
            profile.beat();
        }
        // Each costs a hundredth of what it might, so that there is always money for one and a half of them.
        assert_eq!(reserved(&profile).len(), 4);
        profile.write("config.toml", format!("max_daily_usd = {}\n{config}", first * 0.9));
        profile.write("PLAYBOOK.md", "# PLAYBOOK\nOnce more.\n");
        let beat = profile.beat();
        assert!(beat.stdout.contains("one more decide may cost up to $0."), "{beat:?}");
        assert_eq!((reserved(&profile).len(), model.requests().len()), (4, 4));
    }
}

#[test]
fn what_goes_wrong_is_said_with_what_to_do() {
    let table = [
        ("e401", "runner", "status 401: invalid x-api-key [key]; check the key in KEY", true),
        ("e307", "runner", "it has moved, set base_url to where it is now", true),
        ("limit", "limited", "answered with status 429: slow down", true),
        ("html", "runner", "something that is no answer of this provider: <html><body>Please sign in", false),
        ("noise", "runner", "something that is no answer of this provider: <html>", false),
        ("refuse", "no_decision", "refused to answer", false),
        ("short", "no_decision", "was cut at 8192 tokens; raise max_tokens in runners.m.api", false),
        ("huge", "unusable", "answered with more than a decision can be", false),
    ];
    for (scenario, kind, said, free) in table {
        for provider in BOTH {
            let (profile, model) = asks(provider, scenario, "");
            let before = jiff::Timestamp::now().as_millisecond();
            let beat = profile.beat();
            let record = record(&profile);
            assert!(beat.code == 1 && beat.stdout.contains(said), "{scenario}: {said:?} in {beat:?}");
            assert_eq!(
                (&record["failure"][0], &record["decision"]),
                (&json!(kind), &Value::Null),
                "{scenario}"
            );
            assert_eq!(record["spend"]["source"] == "not charged", free, "{scenario}: {record}");
            assert_eq!(model.requests().len(), 1, "{scenario}");
            let told = record["until"].as_i64().map(|until| until - TWO_HOURS_MS);
            let meanwhile = before..=record["ended"].as_i64().unwrap();
            assert_eq!(told.is_some_and(|told| meanwhile.contains(&told)), scenario == "limit", "{record}");
        }
    }
}

#[test]
fn what_cannot_be_reached_or_has_no_key_is_said() {
    let nobody = profile(ANTHROPIC, NOWHERE, "");
    let record = fails(&nobody, "runner", "127.0.0.1:9 could not be reached");
    assert_eq!(record["spend"]["source"], "not charged");
    let (keyless, model) = asks(ANTHROPIC, "write", "");
    let keyless = keyless.env("KEY", " ");
    fails(&keyless, "runner", "the variable KEY, which should hold the key, is empty");
    let other = profile(ANTHROPIC, &model.url("write"), "").env("KEY", "two words");
    fails(&other, "runner", "cannot be a key");
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn what_passes_is_tried_again() {
    for (scenario, requests) in [("e429-a", 3), ("e529x", 3)] {
        for provider in BOTH {
            let (profile, model) = asks(provider, scenario, "");
            profile.beat().ok();
            let record = record(&profile);
            assert_eq!((&record["source"], model.requests().len()), (&json!("tool"), requests), "{scenario}");
            assert_eq!(record["spend"]["source"], "api prices", "{scenario}: {record}");
        }
    }
}

#[test]
fn what_may_have_been_charged_is_not_tried_again_with_the_money_for_one_call() {
    for provider in BOTH {
        let (profile, model) = asks(provider, "cut1", "");
        let beat = profile.beat();
        assert!(beat.code == 1 && beat.stdout.contains("broke off"), "{beat:?}");
        let record = record(&profile);
        // One says at the beginning what it has read, the other at the end what it has done.
        assert_eq!(
            (model.requests().len(), record["spend"].is_object()),
            (1, provider == ANTHROPIC),
            "{record}"
        );
        // All that was set aside counts: what broke off has cost more than was said.
        let entries = profile.entries();
        let pairs = entries.iter().filter_map(|entry| {
            if let Entry::DecideStarted { reserved_usd, .. } = entry {
                return Some(*reserved_usd);
            }
            if let Entry::Failed { spend, .. } = entry { Some(spend.usd) } else { None }
        });
        let [reserved, settled] = pairs.collect::<Vec<_>>()[..] else { panic!("{entries:?}") };
        assert!((reserved - settled).abs() < 1e-9, "{reserved} {settled}");
    }
}

#[test]
fn the_key_is_nowhere_but_in_its_header() {
    for provider in BOTH {
        for scenario in ["echo", "e401", "write"] {
            let (profile, model) = asks(provider, scenario, "");
            let beat = profile.beat();
            let told = record(&profile).to_string().contains("[key]");
            assert_eq!(told, scenario != "write", "the server got the key: {}", record(&profile));
            assert!(!format!("{beat:?}").contains(KEY) && !model.was_told(KEY));
            let leaks = profile
                .tree()
                .into_iter()
                .filter(|(_, bytes)| bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
            assert_eq!(leaks.map(|(path, _)| path).collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new());
        }
    }
}

#[test]
fn a_command_may_print_the_key() {
    let (profile, _model) = asks(ANTHROPIC, "echo", "");
    let config = profile.file("config.toml").unwrap();
    let with = |command: &str| config.replace("key_env = \"KEY\"", &format!("key_command = \"{command}\""));
    let file = profile.outside().join("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    profile.write("config.toml", with(&format!("cat '{}'", file.display())));
    profile.beat().ok();
    assert_eq!(record(&profile)["decision"]["reason"], "your key is [key]");
    profile.write("config.toml", with("echo sk-secret >&2; exit 3"));
    let beat = profile.beat();
    assert!(beat.stdout.contains("api.key_command exited with 3; run it by hand"), "{beat:?}");
    assert!(!format!("{beat:?}").contains("sk-secret"));
}

#[test]
fn a_local_model_needs_no_key_and_no_price() {
    let (profile, model) = asks(OPENAI, "text", "");
    let config = profile.file("config.toml").unwrap();
    let config = config.replace(", key_env = \"KEY\"", "").replace("gpt-4o-mini-fake\" }", "qwen\" }");
    profile.write("config.toml", format!("{config}cost = \"free\"\n"));
    profile.beat().ok();
    let record = record(&profile);
    // It answers in words although it was told to call the tool.
    assert_eq!((&record["source"], &record["decision"]["action"]), (&json!("output"), &json!("noop")));
    assert_eq!((&record["spend"]["source"], &record["spend"]["usd"]), (&json!("free"), &json!(0.0)));
    assert_eq!(record["spend"]["tokens_in"], model.charged(1)[0]["in"]);
}

#[test]
fn a_model_without_a_price_is_unmetered_and_its_tokens_are_known() {
    let (profile, model) = asks(OPENAI, "write", "");
    let config = profile.file("config.toml").unwrap().replace("gpt-4o-mini-fake\", key", "qwen\", key");
    profile.write("config.toml", config);
    profile.beat().ok();
    let record = record(&profile);
    assert_eq!(
        (&record["spend"], &record["unpriced"]["tokens_in"]),
        (&Value::Null, &model.charged(1)[0]["in"])
    );
}
