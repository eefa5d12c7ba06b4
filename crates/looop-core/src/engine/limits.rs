//! Workers that wait for their provider, and are told to go on when it takes calls again.

use std::time::Duration;

use super::machine::Engine;
use super::wake::Ring;
use super::workers::own_plan;
use crate::agents;
use crate::ledger::entry::Cause;
use crate::ledger::state::Ledger;
use crate::model::letter::{Ask, AskKind, Limit};
use crate::model::moves::Move;
use crate::model::name::Name;
use crate::model::plan::{Act, Plan};
use crate::time::Now;
use crate::world::fleet::{WorkerState, worker_of};
use crate::world::observation::Observation;

/// Agents state the minute in which a limit ends: it is over after that minute.
const MINUTE: i64 = 60_000;
/// A worker is not told to go on more often than this. Its provider may say the same again.
const GAP: Duration = Duration::from_mins(5);

/// When the next worker is to be told to go on, as the last look saw it, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiters(Option<i64>);

impl Waiters {
    pub(super) fn of(ledger: &Ledger, seen: &Observation, now: &Now) -> Self {
        Self(waiters(ledger, seen, now).map(|(_, limit)| limit.until.saturating_add(MINUTE)).min())
    }

    /// The time to wake for it, if that lies ahead.
    pub(super) fn next(self, now: &Now) -> Option<Ring<i64>> {
        let at = self.0.filter(|at| *at > now.wall)?;
        let why = "the provider of a worker takes calls again".to_owned();
        Some(Ring { at, cause: Cause::Timer, why })
    }
}

/// The flags of workers that run, wait for their provider, and were not told to go on yet.
fn waiters<'s>(
    ledger: &'s Ledger,
    seen: &'s Observation,
    now: &'s Now,
) -> impl Iterator<Item = (&'s Ask, &'s Limit)> {
    let waits = move |ask: &&Ask| {
        let runs = seen.docs.fleet.workers.get(&ask.from).is_some_and(|one| one.state == WorkerState::Alive);
        let open = ask.kind == AskKind::Flag && !seen.letters.answers.contains_key(&ask.id);
        // Of one that the log does not know it would not be known either that it was told.
        let record = ledger.workers.get(&ask.from);
        let told = |flag: &str| {
            let woken = record.and_then(|record| record.woken.as_ref());
            woken.is_some_and(|woken| woken.flag == flag || now.since(&woken.at) < GAP)
        };
        runs && open && record.is_some() && !told(&ask.id)
    };
    seen.letters.asks.values().filter(waits).filter_map(|ask| Some((ask, ask.limit.as_ref()?)))
}

impl Engine {
    /// Tells a worker to go on once the limit of its provider is over, in the words that its agent is known to take. What
    /// is typed is typed only where its composer is seen to be empty.
    pub(super) fn waking(&self, seen: &Observation, now: &Now) -> Option<(Plan, String)> {
        let due = |limit: &Limit| limit.until.saturating_add(MINUTE) <= now.wall;
        let (ask, input) = waiters(&self.ledger, seen, now)
            .filter(|(_, limit)| due(limit))
            .find_map(|(ask, limit)| Some((ask, agents::go_on(&limit.program)?)))?;
        let id = Name::new(worker_of(&ask.from)).ok()?;
        let action = Move::SteerSession { id, input: input.to_owned() };
        let (session, wakes) = (ask.from.clone(), Some(ask.id.clone()));
        let act = Act::Typed { session, input: String::new(), answers: None, wakes };
        let why = format!("the limit that {} waited for is over", ask.from);
        Some((Plan { goal: ask.goal.clone(), ..own_plan(action, act, now) }, why))
    }
}
