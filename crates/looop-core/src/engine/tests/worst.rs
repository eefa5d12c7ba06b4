//! The largest world that the bounds allow, made by events alone: its lines and its snapshot can be written.

use super::*;
use crate::bounds::{self, json_width};
use crate::model::letter::AskKind;
use crate::world::fleet::WorkerState;
use crate::world::reading::{Fault, FaultDetail};

/// A name of the greatest length.
fn name(kind: char, number: usize) -> String {
    format!("{kind}{number:0>63}")
}

/// A text in characters that have the most bytes in JSON.
fn words(bytes: usize) -> String {
    "\u{1}".repeat(bytes / 6)
}

impl World {
    /// As many ended workers as are kept, each with the longest proof.
    fn many_workers(&mut self) {
        self.limit(|limits| limits.max_workers = None);
        for number in 0..bounds::ENDED_WORKERS {
            let verify = "v".repeat(bounds::VERIFY - 10);
            self.make(
                json!({"action": "start_worker", "id": name('w', number), "prompt": "p", "verify": verify}),
            );
            let session = self.begun();
            self.dies(&session, WorkerState::Exited(1));
            self.effects.clear();
        }
    }

    /// As many moves of a worker as can wait for a person.
    fn many_proposals(&mut self) {
        let from = self.hire("proposes", None);
        for number in 0..12 {
            let id = name('p', number);
            self.asks(&id, &from, AskKind::Proposal);
            let ask = self.seen.letters.asks.get_mut(&id).unwrap();
            let body = words(bounds::MOVE / 2);
            ask.proposal = Some(json!({"action": "write_goal", "id": name('g', number), "body": body}));
        }
    }

    /// More questions than are taken in, each as long as a letter may be told.
    fn many_questions(&mut self) {
        for number in 0..bounds::ASKS + 500 {
            let (id, from) = (name('a', number), format!("{}~1", name('w', number / bounds::ASKS_OF_ONE)));
            self.asks(&id, &from, AskKind::Question);
            let ask = self.seen.letters.asks.get_mut(&id).unwrap();
            (ask.prompt, ask.goal) = (words(2 * bounds::PROMPT), Some(name('g', number)));
        }
    }

    /// As many goals and readings as are looked at.
    fn many_files(&mut self) {
        for number in 0..bounds::GOALS {
            self.seen.docs.goals.insert(name('g', number), Doc::of(format!("Goal {number}.\n")));
        }
        for number in 0..bounds::SENSORS {
            self.reading(&name('r', number), json!({"text": words(6 * 500)}));
        }
    }

    /// Every sensor fails in words of its own.
    fn all_fail(&mut self) {
        for number in 0..bounds::SENSORS {
            let detail = FaultDetail {
                message: words(8000),
                stderr: words(8000),
                last_good: None,
                wall: self.now.wall,
            };
            let reading = Reading::of_fault(&Fault::Exit(1), &detail, Trust::Owner);
            self.seen.readings.insert(name('r', number), reading);
        }
    }

    /// Looks until nothing more is wanted, and answers whoever is asked to decide.
    fn look_and_decide(&mut self) {
        self.pass(Duration::from_hours(2));
        self.docs_of_now();
        self.beat();
        for _ in 0..40 {
            let wanted =
                |effect: &Effect| if let Effect::Sense(scope, _) = effect { Some(*scope) } else { None };
            let Some(scope) = self.effects.iter().find_map(wanted) else { break };
            self.effects.clear();
            self.seen.scope = scope;
            self.sense();
        }
        self.seen.scope = Scope::Full;
        if self.engine.ledger().deciding.is_some() {
            self.decided(&json!({"action": "noop", "journal": words(8000)}));
        }
    }
}

#[test]
fn the_largest_world_fits_into_lines_and_a_snapshot() {
    let mut world = World::new(true, &["m"]);
    world.many_workers();
    world.many_proposals();
    world.many_files();
    world.look_and_decide();
    world.many_questions();
    world.all_fail();
    world.look_and_decide();
    let ledger = world.engine.ledger();
    assert_eq!(ledger.workers.len(), bounds::ENDED_WORKERS + 1);
    assert!(ledger.asks.len() > bounds::ASKS * 9 / 10, "{}", ledger.asks.len());
    assert!(ledger.parked_width() > bounds::PARKED / 2, "{}", ledger.parked_width());
    assert_eq!(ledger.failing.len(), bounds::SENSORS);
    assert!(ledger.baseline.len() > bounds::GOALS + bounds::SENSORS, "{}", ledger.baseline.len());
    let snapshot = json_width(ledger);
    let line = world.lines.iter().map(json_width).max().unwrap_or(0);
    // It is a large world indeed, and there is room left for what the bounds allow beyond it.
    assert!(
        snapshot > bounds::SNAPSHOT / 4 && snapshot < bounds::SNAPSHOT / 2,
        "a snapshot of {snapshot} bytes"
    );
    assert!(line > bounds::NEWS && line < bounds::LINE / 2, "a line of {line} bytes");
}
