//! The loop is killed again and again while it decides, runs commands and starts workers.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::process::{Child, Stdio};

use looop_core::check::violations;
use looop_core::ledger::entry::Entry;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{Act, BeatId};
use looop_sim::disk_dice::Dice;
use rustix::fs::inotify;
use serde_json::Value;

use super::looping::Den;

/// Kills of a run; more where the machine is so slow that too little was done between them.
const KILLS: u32 = 40;
/// After so many the loop gets nowhere.
const TOO_MANY_KILLS: u32 = 1000;

/// A decider that takes turns: a command, a worker, a goal, nothing. Each decide leaves its number, and so does each
/// command and each worker that runs. It changes a goal meanwhile, so that there is always something to decide upon.
fn decider(den: &Den) -> String {
    let beside = den.outside().display();
    format!(
        r#"n=$LOOOP_RUN_ID; i=$(expr $n + 0); echo $n >> {beside}/decides; echo $n > "$LOOOP_DATA_DIR/goals/other.md"
case $(expr $i % 4) in
0) echo "{{\"action\":\"run_shell\",\"cmd\":\"echo m$n >> $LOOOP_REPORTS_DIR/moves\"}}";;
1) echo "{{\"action\":\"start_worker\",\"id\":\"w$n\",\"prompt\":\"p\",\"runner\":\"fake\"}}";;
2) echo "{{\"action\":\"write_goal\",\"id\":\"g\",\"body\":\"Number $n.\"}}";;
3) echo "{{\"action\":\"noop\"}}";;
esac"#
    )
}

fn settings(den: &Den, deciding: bool) -> String {
    let worker =
        format!("echo $LOOOP_SESSION_ID >> {}/workers; : {{{{prompt_file}}}}", den.outside().display());
    let (tick, worker) = (Value::from(decider(den)), Value::from(worker));
    let default = if deciding { "fake" } else { "builtin" };
    format!(
        "default = \"{default}\"\nmax_decides_per_hour = 100000\nmax_workers = 1000\ninterval = 1\nbusy_interval = 1\n\
         active_interval = 1\n[runners.fake]\ntick = {tick}\ninteractive = {worker}\ncost = \"free\"\n"
    )
}

fn pulse(den: &Den) -> Child {
    let mut command = den.command(&["--json"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts the loop and kills it, and nothing else, once the log has grown so often.
fn killed_after(den: &Den, round: u32, appends: usize) {
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, den.data().join("log"), inotify::WatchFlags::MODIFY).unwrap();
    den.write("goals/world.md", format!("Round {round}."));
    let mut child = pulse(den);
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut buffer);
    for _ in 0..appends {
        events.next().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn lines(den: &Den, name: &str) -> Vec<String> {
    // What a decider's command writes is confined to the reports.
    let confined = fs::read_to_string(den.data().join("box/reports").join(name));
    let text = confined.or_else(|_| fs::read_to_string(den.beside(name))).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[track_caller]
fn once_each(what: &str, lines: &[String]) {
    let mut unique = lines.to_vec();
    unique.dedup();
    assert_eq!(unique, lines, "{what} more than once");
}

/// The moves that were begun, with what came of each.
fn moves(den: &Den) -> BTreeMap<BeatId, (Act, String, Option<Outcome>)> {
    let mut moves = BTreeMap::new();
    for entry in den.entries() {
        if let Entry::Intended { beat, plan, .. } = entry {
            moves.insert(beat, (plan.act, plan.action.summary(), None));
        } else if let Entry::Finished { beat, outcome, .. } = entry {
            let begun = moves.get_mut(&beat).unwrap_or_else(|| panic!("{beat} ended and never began"));
            assert_eq!(begun.2.replace(outcome), None, "{beat} ended twice");
        }
    }
    moves
}

/// What must hold once the loop has come to rest.
fn holds(den: &Den) {
    let (moves, ran, worked) = (moves(den), lines(den, "moves"), lines(den, "workers"));
    once_each("commands", &ran);
    once_each("workers", &worked);
    let shells: Vec<_> = moves.values().filter(|(act, ..)| matches!(act, Act::Hosted { .. })).collect();
    assert_eq!(shells.len(), ran.len(), "commands and moves: {ran:?} {shells:?}");
    let starts = moves.values().filter(|(act, ..)| matches!(act, Act::Worker { .. })).count();
    assert_eq!(starts, worked.len(), "workers: {worked:?}");
    for (beat, (_, summary, outcome)) in &moves {
        let outcome = outcome.as_ref().unwrap_or_else(|| panic!("{beat} ({summary}) has no end"));
        assert!(outcome.is_done(), "{beat} ({summary}): {outcome:?}");
    }
    let mut decided = BTreeMap::<String, usize>::new();
    for entry in den.entries() {
        if let Entry::Decided { run, .. } | Entry::Failed { run, .. } = entry {
            *decided.entry(run.to_string()).or_default() += 1;
        }
    }
    assert!(decided.values().all(|count| *count == 1), "a decision used twice: {decided:?}");
    once_each("decides", &lines(den, "decides"));
    assert_eq!(violations(&den.lines()), Vec::<String>::new());
}

#[test]
fn killed_again_and_again_nothing_is_lost_doubled_or_orphaned() {
    let given = std::env::var("LOOOP_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| std::process::id().into());
    std::io::stderr().write_all(format!("seed {seed}\n").as_bytes()).unwrap();
    let mut dice = Dice::new(seed);
    let den = Den::new();
    den.write("config.toml", settings(&den, true));
    den.looped().ends("TERM");
    for round in 0.. {
        let few = ["decides", "moves", "workers"].into_iter().find(|what| lines(&den, what).len() <= 3);
        let Some(few) = few.or((round < KILLS).then_some("kills")) else { break };
        assert!(round < TOO_MANY_KILLS, "too few {few} to say anything");
        killed_after(&den, round, 1 + dice.below(6));
    }
    // In peace: what is under way comes to its end, nothing new is decided.
    den.write("config.toml", settings(&den, false));
    let mut looping = den.looping();
    looping.until("rest", |event| event["event"] == "skipped" && event["why"] == "nothing_ready");
    den.call(&["beat"]).ok();
    looping.ends("TERM");
    den.no_survivors();
    holds(&den);
}
