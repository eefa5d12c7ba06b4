//! Every disk call of every scenario fails or is the last: nothing is lost, nothing is done twice, the log holds.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use looop_core::check::violations;
use looop_core::engine::io::Request;
use looop_core::ledger::entry::{Entry, Line};
use looop_core::model::digest::Digest;
use looop_core::model::moves::{Move, Proposal};
use looop_core::model::name::Name;
use looop_core::model::outcome::Outcome;
use looop_sim::disk::MemDisk;
use looop_sim::disk_dice::Dice;
use looop_sim::disk_faults::Fault;
use looop_sim::world::{Holder, Stopped, all_lines};
use looop_sim::yard::Yard;
use serde_json::{Value, json};

const START: i64 = 1_800_000_000_000;

/// What a scenario does once the profile is open.
type Script = fn(&mut Holder<'_>) -> Result<(), Stopped>;

struct Scenario {
    name: &'static str,
    goals: &'static [(&'static str, &'static str)],
    decisions: fn() -> Vec<Value>,
    paid: bool,
    script: Script,
}

const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "recipes",
        goals: &[
            ("one", "---\ncheck: ran do one\nrun: do one\n---\n"),
            ("two", "---\ncheck: ran do two\nrun: do two\n---\n"),
        ],
        decisions: Vec::new,
        paid: false,
        script: |_| Ok(()),
    },
    Scenario {
        name: "a decider's moves",
        goals: &[("old", "# Old\n")],
        decisions: || {
            vec![
                json!({"action": "run_shell", "cmd": "do three", "journal": "did three"}),
                json!({"action": "write_goal", "id": "fresh", "body": "# Fresh"}),
                json!({"action": "run_shell", "cmd": "do four"}),
                json!({"action": "write_playbook", "body": "# New\n"}),
                json!({"action": "archive_goal", "id": "old"}),
                json!({"action": "write_schedule", "name": "later", "every_s": 600}),
            ]
        },
        paid: true,
        script: |holder| {
            for _ in 0..7 {
                holder.ask(Request::Beat)?;
            }
            Ok(())
        },
    },
    Scenario {
        name: "asks",
        goals: &[],
        decisions: || vec![json!({"action": "ask_human", "prompt": "Which?"}), json!({"action": "noop"})],
        paid: true,
        script: |holder| {
            holder.ask(Request::Beat)?;
            holder.answer("ask-1", "this one")?;
            holder.beat()
        },
    },
    Scenario {
        name: "a person's verbs",
        goals: &[("keep", "# Keep\n")],
        decisions: Vec::new,
        paid: false,
        script: |holder| {
            let make = |action| Request::Make { proposal: Proposal::of(action) };
            let name = |text| Name::new(text).expect("a name");
            holder.ask(make(Move::WriteGoal { id: name("mine"), body: "# Mine".to_owned() }))?;
            holder.ask(make(Move::RunShell { cmd: "do five".to_owned(), reason: None }))?;
            holder.ask(Request::Pause { until: None })?;
            holder.ask(Request::Resume)?;
            holder.ask(make(Move::ArchiveGoal { id: name("keep") }))
        },
    },
    Scenario {
        name: "taken back",
        goals: &[("keep", "# Keep\n"), ("old", "# Old\n")],
        decisions: Vec::new,
        paid: false,
        script: |holder| {
            let make = |action| Request::Make { proposal: Proposal::of(action) };
            let name = |text| Name::new(text).expect("a name");
            holder.ask(make(Move::WriteGoal { id: name("mine"), body: "# Mine".to_owned() }))?;
            holder.ask(make(Move::WriteGoal { id: name("keep"), body: "# Kept no more".to_owned() }))?;
            holder.ask(make(Move::ArchiveGoal { id: name("old") }))?;
            for _ in 0..3 {
                holder.ask(Request::Undo { beat: None })?;
            }
            Ok(())
        },
    },
];

struct Run {
    disk: MemDisk,
    yard: Yard,
    wall: i64,
    commands: BTreeMap<String, String>,
}

impl Run {
    fn new(scenario: &Scenario) -> Self {
        let disk = MemDisk::new();
        disk.put("PLAYBOOK.md", b"# PLAYBOOK\n");
        for (id, text) in scenario.goals {
            disk.put(&format!("goals/{id}.md"), text.as_bytes());
        }
        let mut yard = Yard::default();
        yard.decisions = (scenario.decisions)();
        Self { disk, yard, wall: START, commands: BTreeMap::new() }
    }

    /// Opens, plays the script, and beats a few times.
    fn play(&mut self, scenario: &Scenario) -> Result<(), Stopped> {
        let mut holder = Holder::open(&self.disk, &mut self.yard, &mut self.wall, scenario.paid)?;
        let played = (scenario.script)(&mut holder).and_then(|()| holder.beat()).and_then(|()| holder.beat());
        self.commands.append(&mut holder.commands);
        played
    }

    /// Beats until nothing is under way and nothing is left to do.
    fn settle(&mut self, scenario: &Scenario) {
        for _ in 0..4 {
            let mut holder = Holder::open(&self.disk, &mut self.yard, &mut self.wall, scenario.paid)
                .expect("it opens again");
            holder.beat().expect("it beats again");
            self.commands.append(&mut holder.commands);
            let ledger = holder.ledger();
            assert!(
                ledger.acting.is_none() && ledger.deciding.is_none(),
                "{}: still under way",
                scenario.name
            );
        }
    }

    /// The rules that hold whatever happened.
    fn audit(&self, scenario: &Scenario, what: &str) {
        let lines = all_lines(&self.disk);
        let name = scenario.name;
        assert_eq!(violations(&lines), Vec::<String>::new(), "{name}, {what}");
        for (command, count) in &self.yard.ran {
            assert_eq!(*count, intended(&lines, command), "{name}, {what}: {command} ran {count} times");
        }
        let journal = String::from_utf8(self.disk.get("journal.md").unwrap_or_default()).expect("text");
        // Whatever was done or taken back, no text of a person's goal is lost.
        for (id, text) in scenario.goals {
            let kept = format!("undo.d/{}", Digest::of(text.as_bytes()));
            let places = [format!("goals/{id}.md"), format!("goals/archive/{id}.md"), kept];
            let there = places.iter().any(|place| self.disk.get(place).as_deref() == Some(text.as_bytes()));
            assert!(there, "{name}, {what}: goal {id} is lost");
        }
        for line in journaled(&lines) {
            let count = journal.lines().filter(|have| *have == line).count();
            assert!(count == 1, "{name}, {what}: journal has {count} × {line}\n{journal}");
        }
    }
}

/// How often a command was meant to run: each intention once, however often it was recovered.
fn intended(lines: &[Line], command: &str) -> u32 {
    let entries = lines.iter().flat_map(|line| &line.entries);
    let count = entries.filter(|entry| {
        let Entry::Intended { plan, .. } = entry else { return false };
        matches!(&plan.action, Move::RunShell { cmd, .. } if cmd == command)
    });
    u32::try_from(count.count()).expect("few")
}

fn journaled(lines: &[Line]) -> Vec<String> {
    let entries = lines.iter().flat_map(|line| &line.entries);
    entries
        .filter_map(|entry| {
            if let Entry::Finished { journal, .. } = entry {
                return journal.clone();
            }
            if let Entry::WorkerNoted { journal, .. } = entry { Some(journal.clone()) } else { None }
        })
        .collect()
}

fn calls(scenario: &Scenario) -> usize {
    let mut run = Run::new(scenario);
    run.disk.arm(None);
    run.play(scenario).expect("it plays without faults");
    run.audit(scenario, "no fault");
    run.disk.counted()
}

#[test]
fn without_faults_every_scenario_gets_there() {
    for scenario in &SCENARIOS {
        assert!(calls(scenario) > 50, "{}", scenario.name);
        let mut run = Run::new(scenario);
        run.play(scenario).expect("it plays");
        run.settle(scenario);
        run.audit(scenario, "settled");
        let lines = all_lines(&run.disk);
        let failed = lines.iter().flat_map(|line| &line.entries).filter(|entry| {
            matches!(entry, Entry::Failed { .. } | Entry::Rejected { .. })
                || matches!(entry, Entry::Finished { outcome: Outcome::Failed { .. }, .. })
        });
        assert_eq!(failed.count(), 0, "{}", scenario.name);
        if scenario.name == "taken back" {
            let goals = ["keep", "old", "mine"].map(|id| run.disk.get(&format!("goals/{id}.md")));
            assert_eq!(goals, [Some(b"# Keep\n".to_vec()), Some(b"# Old\n".to_vec()), None]);
        }
    }
}

#[test]
fn a_failing_call_loses_nothing_and_doubles_nothing() {
    for scenario in &SCENARIOS {
        for at in 0..calls(scenario) {
            for (kind, half) in
                [(ErrorKind::StorageFull, true), (ErrorKind::StorageFull, false), (ErrorKind::Other, true)]
            {
                let mut run = Run::new(scenario);
                run.disk.arm(Some(Fault::Fail { at, kind, half }));
                // The verb may fail; what it has begun is settled by the next.
                drop(run.play(scenario));
                let call = run.disk.calls().get(at).cloned().unwrap_or_default();
                run.disk.arm(None);
                run.settle(scenario);
                run.audit(scenario, &format!("call {at} ({call}) failed with {kind:?}, half {half}"));
            }
        }
    }
}

#[test]
fn a_kill_at_any_call_loses_nothing_and_doubles_nothing() {
    for scenario in &SCENARIOS {
        for at in 0..calls(scenario) {
            for half in [true, false] {
                let mut run = Run::new(scenario);
                run.disk.arm(Some(Fault::Cut { at, half }));
                drop(run.play(scenario));
                let call = run.disk.calls().get(at).cloned().unwrap_or_default();
                run.disk = run.disk.kill();
                run.settle(scenario);
                run.audit(scenario, &format!("killed in call {at} ({call}), half {half}"));
            }
        }
    }
}

#[test]
fn a_loss_of_power_at_any_call_does_nothing_twice() {
    for scenario in &SCENARIOS {
        for at in 0..calls(scenario) {
            for seed in 0..3u64 {
                let mut run = Run::new(scenario);
                run.disk.arm(Some(Fault::Cut { at, half: seed % 2 == 0 }));
                drop(run.play(scenario));
                let call = run.disk.calls().get(at).cloned().unwrap_or_default();
                let mut dice = Dice::new(seed.wrapping_mul(7919) + at as u64);
                run.disk = run.disk.crash(dice.throw());
                let commands = run.commands.clone();
                run.yard.power_loss(&commands, &mut || dice.coin());
                run.settle(scenario);
                let lines = all_lines(&run.disk);
                let what = format!("power lost in call {at} ({call}), seed {seed}");
                assert_eq!(violations(&lines), Vec::<String>::new(), "{}, {what}", scenario.name);
                for (command, count) in &run.yard.ran {
                    let meant = intended(&lines, command);
                    assert!(
                        *count <= meant,
                        "{}, {what}: {command} ran {count} times, meant {meant}",
                        scenario.name
                    );
                }
            }
        }
    }
}
