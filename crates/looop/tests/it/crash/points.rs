//! Killed at every named durable point.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;

use looop_sim::profile::Profile;
use looop_store::POINTS;

use super::checks::{invariants, quieted, temps};
use super::scenarios::{Scenario, scenarios};

/// Points of the process that holds the lock, in `looop-session`.
pub(super) const LAUNCH_POINTS: [&str; 3] = ["host.prepared", "host.spawned", "host.launched"];
/// Points of the host itself.
const HOST_POINTS: [&str; 6] =
    ["host.locked", "host.reserved", "host.started", "host.execed", "host.ended", "host.receipt"];

/// Whether a host of this profile died before its end.
fn host_died(profile: &Profile) -> bool {
    let sessions = fs::read_dir(profile.data().join("sessions")).into_iter().flatten();
    let mut folders =
        sessions.map(|entry| entry.unwrap().path()).filter(|path| path.join("spec.json").exists());
    folders.any(|path| !path.join("receipt.json").exists() || path.join("sock").exists())
}

/// Crashes at one visit of a point and recovers. `false`: the point was not reached.
fn crash(scenario: &Scenario, point: &str, visit: u32) -> bool {
    let profile = scenario.base.twin();
    let mut command = profile.command(&scenario.call);
    let output = command.env("LOOOP_CRASH_AT", format!("{point}:{visit}")).output().unwrap();
    let is_host = HOST_POINTS.contains(&point);
    let crashed = if is_host { host_died(&profile) } else { output.status.signal() == Some(9) };
    if !crashed {
        return false;
    }
    quieted(&profile);
    invariants(&profile);
    (scenario.check)(&profile, is_host && point != "host.receipt");
    if !temps(&profile).is_empty() {
        profile.run(&["run", "true"]).ok();
        assert_eq!(temps(&profile), Vec::<PathBuf>::new(), "they are swept after the next move");
    }
    true
}

/// How often a scenario visits which points when nothing befalls it.
fn visits(scenario: &Scenario) -> BTreeMap<String, u32> {
    let profile = scenario.base.twin();
    let trace = profile.outside().join("trace");
    fs::write(&trace, "").unwrap();
    let mut command = profile.command(&scenario.call);
    command.env("LOOOP_CRASH_AT", format!("trace:{}", trace.display())).output().unwrap();
    let mut visits = BTreeMap::new();
    for point in fs::read_to_string(trace).unwrap().lines() {
        *visits.entry(point.to_owned()).or_default() += 1;
    }
    visits
}

/// All crashes of a scenario: the points that it reached, and what went wrong.
fn crashes(scenario: &Scenario) -> (BTreeSet<String>, Vec<String>) {
    let (mut reached, mut wrong) = (BTreeSet::new(), Vec::new());
    for (point, count) in visits(scenario) {
        for visit in 1..=count {
            let result = catch_unwind(AssertUnwindSafe(|| crash(scenario, &point, visit)));
            match result {
                Ok(true) => {}
                // Where two processes take turns, the order may be another one this time.
                Ok(false) => break,
                Err(_) => wrong.push(format!("{}, killed at {point}:{visit}", scenario.name)),
            }
            reached.insert(point.clone());
        }
    }
    (reached, wrong)
}

#[test]
fn killed_at_every_point_nothing_is_lost_or_done_twice() {
    let todo = Mutex::new(scenarios());
    let results = Mutex::new((BTreeSet::new(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(scenario) = { todo.lock().unwrap().pop() } {
                    let (points, mut failures) = crashes(&scenario);
                    let mut results = results.lock().unwrap();
                    results.0.extend(points);
                    results.1.append(&mut failures);
                }
            });
        }
    });
    let (reached, wrong) = results.into_inner().unwrap();
    assert_eq!(wrong, Vec::<String>::new());
    let all = POINTS.iter().chain(&LAUNCH_POINTS).chain(&HOST_POINTS).map(ToString::to_string);
    assert_eq!(reached, all.collect(), "each point is visited by some scenario");
}
