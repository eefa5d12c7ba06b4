//! Typing answers into workers that run and do not block on them.

use std::time::Duration;

use super::letters::is_held;
use super::machine::Engine;
use super::workers::own_plan;
use crate::model::letter::{Answer, Ask};
use crate::model::moves::{Move, one_line};
use crate::model::name::Name;
use crate::model::plan::{Act, Plan};
use crate::time::Now;
use crate::world::fleet::{Worker, WorkerState, worker_of};
use crate::world::observation::Observation;

/// So much of a question is repeated with its answer, in characters.
const QUESTION: usize = 300;
/// So much of an answer is typed, in characters.
const ANSWER: usize = 8000;
/// The wait before the second try; it doubles with each.
const FIRST_GAP: Duration = Duration::from_secs(5);
/// No wait is longer.
const LONGEST_GAP: Duration = Duration::from_mins(5);

impl Engine {
    /// Types an answer into the worker that asked, if it runs and nobody there blocks on the answer: its shell ended the
    /// ask, or went on without it.
    pub(super) fn delivery(&self, seen: &Observation, now: &Now) -> Option<(Plan, String)> {
        let due = seen.letters.answers.iter().find_map(|(id, answer)| {
            let ask = seen.letters.asks.get(id)?;
            let worker = seen.docs.fleet.workers.get(&ask.from)?;
            let open = is_held(&self.ledger, seen, id, ask) && !seen.letters.awaited.contains(id);
            (open && self.may_type(worker, now)).then_some((ask, answer))
        });
        let (ask, answer) = due?;
        let id = Name::new(worker_of(&ask.from)).ok()?;
        let action = Move::SteerSession { id, input: told(ask, answer) };
        let (session, answers) = (ask.from.clone(), Some(ask.id.clone()));
        let act = Act::Typed { session, input: String::new(), answers, wakes: None };
        let why = format!("{} does not block on the answer to {}", ask.from, ask.id);
        Some((Plan { goal: ask.goal.clone(), ..own_plan(action, act, now) }, why))
    }

    /// Whether it may be tried now: after a try that failed the worker must have printed something, since what had the
    /// keyboard then has it still on the same screen.
    fn may_type(&self, worker: &Worker, now: &Now) -> bool {
        if worker.state != WorkerState::Alive {
            return false;
        }
        let record = self.ledger.workers.get(&worker.session);
        // Of one that the log does not know it would not be known either how often it was tried.
        let Some(record) = record else { return false };
        let Some(untyped) = record.untyped else { return true };
        let passed = now.since(&untyped.at);
        let gap = FIRST_GAP.saturating_mul(1 << untyped.tries.saturating_sub(1).min(10)).min(LONGEST_GAP);
        let printed = worker.silent_s.is_none_or(|silent| Duration::from_secs(silent) < passed);
        passed >= gap && printed
    }
}

/// What is typed: one line, in which the question and the answer are quoted.
pub fn told(ask: &Ask, answer: &Answer) -> String {
    let question = one_line(&ask.prompt, QUESTION);
    let text = one_line(&answer.text, ANSWER);
    let cut = if text.ends_with('…') && !answer.text.trim_end().ends_with('…') {
        format!(" (The answer is cut here; the whole is in mail.d/{}.answer.json of the profile.)", ask.id)
    } else {
        String::new()
    };
    format!(
        "The person answered your question {} (\"{question}\"): \"{text}\"{cut} Go on with that, and do not ask it again.",
        ask.id
    )
}
