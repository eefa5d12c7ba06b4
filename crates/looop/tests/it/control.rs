//! While one process holds the profile: other verbs go through it, signals end it, and nothing is left behind.

use std::io::{BufRead, BufReader};
use std::process::Child;

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, Ran};
use looop_sim::waiting::{Fifo, finish, signal, within};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// A beat whose decider says that it is there and then waits for its decision.
struct Deciding {
    profile: Profile,
    beat: Child,
    decision: Fifo,
}

fn deciding() -> Deciding {
    let profile = Profile::bare(LOOOP);
    let (here, decision) = (profile.fifo("here"), profile.fifo("decision"));
    let tick = format!("echo there > '{}'; cat '{}'", here.path().display(), decision.path().display());
    let profile = profile.decider_command(&tick);
    let beat = profile.start(&["beat"]);
    assert_eq!(here.hear(), "there\n");
    Deciding { profile, beat, decision }
}

/// A call that is waited for within bounds.
fn call(profile: &Profile, args: &[&str]) -> Ran {
    finish(profile.start(args))
}

fn no_survivors(profile: &Profile) {
    assert_eq!(profile.survivors(), Vec::<String>::new());
}

fn journal(profile: &Profile) -> Vec<String> {
    let text = profile.file("journal.md").unwrap_or_default();
    text.lines().map(|line| line[19..].to_owned()).collect()
}

#[test]
fn a_decision_that_comes_during_a_move_waits_for_it() {
    let Deciding { profile, beat, decision } = deciding();
    let (here, gate) = (profile.fifo("moving"), profile.fifo("gate"));
    let line = format!("echo there > '{}'; cat '{}'", here.path().display(), gate.path().display());
    let run = profile.start(&["run", &line]);
    assert_eq!(here.hear(), "there\n");

    decision.say("{\"action\":\"run_shell\",\"cmd\":\"touch ran\"}");
    let decide = profile.data().join("sessions/decide~1");
    within("the end of the decide", move || looop_session::host::wait(&decide).expect("a session"));
    assert!(!profile.data().join("box/scratch/ran").exists(), "one move at a time");

    gate.say("through\n");
    assert_eq!(finish(run).ok().stdout, "through\n", "the verb is told of its own move");
    finish(beat).ok();
    assert!(profile.data().join("box/scratch/ran").exists());
    assert_eq!(looop_core::check::violations(&profile.lines()), Vec::<String>::new());
    assert_eq!(journal(&profile).len(), 2, "{:?}", journal(&profile));
    no_survivors(&profile);
}

#[test]
fn verbs_are_served_while_a_decide_is_under_way() {
    let Deciding { profile, beat, decision } = deciding();
    assert_eq!(call(&profile, &["goal", "write", "ship", "Ship it."]).ok().stdout, "wrote goal ship\n");
    assert_eq!(call(&profile, &["run", "echo", "hello"]).ok().stdout, "hello\n");
    assert_eq!(call(&profile, &["run", "exit 3"]).code, 3);
    call(&profile, &["goal", "archive", "nope"]).fails(1, "there is no goal nope");
    call(&profile, &["schedule", "write", "s", "--in", "1h"]).ok();
    call(&profile, &["playbook", "show"]).ok();
    call(&profile, &["why"]).ok();
    let status = call(&profile, &["status"]).ok().stdout;
    assert!(status.contains(&format!("process {} works on the profile", beat.id())), "{status}");
    assert!(status.contains("under way"), "{status}");
    assert!(call(&profile, &["beat", "--dry-run"]).ok().stderr.contains("would"));
    call(&profile, &["pause"]).ok();
    call(&profile, &["resume"]).ok();
    assert!(profile.ledger().deciding.is_some(), "the decide is still under way");
    assert_eq!(
        journal(&profile),
        [
            "you wrote goal ship",
            "you ran echo hello",
            "you ran exit 3 — failed: exit 3",
            "you wrote schedule s"
        ]
    );

    decision.say("{\"action\":\"run_shell\",\"cmd\":\"touch ran\"}");
    finish(beat).ok();
    assert!(profile.data().join("box/scratch/ran").exists());
    no_survivors(&profile);
}

#[test]
fn a_second_beat_joins_the_decide_under_way_and_both_end() {
    let Deciding { profile, beat, decision } = deciding();
    let mut second = profile.start(&["beat", "--json"]);
    // It has been taken once the holder tells it something.
    let mut lines = BufReader::new(second.stdout.take().unwrap());
    let first = within("the second beat", move || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        (line, lines)
    });
    assert!(
        first.0.contains("skipped") && first.0.contains("busy") || first.0.contains("beat_started"),
        "{}",
        first.0
    );
    decision.say("{\"action\":\"noop\",\"journal\":\"both saw it\"}");
    finish(beat).ok();
    finish(second).ok();
    assert_eq!(profile.ledger().runs, 1);
    assert_eq!(journal(&profile), ["both saw it"]);
    no_survivors(&profile);
}

#[test]
fn an_edit_through_the_holder_overtakes_its_decide() {
    let Deciding { profile, beat, decision } = deciding();
    call(&profile, &["playbook", "write", "# Another mind"]).ok();
    decision.say("{\"action\":\"run_shell\",\"cmd\":\"touch ran\"}");
    let beat = finish(beat).ok();
    assert!(beat.stdout.contains("PLAYBOOK.md changed while it was being decided"), "{beat:?}");
    assert!(!profile.data().join("box/scratch/ran").exists());
}

#[test]
fn twenty_concurrent_writes_all_succeed_and_are_journaled_once_each() {
    let profile = Profile::bare(LOOOP);
    let calls: Vec<Child> =
        (0..20).map(|n| profile.start(&["goal", "write", &format!("g{n}"), &format!("Goal {n}.")])).collect();
    let results: Vec<Ran> = calls.into_iter().map(finish).collect();
    for (n, ran) in results.into_iter().enumerate() {
        assert_eq!(ran.ok().stdout, format!("wrote goal g{n}\n"));
        assert_eq!(profile.file(&format!("goals/g{n}.md")).unwrap(), format!("Goal {n}.\n"));
    }
    let mut lines = journal(&profile);
    lines.sort();
    let mut expected: Vec<String> = (0..20).map(|n| format!("you wrote goal g{n}")).collect();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn concurrent_writes_during_a_decide_all_succeed_too() {
    let Deciding { profile, beat, decision } = deciding();
    let calls: Vec<Child> =
        (0..20).map(|n| profile.start(&["run", &format!("echo {n} >> \"$LOOOP_DATA_DIR/count\"")])).collect();
    for child in calls {
        finish(child).ok();
    }
    assert_eq!(profile.file("count").unwrap().lines().count(), 20);
    assert_eq!(journal(&profile).len(), 20);
    decision.say("{\"action\":\"noop\"}");
    finish(beat).ok();
}

/// Ends a beat by a signal while a child of it hangs, and looks what is left.
fn ended(profile: &Profile, here: &Fifo, name: &str) -> Ran {
    let beat = profile.start(&["beat"]);
    assert_eq!(here.hear(), "there\n");
    signal(&beat, name);
    let ran = finish(beat);
    assert_ne!(ran.code, 0, "{ran:?}");
    no_survivors(profile);
    assert!(profile.ledger().deciding.is_none() && profile.ledger().acting.is_none());
    ran
}

/// A command that says that it is there and then hangs, with helpers that do not want to die.
fn hanging(here: &Fifo) -> String {
    format!(
        "trap '' TERM HUP INT; (setsid nohup sleep 3600 >/dev/null 2>&1 &) ; echo there > '{}'; sleep 3600",
        here.path().display()
    )
}

fn stopped(profile: &Profile) -> bool {
    profile
        .entries()
        .iter()
        .any(|entry| matches!(entry, Entry::Stopped { reason } if reason == "SIGTERM" || reason == "SIGINT"))
}

#[test]
fn a_signal_ends_a_beat_whose_decider_hangs() {
    for name in ["INT", "TERM"] {
        let profile = Profile::bare(LOOOP);
        let here = profile.fifo("here");
        let profile = profile.decider_command(&hanging(&here));
        ended(&profile, &here, name);
        assert!(stopped(&profile), "{:?}", profile.entries());
        let next = profile.decider_command("echo '{\"action\":\"noop\",\"journal\":\"went on\"}'");
        next.beat().ok();
        assert_eq!(journal(&next), ["went on"]);
    }
}

#[test]
fn a_signal_ends_a_beat_whose_shell_move_hangs() {
    for name in ["INT", "TERM"] {
        let profile = Profile::bare(LOOOP);
        let here = profile.fifo("here");
        let profile = profile.goal("x", &format!("---\ncheck: false\nrun: {}\n---\n", hanging(&here)));
        ended(&profile, &here, name);
        assert!(stopped(&profile), "{:?}", profile.entries());
        assert!(journal(&profile)[0].contains("failed: ended on request"), "{:?}", journal(&profile));
    }
}

#[test]
fn a_signal_ends_a_beat_whose_sensor_hangs() {
    for name in ["INT", "TERM"] {
        let profile = Profile::bare(LOOOP);
        let here = profile.fifo("here");
        let profile = profile.sensor("slow", &hanging(&here));
        ended(&profile, &here, name);
        assert_eq!(profile.file("journal.md"), None);
    }
}

#[test]
fn a_decide_that_was_ended_is_paid_for() {
    let profile = Profile::bare(LOOOP);
    let here = profile.fifo("here");
    let tick = hanging(&here).replace('\\', "\\\\").replace('"', "\\\"");
    let profile = profile.config(&format!(
        "default = \"fake\"\nmax_daily_usd = 1\nmax_decide_usd = 1\n[runners.fake]\ntick = \"{tick}\"\n"
    ));
    ended(&profile, &here, "TERM");
    let next = call(&profile, &["beat", "--dry-run"]).ok();
    assert!(
        next.stderr.contains("$0.00 of today's $1.00 is spent, $1.00 was reserved and not reported"),
        "{}",
        next.stderr
    );
}

/// Starts the loop in the foreground and waits until it prints a line that holds `text`.
fn foreground(profile: &Profile, args: &[&str], text: &'static str) -> Child {
    let mut child = profile.start(args);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let as_json = args.contains(&"--json");
    within(text, move || {
        let mut line = String::new();
        while lines.read_line(&mut line).expect("a line") > 0 && !line.contains(text) {
            assert!(!as_json || serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
            line.clear();
        }
        assert!(line.contains(text), "it ended before it said {text:?}");
        // Whoever reads the stream goes on reading it.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    });
    child
}

#[test]
fn the_loop_in_the_foreground_beats_serves_and_ends_on_a_signal() {
    for (args, name) in [(&["--json"][..], "TERM"), (&[], "INT")] {
        let profile = Profile::bare(LOOOP).goal("x", "---\ncheck: test -e X\nrun: touch X\n---\n");
        let child = foreground(&profile, args, "done");
        assert!(profile.data().join("X").exists());
        call(&profile, &["goal", "write", "ship", "Ship it."]).ok();
        // A second one follows the first, and ends with it.
        let mut second = profile.start::<&str>(&[]);
        let mut said = BufReader::new(second.stderr.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().contains(&format!("(process {}) runs already", child.id()))));
        call(&profile, &["beat"]).ok();
        signal(&child, name);
        let ran = finish(child);
        assert_eq!(ran.code, 0, "{ran:?}");
        let followed = finish(second);
        assert!(followed.code == 0 && followed.stdout.contains("ship"), "{followed:?}");
        assert_eq!(said.map(Result::unwrap).collect::<Vec<_>>(), ["the pulse has ended"]);
        no_survivors(&profile);
        assert!(!profile.data().join("sock").exists());
        profile.beat().ok();
    }
}

#[test]
fn the_loop_in_the_foreground_ends_what_is_in_flight() {
    let profile = Profile::bare(LOOOP);
    let here = profile.fifo("here");
    let profile = profile.decider_command(&hanging(&here));
    let child = profile.start::<&str>(&[]);
    assert_eq!(here.hear(), "there\n");
    signal(&child, "TERM");
    let ran = finish(child);
    assert_eq!(ran.code, 0, "{ran:?}");
    no_survivors(&profile);
    assert!(stopped(&profile));
}

#[test]
fn a_reader_of_the_foreground_loop_that_goes_away_takes_nothing_with_it() {
    let up = "---\ncheck: test -e X\nrun: touch X\n---\n";
    let profile = Profile::bare(LOOOP).goal("x", up);
    let go = profile.fifo("go");
    let profile = profile.sensor("wait", &format!("#!/bin/sh\nread _ < '{}'\necho 1\n", go.path().display()));
    let mut child = profile.start::<&str>(&[]);
    drop(child.stdout.take());
    go.say("x\n");
    profile.write("sensors/wait.sh", "#!/bin/sh\necho 1\n");
    // Served by the loop: it goes on although nobody reads what it prints.
    profile.beat().ok();
    assert!(profile.data().join("X").exists());
    signal(&child, "TERM");
    let ran = finish(child);
    assert!(ran.code == 0 && !ran.stderr.contains("panicked"), "{ran:?}");
    no_survivors(&profile);
}
