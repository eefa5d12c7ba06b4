//! Random schedules of crashes against a model server that counts what it charges: nothing starts beyond the cap, what
//! the log has is never less than was charged, and is exactly that where every receipt came.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;
use std::sync::Mutex;

use looop_core::ledger::entry::Entry;
use looop_core::meter::Micros;
use looop_sim::disk_dice::Dice;
use looop_sim::profile::Profile;
use looop_sim::storm::books::Books;
use looop_sim::waiting::finish;
use looop_store::{POINTS, Reader};
use rustix::process::{Pid, Signal, kill_process};

use super::desk::{Desk, micros};

const SCHEDULES: u64 = 25;
const ROUNDS: usize = 4;
/// Points of the lock holder and of a host.
const LAUNCH_POINTS: [&str; 3] = ["host.prepared", "host.spawned", "host.launched"];
const HOST_POINTS: [&str; 6] =
    ["host.locked", "host.reserved", "host.started", "host.execed", "host.ended", "host.receipt"];

/// What befalls a beat.
#[derive(Clone, Debug)]
enum Blow {
    Nothing,
    /// After so many events these are killed.
    Kills {
        events: u64,
        pulse: bool,
        host: bool,
        decide: bool,
    },
    /// The lock holder, or a host, is killed at a named point.
    Point(String),
}

impl Blow {
    fn roll(dice: &mut Dice) -> Self {
        let events = dice.between(0, 8);
        let kills = |pulse, host, decide| Self::Kills { events, pulse, host, decide };
        match dice.below(8) {
            0 => Self::Nothing,
            1 | 2 => kills(true, false, false),
            3 => kills(false, true, false),
            4 => kills(false, false, true),
            5 => kills(true, true, false),
            6 => {
                let all: Vec<&str> = POINTS.iter().chain(&LAUNCH_POINTS).copied().collect();
                Self::Point(format!("{}:{}", dice.pick(&all), dice.between(1, 6)))
            }
            _ => Self::Point((*dice.pick(&HOST_POINTS)).to_owned()),
        }
    }

    /// Whether a receipt may be lost by it.
    fn takes_receipts(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Kills { host, decide, .. } => *host || *decide,
            Self::Point(point) => HOST_POINTS.contains(&point.as_str()),
        }
    }
}

/// The processes of a decide: the host of the newest session, and the decide itself.
fn processes(profile: &Profile, host: bool, decide: bool) -> Vec<Pid> {
    let name = profile.data().to_string_lossy().into_owned();
    let is_ours = |process: &std::path::Path| {
        let id: i32 = process.file_name()?.to_str()?.parse().ok()?;
        let read = |file: &str| {
            fs::read(process.join(file)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let (arguments, environment) = (read("cmdline").ok()?, read("environ").ok()?);
        let word = |word: &str| arguments.split('\0').nth(1) == Some(word);
        let wanted = (host && word("_host") && arguments.contains("decide~")) || (decide && word("_decide"));
        Pid::from_raw(id).filter(|_| wanted && environment.contains(&name))
    };
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter_map(|process| is_ours(&process)).collect()
}

/// One beat, and what befalls it.
fn beat(desk: &Desk, blow: &Blow) {
    let profile = &desk.profile;
    let mut command = profile.command(&["beat"]);
    if let Blow::Point(point) = blow {
        command.env("LOOOP_CRASH_AT", point);
    }
    let piped = std::process::Stdio::piped;
    let mut child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    let before = taken(desk, 0);
    if let Blow::Kills { events, pulse, host, decide } = blow {
        while child.try_wait().unwrap().is_none() {
            if is_deciding(&desk.profile) && taken(desk, before + events) >= before + events {
                strike(desk, &mut child, (*pulse, *host, *decide));
                break;
            }
        }
    }
    finish(child);
}

fn is_deciding(profile: &Profile) -> bool {
    let ledger = Reader::open(&profile.data()).ok().and_then(|reader| reader.ledger().ok());
    ledger.is_some_and(|ledger| ledger.deciding.is_some())
}

fn strike(desk: &Desk, child: &mut Child, (pulse, host, decide): (bool, bool, bool)) {
    if pulse {
        child.kill().unwrap();
    }
    for process in processes(&desk.profile, host, decide) {
        // It may have ended of itself.
        kill_process(process, Signal::KILL).ok();
    }
}

fn taken(desk: &Desk, events: u64) -> u64 {
    desk.model.so_far(events).iter().map(|bill| bill["events"].as_u64().unwrap()).sum()
}

/// What the log has: spent, reserved, and reserved but not reported.
fn known(desk: &Desk) -> u64 {
    let spend = desk.profile.run(&["status", "--json"]).ok().json()["spend"].clone();
    micros(&spend["usd"]) + micros(&spend["reserved_usd"]) + micros(&spend["unreported_usd"])
}

/// Nothing ever started that the cap did not cover.
fn keeps_the_cap(profile: &Profile, cap: Micros) {
    let mut books = Books::default();
    for line in profile.lines() {
        books.add(&line);
        let starts = line.entries.iter().any(|entry| matches!(entry, Entry::DecideStarted { .. }));
        let all = books.settled.saturating_add(books.open());
        assert!(!starts || all <= cap, "{all} of {cap}: {line:?}");
    }
}

fn schedule(seed: u64) {
    let mut dice = Dice::new(seed);
    let cap = Micros::new(dice.between(150_000, 1_000_000));
    let config = format!("max_daily_usd = {}\nmax_decide_usd = 0.5\ntick_timeout_secs = 60", cap.dollars());
    let desk = if dice.below(4) == 0 { Desk::agent("paced", &config) } else { Desk::api("paced", &config) };
    let mut exact = true;
    for round in 0..ROUNDS {
        let blow = Blow::roll(&mut dice);
        exact &= !blow.takes_receipts();
        desk.profile.write("PLAYBOOK.md", format!("# Round {round}\n"));
        beat(&desk, &blow);
        let (known, charged) = (known(&desk), desk.charged());
        assert!(known >= charged, "{known} of {charged} after {blow:?}");
    }
    for _ in 0..5 {
        desk.profile.run(&["pause"]);
        desk.profile.beat();
        if desk.profile.ledger().deciding.is_none() {
            break;
        }
    }
    let total = desk.profile.run(&["cost", "all", "--json"]).ok().json()["total"].clone();
    let total = micros(&total["usd"]) + micros(&total["unreported_usd"]);
    let charged = desk.charged_in_all();
    assert!(total >= charged, "{total} of {charged}");
    assert!(total == charged || !exact, "{total} and not {charged}, although every receipt came");
    keeps_the_cap(&desk.profile, cap);
}

#[test]
fn the_log_has_what_was_charged_whatever_is_killed_when() {
    let (todo, wrong) = (Mutex::new((0..SCHEDULES).collect::<Vec<_>>()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(seed) = { todo.lock().unwrap().pop() } {
                    if catch_unwind(AssertUnwindSafe(|| schedule(seed))).is_err() {
                        wrong.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<u64>::new(), "seeds of schedules that went wrong");
}
