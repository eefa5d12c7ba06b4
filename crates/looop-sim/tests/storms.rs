//! Seeded storms through the real engine and the real store: whatever befalls it, the loop comes to rest, stays there,
//! and still hears.
//!
//! `LOOOP_SEED=123 cargo test -p looop-sim --test storms` replays one storm and tells it line by line;
//! `LOOOP_WITHOUT=kills,power` leaves hazards out, to see which of them matter; `LOOOP_SEEDS=1000000` runs that many.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use looop_sim::storm::judge::judge;
use looop_sim::storm::tale::Tale;
use looop_sim::storm::weather::Weather;

/// Storms of one run.
const SEEDS: u64 = 10_000;
/// Failures after which there is no use in going on.
const ENOUGH: usize = 12;

/// What must have happened in a run of at least [`MANY`] storms: one in which it never rains tests nothing.
const WEATHER: &[&str] = &[
    // What befalls the machine and the lock holder.
    "kills",
    "kills at rest",
    "kills between effects",
    "cuts",
    "crash loops",
    "power losses",
    "reboots",
    "full disks",
    "broken disks",
    "failed appends",
    "clock steps back",
    "clock steps forward",
    "naps",
    "file events lost",
    "file events doubled",
    "files gone bad",
    "fleets out of sight",
    "hosts lost",
    "sensors gone bad",
    "decides that came to nothing",
    "starts that failed",
    "starts by a person",
    "starts by a keeper",
    "verbs without a pulse",
    "orderly ends",
    "signals",
    "decides without a receipt",
    "receipts that are lower bounds",
    "tokens without a price",
    "limits of a provider",
    // What the person and the workers did.
    "answers",
    "answers fetched",
    "asks of workers",
    "claims",
    "tells",
    "schedules written",
    "workers started",
    "spend letters",
    "asked for a beat",
    "asked for a dry run",
    "asked for a move",
    "asked for a pause",
    "asked to dismiss",
    "asked to go down",
    "asked to prune",
    "asked to undo",
    "asked to resume",
    "asked to wake",
    "asked who it is",
    // What the loop did.
    "full looks",
    "quick looks",
    "decides adopted",
    "moves recovered",
    "noop",
    "run_shell",
    "write_goal",
    "archive_goal",
    "write_sensor",
    "write_playbook",
    "start_worker",
    "steer_session",
    "send_key",
    "restart_session",
    "kill_worker",
    "send_notification",
    "ask_human",
    "write_schedule",
    "drop_schedule",
    "undo",
    "entry saw",
    "entry skipped",
    "entry flapping",
    "entry decide_started",
    "entry decided",
    "entry failed",
    "entry rejected",
    "entry overtaken",
    "entry restarted",
    "entry finished",
    "entry asked",
    "entry answered",
    "entry dismissed",
    "entry worker_ended",
    "entry verified",
    "entry claim_reaped",
    "entry told",
    "entry pruned",
    "entry paused",
    "entry resumed",
    "entry dropped",
    "entry stopped",
    // What the purse did.
    "purse stops",
    "purse stops that another day lifted",
    "stops for want of receipts",
    "waits for a provider",
    "goals that wait for money",
    "spend letters counted",
    "accounts closed",
    "asked whether a worker may go on",
    "workers paused",
    "workers let go on",
    "kills for money",
    "entry spent",
    "entry granted",
];
/// In so many storms everything happens.
const MANY: u64 = 1_000;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn without() -> Vec<String> {
    let names = std::env::var("LOOOP_WITHOUT").unwrap_or_default();
    let names: Vec<String> = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    for name in &names {
        let known: Vec<_> = Weather::hazards().collect();
        assert!(known.contains(&name.as_str()), "there is no hazard {name}; there are {known:?}");
    }
    names
}

/// Runs the storms of all seeds on all cores.
fn run_all(seeds: u64) -> (Tale, Vec<(u64, String)>) {
    let (next, all) = (AtomicU64::new(0), Mutex::new((Tale::default(), Vec::new())));
    let without = without();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let stop = all.lock().unwrap_or_else(PoisonError::into_inner).1.len() >= ENOUGH;
            if seed >= seeds || stop {
                return;
            }
            let (tale, judged) = judge(seed, &without, false);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.0.add(&tale);
            all.1.extend(judged.err().map(|error| (seed, error)));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            scope.spawn(work);
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Writes past the test harness, which keeps what a test prints to itself if it passes.
fn say(tale: &Tale, failures: &[(u64, String)]) {
    let mut out = std::io::stdout().lock();
    for line in tale.lines.iter().flatten() {
        writeln!(out, "{line}").expect("a line");
    }
    writeln!(out, "{:#?}", tale.counts).expect("counts");
    for (seed, error) in failures {
        writeln!(out, "seed {seed}: {error}").expect("a failure");
        writeln!(out, "  replay it: LOOOP_SEED={seed} cargo test -p looop-sim --test storms")
            .expect("a hint");
    }
}

#[test]
fn every_storm_ends_in_a_stable_state() {
    if let Some(seed) = number("LOOOP_SEED") {
        let (tale, judged) = judge(seed, &without(), true);
        let failures: Vec<_> = judged.err().map(|error| (seed, error)).into_iter().collect();
        say(&tale, &failures);
        return assert!(failures.is_empty(), "the storm of seed {seed} did not end well");
    }
    let seeds = number("LOOOP_SEEDS");
    let (tale, failures) = run_all(seeds.unwrap_or(SEEDS));
    if seeds.is_some() || !failures.is_empty() {
        say(&tale, &failures);
    }
    assert!(
        failures.is_empty(),
        "{} storms did not end well; how to replay them is said above",
        failures.len()
    );
    let many = seeds.is_none_or(|seeds| seeds >= MANY);
    let never: Vec<_> = WEATHER.iter().filter(|what| many && tale.counted(what) == 0).collect();
    assert!(never.is_empty(), "{never:?} never happened");
}
