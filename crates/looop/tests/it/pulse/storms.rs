//! Storms and things that hang: the loop stays awake for everything else.

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use looop_core::ledger::entry::{Entry, Line};
use looop_sim::waiting::finish;
use serde_json::{Value, json};

use super::looping::{Den, Looping};

/// How many looks these lines tell of, silent ones included.
fn looks(lines: &[Line]) -> u64 {
    let spoken = |line: &Line| {
        let beats = line.entries.iter().filter(|entry| matches!(entry, Entry::Skipped { .. })).count();
        u64::from(line.idle) + beats as u64
    };
    lines.iter().map(spoken).sum()
}

/// How many descriptors the loop has open.
fn open_files(looping: &Looping) -> usize {
    fs::read_dir(format!("/proc/{}/fd", looping.id())).unwrap().count()
}

fn tells(event: &Value, change: &str) -> bool {
    event["changes"].to_string().contains(change)
}

#[test]
fn ten_thousand_events_are_few_looks_and_none_is_missed() {
    let den = Den::new();
    den.write("goals/a.md", "Do it.");
    let mut looping = den.looped();
    let (file, draft) = (den.data().join("goals/a.md"), den.data().join("goals/.a.md"));
    let begun = Instant::now();
    let (before, open) = (den.lines().len(), open_files(&looping));
    for round in 0..10_000 {
        fs::write(&draft, format!("Do it {round} times.")).unwrap();
        fs::rename(&draft, &file).unwrap();
    }
    fs::remove_file(&file).unwrap();
    looping.until("the last of it", |event| tells(event, "- goal:a"));
    den.write("goals/b.md", "Do that.");
    looping.until("what comes after", |event| tells(event, "+ goal:b"));
    // Two looks begin at least one silence of 50 ms apart.
    let most = 2 + u64::try_from(begun.elapsed().as_millis()).unwrap() / 50;
    let looks = looks(&den.lines()[before..]);
    assert!(looks <= most, "{looks} looks, at most {most}");
    assert_eq!(open_files(&looping), open, "descriptors stay open");
    looping.ends("TERM");
}

#[test]
fn what_the_kernel_could_not_remember_is_seen_all_the_same() {
    let den = Den::new();
    let mut looping = den.looped();
    let text = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let most: usize = text.trim().parse().unwrap();
    looping.signal("STOP");
    let (one, two) = (den.data().join("goals/.a"), den.data().join("goals/.b"));
    fs::write(&one, "x").unwrap();
    for _ in 0..=most / 4 {
        fs::rename(&one, &two).unwrap();
        fs::rename(&two, &one).unwrap();
    }
    den.write("goals/late.md", "Do it.");
    looping.signal("CONT");
    looping.until("the late goal", |event| tells(event, "+ goal:late"));
    looping.ends("TERM");
}

/// A command that says that it is there and waits, the first time that it is run while `file` is there.
fn hangs(den: &Den, name: &str) -> (looop_sim::waiting::Fifo, looop_sim::waiting::Fifo, String) {
    let (here, gate) = (den.fifo(&format!("{name}-here")), den.fifo(&format!("{name}-gate")));
    let text =
        format!("echo there > '{}'; cat '{}' > /dev/null", here.path().display(), gate.path().display());
    (here, gate, text)
}

#[test]
fn a_sensor_that_hangs_delays_no_edit() {
    let den = Den::new();
    let (here, gate, hang) = hangs(&den, "s");
    let flag = den.beside("slow");
    den.sense("s", &format!("test ! -e '{flag}' || {{ {hang}; }}; echo 1"));
    let mut looping = den.looped();
    fs::write(&flag, "").unwrap();
    let beat = den.start(&["beat"]);
    assert_eq!(here.hear(), "there\n");
    for round in 0..3 {
        den.write("goals/a.md", format!("Do it {round}."));
        looping.until("the edit", |event| tells(event, "goal:a"));
    }
    fs::remove_file(&flag).unwrap();
    gate.say("go\n");
    finish(beat).ok();
    looping.ends("TERM");
    den.no_survivors();
}

#[test]
fn a_sensor_that_hangs_at_the_start_delays_no_letter() {
    let den = Den::new();
    let (here, gate, hang) = hangs(&den, "s");
    den.sense("s", &format!("{hang}; echo 1"));
    let mut looping = den.looping();
    assert_eq!(here.hear(), "there\n");
    let ask = ["ask", "w~1", "--prompt", "Well?", "--timeout", "0"];
    den.call(&ask).fails(124, "nobody has answered");
    looping.event("asked");
    gate.say("go\n");
    looping.ends("TERM");
    den.no_survivors();
}

#[test]
fn a_sensor_that_hangs_is_ended_with_the_loop() {
    let den = Den::new();
    let (here, _gate, hang) = hangs(&den, "s");
    den.sense("s", &format!("trap '' TERM; (setsid sleep 3600 &); {hang}; sleep 3600"));
    let looping = den.looping();
    assert_eq!(here.hear(), "there\n");
    looping.ends("TERM");
    den.no_survivors();
}

#[test]
fn letters_are_taken_in_while_a_move_runs() {
    let den = Den::new();
    let (here, gate, hang) = hangs(&den, "m");
    den.write("goals/long.md", format!("---\ncheck: test -e LONG\nrun: {hang}; touch LONG\n---\n"));
    let mut looping = den.looping();
    assert_eq!(here.hear(), "there\n");
    let ask = ["ask", "w~1", "--prompt", "Well?", "--timeout", "0"];
    den.call(&ask).fails(124, "nobody has answered");
    let asked = looping.event("asked");
    den.call(&["answer", asked["ask"].as_str().unwrap(), "yes"]).ok();
    assert_eq!(looping.event("answered")["text"], "yes");
    // A goal that comes meanwhile waits for the move, and not for the interval.
    den.write("goals/next.md", "---\ncheck: test -e NEXT\nrun: touch NEXT\n---\n");
    looping.until("the new goal", |event| {
        event["event"] == "sensed" && event["ready"] == json!(["long", "next"])
    });
    assert_eq!(looping.count("finished"), 0);
    gate.say("go\n");
    looping.until("the next move", |event| event["event"] == "intended" && event["goal"] == "next");
    looping.event("finished");
    looping.ends("TERM");
    assert!(den.data().join("NEXT").exists());
    den.no_survivors();
}

/// Goals that are due again and again, each with a recipe that takes no time.
const DUE: usize = 2000;

/// The goal that an entry begins a move for.
fn served(entry: &Entry) -> Option<&str> {
    if let Entry::Intended { plan, .. } = entry { plan.goal.as_deref() } else { None }
}

#[test]
fn verbs_and_signals_are_served_before_thousands_of_due_goals() {
    let den = Den::new();
    den.sense("s", "echo '{\"n\":1}'");
    for number in 0..DUE {
        den.write(&format!("goals/g{number}.md"), "---\nwhen: s.n > 0\nrun: 'true'\n---\n");
    }
    let mut looping = den.looping();
    looping.event("finished");
    den.call(&["pause"]).ok();
    // One that rests on the files, all of which are read for it.
    den.call(&["goal", "write", "mine", "Do it."]).ok();
    den.call(&["resume"]).ok();
    looping.event("resumed");
    // It looks at once, and serves the next goal.
    looping.until("the next move", |event| event["event"] == "intended" && event["goal"] != Value::Null);
    den.call(&["down"]).ok();
    looping.left().ok();
    let mut looping = den.looping();
    looping.event("finished");
    looping.ends("TERM");
    let entries = den.entries();
    let goals: BTreeSet<&str> = entries.iter().filter_map(served).collect();
    assert!(goals.len() < DUE, "all goals were served first");
    let is_move = |entry: &Entry| served(entry).is_some();
    let paused = entries.iter().position(|entry| matches!(entry, Entry::Paused { .. })).unwrap();
    let resumed = entries.iter().position(|entry| matches!(entry, Entry::Resumed)).unwrap();
    assert!(entries[..paused].iter().any(is_move), "nothing was done before it was paused");
    assert!(!entries[paused..resumed].iter().any(is_move), "a move was begun while it was paused");
    assert!(entries[resumed..].iter().any(is_move), "nothing was done afterwards");
    assert_eq!(looop_core::check::violations(&den.lines()), Vec::<String>::new());
    den.no_survivors();
}
