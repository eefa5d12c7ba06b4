//! Workers' money: what they spent is taken in, and one that passed its allowance is stopped until a person has said
//! what shall become of it.

use std::collections::BTreeMap;

use super::beat::Scene;
use super::io::Effect;
use super::machine::Engine;
use super::workers::own_plan;
use crate::admit::workers::{budget, over_budget};
use crate::ledger::entry::Entry;
use crate::ledger::state::WorkerRecord;
use crate::model::goal;
use crate::model::letter::Topic;
use crate::model::money::Allowance;
use crate::model::moves::Move;
use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::model::plan::{Act, Plan};
use crate::purse::{self, books};
use crate::time::Now;
use crate::world::fleet::{Fleet, WorkerState, worker_of};
use crate::world::observation::{Doc, Docs, Observation};

/// The answers that a person is offered.
const CONTINUE: &str = "continue";
const KILL: &str = "kill";

impl Engine {
    /// Takes in what letters and the files of agents say, and closes the accounts of workers that have ended. After a
    /// full look, or of a worker that has ended, what was not seen is not there.
    pub(super) fn fold_spend(&mut self, seen: &Observation, wet: bool, now: &Now) {
        let fleet = &seen.docs.fleet;
        // A worker that is being started has no account yet; its letters wait for that.
        let starting = self.ledger.acting.as_ref().and_then(|acting| acting.plan.act.spends());
        let starting = starting.map(|(session, _)| session.to_owned());
        let known = |session: &String| starting.as_ref() != Some(session);
        for expense in seen.letters.expenses.values().filter(|expense| known(&expense.session)) {
            let entry = books::letter(&self.ledger, fleet, expense, now);
            if let Some(entry) = entry {
                self.note(entry, wet, now);
            }
            if wet {
                self.push(Effect::Counted(expense.id.clone()));
            }
        }
        let open = self.ledger.workers.iter().filter_map(|(session, record)| {
            let is_last = record.ended.is_some() && books::is_open(record) && !fleet.lives(session);
            (is_last || seen.spends.contains_key(session)).then(|| (session.clone(), is_last))
        });
        for (session, is_last) in open.collect::<Vec<_>>() {
            let look = (session.as_str(), seen.spends.get(&session), is_last);
            let entry = books::looked(&self.ledger, fleet, look, now);
            if let Some(entry) = entry {
                self.note(entry, wet, now);
            }
        }
    }

    /// The goals whose budget stops their workers, if these are others than before. One that was found to be so is so
    /// until its budget allows a worker again, whether or not it wants one: the person is told once.
    pub(super) fn broke(&self, scene: &Scene<'_>) -> Option<BTreeMap<String, String>> {
        let known = |id: &str| self.ledger.goals.get(id).and_then(|record| record.broke.clone());
        let goals = scene.seen.docs.goals.keys();
        let broke: BTreeMap<String, String> = goals
            .filter_map(|id| {
                let reason = over_budget(&self.ledger, &scene.seen.docs, &self.setup.limits, id)?;
                let text = known(id).or_else(|| wants_worker(scene, id).then_some(reason))?;
                Some((id.clone(), text))
            })
            .collect();
        let before = self.ledger.goals.iter().filter(|(_, record)| record.broke.is_some());
        let same = before.map(|(id, _)| id).eq(broke.keys());
        (!same).then_some(broke)
    }

    /// What is removed is not looked at again: its account is closed as far as it is known.
    pub(super) fn close_accounts(&mut self, sessions: &[String], now: &Now) {
        for session in sessions {
            let entry = books::looked(&self.ledger, &Fleet::default(), (session, None, true), now);
            if let Some(entry) = entry {
                self.log(entry, now);
            }
        }
    }

    /// A start of which it is not known whether it happened has cost what was set aside for it.
    pub(super) fn settle_start(&mut self, plan: &Plan, outcome: &Outcome, now: &Now) {
        let Outcome::Interrupted { .. } = outcome else { return };
        let entry = books::unknown(&self.ledger, plan, now);
        if let Some(entry) = entry {
            self.log(entry, now);
        }
    }

    /// Stops workers that passed their allowance, lets those go on that may, and takes questions back that are void.
    pub(super) fn restrain(&mut self, seen: &Observation, now: &Now) {
        self.grant(&seen.docs, now);
        let mut void = Vec::new();
        let mut effects = Vec::new();
        for (session, record) in &self.ledger.workers {
            let state = seen.docs.fleet.workers.get(session).map(|worker| &worker.state);
            match (state, purse::is_over(record)) {
                (Some(WorkerState::Alive), true) if record.ended.is_none() => {
                    effects.push(Effect::Freeze(session.clone()));
                }
                (Some(WorkerState::Paused), false) => effects.push(Effect::Thaw(session.clone())),
                _ => {}
            }
            let gone = record.ended.is_some();
            void.extend(record.account.ask.clone().filter(|ask| gone && self.ledger.asks.contains_key(ask)));
        }
        self.out.effects.extend(effects);
        for ask in void {
            self.log(Entry::Dismissed { ask: ask.clone() }, now);
            self.push(Effect::Settle(ask));
        }
    }

    /// Gives further allowances where a person said so and there is money.
    fn grant(&mut self, docs: &Docs, now: &Now) {
        let granted = self.ledger.workers.iter().filter(|(_, record)| {
            let said = record.account.said.as_deref().and_then(consent);
            record.ended.is_none() && said == Some(true) && self.affords(record, docs, now).is_ok()
        });
        let granted: Vec<_> = granted
            .map(|(session, record)| {
                let up_to = Some(purse::with_one_more(record));
                (session.clone(), record.account.grants.saturating_add(1), up_to)
            })
            .take(1)
            .collect();
        for (session, grants, up_to) in granted {
            self.log(Entry::Granted { session, grants, up_to }, now);
            self.grant(docs, now);
        }
    }

    /// Whether there is money for a further allowance of a worker.
    fn affords(&self, record: &WorkerRecord, docs: &Docs, now: &Now) -> Result<(), String> {
        let goal = record.goal.as_deref().map(|goal| (goal, budget(&self.ledger, docs, goal)));
        // One that nothing is reserved for has spent all the same.
        let further = match record.allowance {
            Allowance::Reported(bound) => Allowance::Paid(bound),
            same @ (Allowance::Nothing | Allowance::Free | Allowance::Paid(_)) => same,
        };
        purse::worker(&self.ledger, &self.setup.limits, further, goal, now)
    }

    /// What is to be done about a worker that passed its allowance: to ask, or to end it.
    pub(super) fn overspender(&self, docs: &Docs, now: &Now) -> Option<(Plan, String)> {
        let over = |(_, record): &(&String, &WorkerRecord)| {
            record.ended.is_none() && purse::is_over(record) && purse::unasked_for(record, now).is_zero()
        };
        self.ledger.workers.iter().filter(over).find_map(|(session, record)| {
            let said = record.account.said.as_deref();
            match (&record.account.ask, said, said.and_then(consent)) {
                (Some(_), None, _) => None,
                (_, _, Some(false)) => execution(session, now),
                (_, _, None | Some(true)) => Some(self.question(session, record, docs, now)),
            }
        })
    }

    fn question(&self, session: &str, record: &WorkerRecord, docs: &Docs, now: &Now) -> (Plan, String) {
        let (used, granted) = (record.account.used().usd, purse::granted(record));
        let why = format!("{session} has spent {used} of its {granted}");
        let more = record.allowance.bound();
        let cannot = match (record.account.said.as_deref().and_then(consent), self.affords(record, docs, now))
        {
            (Some(true), Err(reason)) => format!(" You said {CONTINUE}, but {reason}: raise the cap first."),
            _ => String::new(),
        };
        let question = Move::AskHuman {
            prompt: format!("{why} and is paused.{cannot} Continue with {more} more, or kill it?"),
            options: vec![CONTINUE.to_owned(), KILL.to_owned()],
            reference: Some(format!("sessions/{session}")),
        };
        let topic = Some(Topic::Allowance);
        let plan = Plan { topic, ..own_plan(question, Act::Nothing, now) };
        (crate::admit::asking(&self.ledger, plan), why)
    }
}

/// Whether a goal has no worker and wants one, as far as that can be told.
fn wants_worker(scene: &Scene<'_>, id: &str) -> bool {
    let docs = &scene.seen.docs;
    let mut live = docs.fleet.workers.values().filter(|worker| worker.state.is_alive());
    if live.any(|worker| worker.goal.as_deref() == Some(id)) {
        return false;
    }
    let parsed = docs.goals.get(id).and_then(Doc::text).map(goal::parse).unwrap_or_default();
    let is_prose = parsed.check.is_none() && parsed.every.is_none() && parsed.when.is_none();
    parsed.run.is_none() && (is_prose || scene.ready.iter().any(|ready| ready == id))
}

fn execution(session: &str, now: &Now) -> Option<(Plan, String)> {
    let id = Name::new(worker_of(session)).ok()?;
    let why = format!("{session} passed its allowance, and you said {KILL}");
    let action = Move::KillWorker { id, also: Vec::new(), reason: Some(why.clone()), force: true };
    let act = Act::Ended { session: session.to_owned(), also: Vec::new() };
    Some((own_plan(action, act, now), why))
}

/// What a person meant: to let it go on, or to end it.
fn consent(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        CONTINUE | "c" | "go on" | "yes" | "y" => Some(true),
        KILL | "k" | "stop" | "no" | "n" => Some(false),
        _ => None,
    }
}
