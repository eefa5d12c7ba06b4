//! Calls that cost too much, and calls that are never made.

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, write_program};

use super::desk::{Desk, LOOOP, micros};

/// A model that says in the middle of an answer that it is five dollars already, under a cap of half a dollar.
#[track_caller]
fn is_stopped_for_the_day(desk: &Desk) {
    let profile = &desk.profile;
    let beat = profile.beat();
    assert!(beat.code == 1 && beat.stdout.contains("stopped: it had spent $5."), "{beat:?}");
    // There would be two hundred more events; a few fit into the buffers of a connection that is gone.
    let bills = desk.model.charged(1);
    assert!(bills[0]["events"].as_u64().unwrap() < 20, "{bills:?}");
    let spend = profile.run(&["status", "--json"]).ok().json()["spend"].clone();
    assert_eq!(micros(&spend["reserved_usd"]), 0, "{spend}");
    assert_eq!(micros(&spend["usd"]), desk.charged_in_all(), "{spend}");
    let status = profile.run(&["status"]).ok().stdout;
    assert!(status.contains("today     $5.0") && status.contains(" of $0.50"), "{status}");
    let cost = profile.run(&["cost", "today", "--by", "runner", "--json"]).ok().json();
    assert_eq!(
        (&cost["groups"][0]["name"], micros(&cost["total"]["usd"])),
        (&"m".into(), micros(&spend["usd"]))
    );
    for round in 0..4 {
        profile.write("goals/g.md", format!("# Round {round}\n"));
        let beat = profile.beat();
        assert!(beat.stdout.contains("of today's $0.50 is spent, and one more decide may cost"), "{beat:?}");
    }
    let why = profile.run(&["why"]).ok().stdout;
    assert!(why.contains("of today's $0.50 is spent"), "{why}");
    let started =
        profile.entries().iter().filter(|entry| matches!(entry, Entry::DecideStarted { .. })).count();
    assert_eq!((started, desk.model.requests().len()), (1, 1));
}

#[test]
fn a_model_that_passes_its_bound_is_stopped_and_nothing_more_starts_that_day() {
    is_stopped_for_the_day(&Desk::api("costly", "max_daily_usd = 0.50"));
}

#[test]
fn an_agent_that_passes_its_bound_is_stopped_and_nothing_more_starts_that_day() {
    is_stopped_for_the_day(&Desk::agent("costly", "max_daily_usd = 0.50\nmax_decide_usd = 0.40"));
}

/// Five beats of a decider that fails each time.
#[track_caller]
fn costs_nothing(profile: &Profile, said: &str) {
    for round in 0..5 {
        profile.write("PLAYBOOK.md", format!("# Round {round}\n"));
        let beat = profile.beat();
        assert!(beat.code == 1 && beat.stdout.contains(said), "{beat:?}");
    }
    let failed = profile.entries().into_iter().filter_map(|entry| {
        if let Entry::Failed { spend, .. } = entry { Some((spend.source, spend.usd)) } else { None }
    });
    assert_eq!(failed.collect::<Vec<_>>(), vec![("not charged".to_owned(), 0.0); 5]);
    let spend = profile.run(&["status", "--json"]).ok().json()["spend"].clone();
    assert_eq!((micros(&spend["usd"]), micros(&spend["reserved_usd"])), (0, 0), "{spend}");
    assert_eq!(profile.ledger().unmetered, None);
}

const CAPS: &str = "max_daily_usd = 1\nmax_decide_usd = 1";

/// What agents do that cannot ask: the command, what they print and how they end, and what is said of it.
const UNASKED: &[(&str, &str, &str)] = &[
    (
        "pi -p --mode json",
        r#"echo '{"type":"session","version":3,"cwd":"/"}'; echo 'No API key found for the model.' >&2; exit 1"#,
        "No API key found",
    ),
    ("gemini --output-format stream-json", "echo 'Please set an Auth method' >&2; exit 41", "Auth method"),
    ("claude -p --output-format stream-json", "echo 'unknown option: --bare' >&2; exit 1", "unknown option"),
    (
        "codex exec --json -",
        r#"echo '{"type":"thread.started"}'; echo '{"type":"turn.started"}'
           echo '{"type":"turn.failed","error":{"message":"Missing environment variable: `KEY`."}}'; exit 1"#,
        "Missing environment variable",
    ),
    (
        "opencode run --format json",
        r#"echo '{"type":"error","sessionID":"s","error":{"data":{"message":"Cannot connect to API"}}}'; exit 1"#,
        "Cannot connect to API",
    ),
];

#[test]
fn an_agent_that_could_not_ask_does_not_use_up_the_cap() {
    for (command, script, said) in UNASKED {
        let profile = Profile::bare(LOOOP);
        let (program, _) = command.split_once(' ').unwrap();
        write_program(&profile.outside().join(program), &format!("#!/bin/sh\n{script}\n"));
        let path = format!("{}:/usr/bin:/bin", profile.outside().display());
        let config = format!("default = \"m\"\n{CAPS}\n[runners.m]\ntick = \"{command}\"\nretries = 0\n");
        costs_nothing(&profile.env("PATH", path).config(&config), said);
    }
}

#[test]
fn a_program_that_is_not_there_does_not_use_up_the_cap() {
    let tick = "no-such-agent -p --output-format stream-json";
    let config = format!(
        "default = \"m\"\n{CAPS}\n[runners.m]\ntick = \"{tick}\"\nretries = 1\nretry_sleep = \"1ms\"\n"
    );
    costs_nothing(&Profile::bare(LOOOP).config(&config), "no-such-agent: command not found");
}

#[test]
fn a_model_without_a_key_or_a_server_does_not_use_up_the_cap() {
    let api = |more: &str| {
        let config = format!(
            "default = \"m\"\n{CAPS}\n[runners.m]\n\
             api = {{ provider = \"anthropic\", base_url = \"http://127.0.0.1:9\", model = \"claude-opus-5-5\"{more} }}\n"
        );
        Profile::bare(LOOOP).config(&config)
    };
    costs_nothing(&api(", key_env = \"NO_SUCH_KEY\""), "the variable NO_SUCH_KEY is not set");
}

#[test]
fn a_decide_that_cannot_be_started_does_not_use_up_the_cap() {
    let config = format!("default = \"m\"\n{CAPS}\n[runners.m]\ntick = \"true\"\n");
    let profile = Profile::bare(LOOOP).config(&config);
    profile.run(&["status"]).ok();
    // Where the runs should be there is something else.
    profile.write("runs", "no folder");
    let beat = profile.beat();
    assert!(beat.code == 1, "{beat:?}");
    let spend = profile.run(&["status", "--json"]).ok().json()["spend"].clone();
    assert_eq!((micros(&spend["usd"]), micros(&spend["reserved_usd"])), (0, 0), "{spend} {beat:?}");
}
