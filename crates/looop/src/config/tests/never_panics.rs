//! Whatever stands in the file or the environment: an answer, never a panic.

use proptest::prelude::*;

use super::given::*;
use crate::config::{KEYS, parse_duration};

fn read(name: &str, bytes: &[u8], env: &Env) {
    if let Err(refusal) = from_bytes(Some((Path::new(name), bytes)), env) {
        assert!(!refusal.to_string().is_empty());
        assert!(!refusal.problems.is_empty());
    }
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>()
            .prop_filter("JSON has no such numbers", |n| n.is_finite())
            .prop_map(|n| format!("{n:e}")),
        any::<bool>().prop_map(|b| b.to_string()),
        "\\PC{0,12}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        Just("\"10m\"".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[\"builtin\", \"builtin\"]".to_owned()),
    ]
}

fn key() -> impl Strategy<Value = String> {
    let known: Vec<&'static str> = KEYS.iter().map(|doc| doc.key).collect();
    prop_oneof![
        4 => proptest::sample::select(known).prop_map(|key| key.replace("<name>", "x")),
        1 => proptest::sample::select(vec!["tick_command", "worker_command", "worker_model", "tick", "runners"])
            .prop_map(str::to_owned),
        1 => "[a-z_]{1,12}",
    ]
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        for name in ["config.toml", "config.json", "config"] {
            read(name, &bytes, &Env::new());
        }
    }

    #[test]
    fn any_text(text in "\\PC{0,80}\n?\\PC{0,80}") {
        for name in ["config.toml", "config.json", "config"] {
            read(name, text.as_bytes(), &Env::new());
        }
        drop(parse_duration(&text));
    }

    #[test]
    fn any_value_of_any_key(pairs in proptest::collection::vec((key(), scalar()), 0..8)) {
        let lines: Vec<String> = pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        read("config.toml", lines.join("\n").as_bytes(), &Env::new());
        let fields: Vec<String> = pairs.iter().map(|(key, value)| format!("{key:?}: {value}")).collect();
        read("config.json", format!("{{{}}}", fields.join(",")).as_bytes(), &Env::new());
        let runner = format!("{{\"runners\": {{\"x\": {{{}}}}}}}", fields.join(",").replace("runners.x.", ""));
        read("config.json", runner.as_bytes(), &Env::new());
    }

    #[test]
    fn any_variable(name in proptest::sample::select(KEYS.iter().filter_map(|doc| doc.env).collect::<Vec<_>>()),
                    value in "\\PC{0,24}|-?[0-9]{1,30}(\\.[0-9]{1,5})?(ms|s|m|h|d)?") {
        if let Err(refusal) = from_bytes(None, &env(&[(name, &value)])) {
            prop_assert!(refusal.to_string().starts_with(name));
        }
    }
}

#[test]
fn deep_and_wide_files_are_answered() {
    let n = 200_000;
    for text in [
        format!("{} = 1", vec!["a"; n].join(".")),
        format!("[{}]", vec!["a"; n].join(".")),
        format!("x = {}", "[".repeat(n)),
        format!("x = {}1{}", "[".repeat(n), "]".repeat(n)),
        format!("x = {}", "{a=".repeat(n)),
        format!("x = {{ {} = 1 }}", vec!["a"; n].join(".")),
        format!("x = {{ b = 1, {} = 1 }}", vec!["a"; n].join(".")),
        format!("x = [{{ b = \"=\", {} = 1 }}]", vec!["a"; n].join(".")),
        format!("\"=\".{} = 1", vec!["a"; n].join(".")),
        format!("'#'.{} = 1", vec!["a"; n].join(".")),
        format!("x = \"\"\"\n# \"\"\"\n{} = 1", vec!["a"; n].join(".")),
        format!("x = {}", "9".repeat(n)),
        format!("interval = 0x{}", "f".repeat(n)),
        "a=1\n".repeat(n / 4),
        format!("[runners]\n{}", "x.tick = 1\n".repeat(n / 16)),
    ] {
        read("config.toml", text.as_bytes(), &Env::new());
    }
    for text in
        ["[".repeat(n), "{\"a\":".repeat(n), format!("{{\"interval\":{}}}", "9".repeat(n)), "\"".repeat(n)]
    {
        read("config.json", text.as_bytes(), &Env::new());
    }
}
