//! What wakes the loop. Its interval is an hour, so that nothing but the event itself can be the reason.

use std::fs;
use std::process::Stdio;

use looop_sim::profile::set_mode;
use serde_json::{Value, json};

use super::looping::{Den, IDLE, TOUCHES};

/// Whether a beat was for a change that holds this.
fn changed(event: &Value, part: &str) -> bool {
    event["changes"].as_array().is_some_and(|all| all.iter().any(|it| it.as_str().unwrap().contains(part)))
}

/// Milliseconds since the epoch.
fn wall() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// A schedule as a person could write it by hand, due in so many milliseconds.
pub(crate) fn schedule_in(den: &Den, name: &str, millis: i64) -> i64 {
    let at = wall() + millis;
    let text = json!({"v": 1, "name": name, "when": {"at": at}, "created": wall()});
    let draft = format!("schedules/.{name}");
    den.write(&draft, text.to_string());
    fs::rename(den.data().join(draft), den.data().join(format!("schedules/{name}.json"))).unwrap();
    at
}

#[test]
fn goals_that_come_change_move_and_go() {
    let den = Den::new();
    let mut looping = den.looped();
    let goals = den.data().join("goals");
    let mut wakes = |part: &str| {
        let beat = looping.beat("files");
        assert!(changed(&beat, part), "{part} is not in {beat}");
    };
    den.write("goals/a.md", "Do it.");
    wakes("+ goal:a");
    den.write("goals/a.md", "Do it well.");
    wakes("~ goal:a");
    fs::rename(goals.join("a.md"), goals.join("b.md")).unwrap();
    wakes("- goal:a");
    fs::write(goals.join(".new"), "Do it better.").unwrap();
    fs::rename(goals.join(".new"), goals.join("b.md")).unwrap();
    wakes("~ goal:b");
    fs::remove_file(goals.join("b.md")).unwrap();
    wakes("- goal:b");
    fs::write(den.data().join("PLAYBOOK.md"), "# Another").unwrap();
    wakes("~ playbook");
    looping.ends("TERM");
}

#[test]
fn an_edited_sensor_is_run_anew_and_no_other() {
    let den = Den::new();
    den.counted("one", "echo 1");
    den.counted("two", "echo 2");
    let mut looping = den.looped();
    assert_eq!((den.runs("one"), den.runs("two")), (1, 1));
    den.counted("one", "echo 11");
    let beat = looping.beat("files");
    assert!(changed(&beat, "reading:one 1 → 11"), "{beat}");
    assert_eq!((den.runs("one"), den.runs("two")), (2, 1));
    den.counted("new", "echo 5");
    assert!(changed(&looping.beat("files"), "+ reading:new 5"));
    fs::remove_file(den.data().join("sensors/two.sh")).unwrap();
    assert!(changed(&looping.beat("files"), "- reading:two"));
    den.write("goals/a.md", "Do it.");
    assert!(changed(&looping.beat("files"), "+ goal:a"));
    assert_eq!((den.runs("one"), den.runs("two"), den.runs("new")), (2, 1, 1));
    looping.ends("TERM");
}

#[test]
fn a_quick_look_runs_the_check_of_the_goal_that_changed_only() {
    let den = Den::new();
    let checked = |id: &str| {
        let file = den.beside(&format!("runs-{id}"));
        den.write(&format!("goals/{id}.md"), format!("---\ncheck: echo ran >> '{file}'\n---\n{id}\n"));
    };
    checked("a");
    checked("b");
    let mut looping = den.looped();
    den.write("goals/c.md", "Do it.");
    looping.beat("files");
    assert_eq!((den.runs("a"), den.runs("b")), (1, 1));
    let text = den.file("goals/a.md").unwrap();
    den.write("goals/a.md", format!("{text}more\n"));
    looping.beat("files");
    assert_eq!((den.runs("a"), den.runs("b")), (2, 1));
    looping.ends("TERM");
}

#[test]
fn a_changed_configuration_takes_effect_and_a_broken_one_does_not() {
    let den = Den::new();
    let mut looping = den.looped();
    den.write("config.toml", "default = [");
    let error = looping.event("config_error");
    assert!(error["error"].as_str().unwrap().contains("config.toml"), "{error}");
    // Two more looks do not say it again, and the last good one is kept.
    for id in ["a", "b"] {
        den.write(&format!("goals/{id}.md"), "Do it.");
        looping.beat("files");
    }
    assert_eq!(looping.count("config_error"), 1);
    assert_eq!(looping.said().matches("last good configuration").count(), 1, "{}", looping.said());
    den.decided_by("echo '{\"action\":\"noop\",\"journal\":\"as configured\"}'");
    looping.event("config_mended");
    den.write("goals/c.md", "Do it.");
    let decide = looping.event("decide_started");
    assert_eq!(decide["decider"], "fake");
    looping.event("finished");
    fs::remove_file(den.data().join("config.toml")).unwrap();
    den.write("goals/x.md", TOUCHES);
    assert_eq!(looping.event("intended")["author"], "builtin");
    looping.ends("TERM");
}

#[test]
fn a_request_right_after_an_edit_of_the_configuration_is_served_with_the_new_one() {
    let den = Den::new();
    let named = den.fifo("named");
    let runner = |name: &str| {
        let command = format!("echo {name} > '{}'; {IDLE}; : {{{{prompt_file}}}}", named.path().display());
        format!("[runners.r]\ninteractive = {}\n", Value::from(command))
    };
    den.write("config.toml", runner("first"));
    let looping = den.looped();
    for round in 0..4 {
        let (name, id) = (format!("edit-{round}"), format!("w{round}"));
        den.write("config.toml", runner(&name));
        den.call(&["worker", "start", &id, "work"]).ok();
        assert_eq!(named.hear(), format!("{name}\n"));
    }
    looping.ends("TERM");
}

#[test]
fn a_request_right_after_an_edit_of_the_policy_is_served_with_the_new_one() {
    let den = Den::new();
    let looping = den.looped();
    for round in 0..4 {
        let message = format!("rule {round}");
        let rule = format!("[[rule]]\nmove = \"archive_goal\"\nthen = \"deny\"\nmessage = {message:?}\n");
        den.write("goals/g.md", format!("Round {round}."));
        den.write("policy.toml", rule);
        den.decided_by("echo '{\"action\":\"archive_goal\",\"id\":\"g\"}'");
        let beat = den.call(&["beat", "--json"]);
        assert!(beat.stdout.contains(&message), "{beat:?}");
    }
    looping.ends("TERM");
}

#[test]
fn a_request_right_after_an_edit_of_a_goal_sees_it() {
    let den = Den::new();
    den.write("goals/a.md", "Do it.");
    let looping = den.looped();
    for round in 0..10 {
        den.write("goals/a.md", format!("By hand {round}."));
        // What is not as it was seen is not written over.
        den.call(&["goal", "write", "a", &format!("By a verb {round}.")]).ok();
        assert_eq!(den.file("goals/a.md").unwrap().trim(), format!("By a verb {round}."));
    }
    looping.ends("TERM");
}

#[test]
fn the_end_of_a_pause_is_followed_by_a_look() {
    let den = Den::new();
    let mut looping = den.looped();
    den.call(&["pause"]).ok();
    den.write("goals/x.md", TOUCHES);
    looping.until("the goal", |event| event["event"] == "sensed" && event["ready"] == json!(["x"]));
    den.call(&["resume"]).ok();
    looping.event("resumed");
    looping.event("finished");
    looping.ends("TERM");
    assert!(den.data().join("X").exists());
}

#[test]
fn a_configuration_that_breaks_in_several_ways_is_said_each_time() {
    let den = Den::new();
    let mut looping = den.looped();
    den.write("config.toml", "default = [");
    looping.event("config_error");
    den.write("config.toml", "intervall = 3\n");
    assert!(looping.event("config_error")["error"].as_str().unwrap().contains("interval"));
    den.write("config.toml", "default = \"builtin\"\n");
    looping.event("config_mended");
    looping.ends("TERM");
}

/// A broken policy never means that everything is allowed, nor that nothing is: the last good one is kept, and said.
#[test]
fn a_policy_that_breaks_later_is_said_and_the_last_good_one_is_kept() {
    let den = Den::new();
    let mut looping = den.looped();
    den.write("policy.toml", "[[rule]]\nmove = \"noop\"\nthen = \"alow\"\n");
    let error = looping.event("config_error");
    assert!(error["error"].as_str().unwrap().contains("policy.toml:3: `rule.then`"), "{error}");
    den.write("goals/a.md", "Do it.");
    looping.beat("files");
    assert_eq!(looping.count("config_error"), 1);
    assert!(looping.said().contains("last good configuration"), "{}", looping.said());
    den.write("policy.toml", "[[rule]]\nmove = \"noop\"\nthen = \"allow\"\n");
    looping.event("config_mended");
    looping.ends("TERM");
}

#[test]
fn a_schedule_written_by_hand_is_met_at_its_moment() {
    let den = Den::new();
    let mut looping = den.looped();
    let at = schedule_in(&den, "soon", 1200);
    let due = looping.event("schedule_due");
    assert_eq!(due["schedule"], "soon");
    assert!(changed(&looping.beat("schedule"), "soon"));
    assert!(wall() >= at, "not before its time");
    // One that is taken away before it is due is not met, and one that is due already is met at once.
    schedule_in(&den, "gone", 3_600_000);
    schedule_in(&den, "late", -5000);
    assert_eq!(looping.event("schedule_due")["schedule"], "late");
    looping.ends("TERM");
}

#[test]
fn letters_are_taken_in_at_once() {
    let den = Den::new();
    den.call(&["worker", "start", "w", "--command", IDLE]).ok();
    let mut looping = den.looped();
    let mut ask = den.command(&["ask", "w~1", "--prompt", "Well?"]);
    let ask = ask.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(looping.event("asked")["ask"], "w-1");
    den.call(&["answer", "w-1", "yes"]).ok();
    assert_eq!(looping.event("answered")["text"], "yes");
    assert_eq!(looop_sim::waiting::finish(ask).ok().stdout, "yes\n");
    den.call(&["tell", "w", "hurry"]).ok();
    assert_eq!(looping.event("told")["text"], "hurry");
    den.call(&["flag", "w~1"]).ok();
    assert_eq!(looping.event("asked")["flag"], true);
    looping.ends("TERM");
    den.no_survivors();
}

#[test]
fn the_end_of_a_worker_is_seen_with_fresh_checks() {
    let den = Den::new();
    // The worker makes its check hold; on a check from before, a second one would be started.
    let gate = den.fifo("gate");
    let path = gate.path().display().to_string();
    let worker = format!("cat '{path}'; touch DONE; : {{{{prompt_file}}}}");
    den.write("config.toml", format!("[runners.r]\ninteractive = {}\n", Value::from(worker)));
    den.write("goals/g.md", "---\ncheck: test -e DONE\nworker: Make it so.\n---\n");
    let mut looping = den.looped();
    looping.event("worker_started");
    den.call(&["claim", "thing", "--session", "g~1"]).ok();
    gate.say("go\n");
    let ended = looping.event("worker_ended");
    assert_eq!((&ended["session"], &ended["exit_code"]), (&json!("g~1"), &json!(0)));
    let seen = |event: &Value| event["event"] == "verify" && event["session"] == "g~1";
    assert_eq!(looping.until("verify", seen)["pass"], true);
    // A look that was under way when it ended may have seen to the claim before.
    if looping.count("claim_reaped") == 0 {
        looping.event("claim_reaped");
    }
    // A later look finds it as it should be.
    den.write("goals/h.md", "Other.");
    looping.beat("files");
    assert_eq!(looping.count("worker_started"), 1);
    looping.ends("TERM");
}

#[test]
fn a_nudge_comes_when_the_decider_wanted_it() {
    let den = Den::new();
    let count = den.beside("decides");
    den.decided_by(&format!(
        "echo x >> '{count}'; case $(wc -l < '{count}') in 1) echo '{{\"action\":\"noop\",\"next_interval_s\":5}}';; *) echo '{{\"action\":\"noop\"}}';; esac"
    ));
    den.counted("s", "echo 1");
    let mut looping = den.looping();
    assert_eq!(looping.event("decide_started")["decider"], "fake");
    looping.beat("nudge");
    let forced = looping.event("decide_started");
    assert_eq!(forced["forced"], "nudge");
    looping.event("finished");
    assert_eq!(den.runs("s"), 2, "a nudge is a full look");
    looping.ends("TERM");
}

#[test]
fn dot_files_locks_and_what_is_ours_do_not_wake() {
    let den = Den::new();
    den.write("goals/a.md", "Do it.");
    let mut looping = den.looped();
    // The moment at which the silent looks are counted. What is heard before it is over by then.
    schedule_in(&den, "count", 2500);
    den.write("goals/b.md", "Do that.");
    looping.until("a look", |event| event["event"] == "beat_started" && changed(event, "goal:b"));
    schedule_in(&den, "rest", 1000);
    looping.until("rest", |event| event["event"] == "schedule_due" && event["schedule"] == "rest");
    let before = den.log_bytes();
    for path in [
        "goals/.a.md.swp",
        "goals/a.md~",
        "asks/.lock",
        "claims/.lock",
        "sensors/.x",
        "scratch/x",
        "reports/y",
    ] {
        den.write(path, "x");
    }
    den.write("journal.md", "- 2026-01-01 00:00 by hand\n");
    den.write("pulse.log", "x");
    den.write("snapshots/sensor-x.json", "{}");
    set_mode(&den.data().join("goals"), 0o700);
    fs::read(den.data().join("goals/a.md")).unwrap();
    fs::read_dir(den.data().join("asks")).unwrap().count();
    looping.event("schedule_due");
    let lines = den.lines();
    let due = lines.iter().rfind(|line| format!("{:?}", line.entries).contains("ScheduleDue")).unwrap();
    assert!(den.log_bytes() > before);
    assert_eq!(due.idle, 0, "something looked although nothing had changed");
    looping.ends("TERM");
}
