//! Sensors, checks and proofs: confined exactly while the bytes are a decider's.

use looop_core::model::outcome::Outcome;
use serde_json::{Value, json};

use super::ground::{Ground, ground};

/// Says whether the secret can be read, and tries to leave a trace.
const PEEK: &str = "#!/bin/sh\ntouch ~/touched 2>/dev/null\nif grep -q . ~/.ssh/id 2>/dev/null; then s=seen; else s=hidden; fi\n\
                    echo \"{\\\"signal\\\":{\\\"secret\\\":\\\"$s\\\"}}\"\n";

fn reading(ground: &Ground, name: &str) -> Value {
    ground.run(&["beat"]);
    let text = ground.profile.file(&format!("snapshots/sensor-{name}.json")).expect("a reading");
    serde_json::from_str::<Value>(&text).unwrap()["signal"]["secret"].clone()
}

#[test]
fn a_sensor_is_confined_until_a_person_takes_it_over() {
    let ground = ground("");
    let outcome = ground.decide(&json!({"action": "write_sensor", "name": "peek", "script": PEEK}));
    assert!(matches!(ground.last_outcome(), Outcome::Done { .. }), "{outcome:#?}");
    ground.profile.decide_next(&json!({"action": "noop"}));
    assert_eq!(reading(&ground, "peek"), "hidden");
    assert_eq!(reading(&ground, "peek"), "hidden", "a later process knows it from the log");
    let tried = ground.run(&["sensor", "run", "peek"]).ok();
    assert!(tried.stdout.contains("hidden"), "{tried:?}");
    assert!(!ground.home().join("touched").exists(), "neither the trial nor a beat left a trace");

    let twin = ground.profile.file("sensors/peek.sh").unwrap();
    ground.profile.write("sensors/peek.sh", format!("{twin}# mine\n"));
    looop_sim::profile::set_mode(&ground.profile.data().join("sensors/peek.sh"), 0o700);
    assert_eq!(reading(&ground, "peek"), "seen", "an edit makes it the person's");
    assert!(ground.home().join("touched").exists());
}

#[test]
fn trust_makes_a_file_the_persons() {
    let ground = ground("");
    ground.decide(&json!({"action": "write_sensor", "name": "peek", "script": PEEK}));
    ground.profile.decide_next(&json!({"action": "noop"}));
    assert_eq!(reading(&ground, "peek"), "hidden");
    ground.run(&["trust", "config.toml"]).fails(2, "neither a sensor nor a goal");
    ground.run(&["trust", "sensors/none.sh"]).fails(1, "there is no file");
    ground.run(&["trust", "goals/g.md"]).fails(1, "it is yours already");
    let said = ground.run(&["trust", "sensors/peek.sh"]).ok().stdout;
    assert_eq!(said, "sensors/peek.sh is yours now\n");
    assert_eq!(reading(&ground, "peek"), "seen");
    let journal = ground.profile.file("journal.md").unwrap();
    assert!(journal.contains("you trust sensors/peek.sh"), "{journal}");
}

#[test]
fn a_persons_sensor_is_not_confined() {
    let ground = ground("");
    ground.profile.write("sensors/peek.sh", PEEK);
    looop_sim::profile::set_mode(&ground.profile.data().join("sensors/peek.sh"), 0o700);
    ground.profile.decide_next(&json!({"action": "noop"}));
    assert_eq!(reading(&ground, "peek"), "seen");
}

#[test]
fn a_check_and_a_recipe_of_a_deciders_goal_are_confined() {
    let ground = ground("");
    let body = "---\ncheck: touch ~/checked; grep -q . ~/.ssh/id\n---\nThe secret can be seen.\n";
    ground.decide(&json!({"action": "write_goal", "id": "spy", "body": body}));
    ground.profile.decide_next(&json!({"action": "noop"}));
    ground.run(&["beat"]);
    assert!(!ground.home().join("checked").exists());
    let probe = ground.profile.file("snapshots/sys-goals.json").unwrap();
    assert!(probe.contains("spy"), "its check fails: {probe}");
    ground.profile.write("goals/spy.md", format!("{body}\nMine.\n"));
    ground.run(&["beat"]);
    assert!(ground.home().join("checked").exists(), "a person's check runs with their rights");
}

#[test]
fn a_proof_that_a_decider_wrote_is_confined() {
    let ground = ground("");
    let start = |id: &str, verify: Value| {
        let worker = json!({"action": "start_worker", "id": id, "prompt": "x", "command": "true {{prompt_file}}", "verify": verify});
        ground.decide(&worker);
    };
    start("a", json!("touch ~/proven; test -e ~/proven || touch proven && exit 1"));
    ground.profile.decide_next(&json!({"action": "noop"}));
    ground.run(&["beat"]);
    ground.run(&["beat"]);
    let proven = ground.profile.ledger().workers.get("a~1").and_then(|record| record.proven);
    assert_eq!(proven, Some(false));
    assert!(!ground.home().join("proven").exists());
}
