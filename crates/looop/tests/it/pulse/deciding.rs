//! While somebody decides: everything that needs no model is done, not only heard.

use std::fs;

use looop_core::ledger::entry::Entry;
use serde_json::{Value, json};

use super::looping::{Den, IDLE, Looping};

/// A loop whose decider has said that it is there and waits for its decision.
fn deciding(den: &Den) -> (Looping, looop_sim::waiting::Fifo) {
    let (here, decision) = den.gated();
    let mut looping = den.looping();
    looping.event("decide_started");
    assert_eq!(here.hear(), "there\n");
    (looping, decision)
}

/// Whether the decide is still under way, with nothing of it in the log.
#[track_caller]
fn still(den: &Den, looping: &mut Looping) {
    assert_eq!(looping.count("decided"), 0);
    assert!(den.ledger().deciding.is_some());
}

#[test]
fn requests_are_done_before_the_decider_answers() {
    let den = Den::new();
    let (mut looping, decision) = deciding(&den);
    den.call(&["goal", "write", "ship", "Ship it."]).ok();
    assert_eq!(den.call(&["run", "echo", "hello"]).ok().stdout, "hello\n");
    den.call(&["worker", "start", "w", "--command", IDLE]).ok();
    looping.event("worker_started");
    den.call(&["pause"]).ok();
    looping.event("paused");
    den.call(&["resume"]).ok();
    looping.event("resumed");
    den.call(&["sensor", "write", "s", "#!/bin/sh\necho 1"]).ok();
    looping.until("the new sensor", |event| event["event"] == "sensed" && event["readings"] == json!(["s"]));
    den.call(&["schedule", "write", "t", "--in", "1h"]).ok();
    still(&den, &mut looping);
    decision.say("{\"action\":\"noop\",\"journal\":\"at last\"}");
    looping.until("its end", |event| event["journal"].to_string().contains("at last"));
    looping.ends("TERM");
    den.no_survivors();
}

#[test]
fn letters_workers_and_notices_are_seen_to_before_the_decider_answers() {
    let den = Den::new();
    let (here, decision) = den.gated();
    let told = den.fifo("told");
    let config = den.file("config.toml").unwrap();
    let notification = Value::from(format!("echo \"$LOOOP_KIND $LOOOP_ID\" > '{}'", told.path().display()));
    den.write("config.toml", format!("notification = {notification}\n{config}"));
    let gate = den.fifo("gate");
    let worker = format!("cat '{}'; touch PROOF", gate.path().display());
    den.call(&["worker", "start", "w", "--command", &worker, "--verify", "test -e PROOF"]).ok();
    den.call(&["claim", "thing", "--session", "w~1"]).ok();
    let mut looping = den.looping();
    looping.event("decide_started");
    assert_eq!(here.hear(), "there\n");
    den.call(&["ask", "w~1", "--prompt", "Well?", "--timeout", "0"]).fails(124, "nobody has answered");
    looping.event("asked");
    assert_eq!(told.hear(), "question w-1\n");
    den.call(&["answer", "w-1", "yes"]).ok();
    looping.event("answered");
    gate.say("go\n");
    assert_eq!(looping.event("worker_ended")["session"], "w~1");
    assert_eq!(looping.event("verify")["pass"], true);
    looping.event("claim_reaped");
    still(&den, &mut looping);
    decision.say("{\"action\":\"noop\"}");
    looping.event("decided");
    looping.ends("TERM");
    den.no_survivors();
}

#[test]
fn an_edit_of_what_it_serves_overtakes_the_decision() {
    for adopted in [false, true] {
        let den = Den::new();
        den.write("goals/g.md", "Do it.");
        let (mut looping, decision) = deciding(&den);
        if adopted {
            looping.signal("KILL");
            assert_eq!(looping.left().code, 137);
            den.write("goals/g.md", "Do it not.");
            looping = den.looping();
            looping.says("its decision will be taken");
        } else {
            den.write("goals/g.md", "Do it not.");
            looping.until("the edit", |event| event["changes"].to_string().contains("goal:g"));
        }
        decision.say("{\"action\":\"run_shell\",\"cmd\":\"touch ran\",\"goal\":\"g\"}");
        let overtaken = looping.event("overtaken");
        assert!(overtaken["reason"].to_string().contains("changed"), "{overtaken}");
        // What has changed is decided upon at once, and not when the interval is over.
        let again = looping.event("decide_started");
        assert_eq!((&again["run"], &again["forced"]), (&json!("000002"), &Value::Null));
        looping.ends("TERM");
        assert!(!den.data().join("box/scratch/ran").exists(), "adopted: {adopted}");
        let acted = |entry: &Entry| matches!(entry, Entry::Intended { .. });
        assert!(!den.entries().iter().any(acted));
        den.no_survivors();
    }
}

#[test]
fn a_decide_in_flight_is_adopted_and_its_decision_used_once() {
    let den = Den::new();
    let (looping, decision) = deciding(&den);
    looping.signal("KILL");
    assert_eq!(looping.left().code, 137);
    let mut looping = den.looping();
    looping.says("its decision will be taken");
    let line = format!("echo once >> '{}'", den.beside("ran"));
    decision.say(&json!({"action": "write_goal", "id": "new", "body": line}).to_string());
    looping.event("finished");
    looping.signal("KILL");
    assert_eq!(looping.left().code, 137);
    fs::remove_file(den.data().join("config.toml")).unwrap();
    let looping = den.looped();
    looping.ends("TERM");
    let decided = den.entries().iter().filter(|entry| matches!(entry, Entry::Decided { .. })).count();
    assert_eq!((decided, den.journal().len()), (1, 1));
    assert_eq!(looop_core::check::violations(&den.lines()), Vec::<String>::new());
    den.no_survivors();
}
