//! What entries about workers add up to.

use super::memory::noted;
use crate::ledger::entry::Entry;
use crate::ledger::state::{Ledger, Noted, Untyped, Woken, WorkerRecord};
use crate::model::moves::Move;
use crate::model::plan::{Act, Author, Plan};
use crate::model::rights::Rights;
use crate::model::work::{Proof, Settle, Settled, Work};
use crate::purse::is_over;
use crate::time::Stamp;
use crate::world::baseline::{Seen, seen_of_value, worker_item};
use crate::world::fleet::{Stray, WorkerState, generation, worker_of};
use crate::world::probe::{Health, WorkerRow};

/// A session's number is used up as soon as it is intended, whatever comes of it.
pub(super) fn numbered(ledger: &mut Ledger, session: &str) {
    let known = ledger.generations.entry(worker_of(session).to_owned()).or_default();
    *known = (*known).max(generation(session));
    noted(ledger, Noted::Generation, worker_of(session));
}

/// A move that touches workers took effect.
pub(super) fn done(ledger: &mut Ledger, at: &Stamp, plan: &Plan) {
    match &plan.act {
        Act::Worker { session, verify, repo, allowance, runner, .. } => {
            let record = WorkerRecord {
                goal: plan.goal.clone(),
                verify: verify.clone(),
                rights: plan.rights.clone(),
                allowance: *allowance,
                runner: runner.clone(),
                repo: repo.clone(),
                ..WorkerRecord::new(plan.author.clone(), *at)
            };
            started(ledger, session, record);
        }
        Act::Again { from, session, asks, allowance, runner } => {
            let before = ledger.workers.get(from);
            let record = WorkerRecord {
                goal: before.and_then(|record| record.goal.clone()),
                verify: before.and_then(|record| record.verify.clone()),
                rights: before.map_or(Rights::Person, |record| record.rights.clone()),
                after: asks.first().cloned(),
                allowance: *allowance,
                runner: runner.clone(),
                repo: before.and_then(|record| record.repo.clone()),
                ..WorkerRecord::new(plan.author.clone(), *at)
            };
            ended(ledger, at, from, (&WorkerState::Killed, &[]));
            if asks.is_empty() {
                discharge(ledger, from);
            }
            started(ledger, session, record);
            brought(ledger, asks, session);
        }
        Act::Ended { session, also } => {
            for session in std::iter::once(session).chain(also) {
                ended(ledger, at, session, (&WorkerState::Killed, &[]));
                discharge(ledger, session);
                if plan.author != Author::Person {
                    fold_row(ledger, session);
                }
            }
        }
        Act::Typed { session, answers, wakes, .. } => {
            if let Some(record) = ledger.workers.get_mut(session) {
                record.untyped = None;
            }
            woken(ledger, at, session, wakes.as_deref());
            brought(ledger, answers.as_slice(), session);
        }
        Act::Nothing | Act::Hosted { .. } | Act::File { .. } | Act::Archive { .. } => {}
    }
    if let Move::SettleWork { session, how, because } = &plan.action {
        settled(ledger, session, Settled { how: *how, because: because.clone() });
    }
    if let Move::AskHuman { reference: Some(reference), .. } = &plan.action
        && let Some(record) =
            reference.strip_prefix("sessions/").and_then(|name| ledger.workers.get_mut(name))
    {
        // Of one that lives and passed its allowance it is asked whether it may go on.
        let money = plan.author == Author::Builtin && record.ended.is_none() && is_over(record);
        if let (true, Act::File { path, .. }) = (money, &plan.act) {
            let ask = path.trim_start_matches("asks/").trim_end_matches(".json").to_owned();
            (record.account.ask, record.account.said) = (Some(ask), None);
        } else {
            record.mourned = true;
        }
    }
}

fn discharge(ledger: &mut Ledger, session: &str) {
    if let Some(record) = ledger.workers.get_mut(session) {
        record.discharged = true;
    }
}

/// An answer could not be typed into its worker. It is tried again, less often each time.
pub(super) fn not_typed(ledger: &mut Ledger, at: &Stamp, plan: &Plan) {
    if let Act::Typed { session, wakes, .. } = &plan.act {
        woken(ledger, at, session, wakes.as_deref());
    }
    if let Act::Typed { session, answers: Some(_), .. } = &plan.act
        && let Some(record) = ledger.workers.get_mut(session)
    {
        let tries = record.untyped.map_or(0, |untyped| untyped.tries).saturating_add(1);
        record.untyped = Some(Untyped { at: *at, tries });
    }
}

/// A worker was told, or could not be told, that its provider takes calls again: that is tried once.
fn woken(ledger: &mut Ledger, at: &Stamp, session: &str, flag: Option<&str>) {
    if let (Some(flag), Some(record)) = (flag, ledger.workers.get_mut(session)) {
        record.woken = Some(Woken { flag: flag.to_owned(), at: *at });
    }
}

/// These answers were brought to this session, and are not brought again.
fn brought(ledger: &mut Ledger, asks: &[String], session: &str) {
    for ask in asks {
        ledger.redelivered.insert(ask.clone(), session.to_owned());
        noted(ledger, Noted::Redelivered, ask);
    }
}

/// A start of which it is not known whether it happened leaves a session that may be on the disk: it is kept with the
/// others of its worker, so that what is pruned of them does not make it news.
pub(super) fn interrupted(ledger: &mut Ledger, at: &Stamp, plan: &Plan) {
    if let Some((session, allowance)) = plan.act.spends() {
        let record = WorkerRecord {
            goal: plan.goal.clone(),
            ended: Some(WorkerState::Lost),
            allowance,
            ..WorkerRecord::new(plan.author.clone(), *at)
        };
        ledger.workers.insert(session.to_owned(), record);
    }
    not_started(ledger, at, plan, WorkerState::Lost);
}

/// A session that should have been told an answer could not be started, or died at once: that counts as its death, so that a person
/// hears of it and it is not tried for ever.
pub(super) fn not_started(ledger: &mut Ledger, at: &Stamp, plan: &Plan, state: WorkerState) {
    let Act::Again { from, session, asks, .. } = &plan.act else { return };
    if asks.is_empty() {
        return;
    }
    let before = ledger.workers.get(from);
    let record = WorkerRecord {
        goal: before.and_then(|record| record.goal.clone()),
        ended: Some(state),
        after: asks.first().cloned(),
        ..WorkerRecord::new(plan.author.clone(), *at)
    };
    ledger.workers.insert(session.clone(), record);
    brought(ledger, asks, session);
}

/// What our own move started is known to the decider that wanted it: it does not wake.
fn started(ledger: &mut Ledger, session: &str, record: WorkerRecord) {
    let own = record.author != Author::Person;
    ledger.workers.insert(session.to_owned(), record);
    if own {
        fold_row(ledger, session);
    }
}

fn fold_row(ledger: &mut Ledger, session: &str) {
    let Some(record) = ledger.workers.get(session) else { return };
    let state = record.ended.clone().unwrap_or(WorkerState::Alive);
    let row = WorkerRow {
        id: worker_of(session),
        state: &state,
        health: if state.is_alive() { Health::Busy } else { Health::Dead },
        goal: record.goal.as_deref(),
        verify: record.verify_word(),
        note: None,
    };
    let seen: Seen = seen_of_value(&row.value());
    ledger.baseline.insert(worker_item(worker_of(session)), seen);
}

/// A session has ended. It counts against its goal unless its work is proven later.
pub(super) fn ended(
    ledger: &mut Ledger,
    at: &Stamp,
    session: &str,
    (state, strays): (&WorkerState, &[Stray]),
) {
    let Some(record) = ledger.workers.get_mut(session) else { return };
    if record.ended.is_some() {
        return;
    }
    (record.ended, record.strays) = (Some(state.clone()), strays.to_vec());
    if let Some(goal) = record.goal.clone() {
        let goal = ledger.goals.entry(goal).or_default();
        goal.fruitless = goal.fruitless.saturating_add(1);
        goal.failed = Some(*at);
    }
}

/// A session's work was proven, or was not. Where there is nothing to be merged, and the goal's own check still fails, a
/// proof proves nothing.
fn verified(ledger: &mut Ledger, entry: &Entry) {
    let Entry::Verified { session, pass, text, tail, red } = entry else { return };
    let Some(record) = ledger.workers.get_mut(session) else { return };
    record.proven = Some(*pass);
    record.proof = Some(Proof { text: text.clone(), tail: tail.clone() });
    let counts = *pass && !(*red && record.repo.is_none());
    if let (true, Some(goal)) = (counts, record.goal.clone()) {
        succeeded(ledger, &goal);
    }
    review(ledger, session);
}

fn succeeded(ledger: &mut Ledger, goal: &str) {
    let goal = ledger.goals.entry(goal.to_owned()).or_default();
    (goal.fruitless, goal.attempts, goal.failed) = (0, 0, None);
}

/// It is known what an ended session left in its copy, or whether its work is proven.
pub(super) fn learned(ledger: &mut Ledger, entry: &Entry) {
    if let Entry::WorkFound { session, work } = entry {
        work_found(ledger, session, work);
    }
    verified(ledger, entry);
}

fn work_found(ledger: &mut Ledger, session: &str, work: &Work) {
    let Some(record) = ledger.workers.get_mut(session) else { return };
    record.work = Some(work.clone());
    review(ledger, session);
}

/// The goal of a session waits for a person once its work is done.
fn review(ledger: &mut Ledger, session: &str) {
    let Some(record) = ledger.workers.get(session).filter(|record| record.waits_for_review()) else { return };
    if let Some(goal) = record.goal.clone() {
        succeeded(ledger, &goal);
        ledger.goals.entry(goal).or_default().review = Some(session.to_owned());
    }
}

/// A person settled the work of a session.
fn settled(ledger: &mut Ledger, session: &str, settled: Settled) {
    let over = settled.how != Settle::PullRequest;
    let Some(record) = ledger.workers.get_mut(session) else { return };
    record.settled = Some(settled);
    let goal = record.goal.clone().filter(|_| over);
    if let Some(record) = goal.and_then(|goal| ledger.goals.get_mut(&goal)) {
        record.review.take_if(|waits| waits == session);
        (record.fruitless, record.attempts, record.failed) = (0, 0, None);
    }
}

/// Nothing is kept of these sessions any more. That is no change of the world.
pub(super) fn pruned(ledger: &mut Ledger, sessions: &[String]) {
    for session in sessions {
        ledger.workers.remove(session);
        let id = worker_of(session);
        let kept = ledger.workers.keys().filter(|kept| worker_of(kept) == id);
        match kept.max_by_key(|kept| generation(kept)).cloned() {
            None => drop(ledger.baseline.remove(&worker_item(id))),
            // The row is that of an older session from now on.
            Some(older) if generation(&older) < generation(session) => fold_row(ledger, &older),
            Some(_) => {}
        }
    }
}

/// A tell was seen.
pub(super) fn told(ledger: &mut Ledger, tell: &str, when: i64) {
    ledger.tells.insert(tell.to_owned(), when);
    noted(ledger, Noted::Tell, tell);
}

/// A hosted child that never ran is started under another name.
pub(super) fn restarted(ledger: &mut Ledger, session: &str) {
    if let Some(acting) = &mut ledger.acting {
        acting.plan.act.moved(session);
    }
    match ledger.acting.as_ref().map(|acting| &acting.plan.act) {
        Some(Act::Worker { .. } | Act::Again { .. }) => numbered(ledger, session),
        _ => ledger.sessions = ledger.sessions.saturating_add(1),
    }
}
