//! The place of the profile: it is moved, removed, replaced, or cannot be written.

use std::fs;
use std::process::Command;

use looop_sim::profile::{Profile, set_mode};
use rustix::process::geteuid;

use super::looping::{Den, LOOOP, Looping};

const MISSED: &str = "was moved, removed or replaced while the loop ran";

#[test]
fn a_profile_that_is_moved_or_removed_ends_the_loop() {
    for moved in [true, false] {
        let den = Den::new();
        den.write("goals/a.md", "Do it.");
        let looping = den.looped();
        if moved {
            fs::rename(den.data(), den.outside().join("other")).unwrap();
        } else {
            fs::remove_dir_all(den.data()).unwrap();
        }
        let ran = looping.left();
        assert!(ran.code == 1 && ran.stderr.contains(MISSED), "moved: {moved}, {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        assert!(!den.data().exists(), "it is not made anew by the one who leaves");
        den.no_survivors();
        if moved {
            let lock = den.outside().join("other/lock");
            let free = fs::File::open(lock).unwrap().try_lock();
            assert!(free.is_ok(), "{free:?}");
        }
    }
}

#[test]
fn the_folder_above_it_is_moved() {
    let den = Den(Profile::named(LOOOP, "above/data").playbook("# PLAYBOOK"));
    let mut looping = den.looped();
    fs::rename(den.outside().join("above"), den.outside().join("beyond")).unwrap();
    // The kernel tells of the folder itself only; what happens in it next is what tells.
    fs::write(den.outside().join("beyond/data/PLAYBOOK.md"), "# Other").unwrap();
    let before = looping.count("beat_started");
    let ran = looping.left();
    assert!(ran.code == 1 && ran.stderr.contains(MISSED), "{ran:?}");
    assert_eq!(ran.stdout.matches("beat_started").count(), before);
    den.no_survivors();
}

#[test]
fn who_takes_the_place_of_a_profile_is_left_alone() {
    let den = Den::new();
    let first = den.looped();
    first.signal("STOP");
    fs::rename(den.data(), den.outside().join("other")).unwrap();
    den.write("PLAYBOOK.md", "# Anew");
    let second = den.looped();
    first.signal("CONT");
    let ran = first.left();
    assert!(ran.code == 1 && ran.stderr.contains(MISSED), "{ran:?}");
    // The second is reached as before.
    assert!(den.data().join("sock").exists(), "the first took the second's socket away");
    den.call(&["goal", "write", "a", "Do it."]).ok();
    let ran = second.ends("TERM");
    assert!(ran.stdout.contains("intended"), "{ran:?}");
    den.no_survivors();
}

#[test]
fn a_move_under_way_survives_the_loss_of_the_place_and_is_found_there() {
    let den = Den::new();
    let (here, gate) = (den.fifo("here"), den.fifo("gate"));
    let run = format!(
        "echo there > '{}'; cat '{}'; echo once >> ran",
        here.path().display(),
        gate.path().display()
    );
    den.write("goals/x.md", format!("---\ncheck: test -e ran\nrun: {run}\n---\n"));
    let looping = den.looping();
    assert_eq!(here.hear(), "there\n");
    let other = den.outside().join("other");
    fs::rename(den.data(), &other).unwrap();
    assert_eq!(looping.left().code, 1);
    fs::rename(&other, den.data()).unwrap();
    let mut looping = den.looping();
    looping.says("still runs; waiting for it");
    gate.say("go\n");
    looping.event("finished");
    looping.ends("TERM");
    assert_eq!(den.file("ran").as_deref(), Some("once\n"));
    den.no_survivors();
}

/// A loop that has nothing to write down has nothing to complain about; one that has goes on once it can.
fn a_log_without_rights_is_waited_for(den: &Den) {
    let log = fs::read_dir(den.data().join("log")).unwrap().next().unwrap().unwrap().path();
    set_mode(&log, 0o400);
    let mut looping = den.looping();
    den.write("goals/a.md", "Do it.");
    looping.says("the log cannot be written");
    set_mode(&log, 0o600);
    looping.until("the goal", |event| event["changes"].to_string().contains("+ goal:a"));
    looping.ends("TERM");
}

#[test]
fn a_profile_that_cannot_be_written_is_said_at_the_start() {
    let den = Den::new();
    den.looped().ends("TERM");
    if geteuid().is_root() {
        // Root may write everywhere, except on a disk that is mounted so.
        let data = den.data();
        let mount = |args: &[&str]| Command::new("mount").args(args).arg(&data).output().unwrap();
        let bound = Command::new("mount").arg("--bind").args([&data, &data]).output().unwrap();
        if !bound.status.success() || !mount(&["-o", "remount,ro,bind"]).status.success() {
            assert!(std::env::var_os("LOOOP_TEST_ALL").is_none(), "nothing could be mounted: {bound:?}");
            return;
        }
        let ran = Looping::start(&den, &[], &[]).left();
        let unmounted = Command::new("umount").arg("-l").arg(&data).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
        assert!(ran.code == 1 && ran.stderr.contains("Read-only file system"), "{ran:?}");
    } else {
        set_mode(&den.data(), 0o500);
        let ran = Looping::start(&den, &[], &[]).left();
        set_mode(&den.data(), 0o700);
        assert!(ran.code == 1 && ran.stderr.contains("Permission denied"), "{ran:?}");
        a_log_without_rights_is_waited_for(&den);
    }
}

#[test]
fn a_log_that_vanishes_is_not_written_into_the_void() {
    let den = Den::new();
    let looping = den.looped();
    fs::remove_dir_all(den.data().join("log")).unwrap();
    // Nothing is done that is not written down, and the verb is told so.
    den.call(&["goal", "write", "a", "Do it."]).fails(1, "so nothing was done");
    looping.says("the log cannot be written");
    assert_eq!(den.file("goals/a.md"), None);
    let ran = looping.ends("TERM");
    assert_eq!(ran.stderr.matches("the log cannot be written").count(), 1, "{ran:?}");
    den.no_survivors();
}
