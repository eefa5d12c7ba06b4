//! Commands that decide, and what they cost: metered as they print, stopped when it is too much, settled whatever comes.
#![expect(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::path::PathBuf;

use looop_sim::profile::{Profile, Ran};
use looop_sim::waiting::{finish, signal};
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// An event that says that $0.40 are spent, in the middle of a call.
const SPENT: &str = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"claude-opus-5-5","usage":{"input_tokens":100000,"output_tokens":0}}}}"#;

/// A profile whose decider is a bash script.
fn runner(tick: &str, more: &str) -> Profile {
    let profile = Profile::bare(LOOOP);
    let script = profile.outside().join("agent.sh");
    std::fs::write(&script, tick).unwrap();
    profile.config(&format!(
        "default = \"r\"\nmax_decide_usd = 0.5\n[runners.r]\ntick = \"bash '{}'\"\n{more}\n",
        script.display()
    ))
}

/// A recorded stream.
fn recorded(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../looop-core/tests/fixtures/streams").join(name)
}

/// A runner that prints a recorded stream.
fn replays(name: &str, more: &str) -> Profile {
    runner(&format!("cat '{}'", recorded(name).display()), more)
}

fn record_of(profile: &Profile, run: u32) -> Value {
    serde_json::from_str(&profile.file(&format!("runs/{run:06}/record.json")).unwrap()).unwrap()
}

/// The only decide failed in this way, with these words.
#[track_caller]
fn fails(profile: &Profile, kind: &str, said: &str) -> Value {
    let beat: Ran = profile.beat();
    let record = record_of(profile, 1);
    assert!(beat.code == 1 && beat.stdout.contains(said), "expected {said:?} in {beat:?}");
    assert_eq!((&record["failure"][0], &record["decision"]), (&json!(kind), &Value::Null), "{record}");
    assert_eq!(profile.survivors(), Vec::<String>::new());
    record
}

/// The record of a run whose decision is none of ours, as those of the recorded streams.
#[track_caller]
fn unusable(profile: &Profile) -> Value {
    let beat = profile.beat();
    assert!(beat.code == 1 && beat.stdout.contains("the decision has no \"action\""), "{beat:?}");
    record_of(profile, 1)
}

#[track_caller]
fn spent(record: &Value, usd: f64, source: &str) {
    let spend = &record["spend"];
    assert_eq!(
        (&spend["usd"], &spend["source"], &spend["runner"]),
        (&json!(usd), &json!(source), &json!("r"))
    );
}

#[test]
fn a_run_that_passes_its_bound_is_stopped_at_that_line_with_all_it_started() {
    let tick = format!("setsid sleep 3600 & echo '{SPENT}'; trap '' TERM; while :; do sleep 3600; done");
    let profile = runner(&tick, "").env("LOOOP_MAX_DAILY_USD", "5");
    profile.write("config.toml", profile.file("config.toml").unwrap().replace("0.5", "0.3"));
    let record = fails(&profile, "budget", "stopped: it had spent $0.40 of the $0.30 set aside for it");
    spent(&record, 0.4, "claude prices (at least)");
    assert_eq!(record["spend"]["tokens_in"], 100_000);
}

#[test]
fn a_run_below_its_bound_goes_on() {
    let profile = runner(&format!("echo '{SPENT}'; echo '{{\"action\":\"noop\"}}' > .decision.json"), "");
    profile.beat().ok();
    spent(&record_of(&profile, 1), 0.4, "claude prices (at least)");
}

#[test]
fn a_decide_is_stopped_and_settled_while_the_pulse_is_dead() {
    let profile = Profile::bare(LOOOP);
    let (begun, go) = (profile.fifo("begun"), profile.fifo("go"));
    let tick = format!(
        "echo begun > '{}'; read -r line < '{}'; echo '{SPENT}'; sleep 3600",
        begun.path().display(),
        go.path().display()
    );
    std::fs::write(profile.outside().join("agent.sh"), tick).unwrap();
    let script = profile.outside().join("agent.sh");
    let profile = profile.config(&format!(
        "default = \"r\"\nmax_decide_usd = 0.3\n[runners.r]\ntick = \"bash '{}'\"\n",
        script.display()
    ));
    let beat = profile.start(&["beat"]);
    begun.hear();
    signal(&beat, "KILL");
    finish(beat);
    go.say("go\n");
    let again = profile.beat();
    let record = record_of(&profile, 1);
    assert_eq!(record["failure"][0], "budget", "{again:?} {record}");
    spent(&record, 0.4, "claude prices (at least)");
    assert_eq!(profile.survivors(), Vec::<String>::new());
}

#[test]
fn a_run_that_has_said_all_keeps_its_decision_and_is_settled_at_what_it_cost() {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "total_cost_usd": 5.11,
        "usage": {"input_tokens": 3}, "result": "{\"action\":\"noop\"}"});
    let profile = runner(&format!("cat <<'END'\n{result}\nEND"), "");
    profile.beat().ok();
    spent(&record_of(&profile, 1), 5.11, "claude");
}

#[test]
fn what_a_failed_run_cost_is_settled_too() {
    // The first deadline by which it has printed something.
    let timed_out = ["2", "20", "200"].iter().find_map(|seconds| {
        let profile = runner(&format!("echo '{SPENT}'; sleep 3600"), "");
        let record =
            fails(&profile.env("LOOOP_TICK_TIMEOUT_SECS", seconds), "timeout", "passed its deadline");
        (record["spend"]["tokens_in"] == 100_000).then_some(record)
    });
    spent(&timed_out.expect("what it had printed is counted"), 0.4, "claude prices (at least)");
    let died = runner(&format!("echo '{SPENT}'; kill -9 $$"), "");
    spent(&fails(&died, "runner", "signal 9"), 0.4, "claude prices (at least)");
    let record = unusable(&replays("claude-schema-2.1.325.jsonl", ""));
    assert_eq!(
        (&record["spend"]["source"], &record["spend"]["model"]),
        (&json!("claude"), &json!("claude-opus-5-5"))
    );
    assert!(record["spend"]["usd"].as_f64().unwrap() > 0.0);
}

#[test]
fn an_agent_that_names_no_model_is_metered_by_the_one_it_is_said_to_run() {
    let unknown = replays("codex-schema-0.166.0.jsonl", "");
    let record = unusable(&unknown);
    assert_eq!(record["spend"], Value::Null);
    let (read, said) = (&record["unpriced"]["tokens_in"], &record["unpriced"]["tokens_out"]);
    assert!(read.as_u64() > Some(0) && said.as_u64() > Some(0), "{record}");
    let known = unusable(&replays("codex-schema-0.166.0.jsonl", "model = \"gpt-5\""));
    assert_eq!((&known["spend"]["source"], &known["spend"]["tokens_in"]), (&json!("codex prices"), read));
    assert_eq!(known["spend"]["model"], "gpt-5");
}

#[test]
fn a_cost_spec_says_where_the_dollars_stand() {
    let lines = "{\"type\":\"bill\",\"usd\":0.1}\n{\"type\":\"bill\",\"usd\":0.25}\n{\"action\":\"noop\"}";
    for (mode, usd) in [("sum", 0.35), ("total", 0.25)] {
        let spec = format!("cost = {{ type = \"bill\", pointer = \"/usd\", mode = \"{mode}\" }}");
        let profile = runner(&format!("echo '{lines}'"), &spec);
        profile.beat().ok();
        spent(&record_of(&profile, 1), usd, "cost spec");
    }
}

#[test]
fn all_attempts_together_are_metered_and_have_one_bound() {
    let once = "[ -e ../again ] || { touch ../again; exit 1; }";
    let profile = runner(
        &format!(
            "echo '{SPENT}' | sed s/100000/50000/; {once}; echo '{{\"action\":\"noop\"}}' > .decision.json"
        ),
        "retries = 2\nretry_sleep = 0",
    );
    profile.beat().ok();
    spent(&record_of(&profile, 1), 0.4, "claude prices (at least)");
    // The second attempt has only what the first one left.
    let tick = format!("echo \"$LOOOP_RESERVED_USD\" >> ../left; echo '{SPENT}'; {once}; sleep 3600");
    let profile = runner(&tick, "retries = 2\nretry_sleep = 0");
    let record = fails(&profile, "budget", "stopped: it had spent $0.80 of the $0.50 set aside for it");
    spent(&record, 0.8, "claude prices (at least)");
    assert_eq!(profile.file("runs/000001/left").unwrap(), "0.50\n0.10\n");
}

#[test]
fn a_limit_of_the_provider_is_no_failure_of_the_runner() {
    let limit = |text: &str| {
        let event = json!({"type": "result", "subtype": "success", "is_error": true, "result": text});
        runner(&format!("cat <<'END'\n{event}\nEND\nexit 1"), "retries = 3\nretry_sleep = 0")
    };
    let later = jiff::Timestamp::now().as_second() + 7200;
    let known = limit(&format!("Claude AI usage limit reached|{later}"));
    let record = fails(&known, "limited", "usage limit reached");
    assert_eq!(record["until"], json!(later * 1000));
    // It was not run again: the limit ends later than a decide should wait.
    assert!(!known.data().join("runs/000001/work-2").exists());
    let record = fails(&limit("429 rate limit"), "limited", "rate limit");
    assert_eq!(record["until"], Value::Null);
}

#[test]
fn what_is_kept_of_the_output_can_be_read() {
    let names = [
        ("claude-partial-2.1.325.jsonl", "Decision written"),
        ("codex-0.166.0.jsonl", "tokens in"),
        ("opencode-1.18.33.jsonl", "Decision written"),
        ("pi-0.87.1.jsonl", "Decision written"),
        ("gemini-0.61.0.jsonl", "Decision written"),
    ];
    for (name, part) in names {
        let profile = replays(name, "cost = \"free\"");
        profile.beat();
        let output = profile.file("runs/000001/output.log").unwrap();
        assert!(output.contains(part), "{output}");
        assert!(!output.contains("{\"type\"") && output.lines().count() < 20, "{output}");
        assert_eq!(record_of(&profile, 1)["spend"]["source"], "free");
    }
}

#[test]
fn a_command_that_takes_a_schema_gets_the_moves_there_and_not_in_its_brief() {
    let tick = "cp {{schema_file}} schema; cp {{strict_schema_file}} strict; printf %s {{budget_usd}} > budget; \
                echo '{\"action\":\"noop\"}'";
    let profile = Profile::bare(LOOOP).config(&format!(
        "default = \"r\"\nmax_decide_usd = 0.5\n[runners.r]\ntick = '''{tick}'''\n[runners.w]\ninteractive = \"w {{{{prompt_file}}}}\"\n"
    ));
    profile.beat().ok();
    let file = |name: &str| profile.file(&format!("runs/000001/work-1/{name}")).unwrap();
    assert!(!profile.last_brief().contains("- run_shell(") && file("schema").contains("- start_worker("));
    assert!(file("strict").contains("\"null\"") && file("budget") == "0.50");
    let unbound = runner(
        "printf %s \"${LOOOP_RESERVED_USD-none}\" > left; echo '{\"action\":\"noop\"}'",
        "cost = \"free\"",
    );
    let unbound = unbound.env("LOOOP_RESERVED_USD", "7");
    unbound.beat().ok();
    assert_eq!(unbound.file("runs/000001/work-1/left").unwrap(), "none");
    assert!(unbound.last_brief().contains("- run_shell("));
}

#[test]
fn the_preset_for_claude_takes_the_key_where_there_is_one_and_the_subscription_else() {
    for (key, bare) in [("", false), ("secret", true)] {
        let profile = Profile::bare(env!("CARGO_BIN_EXE_looop"));
        let bin = profile.outside().join("bin");
        std::fs::create_dir_all(&bin).expect("a folder");
        let said = profile.outside().join("said");
        let script = format!("#!/bin/sh\necho \"$@\" > '{}'\nexit 1\n", said.display());
        std::fs::write(bin.join("claude"), script).expect("a program");
        looop_sim::profile::set_mode(&bin.join("claude"), 0o755);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        let profile = profile.env("PATH", path).env("ANTHROPIC_API_KEY", key);
        profile.run(&["init", "--runner", "claude"]).ok();
        profile.run(&["goal", "write", "mine", "A goal of my own."]).ok();
        profile.beat();
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        assert!(said.starts_with("-p "), "{said}");
        assert_eq!(said.contains("--bare"), bare, "{said}");
    }
}

/// An event of codex, which tries again for ever.
const OFFLINE: &str = r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;
/// What opencode says in its log while it waits for two hours.
const LIMITED: &str = r#"t=1 level=ERROR message="stream error" error.error="AI_APICallError: Rate limit reached. Please try again in 2h0m0s.""#;

#[test]
fn a_run_that_prints_nothing_is_ended_and_what_it_may_have_cost_is_set_aside() {
    let profile = runner("exec sleep 3600", "silence = \"1s\"\ncost = \"paid\"");
    let record = fails(&profile, "timeout", "r printed nothing for 1s and was ended (runners.r.silence");
    assert_eq!(record["spend"], Value::Null, "{record}");
}

#[test]
fn a_run_whose_provider_cannot_be_reached_is_ended_and_costs_nothing() {
    let tick = format!("echo '{{\"type\":\"turn.started\"}}'; echo '{OFFLINE}'; exec sleep 3600");
    // Long enough for a slow machine to print two lines.
    let profile = runner(&tick, "silence = \"10s\"");
    let record = fails(&profile, "unreached", "the provider cannot be reached: Reconnecting...");
    spent(&record, 0.0, "not charged");
    // A person who tries again is not held up.
    profile.beat();
    assert_eq!(record_of(&profile, 2)["failure"][0], "unreached");
}

#[test]
fn a_limit_told_on_standard_error_is_known_while_the_agent_waits_for_its_end() {
    let before = jiff::Timestamp::now().as_millisecond();
    let profile = runner(&format!("echo '{LIMITED}' >&2; exec sleep 3600"), "");
    let record = fails(&profile, "limited", "the provider takes no calls now: AI_APICallError: Rate limit");
    spent(&record, 0.0, "not charged");
    let told = record["until"].as_i64().unwrap() - 7_200_000;
    assert!((before..=record["ended"].as_i64().unwrap()).contains(&told), "{record}");
}

/// A turn of codex, which says how many tokens it used and neither a model nor dollars.
const TURN: &str = r#"{"type":"turn.started"}
{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"{\"action\":\"noop\",\"reason\":\"r\"}"}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":0,"output_tokens":10}}"#;

#[test]
fn a_model_without_a_price_is_named_with_what_to_write() {
    let profile = runner(&format!("cat <<'END'\n{TURN}\nEND"), "model = \"heron-1.5\"");
    for _ in 0..3 {
        profile.beat().ok();
    }
    let says = |verb: &str| profile.run(&[verb]).ok().stdout;
    let cost = says("cost");
    assert!(cost.contains("no price is known for heron-1.5"), "{cost}");
    let lines = "[prices.\"heron-1.5\"]\ninput = 1.25\noutput = 10\n";
    assert!(cost.contains(lines), "{cost}");
    for verb in ["why", "status"] {
        let said = says(verb);
        assert!(said.contains("add [prices.\"heron-1.5\"] with input = 1.25 and output = 10"), "{said}");
    }
    // What it says to write is enough.
    let config = profile.file("config.toml").unwrap();
    profile.write("config.toml", format!("{config}\n{lines}"));
    profile.beat().ok();
    spent(&record_of(&profile, 4), 0.000_225, "codex prices");
    assert!(says("why").contains("$1.50 was reserved today"), "{}", says("why"));
}

#[test]
fn a_decide_has_a_folder_for_temporary_files_that_goes_with_it() {
    let tick = "head -c 1000000 /dev/zero > \"$TMPDIR/left\"; echo \"$TMPDIR\" > ../seen; echo '{\"action\":\"noop\"}'";
    let profile = runner(tick, "cost = \"free\"");
    profile.beat().ok();
    let seen = PathBuf::from(profile.file("runs/000001/seen").unwrap().trim());
    assert_eq!(seen.parent(), Some(profile.data().join("tmp").as_path()));
    assert!(!seen.exists() && profile.data().join("tmp").exists());
}
