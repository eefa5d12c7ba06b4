//! Keeping the accounts of workers: what letters and their agents' files add, and what their end settles.

use super::{reserved, today};
use crate::ledger::entry::{AT_LEAST, Entry, FREE, NOT_CHARGED, RESERVED, Spend};
use crate::ledger::state::{Account, Ledger, WorkerRecord};
use crate::meter::{Metered, Micros};
use crate::model::letter::Expense;
use crate::model::money::{Allowance, Used};
use crate::model::plan::Plan;
use crate::time::Now;
use crate::world::fleet::Fleet;

/// The source of what a worker recorded itself.
const RECORDED: &str = "recorded";

/// What a letter adds, unless it was counted before.
pub fn letter(ledger: &Ledger, fleet: &Fleet, expense: &Expense, now: &Now) -> Option<Entry> {
    if ledger.expenses.get(&expense.id) == Some(&expense.recorded) {
        return None;
    }
    let said = expense.used();
    let record = ledger.workers.get(&expense.session);
    let mut account = record.map(|record| record.account.clone()).unwrap_or_default();
    let kept = if expense.extra { &mut account.extra } else { &mut account.recorded };
    *kept = kept.plus(said);
    let counts = record.map_or(said, |_| account.used().minus(account.charged));
    let runner =
        expense.runner.clone().or_else(|| runner(ledger, fleet, &expense.session)).unwrap_or_default();
    let model = expense.model.clone().unwrap_or_default();
    let goal = record.map_or_else(|| expense.goal.clone(), |record| record.goal.clone());
    Some(Entry::Spent {
        session: expense.session.clone(),
        goal,
        spend: Spend {
            day: today(ledger, now),
            source: RECORDED.to_owned(),
            model,
            runner,
            ..counts.spend()
        },
        letter: Some((expense.id.clone(), expense.recorded)),
        recorded: account.recorded,
        metered: account.metered,
        extra: account.extra,
        closes: false,
    })
}

/// What a look at its agent's file adds to a worker's account. If it is the last look, the account is closed.
pub fn looked(
    ledger: &Ledger,
    fleet: &Fleet,
    (session, seen, is_last): (&str, Option<&Metered>, bool),
    now: &Now,
) -> Option<Entry> {
    let record = ledger.workers.get(session)?;
    let closes = is_last && is_open(record);
    let metered = seen.map_or(record.account.metered, |seen| {
        let mut said = Used::of(seen.usage());
        // A model that is declared to cost nothing has tokens all the same.
        if record.allowance == Allowance::Free {
            said.usd = Micros::ZERO;
        }
        said.max(record.account.metered)
    });
    let account = Account { metered, ..record.account.clone() };
    // A file that was there and is not seen at the last look may have said more.
    let gone = closes && seen.is_none() && !account.metered.is_nothing();
    let whole = matches!(seen, None | Some(Metered::Exact(_) | Metered::Unanswered(_)));
    let partial = (gone || !whole) && account.recorded.is_nothing();
    let unanswered = matches!(seen, Some(Metered::Unanswered(_))) && account.by_agent().is_nothing();
    let used = account.used();
    let settles = closes && !unanswered;
    let settled = if settles { Used { usd: last(record, &account, partial), ..used } } else { used };
    let counts = settled.minus(account.charged);
    if counts.is_nothing() && !closes {
        return None;
    }
    // What the reports account for is spent; what closing adds to that was reserved and not reported.
    let unreported = settled.usd.saturating_sub(used.usd).min(counts.usd);
    let unreported = (unreported > Micros::ZERO).then(|| unreported.dollars());
    let source = if unanswered && closes {
        NOT_CHARGED.to_owned()
    } else {
        source(record, (account.by_agent(), partial), seen)
    };
    let model = seen.and_then(|seen| seen.usage().model.clone()).unwrap_or_default();
    let runner = runner(ledger, fleet, session).unwrap_or_default();
    Some(Entry::Spent {
        session: session.to_owned(),
        goal: record.goal.clone(),
        spend: Spend {
            day: today(ledger, now),
            source,
            model,
            runner,
            unreported_usd: unreported,
            ..counts.spend()
        },
        letter: None,
        recorded: account.recorded,
        metered,
        extra: account.extra,
        closes,
    })
}

/// Whether something is still to come of a worker's account.
pub fn is_open(record: &WorkerRecord) -> bool {
    !record.account.closed && !record.allowance.is_nothing()
}

/// What an ended worker has cost: what its receipts say. Without any, or with some that are lower bounds, at least what
/// was set aside.
fn last(record: &WorkerRecord, account: &Account, partial: bool) -> Micros {
    let used = account.used().usd;
    if account.by_agent().is_nothing() || partial { used.max(reserved(record)) } else { used }
}

fn source(record: &WorkerRecord, (used, partial): (Used, bool), seen: Option<&Metered>) -> String {
    let known = match seen {
        Some(seen) if !Used::of(seen.usage()).is_nothing() => seen.usage().source.to_string(),
        _ if !record.account.recorded.is_nothing() => RECORDED.to_owned(),
        _ if matches!(record.allowance, Allowance::Free | Allowance::Reported(_)) => FREE.to_owned(),
        _ => RESERVED.to_owned(),
    };
    if partial && !used.is_nothing() { format!("{known}{AT_LEAST}") } else { known }
}

/// What is set aside for a start of which it is not known whether it happened: it settles in full.
pub fn unknown(ledger: &Ledger, plan: &Plan, now: &Now) -> Option<Entry> {
    let (session, allowance) = plan.act.spends()?;
    let reserved = Some(allowance.reserved()).filter(|reserved| *reserved > Micros::ZERO)?;
    let spend = Spend {
        day: today(ledger, now),
        usd: reserved.dollars(),
        source: RESERVED.to_owned(),
        unreported_usd: Some(reserved.dollars()),
        runner: plan.act.runner().unwrap_or_default().to_owned(),
        ..Spend::default()
    };
    let nothing = Used::default();
    Some(Entry::Spent {
        session: session.to_owned(),
        goal: plan.goal.clone(),
        spend,
        letter: None,
        recorded: nothing,
        metered: nothing,
        extra: nothing,
        closes: true,
    })
}

/// The runner of a session, also of one that is no longer kept.
fn runner(ledger: &Ledger, fleet: &Fleet, session: &str) -> Option<String> {
    let known = ledger.workers.get(session).and_then(|record| record.runner.clone());
    known.or_else(|| fleet.workers.get(session)?.runner.clone())
}
