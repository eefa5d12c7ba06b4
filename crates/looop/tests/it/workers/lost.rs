//! A host dies and leaves running what it had started: nothing of it outlives `down`, a new start, or its move.

use std::path::Path;

use looop_sim::profile::Profile;
use looop_sim::waiting::{finish, within};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::yard::{LOOOP, Yard};

/// Kills the host of a session, and waits until its lock is free.
fn kill_host(folder: &Path) {
    let started = std::fs::read_to_string(folder.join("started")).unwrap();
    let host: i32 = started.trim().strip_prefix("host ").unwrap().parse().unwrap();
    kill_process(Pid::from_raw(host).unwrap(), Signal::KILL).unwrap();
    let folder = folder.to_owned();
    within("the end of a host", move || looop_session::host::wait(&folder).unwrap());
}

/// A command that ignores polite signals, says that it is there, and waits for ever.
fn stubborn(profile: &Profile, name: &str) -> (looop_sim::waiting::Fifo, String) {
    let here = profile.fifo(name);
    let command =
        format!("trap '' HUP TERM; echo there > '{}'; sleep 1000; sleep 1000", here.path().display());
    (here, command)
}

/// A stubborn worker whose host is dead.
fn lost_worker() -> Yard {
    lost_among(Yard::new())
}

/// The same in a yard in which others may run.
fn lost_among(yard: Yard) -> Yard {
    let (here, command) = stubborn(&yard.profile, "here");
    yard.start("ship", &command).ok();
    here.hear();
    kill_host(&yard.session("ship~1"));
    assert_ne!(yard.profile.processes(), Vec::<String>::new(), "it ignores the hang-up of its terminal");
    yard
}

#[test]
fn down_ends_what_a_dead_host_left() {
    let yard = lost_worker();
    let down = yard.run(&["down", "--json"]).ok().json();
    assert_eq!(down["workers"], json!(["ship~1"]), "{down}");
    assert_eq!(yard.profile.survivors(), Vec::<String>::new());
    assert_eq!(yard.run(&["down", "--json"]).ok().json()["workers"], json!([]), "once");
}

#[test]
fn workers_that_are_kept_are_those_that_have_a_host() {
    let yard = Yard::new();
    yard.start("other", "exec sleep 1000").ok();
    let yard = lost_among(yard);
    let down = yard.run(&["down", "--keep-workers", "--json"]).ok().json();
    assert_eq!((&down["workers"], &down["kept"]), (&json!(["ship~1"]), &json!(["other~1"])), "{down}");
    yard.run(&["kill", "other"]).ok();
    assert_eq!(yard.profile.survivors(), Vec::<String>::new());
}

#[test]
fn a_start_ends_what_the_last_session_of_the_worker_left() {
    let yard = lost_worker();
    yard.start("ship", "exec sleep 1000").ok();
    assert_eq!(yard.row("ship")["session"], "ship~2");
    yard.run(&["kill", "ship"]).ok();
    assert_eq!(yard.profile.survivors(), Vec::<String>::new());
}

/// A session of the loop itself, by the beginning of its name.
fn hosted(profile: &Profile, kind: &str) -> std::path::PathBuf {
    let entries = std::fs::read_dir(profile.data().join("sessions")).unwrap();
    let mut found = entries.map(|entry| entry.unwrap().path());
    found.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(kind)).unwrap()
}

/// Nothing runs any more, and its control group, if it had one, is removed.
fn assert_nothing_left(profile: &Profile, session: &Path) {
    assert_eq!(profile.survivors(), Vec::<String>::new());
    if let Ok(group) = std::fs::read_to_string(session.join("cgroup")) {
        assert!(!Path::new(&group).exists(), "{group} is still there");
    }
}

#[test]
fn what_a_move_left_is_ended_when_its_host_dies() {
    let profile = Profile::bare(LOOOP);
    let (here, command) = stubborn(&profile, "here");
    let verb = profile.start(&["run", &command]);
    here.hear();
    let session = hosted(&profile, "move~");
    kill_host(&session);
    finish(verb).fails(1, "its host died");
    assert_nothing_left(&profile, &session);
}

#[test]
fn what_a_decide_left_is_ended_when_its_host_dies() {
    let profile = Profile::bare(LOOOP);
    let (here, command) = stubborn(&profile, "here");
    let profile = profile.decider_command(&command).goal("ship", "It is shipped.\n");
    let verb = profile.start(&["beat"]);
    here.hear();
    let session = hosted(&profile, "decide~");
    kill_host(&session);
    let said = finish(verb);
    assert!(format!("{}{}", said.stdout, said.stderr).contains("died without a record"), "{said:?}");
    assert_nothing_left(&profile, &session);
}

#[test]
fn down_ends_what_the_host_of_a_move_left_after_its_loop_had_died() {
    let profile = Profile::bare(LOOOP);
    let (here, command) = stubborn(&profile, "here");
    let mut verb = profile.start(&["run", &command]);
    here.hear();
    verb.kill().unwrap();
    verb.wait().unwrap();
    let session = hosted(&profile, "move~");
    kill_host(&session);
    profile.run(&["down"]).ok();
    assert_nothing_left(&profile, &session);
}
