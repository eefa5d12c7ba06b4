//! Environment over config over default.

use std::time::Duration;

use super::given::*;
use crate::config::{
    Config, Cost, CostMode, DailyCap, Decider, KEYS, KeySource, Layer, LogFormat, RunnerName, Usd,
    keys::Rule,
    raw::Raw,
    tree::{self, Format},
};

#[test]
fn nothing_set_is_the_default() {
    let loaded = from_bytes(None, &Env::new()).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.layer("interval"), Layer::Default);
    assert_eq!(loaded.set_keys().count(), 0);
    assert_eq!(loaded.config.decider_chain(), [Decider::Builtin]);
}

/// The documented default, read by the rule of its key, changes nothing in the real default.
#[test]
fn documented_defaults_are_the_real_ones() {
    for doc in KEYS.iter().filter(|doc| !doc.default.is_empty() && !doc.default.starts_with('=')) {
        let value = if doc.default.ends_with('d') || doc.default.ends_with('s') {
            format!("x = \"{}\"", doc.default)
        } else {
            format!("x = {}", doc.default)
        };
        let fields = tree::parse(&value, Format::Toml).unwrap();
        let raw = Raw::Node(&fields[0].value);
        match doc.rule {
            Rule::Top(set) => {
                let mut config = Config::default();
                set(&mut config, raw).unwrap();
                if doc.key == "max_daily_usd" {
                    assert_eq!(config.max_daily_usd, DailyCap::At(DailyCap::DEFAULT));
                    config.max_daily_usd = DailyCap::Unset;
                }
                assert_eq!(config, Config::default(), "{}", doc.key);
            }
            Rule::Runner(set) => {
                let mut runner = crate::config::Runner::default();
                set(&mut runner, raw).unwrap();
                assert_eq!(runner, crate::config::Runner::default(), "{}", doc.key);
            }
        }
    }
}

/// Every variable changes its own key, beats the file, and is known as the one who spoke.
#[test]
fn every_variable_beats_the_file() {
    for doc in KEYS {
        let Some(variable) = doc.env else { continue };
        assert_eq!(variable, format!("LOOOP_{}", doc.key.to_uppercase()));
        let (in_file, in_env) = match doc.key {
            "log_format" => ("\"human\"", "json"),
            "detach_key" => ("\"C-q\"", "C-]"),
            "policy" => ("\"locked\"", "open"),
            _ => ("20000", "30000"),
        };
        let file = format!("{} = {in_file}", doc.key);
        let from_file = toml(&file).unwrap();
        assert_eq!(from_file.layer(doc.key), Layer::Config, "{}", doc.key);
        let both = from_bytes(Some((Path::new("config.toml"), file.as_bytes())), &env(&[(variable, in_env)]));
        let both = both.unwrap();
        assert_eq!(both.layer(doc.key), Layer::Env, "{}", doc.key);
        assert_ne!(both.config, from_file.config, "{}", doc.key);
        let alone = from_bytes(None, &env(&[(variable, in_env)])).unwrap();
        assert_eq!(both.config, alone.config, "{}", doc.key);
        let emptied = from_bytes(Some((Path::new("config.toml"), file.as_bytes())), &env(&[(variable, "")]));
        assert_eq!(emptied.unwrap().config, from_file.config, "{}", doc.key);
    }
}

#[test]
fn other_intervals_follow_the_interval() {
    let config = toml("interval = 20").unwrap().config;
    assert_eq!(config.busy_interval, Duration::from_secs(20));
    assert_eq!(config.active_interval, Duration::from_secs(20));
    let config = toml("interval = 20\nbusy_interval = 5").unwrap().config;
    assert_eq!((config.busy_interval.as_secs(), config.active_interval.as_secs()), (5, 20));
    let loaded =
        from_bytes(None, &env(&[("LOOOP_INTERVAL", "2m"), ("LOOOP_ACTIVE_INTERVAL", "30s")])).unwrap();
    assert_eq!(loaded.config.busy_interval, Duration::from_mins(2));
    assert_eq!(loaded.config.active_interval, Duration::from_secs(30));
    assert_eq!(loaded.layer("busy_interval"), Layer::Default);
}

const EVERYTHING: &str = r#"
default = ["builtin", "pi"]
interval = "1.5m"
busy_interval = 2
active_interval = 3.5
max_next_interval = "2h"
max_daily_usd = 2.5
max_daily_tokens = 500
max_decide_usd = 0
max_worker_usd = 3
max_decides_per_hour = 0
max_workers = 2
policy = "open"
notification = "say {{id}}"
env_file = "env"
spare = ["docker"]
log_format = "json"
sensor_timeout = 0
sensor_max_bytes = 0
session_ttl = "1d"

[runners.pi]
tick = "pi -p"
interactive = "pi @{{prompt_file}}"
cost = { type = "message_end", pointer = "/usage/cost", mode = "total" }
retries = 2
retry_match = "overloaded|529"
retry_sleep = "500ms"
sandbox = false
write = ["/srv/out"]

[runners.free]
tick = "ollama run x < {{prompt_file}}"
cost = "free"
"#;

#[test]
fn every_key_reaches_its_field() {
    let config = toml(EVERYTHING).unwrap().config;
    let pi = RunnerName::new("pi").unwrap();
    assert_eq!(config.decider_chain(), [Decider::Builtin, Decider::Command(pi.clone())]);
    assert_eq!(config.interval, Duration::from_secs(90));
    assert_eq!(config.active_interval, Duration::from_millis(3500));
    assert_eq!(config.max_next_interval, Duration::from_hours(2));
    assert_eq!(config.max_daily_usd.effective(), Some(Usd::from_micros(2_500_000)));
    assert_eq!(config.max_daily_tokens, Some(500));
    assert_eq!((config.max_decide_usd, config.max_worker_usd), (None, Some(Usd::from_micros(3_000_000))));
    assert_eq!((config.max_decides_per_hour, config.max_workers), (None, Some(2)));
    assert_eq!(config.notification.unwrap().as_str(), "say {{id}}");
    assert_eq!(config.spare, ["docker"]);
    assert_eq!(config.log_format, LogFormat::Json);
    assert_eq!((config.sensor_timeout, config.sensor_max_bytes), (None, None));
    assert_eq!(config.session_ttl, Duration::from_hours(24));
    let runner = &config.runners[&pi];
    assert_eq!(runner.tick.as_ref().unwrap().as_str(), "pi -p");
    let pointer = "/usage/cost".to_owned();
    assert_eq!(runner.cost, Cost::Field { kind: "message_end".to_owned(), pointer, mode: CostMode::Total });
    assert_eq!((runner.retries, runner.retry_match.as_deref()), (2, Some("overloaded|529")));
    assert_eq!(runner.retry_sleep, Duration::from_millis(500));
    assert_eq!(runner.write, [Path::new("/srv/out")]);
    assert_eq!(config.runners["free"].cost, Cost::Free);
}

/// The same tree as TOML and as JSON is the same config.
#[test]
fn toml_and_json_have_the_same_keys() {
    let value: toml::Table = EVERYTHING.parse().unwrap();
    let as_json = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(json(&as_json).unwrap().config, toml(EVERYTHING).unwrap().config);
    let unnamed = from_bytes(Some((Path::new("settings"), as_json.as_bytes())), &Env::new()).unwrap();
    assert_eq!(unnamed.config, toml(EVERYTHING).unwrap().config);
    let with_bom = format!("\u{feff}{as_json}");
    assert_eq!(json(&with_bom).unwrap().config, unnamed.config);
}

#[test]
fn a_model_has_the_usual_key_and_the_usual_address() {
    let config = toml(
        "[runners.a]\napi = { provider = 'anthropic', model = 'm' }\n\
         [runners.b]\napi = { provider = 'openai', model = 'm', base_url = 'http://127.0.0.1:1/v1/', max_tokens = 300 }\n\
         [runners.c]\napi = { provider = 'anthropic', model = 'm', base_url = 'https://x/v1', key_command = 'pass k' }\n",
    )
    .unwrap()
    .config;
    let api = |name: &str| config.runners.get(name).and_then(|runner| runner.api.clone()).unwrap();
    assert_eq!(api("a").key, Some(KeySource::Env("ANTHROPIC_API_KEY".to_owned())));
    assert_eq!(api("c").key, Some(KeySource::Command("pass k".to_owned())));
    assert_eq!((api("b").key, api("a").max_tokens, api("b").max_tokens), (None, 8192, 300));
    assert_eq!(api("a").endpoint(), "https://api.anthropic.com/v1/messages");
    assert_eq!(api("b").endpoint(), "http://127.0.0.1:1/v1/chat/completions");
    assert_eq!(api("c").endpoint(), "https://x/v1/messages");
    assert!(config.runners.values().all(|runner| runner.decides() && runner.takes_schema()));
}

#[test]
fn own_prices_stand_beside_the_shipped_ones() {
    let prices = toml(
        "[prices.\"gpt-5\"]\ninput = 7\noutput = 8.5\n[prices.qwen]\ninput = 0\noutput = 0.1\ncached_read = 0.01\n",
    );
    let prices = prices.unwrap().config.prices;
    let price = |model: &str| prices.of(model).map(|price| (price.input.get(), price.output.get()));
    assert_eq!(price("gpt-5-codex"), Some((7_000_000, 8_500_000)));
    assert_eq!(price("qwen:7b"), Some((0, 100_000)));
    assert_eq!(price("gpt-5-mini"), Some((250_000, 2_000_000)));
}
