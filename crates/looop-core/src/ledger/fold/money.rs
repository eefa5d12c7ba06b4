//! What was spent, and what that means for what comes.

use std::collections::BTreeMap;

use super::memory::noted;
use crate::ledger::entry::{Entry, FREE, FailureKind, NOT_CHARGED, RESERVED, Spend};
use crate::ledger::state::{DaySpend, Ledger, Limited, Noted, Unmetered};
use crate::meter::Micros;
use crate::model::digest::Digest;
use crate::purse::LONGEST;
use crate::time::Stamp;

/// Days of spend kept.
pub(super) const DAYS: usize = 40;

/// The machine was started anew with an earlier calendar: from here on its clock tells for how long a day ahead counts.
pub(super) fn anchor(ledger: &mut Ledger, at: &Stamp) {
    for day in ledger.spend.values_mut().rev() {
        match &mut day.since {
            Some(since) if since.wall > at.wall => {
                if since.boot != at.boot {
                    *since = *at;
                }
            }
            Some(_) | None => return,
        }
    }
}

/// The budgets of other goals than before stop their workers.
pub(super) fn saw_broke(ledger: &mut Ledger, broke: &BTreeMap<String, String>) {
    ledger.goals.values_mut().for_each(|record| record.broke = None);
    for (id, text) in broke {
        ledger.goals.entry(id.clone()).or_default().broke = Some(text.clone());
    }
}

/// A decide is settled: nothing is set aside for it any more.
pub(super) fn settle(ledger: &mut Ledger, at: &Stamp, spend: &Spend, goal: Option<&str>) {
    add(ledger, at, spend, goal);
    let day = ledger.spend.entry(spend.day.clone()).or_default();
    day.decides = day.decides.saturating_add(1);
    let deciding = ledger.deciding.as_mut().map(|deciding| {
        deciding.reserved_usd = 0.0;
        ledger.limited.remove(&deciding.decider);
        (deciding.config, deciding.decider.clone())
    });
    let (config, decider) = deciding.unwrap_or_default();
    metered(ledger, spend, config, decider);
}

fn metered(ledger: &mut Ledger, spend: &Spend, config: Option<Digest>, decider: String) {
    match spend.source.as_str() {
        // What cost nothing says nothing about whether costs are known.
        FREE | NOT_CHARGED => {}
        RESERVED => {
            let same = ledger.unmetered.as_ref().filter(|found| found.config == config);
            let runs = same.map_or(0, |found| found.runs).saturating_add(1);
            let model = spend.unpriced().map(str::to_owned);
            ledger.unmetered = Some(Unmetered { runs, config, decider, model });
        }
        _ => ledger.unmetered = None,
    }
}

fn add(ledger: &mut Ledger, at: &Stamp, spend: &Spend, goal: Option<&str>) {
    let day = ledger.spend.entry(spend.day.clone()).or_default();
    if day.since.is_some_and(|since| at.since(&since) >= LONGEST) {
        // The calendar was ahead when a day of this name had its first spend.
        *day = DaySpend::default();
    }
    day.since.get_or_insert(*at);
    day.spent = day.spent.saturating_add(spend.micros());
    day.tokens = day.tokens.saturating_add(spend.tokens());
    let unreported = spend.unreported();
    if unreported > Micros::ZERO {
        day.unreported = day.unreported.saturating_add(unreported);
        day.unreported_by = Some(spend.runner.clone());
        day.unpriced = spend.unpriced().map(str::to_owned);
    }
    while ledger.spend.len() > DAYS {
        ledger.spend.pop_first();
    }
    if let Some(goal) = goal {
        let record = ledger.goals.entry(goal.to_owned()).or_default();
        record.spent = record.spent.saturating_add(spend.micros());
        record.unreported = record.unreported.saturating_add(unreported);
    }
}

/// A worker spent something, or its account is closed.
pub(super) fn spent(ledger: &mut Ledger, at: &Stamp, entry: &Entry) {
    let Entry::Spent { session, goal, spend, letter, recorded, metered, extra, closes } = entry else {
        return;
    };
    add(ledger, at, spend, goal.as_deref());
    if let Some(record) = ledger.workers.get_mut(session) {
        let account = &mut record.account;
        (account.recorded, account.metered, account.extra) = (*recorded, *metered, *extra);
        let used = crate::model::money::Used {
            usd: spend.micros(),
            tokens_in: spend.tokens_in,
            tokens_out: spend.tokens_out,
            tokens_cached: spend.tokens_cached,
        };
        account.charged = account.charged.plus(used);
        account.closed |= closes;
    }
    if let Some((letter, written)) = letter {
        ledger.expenses.insert(letter.clone(), *written);
        noted(ledger, Noted::Expense, letter);
    }
}

/// A worker may go on.
pub(super) fn granted(ledger: &mut Ledger, session: &str, (grants, up_to): (u32, Option<Micros>)) {
    if let Some(record) = ledger.workers.get_mut(session) {
        (record.account.grants, record.account.up_to) = (grants, up_to);
        (record.account.ask, record.account.said, record.account.dismissed) = (None, None, None);
    }
}

/// A person does not want to be asked now whether a worker may go on.
pub(super) fn dismissed(ledger: &mut Ledger, at: &Stamp, ask: &str) {
    let asked = ledger.workers.values_mut().find(|record| record.account.ask.as_deref() == Some(ask));
    let Some(account) = asked.map(|record| &mut record.account) else { return };
    let times = account.dismissed.map_or(0, |(_, times)| times).saturating_add(1);
    (account.ask, account.dismissed) = (None, Some((*at, times)));
}

/// An answer to whether a worker may go on; says whether it was one.
pub(super) fn answered(ledger: &mut Ledger, ask: &str, text: &str) -> bool {
    let asked = ledger.workers.values_mut().find(|record| record.account.ask.as_deref() == Some(ask));
    asked.map(|record| record.account.said = Some(text.to_owned())).is_some()
}

/// The provider of a decider takes no calls for a while; says whether that is what a failure means.
pub(super) fn limited(ledger: &mut Ledger, at: &Stamp, (kind, until): (FailureKind, Option<i64>)) -> bool {
    let (FailureKind::Limited, Some(until), Some(deciding)) = (kind, until, &ledger.deciding) else {
        return false;
    };
    let limited = Limited { at: *at, until, config: deciding.config };
    let decider = deciding.decider.clone();
    ledger.limited.retain(|_, known| known.until > at.wall);
    ledger.limited.insert(decider, limited);
    true
}
