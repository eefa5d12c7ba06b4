//! Admission of what a person does with the work of a worker, and what the next worker is told of the last one.

use super::Context;
use crate::ledger::state::{Ledger, WorkerRecord};
use crate::model::name::Name;
use crate::model::plan::Author;
use crate::model::work::{Last, Settle, Work};
use crate::world::fleet::WorkerState;

/// The goal that a session serves.
pub(super) fn goal(ledger: &Ledger, session: &str) -> Option<Name> {
    Name::new(ledger.workers.get(session)?.goal.as_deref()?).ok()
}

/// Why the work of a session cannot be settled, if it cannot.
pub(super) fn fault(cx: &Context<'_>, session: &str, how: Settle) -> Option<String> {
    if cx.author != Author::Person {
        return Some("only a person settles the work of a worker".to_owned());
    }
    if let Some(fault) = &cx.docs.fleet.fault {
        return Some(format!("it is not known which workers run: {fault}"));
    }
    let Some(record) = cx.ledger.workers.get(session) else {
        return Some(format!("nothing is known of the work of \"{session}\""));
    };
    if cx.docs.fleet.lives(session) {
        return Some(format!("{session} still runs"));
    }
    if let Some(settled) = record.settled.as_ref().filter(|settled| settled.how != Settle::PullRequest) {
        return Some(format!("the work of {session} was {} already", settled.how.done()));
    }
    if record.repo.is_none() {
        return Some(format!("{session} had no copy of a repository, so it left nothing to {}", how.verb()));
    }
    let nothing = record.work.as_ref().is_some_and(Work::is_nothing);
    (nothing && how != Settle::Discard).then(|| format!("{session} changed nothing"))
}

/// What the next worker of a goal is told of the last one: nothing if that one did what was wanted.
pub(super) fn last(ledger: &Ledger, goal: &str) -> Option<Box<Last>> {
    let of_goal = ledger.workers.iter().filter(|(_, record)| record.goal.as_deref() == Some(goal));
    let (session, record) = of_goal.max_by_key(|(_, record)| (record.at.wall, record.at.up))?;
    let discarded = record.settled.as_ref().filter(|settled| settled.how == Settle::Discard);
    if !is_of_use(record) && discarded.is_none() {
        return None;
    }
    Some(Box::new(Last {
        session: session.clone(),
        ended: record.ended.as_ref().map(WorkerState::text)?,
        branch: record.unsettled().map(|work| work.branch.clone()),
        proof: record.proof.clone(),
        discarded: discarded.map(|settled| settled.because.clone().unwrap_or_default()),
        answers: record.answers.clone(),
    }))
}

/// Whether a worker left something, or failed.
fn is_of_use(record: &WorkerRecord) -> bool {
    let merged = record.settled.as_ref().is_some_and(|settled| settled.how == Settle::Merge);
    !merged && (record.unsettled().is_some() || record.proven != Some(true))
}
