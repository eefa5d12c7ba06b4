//! The process that starts a worker, or its host, dies in the middle of it.

use std::os::unix::process::ExitStatusExt;

use looop_core::ledger::entry::Entry;
use looop_sim::profile::write_program;
use looop_store::POINTS;
use serde_json::{Value, json};

use super::trees::Repo;
use super::yard::{IDLE, Yard};
use crate::pulse::looping::Looping;

/// Points of whoever starts a worker, before and after its host has begun to live.
const STARTING: [&str; 4] = ["host.prepared", "start.announced", "host.spawned", "host.launched"];
/// Points of the host, up to the moment from which nobody can tell whether it ran.
const BEFORE: [&str; 2] = ["host.locked", "host.reserved"];
/// Points of the host after that moment.
const AFTER: [&str; 2] = ["host.started", "host.execed"];

/// More visits of one point than any call makes.
const MANY: u32 = 40;

fn start(yard: &Yard, point: &str) -> Option<i32> {
    let command = format!("echo ran >> '{}'; exec sleep 1000", yard.outside("ran"));
    let mut call = yard.profile.command(&["worker", "start", "ship", "--command", &command]);
    call.env("LOOOP_CRASH_AT", point).output().unwrap().status.signal()
}

#[test]
fn a_worker_whose_starter_died_runs_once() {
    for point in STARTING {
        let yard = Yard::new();
        assert_eq!(start(&yard, point), Some(9), "{point}");
        yard.run(&["run", "true"]).ok();
        let row = yard.row("ship");
        assert_eq!(row["state"], "alive", "{point}: {row}");
        let folder = yard.session(row["session"].as_str().unwrap());
        // Whoever recovered it need not have seen it work.
        yard.run(&["kill", "ship"]).ok();
        assert!(folder.join("receipt.json").exists());
        assert!(yard.read_outside("ran").len() <= "ran\n".len(), "{point}: it ran twice");
        let sessions: Vec<Value> = yard.rows(&["--all"]).iter().map(|row| row["session"].clone()).collect();
        assert_eq!(sessions.len(), 1, "{point}: {sessions:?}");
        assert_eq!(looop_core::check::violations(&yard.profile.lines()), Vec::<String>::new(), "{point}");
    }
}

#[test]
fn a_host_that_died_before_it_began_is_a_failed_start() {
    for point in BEFORE {
        let yard = Yard::new();
        assert_eq!(start(&yard, point), None, "{point}: the host dies, not the verb");
        assert_eq!(yard.read_outside("ran"), "", "{point}");
        assert!(yard.rows(&[]).iter().all(|row| row["alive"] == false), "{point}");
        yard.start("ship", "exec sleep 1000").ok();
        assert_eq!(yard.row("ship")["state"], "alive", "{point}");
    }
}

#[test]
fn a_host_that_died_later_is_lost_and_what_it_started_is_ended() {
    for point in AFTER {
        let yard = Yard::new();
        assert_eq!(start(&yard, point), None, "{point}: the host dies, not the verb");
        let row = yard.row("ship");
        assert_eq!(json!([row["state"], row["ran_s"]]), json!(["lost", null]), "{point}");
        yard.run(&["prune", "ship"]).ok();
        assert_eq!(yard.rows(&["--all"]), Vec::<Value>::new(), "{point}");
        assert!(yard.read_outside("ran").len() <= "ran\n".len(), "{point}: it ran twice");
    }
}

/// A worker whose starter died when the worktree was made.
fn half_started() -> Repo {
    let repo = Repo::new();
    let args = ["worker", "start", "ship", "--goal", "ship", "--command", IDLE];
    let mut call = repo.yard.profile.command(&args);
    let died = call.env("LOOOP_CRASH_AT", "worker.worktree").output().unwrap().status.signal();
    assert_eq!(died, Some(9));
    repo
}

#[test]
fn a_start_is_taken_back_as_soon_as_a_thread_can_be_had() {
    let repo = half_started();
    let env = [("LOOOP_INTERVAL", "3600"), ("LOOOP_NO_THREAD", "recover")];
    let mut looping = Looping::start(&repo.yard.profile, &["--json", "--keep-workers"], &env);
    looping.says("cannot start a thread");
    looping.event("finished");
    looping.ends("TERM");
    assert_eq!(repo.yard.row("ship")["state"], "alive");
    assert_eq!(repo.trees(), 2, "what the first start had made is gone");
}

#[test]
fn a_start_that_is_taken_back_delays_no_request() {
    let repo = half_started();
    let (yard, profile) = (&repo.yard, &repo.yard.profile);
    // A git that takes its time to remove what the start had made.
    let (here, gate, waits) = yard.gated();
    let bin = profile.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'worktree remove'*) {waits};; esac\nPATH='{path}' exec git \"$@\"\n"
    );
    write_program(&bin.join("git"), &script);
    let path = format!("{}:{path}", bin.display());
    let mut looping = Looping::start(profile, &["--json"], &[("LOOOP_INTERVAL", "3600"), ("PATH", &path)]);
    assert_eq!(here.hear(), "there\n");
    yard.run(&["pause"]).ok();
    gate.say("");
    looping.event("finished");
    looping.ends("TERM");
    let entries = profile.entries();
    let paused = entries.iter().position(|entry| matches!(entry, Entry::Paused { .. })).unwrap();
    let restarted = entries.iter().position(|entry| matches!(entry, Entry::Restarted { .. })).unwrap();
    assert!(paused < restarted, "the request waited for git");
    assert_eq!(looop_core::check::violations(&profile.lines()), Vec::<String>::new());
}

/// A call that is killed at one of its points, and what may be alive when all is recovered.
struct Scenario {
    name: &'static str,
    call: &'static [&'static str],
    /// Whether a worker must live at the end.
    lives: Option<bool>,
    /// How often the worker's command may have run.
    most: usize,
}

const SCENARIOS: [Scenario; 3] = [
    Scenario { name: "start", call: &["worker", "start"], lives: None, most: 1 },
    Scenario { name: "restart", call: &["restart", "ship"], lives: Some(true), most: 2 },
    Scenario { name: "kill", call: &["kill", "ship"], lives: None, most: 1 },
];

/// Kills a call at one visit of a point and recovers. `false`: the point was not reached.
fn crash(scenario: &Scenario, point: &str, visit: u32) -> bool {
    let what = format!("{}, killed at {point}:{visit}", scenario.name);
    let repo = Repo::new();
    let command = format!("echo ran >> '{}'; exec sleep 1000", repo.yard.outside("ran"));
    let begin = ["worker", "start", "ship", "--goal", "ship", "--command", &command];
    let call: &[&str] = if scenario.name == "start" { &begin } else { scenario.call };
    // What a fresh profile needs is made before.
    repo.yard.run(if scenario.name == "start" { &["run", "true"] } else { &begin }).ok();
    let mut killed = repo.yard.profile.command(call);
    let status = killed.env("LOOOP_CRASH_AT", format!("{point}:{visit}")).output().unwrap().status;
    if status.signal() != Some(9) {
        return false;
    }
    repo.yard.run(&["run", "true"]).ok();
    assert!(repo.yard.profile.ledger().acting.is_none(), "{what}");
    assert_eq!(looop_core::check::violations(&repo.yard.profile.lines()), Vec::<String>::new(), "{what}");
    let rows = repo.yard.rows(&["--all"]);
    let alive = rows.iter().filter(|row| row["alive"] == true).count();
    assert!(alive <= 1 && scenario.lives.is_none_or(|lives| lives == (alive == 1)), "{what}: {rows:?}");
    let ran = repo.yard.read_outside("ran").lines().count();
    assert!(ran <= scenario.most, "{what}: it ran {ran} times");
    assert_eq!(repo.trees(), 1 + rows.len(), "{what}: a worktree for each session, {:?}", repo.work());
    assert_eq!(repo.branches().len(), 1 + rows.len(), "{what}: a branch for each session");
    true
}

#[test]
fn killed_at_every_point_no_worker_is_lost_or_started_twice() {
    std::thread::scope(|scope| {
        for scenario in &SCENARIOS {
            scope.spawn(|| {
                let mut crashes = 0;
                for point in POINTS.iter().chain(&STARTING).chain(&["worker.worktree"]) {
                    crashes += (1..MANY).take_while(|visit| crash(scenario, point, *visit)).count();
                }
                assert!(crashes > 4, "{} crashed {crashes} times only", scenario.name);
            });
        }
    });
}
