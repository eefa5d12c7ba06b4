//! What a look says about goals whose recipe was tried: they hold now, have another recipe, or are gone.

use std::collections::BTreeMap;

use crate::admit::recipe;
use crate::builtin::{self, Readiness};
use crate::ledger::entry::Withdrawal;
use crate::ledger::state::{GoalRecord, Ledger};
use crate::model::goal;
use crate::model::letter::Topic;
use crate::time::Now;
use crate::world::observation::{Doc, Docs, Observation};
use crate::world::reading::Reading;

/// What a look saw: the world, and the readings with the probes among them.
type Sight<'a> = (&'a Observation, &'a BTreeMap<String, Reading>);

/// Goals whose recipe was tried, or that were left alone, and that are as they should be now.
pub(super) fn held(ledger: &Ledger, sight: Sight<'_>, now: &Now) -> Vec<String> {
    let tried = ledger.goals.iter().filter(|(_, record)| record.attempts > 0 || record.left.is_some());
    tried.filter(|(id, record)| holds(id, record, sight, now)).map(|(id, _)| id.clone()).collect()
}

/// Goals that wait for a review, or whose workers failed, and that are as they should be now, whoever brought that about.
pub(super) fn hold(ledger: &Ledger, (seen, readings): Sight<'_>, now: &Now) -> Vec<String> {
    let counted = ledger.goals.iter().filter(|(_, record)| record.review.is_some() || record.fruitless > 0);
    let is_so = |id: &str, record: &GoalRecord| {
        let Some(text) = seen.docs.goals.get(id).and_then(Doc::text) else { return false };
        let parsed = goal::parse(text);
        match builtin::readiness(&parsed, record, seen.checks.get(id), readings, now) {
            Readiness::Holds(_) | Readiness::Unmet(_) => true,
            Readiness::NotDue(_) => parsed.check.is_some(),
            Readiness::Ready(_) | Readiness::Unknown(_) | Readiness::CheckError(_) | Readiness::Prose => {
                false
            }
        }
    };
    counted.filter(|(id, record)| is_so(id, record)).map(|(id, _)| id.clone()).collect()
}

fn holds(id: &str, record: &GoalRecord, (seen, readings): Sight<'_>, now: &Now) -> bool {
    let Some(text) = seen.docs.goals.get(id).and_then(Doc::text) else { return false };
    let parsed = goal::parse(text);
    match builtin::readiness(&parsed, record, seen.checks.get(id), readings, now) {
        Readiness::Holds(_) | Readiness::Unmet(_) => true,
        Readiness::NotDue(_) => parsed.check.is_some() || record.done,
        Readiness::Ready(_) | Readiness::Unknown(_) | Readiness::CheckError(_) | Readiness::Prose => false,
    }
}

/// Goals whose recipe was tried, or that were left alone, and that have another recipe now.
pub(super) fn rewritten(ledger: &Ledger, docs: &Docs) -> Vec<String> {
    let counted = |record: &GoalRecord| {
        record.attempts > 0 || record.fruitless > 0 || record.left.is_some() || record.review.is_some()
    };
    let goals = ledger.goals.iter().filter(|(_, record)| counted(record));
    goals.filter(|(id, record)| is_rewritten(ledger, docs, id, record)).map(|(id, _)| id.clone()).collect()
}

/// A goal that cannot be read is not rewritten.
fn is_rewritten(ledger: &Ledger, docs: &Docs, id: &str, record: &GoalRecord) -> bool {
    let now = recipe(ledger, docs, id);
    now.is_some() && record.tried.is_some() && now != record.tried
}

/// The loop's own questions about goals whose answer would change nothing any more.
pub(super) fn void(ledger: &Ledger, sight: Sight<'_>, now: &Now) -> Vec<(String, Withdrawal)> {
    let docs = &sight.0.docs;
    let why = |topic: Topic, id: &str| {
        let record = ledger.goal(id);
        if !docs.goals.contains_key(id) {
            return Some(Withdrawal::Gone);
        }
        match topic {
            Topic::StillFails if is_rewritten(ledger, docs, id, &record) => Some(Withdrawal::Rewritten),
            Topic::StillFails if holds(id, &record, sight, now) => Some(Withdrawal::Holds),
            Topic::StillFails | Topic::Interview | Topic::Allowance => None,
        }
    };
    let asks = ledger.asks.iter();
    asks.filter_map(|(ask, record)| Some((ask.clone(), why(record.topic?, record.goal.as_deref()?)?)))
        .collect()
}
