//! `looop doctor` tries what it ticks.

use std::fs;

use looop_sim::profile::{Profile, set_mode};
use serde_json::{Value, json};

use crate::notices::Server;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// What doctor says of one thing.
fn findings(profile: &Profile, args: &[&str], what: &str) -> Vec<Value> {
    let all = profile.run(&[&["doctor", "--json"], args].concat()).json();
    all.as_array().expect("findings").iter().filter(|finding| finding["what"] == what).cloned().collect()
}

/// The one finding whose state begins so.
#[track_caller]
fn finding(profile: &Profile, what: &str, begins: &str) -> Value {
    let all = findings(profile, &[], what);
    let found = all.iter().find(|finding| finding["state"].as_str().is_some_and(|s| s.starts_with(begins)));
    found.cloned().unwrap_or_else(|| panic!("no {what} {begins} in {all:#?}"))
}

/// Whether something is ticked, only said, or wrong.
fn sign(finding: &Value) -> &'static str {
    match (finding["fix"].is_string(), finding["tried"] == true) {
        (true, _) => "wrong",
        (false, true) => "ticked",
        (false, false) => "said",
    }
}

#[track_caller]
fn says(finding: &Value, expected: &str, part: &str) {
    let state = finding["state"].as_str().unwrap_or_default();
    assert!(sign(finding) == expected && state.contains(part), "{expected} {part}: {finding}");
}

#[test]
fn every_program_of_every_command_is_looked_for() {
    let profile = Profile::bare(LOOOP).config(
        "default = [\"pipe\", \"after\"]\nnotification = \"cat | no-such-mailer\"\n\
         [runners.pipe]\ntick = \"cat x | no-such-agent\"\n\
         [runners.after]\ntick = \"mkdir -p x && bash -c 'no-such-other'\"\n\
         [runners.hands]\ninteractive = \"nice no-such-worker {{prompt_file}}\"\n\
         [runners.script]\ninteractive = \"bash /no/such/script.sh {{prompt_file}}\"\n",
    );
    let table = [
        ("decider", "pipe", "no-such-agent is not on your PATH", "runners.pipe.tick"),
        ("decider", "after", "no-such-other is not on your PATH", "runners.after.tick"),
        ("workers", "hands", "no-such-worker is not on your PATH", "runners.hands.interactive"),
        ("workers", "script", "/no/such/script.sh is not", "runners.script.interactive"),
        ("notices", "command", "no-such-mailer is not on your PATH", "notification"),
    ];
    for (what, name, part, key) in table {
        let found = finding(&profile, what, name);
        says(&found, "wrong", part);
        assert!(found["fix"].as_str().unwrap().contains(key), "{found}");
    }
}

#[test]
fn a_sensor_is_judged_by_its_last_run() {
    let profile = Profile::bare(LOOOP)
        .sensor("good", "echo '{\"red\":0}'")
        .sensor("bad", "echo 'no such host' >&2; exit 3");
    says(&finding(&profile, "sensor", "good"), "said", "has no reading yet");
    profile.beat();
    says(&finding(&profile, "sensor", "good"), "ticked", "its last reading is");
    let bad = finding(&profile, "sensor", "bad");
    says(&bad, "wrong", "its last run failed");
    says(&bad, "wrong", "no such host");
    assert_eq!(profile.run(&["doctor"]).code, 1);
}

#[test]
fn a_free_decider_is_called_and_nothing_that_it_says_is_done() {
    let tick =
        |text: &str| format!("default = \"d\"\n[runners.d]\ncost = \"free\"\ntick = {}\n", Value::from(text));
    let profile = Profile::bare(LOOOP);
    let table = [
        (
            "echo '{\"action\":\"write_goal\",\"id\":\"g\",\"body\":\"x\"}'",
            "ticked",
            "a dry call decided write_goal",
        ),
        ("cat > seen; echo '{\"action\":\"noop\"}' > \"$LOOOP_DECISION_FILE\"", "ticked", "decided noop"),
        ("echo 'bad key' >&2; exit 7", "wrong", "exited with 7: bad key"),
        ("echo hello", "wrong", "a dry call failed"),
        ("echo '{\"action\":\"fly\"}'", "wrong", "fly"),
    ];
    let mut profile = profile;
    for (text, sign, part) in table {
        profile = profile.config(&tick(text));
        says(&finding(&profile, "decider", "d:"), sign, part);
    }
    assert_eq!(profile.ledger().runs, 0);
    assert!(profile.file("goals/g.md").is_none());
}

#[test]
fn a_decider_that_may_cost_is_judged_by_its_last_call() {
    let agent = Profile::bare(LOOOP);
    let script = agent.outside().join("claude");
    fs::write(&script, "#!/bin/sh\nif [ -e ../../../fail ]; then echo 'Invalid API key' >&2; exit 1; fi\necho '{\"action\":\"noop\"}'\n").unwrap();
    set_mode(&script, 0o700);
    let tick = Value::from(script.display().to_string());
    let profile = agent.config(&format!("default = \"paid\"\n[runners.paid]\ntick = {tick}\n"));
    let before = finding(&profile, "decider", "paid");
    says(&before, "said", "it was never called");
    assert_eq!(profile.ledger().runs, 0, "nothing is spent");
    profile.write("fail", "");
    assert_eq!(profile.beat().code, 1);
    says(&finding(&profile, "decider", "paid"), "wrong", "Invalid API key");
    fs::remove_file(profile.data().join("fail")).unwrap();
    profile.write("PLAYBOOK.md", "edited\n");
    profile.beat().ok();
    says(&finding(&profile, "decider", "paid"), "ticked", "its last call decided");
    assert_eq!(profile.ledger().runs, 2);
}

#[test]
fn a_model_is_asked_for_its_list_so_that_a_bad_key_is_said() {
    let server = Server::start("");
    let config = |provider: &str| {
        format!(
            "default = \"m\"\n[runners.m]\napi = {{ provider = \"{provider}\", base_url = \"{}\", model = \"m1\", key_env = \"THE_KEY\" }}\n",
            server.url("/v1")
        )
    };
    let profile = Profile::bare(LOOOP).config(&config("openai"));
    says(&finding(&profile, "decider", "m:"), "wrong", "the variable THE_KEY is not set");
    server.silent();
    let profile = profile.env("THE_KEY", "sk-secret");
    server.answer("401 Unauthorized", "{\"error\":{\"message\":\"Incorrect API key provided: sk-secret\"}}");
    let refused = finding(&profile, "decider", "m:");
    says(&refused, "wrong", "status 401: Incorrect API key provided: [key]; check the key in THE_KEY");
    let asked = server.next();
    assert_eq!(asked.line, "GET /v1/models HTTP/1.1");
    assert_eq!(asked.headers["authorization"], "Bearer sk-secret");
    says(&finding(&profile, "decider", "m:"), "ticked", "answers and takes the key");
    server.next();
    server.answer("404 Not Found", "");
    says(&finding(&profile, "decider", "m:"), "said", "it was never called");
    server.next();
    let profile = profile.config(&config("anthropic"));
    says(&finding(&profile, "decider", "m:"), "ticked", "answers and takes the key");
    let asked = server.next();
    assert_eq!(
        (asked.line.as_str(), asked.headers["x-api-key"].as_str()),
        ("GET /v1/models HTTP/1.1", "sk-secret")
    );
    assert_eq!(profile.ledger().runs, 0);
}

#[test]
fn a_channel_without_its_secret_is_said() {
    let channel = "ntfy = { url = \"http://127.0.0.1:9/t\", token_env = \"THE_TOKEN\" }\n";
    let profile = Profile::bare(LOOOP).config(channel);
    says(&finding(&profile, "notices", "ntfy"), "wrong", "THE_TOKEN");
    let profile = profile.env("THE_TOKEN", "tk");
    says(&finding(&profile, "notices", "ntfy"), "said", "--notify");
}

#[test]
fn the_size_of_the_log_is_shown() {
    let profile = Profile::bare(LOOOP);
    profile.beat();
    let found = findings(&profile, &[], "log");
    says(&found[0], "ticked", "appends, whole; the newest file has ");
    says(&found[0], "ticked", "longest line ");
}

#[test]
fn claude_without_its_key_is_said() {
    let profile = Profile::bare(LOOOP);
    let bin = profile.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("claude"), "#!/bin/sh\nexit 1\n").unwrap();
    set_mode(&bin.join("claude"), 0o700);
    let profile = profile
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .config("default = \"claude\"\n[runners.claude]\ntick = \"claude -p --bare\"\n");
    says(&finding(&profile, "decider", "claude"), "wrong", "ANTHROPIC_API_KEY");
    let profile = profile.env("ANTHROPIC_API_KEY", "sk-1");
    says(&finding(&profile, "decider", "claude"), "said", "it was never called");
}

#[test]
fn notices_are_tried_with_a_test_message_over_each_channel() {
    let (ntfy, hook) = (Server::start(""), Server::start(""));
    let profile = Profile::bare(LOOOP).config(&format!(
        "notification = 'printf %s \"$LOOOP_KIND|$LOOOP_MESSAGE\" > told'\nntfy = \"{}\"\nwebhook = \"{}\"\n",
        ntfy.url("/topic"),
        hook.url("/in")
    ));
    for found in findings(&profile, &[], "notices") {
        says(&found, "said", "looop doctor --notify sends a test message");
    }
    ntfy.silent();
    hook.answer("500 Internal Server Error", "out of order");
    let found = findings(&profile, &["--notify"], "notices");
    assert_eq!(found.iter().map(sign).collect::<Vec<_>>(), ["ticked", "ticked", "wrong"], "{found:#?}");
    says(&found[2], "wrong", "webhook: it did not take a test message: 127.0.0.1: status 500: out of order");
    let message = "This is a test message of looop doctor --notify. Nothing is to be done.";
    assert_eq!(profile.file("told").as_deref(), Some(format!("test|{message}").as_str()));
    assert_eq!(ntfy.next().body, message);
    let body: Value = serde_json::from_str(&hook.next().body).unwrap();
    assert_eq!(json!([body["kind"], body["message"]]), json!(["test", message]));
    assert!(profile.entries().is_empty(), "nothing is logged");
}

#[test]
fn the_sandbox_is_tried_and_the_trial_leaves_nothing() {
    let profile = Profile::bare(LOOOP);
    profile.beat();
    let before = profile.tree();
    let found = findings(&profile, &[], "sandbox");
    let could = found.iter().any(|found| {
        found["state"].as_str().is_some_and(|state| state.contains("a trial wrote into box/scratch/"))
    });
    let none =
        found.iter().any(|found| found["state"].as_str().is_some_and(|state| state.starts_with("none:")));
    assert!(could != none, "{found:#?}");
    assert!(could || std::env::var_os("LOOOP_TEST_ALL").is_none(), "skipped: {found:#?}");
    assert_eq!(profile.tree(), before);
}
