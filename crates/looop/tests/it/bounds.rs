//! What is too large, too much, or higher on the disk than in the log does not stop the loop.

#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

use std::fs;

use looop_sim::profile::{Profile, set_mode};
use serde_json::json;

fn profile() -> Profile {
    let profile = Profile::new(env!("CARGO_BIN_EXE_looop"));
    profile.beat().ok();
    profile
}

/// Bytes of all files of the log.
fn log_bytes(profile: &Profile) -> u64 {
    let files = fs::read_dir(profile.data().join("log")).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn seventy_letters_of_a_megabyte_do_not_stop_the_loop() {
    let profile = profile();
    for n in 0..70 {
        let ask = json!({"v": 1, "id": format!("w-{n}"), "from": "w~1", "prompt": "x".repeat(1_000_000), "asked": 5});
        profile.write(&format!("asks/w-{n}.json"), ask.to_string());
        set_mode(&profile.data().join(format!("asks/w-{n}.json")), 0o600);
    }
    profile.beat().ok();
    assert_eq!(profile.ledger().asks.len(), 70);
    profile.run(&["run", "echo on > went"]).ok();
    assert_eq!(profile.file("went").as_deref(), Some("on\n"), "moves go on");
    for _ in 0..5 {
        profile.beat().ok();
    }
    assert!(log_bytes(&profile) < 2 << 20, "{} bytes of log", log_bytes(&profile));
    assert!(profile.file("asks/w-7.json").unwrap().len() > 1_000_000, "the whole is in its letter");
}

#[test]
fn a_log_that_was_cut_counts_on_from_what_is_on_the_disk() {
    let profile = profile();
    for n in 0..5 {
        profile.run(&["run", &format!("echo {n} >> went")]).ok();
    }
    let path = profile.data().join("log/000000000001.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // As the hint says for a damaged line: the file is cut before it.
    fs::write(&path, lines[..2].concat()).unwrap();
    profile.run(&["run", "echo again >> went"]).ok();
    assert!(profile.file("went").unwrap().ends_with("4\nagain\n"), "{:?}", profile.file("went"));
    let ledger = profile.ledger();
    let highest = fs::read_dir(profile.data().join("sessions"))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_prefix("move~")?.parse::<u64>().ok());
    assert_eq!(Some(ledger.sessions), highest.max(), "the new one is the highest");
}

/// Beats with a decider that does nothing for the loop: no move is made that would bring upkeep.
fn idle_decider(command: &str, settings: &str) -> Profile {
    let tick = serde_json::Value::from(format!("{command}; echo '{{\"action\":\"noop\"}}'"));
    let runner = format!("{settings}default = \"d\"\n[runners.d]\ntick = {tick}\ncost = \"free\"\n");
    let profile = profile();
    profile.write("config.toml", runner);
    set_mode(&profile.data().join("config.toml"), 0o600);
    profile
}

#[test]
fn decides_are_pruned_also_where_no_move_follows() {
    let profile = idle_decider("true", "runs_keep = 2\n");
    for _ in 0..5 {
        profile.beat().ok();
    }
    let runs = fs::read_dir(profile.data().join("runs")).unwrap().count();
    assert_eq!((runs, profile.ledger().runs), (2, 5));
}

#[test]
fn what_a_decide_leaves_in_its_folder_is_bounded_and_said() {
    let profile = idle_decider("truncate -s 70M big", "");
    profile.beat().ok();
    let big = profile.data().join("runs/000001/work-1/big");
    assert!(big.exists(), "{:?}", profile.file("config.toml"));
    let second = profile.beat().ok();
    assert!(second.stderr.contains("runs/000001: removed 73400320 bytes"), "{}", second.stderr);
    assert!(!big.exists() && profile.file("runs/000001/prompt.md").is_some());
}
