//! A thousand storms about money through the real engine and the real store: nothing starts beyond the cap, the log
//! never has less for a call than was charged, and has exactly that once every receipt has come.
//!
//! `LOOOP_SEED=123 cargo test -p looop-sim --test money` replays one storm and tells it line by line; `LOOOP_SEEDS=100000`
//! runs that many.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use looop_sim::storm::money::judge;
use looop_sim::storm::tale::Tale;

/// Storms of one run.
const SEEDS: u64 = 1_000;
/// Failures after which there is no use in going on.
const ENOUGH: usize = 3;

/// What must have happened: storms in which nothing is lost test nothing.
const HAPPENS: &[&str] = &[
    "charges",
    "decides stopped",
    "decides adopted",
    "receipts lost",
    "expenses recorded",
    "workers started",
    "workers stopped",
    "workers let go on",
    "kills",
    "kills at rest",
    "kills between effects",
    "crash loops",
    "power losses",
    "reboots",
    "failed appends",
    "hosts lost",
    "clock steps back",
    "clock steps forward",
    "naps",
    "journeys",
    "storms over midnight",
    "asked to prune",
    "entry spent",
    "entry granted",
    "entry restarted",
    "exact ends",
    "ends without a receipt",
];

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Runs the storms of all seeds on all cores.
fn run_all(seeds: u64) -> (Tale, Vec<(u64, String)>) {
    let (next, all) = (AtomicU64::new(0), Mutex::new((Tale::default(), Vec::new())));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let stop = all.lock().unwrap_or_else(PoisonError::into_inner).1.len() >= ENOUGH;
            if seed >= seeds || stop {
                return;
            }
            let (tale, judged) = judge(seed, false);
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
        writeln!(out, "  replay it: LOOOP_SEED={seed} cargo test -p looop-sim --test money").expect("a hint");
    }
}

#[test]
fn whatever_happens_the_cap_holds_and_the_log_knows_what_was_charged() {
    if let Some(seed) = number("LOOOP_SEED") {
        let (tale, judged) = judge(seed, true);
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
    let never: Vec<_> = HAPPENS.iter().filter(|what| tale.counted(what) == 0).collect();
    assert!(seeds.is_some() || never.is_empty(), "{never:?} never happened");
}
