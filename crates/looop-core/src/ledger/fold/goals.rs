//! What is known of goals: how often their recipe was tried, and what came of it.

use crate::ledger::state::{GoalRecord, Ledger};
use crate::model::letter::Topic;
use crate::model::moves::{Move, one_line};
use crate::model::outcome::Outcome;
use crate::model::plan::{Author, Plan};
use crate::time::Stamp;

/// The answer that has a goal's recipe tried again.
pub(crate) const AGAIN: &str = "again";
/// The answer that leaves a goal alone until its recipe changes.
pub(crate) const LEAVE: &str = "leave";

/// A move for a goal ended. A question about the goal is no attempt, and says nothing of how the last one ended.
pub(super) fn served(ledger: &mut Ledger, at: &Stamp, plan: &Plan, outcome: &Outcome) {
    let Some(goal) = plan.goal.as_ref().filter(|_| !matches!(plan.action, Move::SettleWork { .. })) else {
        return;
    };
    if matches!(plan.action, Move::ArchiveGoal { .. }) {
        ledger.goals.remove(goal);
        return;
    }
    let record: &mut GoalRecord = ledger.goals.entry(goal.clone()).or_default();
    record.served = Some(*at);
    if plan.recipe.is_some() && record.tried.is_some_and(|tried| Some(tried) != plan.recipe) {
        anew(record);
    }
    record.tried = plan.recipe.or(record.tried);
    if matches!(plan.action, Move::AskHuman { .. }) {
        return;
    }
    record.attempts = record.attempts.saturating_add(u32::from(plan.author == Author::Builtin));
    record.done = outcome.is_done();
    record.last = Some(match outcome {
        Outcome::Done { .. } => "done".to_owned(),
        Outcome::Failed { reason, .. } => one_line(reason, 200),
        Outcome::Interrupted { reason } => format!("interrupted: {}", one_line(reason, 200)),
    });
}

/// Goals whose recipe was tried hold now.
pub(super) fn held(ledger: &mut Ledger, goals: &[String]) {
    for id in goals {
        let record = ledger.goals.entry(id.clone()).or_default();
        (record.attempts, record.left) = (0, None);
    }
}

/// Goals have another recipe than the one that was tried.
pub(super) fn rewritten(ledger: &mut Ledger, goals: &[String]) {
    for id in goals {
        if let Some(record) = ledger.goals.get_mut(id) {
            anew(record);
        }
    }
}

/// Goals that wait for a review, or whose workers failed, are as they should be.
pub(super) fn hold(ledger: &mut Ledger, goals: &[String]) {
    for id in goals {
        if let Some(record) = ledger.goals.get_mut(id) {
            (record.review, record.fruitless, record.failed) = (None, 0, None);
        }
    }
}

fn anew(record: &mut GoalRecord) {
    (record.attempts, record.fruitless) = (0, 0);
    (record.review, record.failed) = (None, None);
    (record.tried, record.left) = (None, None);
}

/// A person answered the question about a goal that still fails, or dropped it; says whether that was the question.
/// Whatever is not "again" leaves the goal alone.
pub(super) fn answered(ledger: &mut Ledger, ask: &str, text: &str) -> bool {
    let Some(record) = ledger.asks.get(ask).filter(|record| record.topic == Some(Topic::StillFails)) else {
        return false;
    };
    let goal = record.goal.clone().and_then(|id| ledger.goals.get_mut(&id));
    if let Some(goal) = goal.filter(|_| text.trim() != AGAIN) {
        goal.left = goal.tried;
    }
    matches!(text.trim(), AGAIN | LEAVE | "")
}
