//! Notices: what needs a person now, and when they are told of it again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::gate::Why;
use crate::ledger::state::{AskRecord, Ledger, WorkerRecord};
use crate::model::letter::AskKind;
use crate::model::moves::one_line;
use crate::time::Now;
use crate::world::fleet::worker_of;

/// Failures in a row that a person should know of.
const FAILURES: u32 = 3;
/// What a notice says of a question, in characters.
const SAID: usize = 400;
/// The key of money that is used up.
pub(crate) const PURSE: &str = "purse";
/// The key of repeated failures.
const FAILING: &str = "failures";
/// What the key of an ask begins with.
const ASK: &str = "ask:";
/// What the key of a sensor begins with that fails.
const SENSOR: &str = "sensor:";
/// What the key of a worker begins with whose work waits for a review.
const REVIEW: &str = "review:";
/// What the key of a goal begins with whose budget stops its workers.
const BUDGET: &str = "budget:";

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A question.
    Question,
    /// A worker wants the person at its terminal.
    Flag,
    /// A move that waits for a person's consent.
    Proposal,
    /// The money is used up.
    Purse,
    /// Deciding fails again and again.
    Failures,
    /// A sensor fails.
    Sensor,
    /// The work of a worker is done.
    Review,
    /// More of these than are told one by one.
    More,
}

impl NoticeKind {
    /// The word for it in events and for the channels.
    pub fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Flag => "flag",
            Self::Proposal => "proposal",
            Self::Purse => PURSE,
            Self::Failures => FAILING,
            Self::Sensor => "sensor",
            Self::Review => "review",
            Self::More => "more",
        }
    }
}

/// Something that only a person can settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub kind: NoticeKind,
    /// The ask, where it is one.
    pub id: String,
    /// What the person is told, with what they can do.
    pub message: String,
}

/// One notice, to be sent over every channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The need that it tells of.
    pub key: String,
    /// What that is.
    pub kind: NoticeKind,
    /// The ask, where it is one.
    pub id: String,
    /// What the person is told.
    pub message: String,
}

/// Everything that waits for a person, by a key that stays the same while it waits.
pub fn needs(ledger: &Ledger) -> BTreeMap<String, Need> {
    let asks = ledger.asks.iter().map(|(id, ask)| (format!("{ASK}{id}"), of_ask(id, ask)));
    let money = purse(ledger).into_iter().chain(budgets(ledger));
    asks.chain(money).chain(failures(ledger)).chain(sensors(ledger)).chain(reviews(ledger)).collect()
}

fn of_ask(id: &str, ask: &AskRecord) -> Need {
    let who = if ask.from == "pulse" { "looop" } else { worker_of(&ask.from) };
    let said = one_line(&ask.prompt, SAID);
    let (kind, message) = match ask.kind {
        AskKind::Question => (NoticeKind::Question, format!("{who} asks: {said} (looop answer {id} '…')")),
        AskKind::Flag => {
            (NoticeKind::Flag, format!("{who} wants you at its terminal: {said} (looop attach {who})"))
        }
        AskKind::Proposal => (NoticeKind::Proposal, format!("{who} proposes: {said} (looop asks)")),
    };
    Need { kind, id: id.to_owned(), message }
}

fn purse(ledger: &Ledger) -> Option<(String, Need)> {
    let message = match &ledger.skipped.as_ref()?.why {
        Why::Purse { reason } => format!("the budget stops deciding: {reason}"),
        Why::Unmetered { runs, .. } => {
            format!("{runs} decides in a row reported no cost, and deciding stops (looop why)")
        }
        Why::Stopping
        | Why::Paused { .. }
        | Why::Unchanged
        | Why::Chain { .. }
        | Why::Backoff { .. }
        | Why::DecidesPerHour { .. }
        | Why::Limited { .. }
        | Why::Flapping { .. }
        | Why::NothingReady { .. }
        | Why::BadFile { .. }
        | Why::Busy { .. } => return None,
    };
    Some((PURSE.to_owned(), Need { kind: NoticeKind::Purse, id: String::new(), message }))
}

fn budgets(ledger: &Ledger) -> impl Iterator<Item = (String, Need)> {
    ledger.goals.iter().filter_map(|(id, record)| {
        let message =
            format!("the budget stops goal {id}: {} (budget_usd in goals/{id}.md)", record.broke.as_ref()?);
        Some((format!("{BUDGET}{id}"), Need { kind: NoticeKind::Purse, id: String::new(), message }))
    })
}

/// Work that is done and waits.
fn reviews(ledger: &Ledger) -> impl Iterator<Item = (String, Need)> {
    let waiting = ledger.workers.iter().filter(|(_, record)| record.waits_for_review());
    waiting.map(|(session, record)| {
        let id = worker_of(session);
        let goal = record.goal.as_ref().map(|goal| format!("goal {goal}, "));
        let branch = record.work.as_ref().map_or("", |work| work.branch.as_str());
        let message =
            format!("{id} is done ({}branch {branch}): looop review {id}", goal.unwrap_or_default());
        (format!("{REVIEW}{session}"), Need { kind: NoticeKind::Review, id: String::new(), message })
    })
}

fn failures(ledger: &Ledger) -> Option<(String, Need)> {
    let failures = ledger.failures.as_ref().filter(|failures| failures.count >= FAILURES)?;
    let last = one_line(&failures.reason, SAID);
    let message = format!("deciding failed {} times in a row; last: {last} (looop why)", failures.count);
    Some((FAILING.to_owned(), Need { kind: NoticeKind::Failures, id: String::new(), message }))
}

/// The key of a sensor that fails.
pub(crate) fn sensor_key(name: &str) -> String {
    format!("{SENSOR}{name}")
}

fn sensors(ledger: &Ledger) -> impl Iterator<Item = (String, Need)> {
    let failing = ledger.failing.iter().filter(|(_, record)| record.works.is_none());
    failing.map(|(name, record)| {
        let message = format!("sensor {name} fails: {} (looop sensor run {name})", record.reason);
        (sensor_key(name), Need { kind: NoticeKind::Sensor, id: String::new(), message })
    })
}

/// Whether what a key stands for can still be pending. Money that is used up counts as pending until the next decide,
/// also while nothing is to be decided: a world that comes and goes must not tell of it anew each time.
pub(crate) fn is_open(ledger: &Ledger, key: &str) -> bool {
    match key.strip_prefix(ASK) {
        Some(id) => ledger.asks.contains_key(id),
        None if key.starts_with(BUDGET) => {
            let goal = key.strip_prefix(BUDGET).and_then(|id| ledger.goals.get(id));
            goal.is_some_and(|record| record.broke.is_some())
        }
        None if key.starts_with(REVIEW) => {
            let record = key.strip_prefix(REVIEW).and_then(|session| ledger.workers.get(session));
            record.is_some_and(WorkerRecord::waits_for_review)
        }
        // A sensor that works again is remembered for a while: what comes and goes is not told of anew each time.
        None if key.starts_with(SENSOR) => {
            key.strip_prefix(SENSOR).is_some_and(|name| ledger.failing.contains_key(name))
        }
        None if key == FAILING => ledger.failures.as_ref().is_some_and(|failures| failures.count >= FAILURES),
        None => key == PURSE,
    }
}

/// How long after the n-th notice of one need the next is sent.
pub fn gap(count: u32) -> Duration {
    match count {
        0 => Duration::ZERO,
        1 => Duration::from_mins(15),
        2 => Duration::from_hours(1),
        3 => Duration::from_hours(4),
        4 => Duration::from_hours(16),
        _ => Duration::from_hours(24),
    }
}

/// What is to be told now. The loop's own troubles come first, then asks in the order in which they were found.
pub fn due(ledger: &Ledger, now: &Now) -> Vec<(String, Need)> {
    let mut due: Vec<(String, Need)> =
        needs(ledger).into_iter().filter(|(key, _)| left(ledger, key, now).is_zero()).collect();
    due.sort_by_key(|(_, need)| ledger.asks.get(&need.id).map(|ask| (ask.asked, need.id.clone())));
    due
}

/// How long until something is told again by itself, if something waits.
pub fn next(ledger: &Ledger, now: &Now) -> Option<Duration> {
    needs(ledger).keys().map(|key| left(ledger, key, now)).min()
}

fn left(ledger: &Ledger, key: &str, now: &Now) -> Duration {
    match ledger.notices.get(key) {
        None => Duration::ZERO,
        // A budget is the person's own word, and work keeps: both are told once.
        Some(_) if key.starts_with(BUDGET) || key.starts_with(REVIEW) => Duration::MAX,
        Some(told) => now.left(&told.last, gap(told.count)),
    }
}

#[cfg(test)]
mod tests;
