//! Watched folders that vanish and come back.

use std::fs;
use std::process::Command;

use looop_sim::profile::set_mode;

use super::looping::{Den, IDLE, LOOOP, Looping};

/// Makes a folder anew, with a file in it from its first moment on where one is given.
fn remake(den: &Den, folder: &str, file: Option<(&str, &str)>) {
    let draft = den.outside().join("draft");
    fs::create_dir(&draft).unwrap();
    set_mode(&draft, 0o700);
    if let Some((name, text)) = file {
        fs::write(draft.join(name), text).unwrap();
        set_mode(&draft.join(name), 0o600);
    }
    fs::rename(draft, den.data().join(folder)).unwrap();
}

#[track_caller]
fn sees(looping: &mut Looping, change: &str) {
    let is_it = |event: &serde_json::Value| event["changes"].to_string().contains(change);
    looping.until(change, is_it);
}

#[test]
fn goals_that_are_thrown_away_and_made_anew() {
    let den = Den::new();
    den.write("goals/a.md", "Do it.");
    let mut looping = den.looped();
    let goals = den.data().join("goals");
    for round in 0..3 {
        fs::remove_dir_all(&goals).unwrap();
        sees(&mut looping, "- goal:a");
        remake(&den, "goals", Some(("a.md", "Do it again.")));
        sees(&mut looping, "+ goal:a");
        den.write("goals/a.md", format!("Do it again {round}."));
        sees(&mut looping, "~ goal:a");
    }
    fs::rename(&goals, den.data().join("elsewhere")).unwrap();
    sees(&mut looping, "- goal:a");
    fs::rename(den.data().join("elsewhere"), &goals).unwrap();
    sees(&mut looping, "+ goal:a");
    den.write("goals/b.md", "Do that.");
    sees(&mut looping, "+ goal:b");
    looping.ends("TERM");
}

#[test]
fn a_folder_replaced_in_one_step_is_watched() {
    let den = Den::new();
    den.sense("s", "echo 1");
    let mut looping = den.looped();
    let (sensors, old) = (den.data().join("sensors"), den.outside().join("old"));
    fs::rename(&sensors, &old).unwrap();
    fs::create_dir(&sensors).unwrap();
    set_mode(&sensors, 0o700);
    sees(&mut looping, "- reading:s");
    den.sense("t", "echo 2");
    sees(&mut looping, "+ reading:t 2");
    looping.ends("TERM");
}

#[test]
fn asks_that_come_into_a_new_folder_are_heard() {
    let den = Den::new();
    let mut looping = den.looped();
    fs::remove_dir_all(den.data().join("asks")).unwrap();
    remake(&den, "asks", None);
    let ask = ["ask", "w~1", "--prompt", "Well?", "--timeout", "0"];
    den.call(&ask).fails(124, "nobody has answered");
    assert_eq!(looping.event("asked")["prompt"], "Well?");
    looping.ends("TERM");
}

#[test]
fn sessions_speak_from_a_new_folder_too() {
    let den = Den::new();
    den.call(&["worker", "start", "w", "--command", IDLE]).ok();
    let mut looping = den.looped();
    fs::remove_dir_all(den.data().join("sessions/status")).unwrap();
    remake(&den, "sessions/status", None);
    den.call(&["worker", "start", "v", "--command", "true"]).ok();
    looping.until("the end of v", |event| event["event"] == "worker_ended" && event["session"] == "v~1");
    den.call(&["key", "w", "C-c"]).ok();
    looping.until("the end of w", |event| event["event"] == "worker_ended" && event["session"] == "w~1");
    looping.ends("TERM");
}

/// Where the kernel keeps how many inotify instances and watches it gives a user.
const LIMITS: &str = "/proc/sys/user/max_inotify";

/// A kernel that gives this user so many inotify instances and watches, for what is run by this shell text.
fn short_of(instances: u32, watches: u32, then: &str) -> String {
    format!(
        "echo {instances} > {LIMITS}_instances && echo {watches} > {LIMITS}_watches && {then}exec \"$0\" --json"
    )
}

/// Whether a kernel can be had that gives no file events. Where all tests must run it has to be.
fn can_be_short() -> bool {
    let tried = Command::new("unshare").args(["-Ur", "bash", "-c", &short_of(0, 0, "")]).arg("true").status();
    let can = tried.is_ok_and(|status| status.success());
    let must = std::env::var_os("LOOOP_TEST_ALL").is_some();
    assert!(can || !must, "a kernel without file events cannot be had");
    can
}

#[test]
fn without_file_events_it_looks_every_few_seconds() {
    if !can_be_short() {
        return;
    }
    for (instances, watches) in [(0, 100), (5, 2)] {
        let den = Den::new();
        let short = short_of(instances, watches, "");
        let mut looping = Looping::by(&den, "unshare", &["-Ur", "bash", "-c", &short, LOOOP]);
        looping.says("file events cannot be had");
        looping.beat("start");
        den.write("goals/a.md", "Do it.");
        sees(&mut looping, "+ goal:a");
        den.write("goals/a.md", "Do it well.");
        sees(&mut looping, "~ goal:a");
        looping.ends("TERM");
    }
}

/// How many folders a process watches.
fn watches(process: u32) -> usize {
    let open = fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap();
    let text = open.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap_or_default());
    text.map(|text| text.lines().filter(|line| line.starts_with("inotify ")).count()).sum()
}

#[test]
fn file_events_that_can_be_had_again_are_heard() {
    if !can_be_short() {
        return;
    }
    let den = Den::new();
    let more = den.fifo("more");
    // Who raises the limit is no child of the loop, and does not wait for ever if the test fails.
    let raise = format!("timeout 300 cat '{}' && echo 1000 > {LIMITS}_watches", more.path().display());
    let raised = format!("( ( {raise} ) > /dev/null 2>&1 & ) && ");
    let mut looping = Looping::by(&den, "unshare", &["-Ur", "bash", "-c", &short_of(5, 2, &raised), LOOOP]);
    looping.says("file events cannot be had");
    looping.beat("start");
    den.write("goals/a.md", "Do it.");
    sees(&mut looping, "+ goal:a");
    more.say("now\n");
    looping.says("file events can be had again");
    assert!(watches(looping.id()) > 2);
    den.write("goals/a.md", "Do it well.");
    sees(&mut looping, "~ goal:a");
    let said = looping.said();
    assert_eq!(said.matches("file events can").count(), 2, "each is said once: {said}");
    looping.ends("TERM");
}
