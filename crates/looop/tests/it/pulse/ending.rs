//! How the loop ends: by a signal, by a pipe that nobody reads, and what is left then.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use looop_core::ledger::entry::Entry;
use looop_sim::waiting::{Fifo, finish, signal, within};

use super::looping::{Den, IDLE, Looping};

/// A command that says that it is there and hangs, with helpers that do not want to die.
fn hanging(here: &Fifo) -> String {
    let path = here.path().display();
    format!(
        "trap '' TERM HUP INT; (setsid nohup sleep 3600 >/dev/null 2>&1 &) ; echo there > '{path}'; sleep 3600"
    )
}

/// Ends the loop by a signal and looks whether anything is left of it.
#[track_caller]
fn ends_clean(den: &Den, looping: Looping, name: &str) {
    let ran = looping.ends(name);
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    den.no_survivors();
    let ledger = den.ledger();
    assert!(ledger.deciding.is_none() && ledger.acting.is_none());
    assert!(!den.data().join("sock").exists());
    assert_eq!(looop_core::check::violations(&den.lines()), Vec::<String>::new());
}

#[test]
fn a_decide_ends_with_the_loop_and_what_it_says_later_is_not_used() {
    for name in ["TERM", "INT", "HUP"] {
        let den = Den::new();
        let here = den.fifo("here");
        let wish = "{\\\"action\\\":\\\"run_shell\\\",\\\"cmd\\\":\\\"touch ran\\\"}";
        // It leaves its decision before it hangs, and another one when it is told to end.
        let tick = format!("echo \"{wish}\" > \"$LOOOP_DECISION_FILE\"; {}", hanging(&here));
        den.decided_by(&tick);
        let looping = den.looping();
        assert_eq!(here.hear(), "there\n");
        ends_clean(&den, looping, name);
        fs::remove_file(den.data().join("config.toml")).unwrap();
        den.looped().ends("TERM");
        assert!(!den.data().join("box/scratch/ran").exists(), "{name}: a late decision was used");
        assert_eq!(den.journal(), Vec::<String>::new());
    }
}

#[test]
fn a_shell_move_ends_with_the_loop() {
    for name in ["TERM", "INT", "HUP"] {
        let den = Den::new();
        let here = den.fifo("here");
        den.write("goals/x.md", format!("---\ncheck: test -e X\nrun: {}\n---\n", hanging(&here)));
        let looping = den.looping();
        assert_eq!(here.hear(), "there\n");
        ends_clean(&den, looping, name);
        assert!(den.journal()[0].contains("failed: ended on request"), "{:?}", den.journal());
    }
}

#[test]
fn the_trial_of_a_sensor_ends_with_the_loop_and_it_is_not_written() {
    let den = Den::new();
    let here = den.fifo("here");
    let looping = den.looped();
    let script = format!("#!/bin/sh\n{}\n", hanging(&here));
    let write = den.start(&["sensor", "write", "s", &script]);
    assert_eq!(here.hear(), "there\n");
    ends_clean(&den, looping, "TERM");
    let write = finish(write);
    assert_ne!(write.code, 0, "{write:?}");
    assert_eq!(den.file("sensors/s.sh"), None);
}

#[test]
fn workers_end_with_the_loop_unless_they_are_kept() {
    let cases = [("TERM", &["--json"][..], false), ("INT", &["--json"], false), ("HUP", &["--json"], true)];
    let kept =
        [("TERM", &["--json", "--keep-workers"][..], true), ("INT", &["--json", "--keep-workers"], true)];
    for (name, args, kept) in cases.into_iter().chain(kept) {
        let den = Den::new();
        let mut looping = Looping::start(&den, args, &[("LOOOP_INTERVAL", "3600")]);
        looping.beat("start");
        for id in ["a", "b"] {
            den.call(&["worker", "start", id, "--command", IDLE]).ok();
        }
        looping.ends(name);
        let rows = den.call(&["worker", "list", "--json"]).ok().json();
        let alive = rows.as_array().unwrap().iter().filter(|row| row["alive"] == true).count();
        assert_eq!(alive, if kept { 2 } else { 0 }, "{name} {args:?}: {rows}");
        if !kept {
            den.no_survivors();
            let ended =
                den.entries().iter().filter(|entry| matches!(entry, Entry::WorkerEnded { .. })).count();
            assert_eq!(ended, 2, "{name}: their ends are in the log");
        }
    }
}

#[test]
fn all_at_once_ends_too() {
    let den = Den::new();
    let (there, hangs) = (den.fifo("sensing"), den.fifo("here"));
    let flag = den.beside("slow");
    den.sense("s", &format!("test ! -e '{flag}' || {{ {}; }}; echo 1", hanging(&there)));
    den.decided_by(&hanging(&hangs));
    let mut looping = den.looping();
    looping.event("decide_started");
    assert_eq!(hangs.hear(), "there\n");
    den.call(&["worker", "start", "w", "--command", "trap '' TERM HUP INT; while :; do sleep 1; done"]).ok();
    let moving = den.fifo("moving");
    let run = den.start(&["run", &hanging(&moving)]);
    assert_eq!(moving.hear(), "there\n");
    let queued = den.start(&["goal", "write", "late", "Too late."]);
    fs::write(&flag, "").unwrap();
    let beat = den.start(&["beat"]);
    ends_clean(&den, looping, "TERM");
    for verb in [run, queued, beat] {
        drop(finish(verb));
    }
    den.no_survivors();
}

#[test]
fn a_second_signal_while_it_ends_changes_nothing() {
    let den = Den::new();
    let here = den.fifo("here");
    den.decided_by(&hanging(&here));
    let looping = den.looping();
    assert_eq!(here.hear(), "there\n");
    for name in ["TERM", "INT", "TERM", "HUP"] {
        looping.signal(name);
    }
    ends_clean(&den, looping, "TERM");
}

#[test]
fn streams_that_nobody_reads_do_not_end_it() {
    let den = Den::new();
    let made = den.fifo("made");
    let mut command = den.command(&["--json"]);
    command.env("LOOOP_INTERVAL", "3600").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    within("the first line", move || lines.read_line(&mut String::new()).unwrap());
    drop(child.stderr.take());
    // It prints into the void, and says what is wrong with its configuration there too.
    den.write("config.toml", "default = [");
    let recipe = format!("touch Y; echo y > '{}'", made.path().display());
    den.write("goals/y.md", format!("---\ncheck: test -e Y\nrun: {recipe}\n---\n"));
    assert_eq!(made.hear(), "y\n");
    fs::remove_file(den.data().join("config.toml")).unwrap();
    den.write("goals/x.md", "---\ncheck: test -e X\nrun: touch X\n---\n");
    den.call(&["beat"]).ok();
    assert!(den.data().join("X").exists());
    signal(&child, "TERM");
    assert_eq!(finish(child).code, 0);
    den.no_survivors();
}

#[test]
fn the_loop_outlives_the_head_of_a_pipeline() {
    let den = Den::new();
    den.write("goals/x.md", "---\ncheck: test -e X\nrun: touch X\n---\n");
    let mut shell = std::process::Command::new("bash");
    let call = den.command(&["--json"]);
    shell.args(["-c", "\"$0\" --json 2>&1 | head -1; echo over > over"]).arg(call.get_program()).env_clear();
    shell.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("LOOOP_INTERVAL", "3600").current_dir(den.outside());
    let mut child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("seeded"), "{line}");
    den.call(&["beat"]).ok();
    assert!(den.data().join("X").exists());
    let pid = den.file("lock").unwrap_or_default();
    let killed = std::process::Command::new("kill").arg(pid.trim()).status().unwrap();
    assert!(killed.success(), "the lock names its holder: {pid:?}");
    assert_eq!(finish(child).code, 0);
    den.no_survivors();
}
