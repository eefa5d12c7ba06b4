//! Every stage and every input.

use super::drive::{Drive, ms, press, send, told};
use crate::Ended;
use crate::kernel::{Input, Kernel, Look, Stage};

/// The ways into each stage.
fn at(stage: &str) -> Kernel {
    let path = match stage {
        "starting" => vec![],
        "live" => vec![Input::Spawned],
        "paused" => vec![Input::Spawned, Input::Pause { caller: 0 }],
        "ending" => vec![Input::Spawned, Input::Kill],
        "over" => vec![Input::Spawned, Input::Kill, Input::TreeGone],
        other => panic!("no stage {other}"),
    };
    let mut kernel = Kernel::new(true, Some(ms(1000)), ms(0));
    for input in path {
        drop(kernel.step(input, ms(0)));
    }
    kernel
}

fn name(stage: &Stage) -> String {
    match stage {
        Stage::Starting => "starting".to_owned(),
        Stage::Live => "live".to_owned(),
        Stage::Paused => "paused".to_owned(),
        Stage::Ending(why) => format!("ending {why:?}"),
        Stage::Over(ended) => format!("over {ended:?}"),
    }
}

/// What an input does: from which stage, to which, and what is to be done.
type Row = (&'static str, &'static str, &'static [&'static str]);

fn check(input: &Input, rows: &[Row]) {
    assert_eq!(rows.len(), 5, "a row for each stage");
    for (from, to, expected) in rows {
        let mut kernel = at(from);
        let actions = kernel.step(input.clone(), ms(1000));
        let context = format!("{input:?} while {from}");
        assert_eq!(name(kernel.stage()), *to, "{context}");
        assert_eq!(actions.iter().map(told).collect::<Vec<_>>(), *expected, "{context}");
        let since = if name(at(from).stage()) == *to { 0 } else { 1000 };
        assert_eq!(kernel.explain().since, ms(since), "{context}");
    }
}

#[test]
fn spawned() {
    check(
        &Input::Spawned,
        &[
            ("starting", "live", &["publish Live"]),
            ("live", "live", &[]),
            ("paused", "paused", &[]),
            ("ending", "ending Killed", &[]),
            ("over", "over Killed", &[]),
        ],
    );
}

#[test]
fn spawn_failed() {
    check(
        &Input::SpawnFailed("no such file".to_owned()),
        &[
            ("starting", "over Spawn(\"no such file\")", &["over Spawn(\"no such file\")"]),
            ("live", "live", &[]),
            ("paused", "paused", &[]),
            ("ending", "over Spawn(\"no such file\")", &["over Spawn(\"no such file\")"]),
            ("over", "over Killed", &[]),
        ],
    );
}

#[test]
fn output_and_looks() {
    let unchanged: [Row; 5] = [
        ("starting", "starting", &[]),
        ("live", "live", &[]),
        ("paused", "paused", &[]),
        ("ending", "ending Killed", &[]),
        ("over", "over Killed", &[]),
    ];
    check(&Input::Output { bytes: 1 }, &unchanged);
    check(&Input::Looked { token: 0, look: Look::default() }, &unchanged);
    check(&Input::Looked { token: 1, look: Look::default() }, &unchanged);
}

#[test]
fn child_ended() {
    check(
        &Input::ChildEnded(Ended::Exited(3)),
        &[
            ("starting", "ending Exited(3)", &["begin end"]),
            ("live", "ending Exited(3)", &["begin end"]),
            ("paused", "ending Exited(3)", &["thaw", "begin end"]),
            ("ending", "ending Killed", &[]),
            ("over", "over Killed", &[]),
        ],
    );
}

#[test]
fn tree_gone() {
    check(
        &Input::TreeGone,
        &[
            ("starting", "starting", &[]),
            ("live", "live", &[]),
            ("paused", "paused", &[]),
            ("ending", "over Killed", &["over Killed"]),
            ("over", "over Killed", &[]),
        ],
    );
}

#[test]
fn kill_and_stop_signal() {
    for input in [Input::Kill, Input::StopSignal] {
        check(
            &input,
            &[
                ("starting", "ending Killed", &["begin end"]),
                ("live", "ending Killed", &["begin end"]),
                ("paused", "ending Killed", &["thaw", "begin end"]),
                ("ending", "ending Killed", &[]),
                ("over", "over Killed", &[]),
            ],
        );
    }
}

#[test]
fn the_deadline() {
    check(
        &Input::Timer,
        &[
            ("starting", "ending TimedOut", &["begin end"]),
            ("live", "ending TimedOut", &["begin end"]),
            ("paused", "ending TimedOut", &["thaw", "begin end"]),
            ("ending", "ending Killed", &[]),
            ("over", "over Killed", &[]),
        ],
    );
}

#[test]
fn a_timer_that_is_not_due() {
    for stage in ["starting", "live", "paused", "ending", "over"] {
        let mut kernel = at(stage);
        let before = kernel.explain();
        assert_eq!(kernel.step(Input::Timer, ms(999)), []);
        assert_eq!(kernel.explain(), before);
    }
}

#[test]
fn pause_and_go_on() {
    check(
        &Input::Pause { caller: 7 },
        &[
            ("starting", "starting", &["tell 7: the session has not started"]),
            ("live", "paused", &["freeze", "publish Paused", "tell 7: done"]),
            ("paused", "paused", &["tell 7: done"]),
            ("ending", "ending Killed", &["tell 7: the session has ended"]),
            ("over", "over Killed", &["tell 7: the session has ended"]),
        ],
    );
    check(
        &Input::GoOn { caller: 7 },
        &[
            ("starting", "starting", &["tell 7: the session has not started"]),
            ("live", "live", &["tell 7: done"]),
            ("paused", "live", &["thaw", "publish Live", "tell 7: done"]),
            ("ending", "ending Killed", &["tell 7: the session has ended"]),
            ("over", "over Killed", &["tell 7: the session has ended"]),
        ],
    );
}

#[test]
fn send_and_key() {
    check(
        &send(7, None, "hi"),
        &[
            ("starting", "starting", &[]),
            ("live", "live", &["look for hi"]),
            ("paused", "paused", &["tell 7: the session is paused"]),
            ("ending", "ending Killed", &["tell 7: the session has ended"]),
            ("over", "over Killed", &["tell 7: the session has ended"]),
        ],
    );
    check(
        &press(7, None, &["Up"]),
        &[
            ("starting", "starting", &[]),
            ("live", "live", &["press Up", "tell 7: keyed at 0"]),
            ("paused", "paused", &["tell 7: the session is paused"]),
            ("ending", "ending Killed", &["tell 7: the session has ended"]),
            ("over", "over Killed", &["tell 7: the session has ended"]),
        ],
    );
}

#[test]
fn without_a_terminal_nothing_is_typed() {
    let mut kernel = Kernel::new(false, None, ms(0));
    drop(kernel.step(Input::Spawned, ms(0)));
    for input in [send(1, None, "hi"), press(1, None, &["Up"])] {
        let actions = kernel.step(input, ms(0));
        assert_eq!(actions.iter().map(told).collect::<Vec<_>>(), ["tell 1: the session has no terminal"]);
    }
}

#[test]
fn the_end_wins_over_deliveries() {
    for ending in [Input::Kill, Input::StopSignal, Input::ChildEnded(Ended::Exited(0))] {
        let mut drive = Drive::live();
        drive.send(1, "one");
        drive.send(2, "two");
        drive.tell(ending);
        drive.tell(Input::Spawned);
        drive.tell(Input::Output { bytes: 1 });
        drive.until(9000);
        drive.tell(Input::TreeGone);
        let deeds = drive.deeds();
        assert_eq!(deeds[2], "0 begin end");
        assert_eq!(deeds[3], "0 tell 1: the session ended before it was seen what became of the input");
        assert_eq!(deeds[4], "0 tell 2: the session ended before anything was typed");
        assert!(deeds[5].starts_with("9000 over"), "{deeds:?}");
        assert_eq!(deeds.len(), 6);
    }
}

#[test]
fn what_waits_for_the_start_is_told_that_there_is_none() {
    let mut drive = Drive::new(None);
    drive.send(1, "one");
    drive.tell(Input::SpawnFailed("no".to_owned()));
    assert_eq!(
        drive.deeds(),
        ["0 tell 1: the session ended before anything was typed", "0 over Spawn(\"no\")"]
    );
}

#[test]
fn a_deadline_beyond_all_time_never_comes() {
    let mut kernel = Kernel::new(true, Some(std::time::Duration::MAX), ms(5));
    drop(kernel.step(Input::Spawned, ms(5)));
    assert_eq!(kernel.step(Input::Timer, ms(u64::MAX)), []);
}
