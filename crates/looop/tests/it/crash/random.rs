//! Killed at random.

use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;

use looop_core::ledger::entry::Entry;
use looop_sim::disk_dice::Dice;
use looop_sim::profile::Profile;
use rustix::fs::inotify;

use super::checks::{invariants, quieted};
use super::points::LAUNCH_POINTS;
use super::scenarios::bare;

/// Kills the binary when the log has grown so often; lets it end if it does not.
fn kill_at_append(profile: &Profile, args: &[&str], appends: u32) {
    drop(fs::remove_file(profile.data().join("sock")));
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, profile.data().join("log"), inotify::WatchFlags::MODIFY).unwrap();
    inotify::add_watch(&watch, profile.data(), inotify::WatchFlags::DELETE).unwrap();
    let mut child = profile.start(args);
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    let mut seen = 0;
    while seen < appends {
        let event = events.next().unwrap();
        if event.events().contains(inotify::ReadFlags::MODIFY) {
            seen += 1;
        } else if event.file_name() == Some(c"sock") {
            // Its last act: it has ended by itself.
            child.wait().unwrap();
            return;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_at_random_each_command_runs_exactly_once() {
    const ROUNDS: u32 = 60;
    let given = std::env::var("LOOOP_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| std::process::id().into());
    let mut dice = Dice::new(seed);
    let profile = bare();
    profile.beat().ok();
    let points: Vec<&str> =
        ["store.log-written", "store.log-synced", "store.journal-written", "store.snapshot-renamed"]
            .into_iter()
            .chain(LAUNCH_POINTS)
            .collect();
    let is_planned = |command: &str| {
        let is_it = |entry: &Entry| match entry {
            Entry::Intended { plan, .. } => plan.action.summary().contains(command),
            _ => false,
        };
        profile.entries().iter().any(is_it)
    };
    let mut kills = 0;
    for round in 0..ROUNDS {
        let command = format!("echo line-{round}. >>ran");
        // A call that died before its move was written down did nothing, and is made again.
        for attempt in 0.. {
            let visit = 1 + u32::try_from(dice.below(3)).unwrap();
            if attempt == 3 {
                profile.run(&["run", &command]).ok();
            } else if dice.coin() {
                let at = format!("{}:{visit}", points[dice.below(points.len())]);
                let output = profile.command(&["run", &command]).env("LOOOP_CRASH_AT", at).output().unwrap();
                kills += u32::from(output.status.signal() == Some(9));
            } else {
                kill_at_append(&profile, &["run", &command], visit);
            }
            if is_planned(&command) {
                break;
            }
        }
    }
    quieted(&profile);
    let ran = profile.file("ran").unwrap();
    let mut lines: Vec<&str> = ran.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..ROUNDS).map(|round| format!("line-{round}.")).collect();
    expected.sort_unstable();
    assert_eq!(lines, expected, "seed {seed}");
    assert!(kills > 0, "seed {seed}");
    invariants(&profile);
}
