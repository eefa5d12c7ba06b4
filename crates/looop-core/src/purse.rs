//! The purse: what may be spent before anything that costs is started, and what it settles at.
//!
//! Three amounts are kept apart. *Spent* is what a report accounts for. *Reserved* is what all that runs may still cost.
//! *Unreported* is what was reserved for something that ended without a report: it may have been spent. Before a start,
//! the three together, with what the start itself may cost, must stay within the cap. All sums are whole millionths of a
//! dollar. Nothing here is remembered outside the ledger.

use std::time::Duration;

use crate::gate::{Limits, Why};
use crate::ledger::entry::{AT_LEAST, FREE, RESERVED, Spend};
use crate::ledger::state::{DaySpend, Ledger, WorkerRecord};
use crate::meter::Micros;
use crate::model::money::Allowance;
use crate::time::{Now, span_text};
use crate::world::fleet::worker_of;

pub mod books;

/// Decides in a row without a receipt after which nothing is decided under a cap.
const UNMETERED: u32 = 3;
/// For how long a day that lies ahead counts as today, by the clock that is never set: one was spent on it, and then
/// the calendar went back.
const AHEAD: Duration = Duration::from_hours(24);

/// How long a day lasts at most, with journeys and summer time. What was spent on a day of that name before, because the
/// calendar was ahead then, does not count when the day comes.
pub(crate) const LONGEST: Duration = Duration::from_hours(48);

/// How the purse stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The day that counts.
    pub day: String,
    /// Whether that day lies ahead of the calendar, which went back.
    pub ahead: bool,
    /// Dollars that were spent on it, as reported.
    pub spent: Micros,
    /// Dollars that were reserved for what ended on it without a report.
    pub unreported: Micros,
    /// The runner for which that last happened; empty for a command of a worker's own.
    pub unreported_by: Option<String>,
    /// The model that was used then and has no price, if that is why.
    pub unpriced: Option<String>,
    /// Dollars that are reserved for what runs.
    pub reserved: Micros,
    /// Tokens of the day.
    pub tokens: u64,
    /// Decides of the day.
    pub decides: u64,
}

impl Balance {
    /// What is settled: spent, or reserved and not reported.
    pub fn settled(&self) -> Micros {
        self.spent.saturating_add(self.unreported)
    }

    /// What counts against the cap.
    pub fn counted(&self) -> Micros {
        self.settled().saturating_add(self.reserved)
    }

    /// That another day than that of the calendar counts, where that is so.
    fn day_text(&self) -> String {
        if !self.ahead {
            return String::new();
        }
        format!(" (the clock was set back: {} counts as today, for 24h at most)", self.day)
    }
}

/// How the purse stands now.
pub fn balance(ledger: &Ledger, now: &Now) -> Balance {
    let day = today(ledger, now);
    let is_old = |spent: &&DaySpend| spent.since.as_ref().is_some_and(|since| now.since(since) >= LONGEST);
    let spent = ledger.spend.get(&day).filter(|spent| !is_old(spent)).cloned().unwrap_or_default();
    let ahead = day != now.day();
    let DaySpend { spent, unreported, unreported_by, unpriced, tokens, decides, .. } = spent;
    let (spent, reserved) = (spent.saturating_sub(unreported), open(ledger));
    Balance { day, ahead, spent, unreported, unreported_by, unpriced, reserved, tokens, decides }
}

/// The day that spend counts for. Days do not go back: a clock set back, or a journey west, keeps counting on the
/// latest day, until that has lasted for a day.
pub fn today(ledger: &Ledger, now: &Now) -> String {
    let day = now.day();
    let mut ahead = ledger.spend.range(day.clone()..).rev().filter(|(latest, _)| **latest > day);
    let held = ahead.find(|(_, spent)| spent.since.as_ref().is_none_or(|since| now.since(since) < AHEAD));
    held.map_or(day, |(latest, _)| latest.clone())
}

/// What is set aside for all that runs: the decide, the workers, and the worker that is being started.
pub fn open(ledger: &Ledger) -> Micros {
    open_for(ledger, |_| true).saturating_add(deciding(ledger))
}

/// What is set aside for the decide under way.
fn deciding(ledger: &Ledger) -> Micros {
    let reserved = ledger.deciding.as_ref().map_or(0.0, |deciding| deciding.reserved_usd);
    Micros::from_dollars(reserved).unwrap_or(Micros::new(u64::MAX))
}

/// What is set aside for the workers of these goals.
fn open_for(ledger: &Ledger, counts: impl Fn(Option<&str>) -> bool) -> Micros {
    let workers = ledger.workers.values().filter(|record| counts(record.goal.as_deref())).map(left);
    let acting = ledger.acting.as_ref().filter(|acting| counts(acting.plan.goal.as_deref()));
    let starting = acting.and_then(|acting| acting.plan.act.spends());
    let starting = starting.map(|(_, allowance)| allowance.reserved());
    workers.chain(starting).fold(Micros::ZERO, Micros::saturating_add)
}

/// All that a worker may cost, further allowances included.
pub fn granted(record: &WorkerRecord) -> Micros {
    in_all(record, record.allowance.bound())
}

/// All that is reserved for a worker until it ends, further allowances included.
fn reserved(record: &WorkerRecord) -> Micros {
    in_all(record, record.allowance.reserved())
}

fn in_all(record: &WorkerRecord, amount: Micros) -> Micros {
    let times = u64::from(record.account.grants).saturating_add(1);
    match record.account.up_to.filter(|_| amount > Micros::ZERO) {
        Some(up_to) => up_to,
        None => Micros::new(amount.get().saturating_mul(times)),
    }
}

/// What a worker may use in all with one more allowance: it can go on from what it has used, whatever it was allowed.
pub fn with_one_more(record: &WorkerRecord) -> Micros {
    let used = record.account.used().usd.max(granted(record));
    used.saturating_add(record.allowance.bound())
}

/// What of a worker's reservation is not settled yet.
pub fn left(record: &WorkerRecord) -> Micros {
    if record.account.closed {
        return Micros::ZERO;
    }
    reserved(record).saturating_sub(record.account.charged.usd)
}

/// What was reserved for a worker that has ended and that no report accounts for.
pub fn unreported(record: &WorkerRecord) -> Micros {
    record.account.charged.usd.saturating_sub(record.account.used().usd)
}

/// Whether a worker has used more than it may.
pub fn is_over(record: &WorkerRecord) -> bool {
    let bounded = record.allowance.bound() > Micros::ZERO;
    bounded && record.account.used().usd > granted(record)
}

/// How long the person is not asked again about a worker that passed its allowance: they dismissed the question. Each
/// time it comes later.
pub fn unasked_for(record: &WorkerRecord, now: &Now) -> Duration {
    let Some((at, times)) = &record.account.dismissed else { return Duration::ZERO };
    let hours = 1u64 << (2 * times.saturating_sub(1)).min(5);
    now.left(at, Duration::from_hours(hours.min(24)))
}

/// What is to be said of a worker that is paused because it passed its allowance, if it is.
pub fn paused_text(session: &str, record: &WorkerRecord, now: &Now) -> Option<String> {
    if record.ended.is_some() || !is_over(record) {
        return None;
    }
    let (used, granted) = (record.account.used().usd, granted(record));
    let id = worker_of(session);
    let left = unasked_for(record, now);
    let how = match &record.account.ask {
        Some(ask) if record.account.said.is_none() => {
            format!("looop answer {ask} continue, or looop kill {id}")
        }
        _ if left.is_zero() => format!("you will be asked, or looop kill {id}"),
        _ => format!("you will be asked again in {}, or looop kill {id}", span_text(left)),
    };
    Some(format!("paused: it passed its allowance ({used} of {granted}); {how}"))
}

/// What a decide costs at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fee {
    /// Nothing.
    Free,
    /// What the configuration allows a decide.
    Usual,
    /// What one call of a model may cost.
    Call(Micros),
}

/// Sets money aside for one decide, or says why there is none. What is set aside is never less than it may cost: a call
/// that may cost more than a decide is allowed is not made.
pub fn decide(ledger: &Ledger, limits: &Limits, fee: Fee, now: &Now) -> Result<Micros, Why> {
    let poor = |reason: String| Why::Purse { reason };
    let balance = balance(ledger, now);
    tokens(&balance, limits).map_err(poor)?;
    let (own, text) = match fee {
        Fee::Free => return Ok(Micros::ZERO),
        Fee::Usual => (limits.decide_usd, limits.decide_usd.to_string()),
        Fee::Call(bound) => (bound, format!("up to {}", cents(bound))),
    };
    let most = limits.decide_usd;
    if most > Micros::ZERO && own > most {
        return Err(poor(format!(
            "one call may cost {text}, and max_decide_usd is {most}; raise it, or lower max_tokens of the runner's api"
        )));
    }
    within(&balance, limits, (own, &format!("one more decide may cost {text}"))).map_err(poor)?;
    Ok(own)
}

/// An amount rounded up to cents: what differs from beat to beat by less than that is no news.
fn cents(amount: Micros) -> Micros {
    Micros::new(amount.get().div_ceil(10_000).saturating_mul(10_000))
}

/// Whether a worker can be paid for; else why not. `goal` is the one that it serves, with its budget.
pub fn worker(
    ledger: &Ledger,
    limits: &Limits,
    allowance: Allowance,
    goal: Option<(&str, Option<Micros>)>,
    now: &Now,
) -> Result<(), String> {
    let own = match allowance {
        Allowance::Nothing => return Ok(()),
        Allowance::Free | Allowance::Reported(_) => return tokens(&balance(ledger, now), limits),
        Allowance::Paid(own) => own,
    };
    let balance = balance(ledger, now);
    tokens(&balance, limits)?;
    within(&balance, limits, (own, &format!("one more worker may cost {own}")))?;
    let Some((goal, Some(budget))) = goal else { return Ok(()) };
    over_budget(ledger, own, (goal, budget)).map_or(Ok(()), Err)
}

/// Why the budget of a goal allows no further worker, if it does not.
pub fn over_budget(ledger: &Ledger, own: Micros, (goal, budget): (&str, Micros)) -> Option<String> {
    let record = ledger.goal(goal);
    let open = open_for(ledger, |other| other == Some(goal));
    if fits(record.spent.saturating_add(open), own, budget) {
        return None;
    }
    let spent = record.spent.saturating_sub(record.unreported);
    let rest = besides(record.unreported, open);
    let how = |day: &DaySpend| Some(how_to_report(day.unreported_by.as_deref()?, day.unpriced.as_deref()));
    let by = ledger.spend.values().rev().find_map(how);
    let report = by.filter(|_| record.unreported > Micros::ZERO);
    let report = report.map_or_else(String::new, |how| format!("; {how}"));
    Some(format!(
        "{spent} of the {budget} of goal {goal} is spent{rest}, and one more worker may cost {own}{report}"
    ))
}

/// Whether a further amount fits under a cap. Without a bound of its own a start needs something to be left.
fn fits(used: Micros, own: Micros, cap: Micros) -> bool {
    if own == Micros::ZERO { used < cap } else { used.checked_add(own).is_some_and(|sum| sum <= cap) }
}

fn within(balance: &Balance, limits: &Limits, (own, what): (Micros, &str)) -> Result<(), String> {
    let Some(cap) = limits.daily_usd else { return Ok(()) };
    if fits(balance.counted(), own, cap) {
        return Ok(());
    }
    let (spent, rest) = (balance.spent, besides(balance.unreported, balance.reserved));
    let by = balance.unreported_by.as_deref().filter(|_| balance.unreported > Micros::ZERO);
    let how = |runner| how_to_report(runner, balance.unpriced.as_deref());
    let report = by.map_or_else(String::new, |runner| format!("; {}", how(runner)));
    let day = balance.day_text();
    Err(format!(
        "{spent} of today's {cap} is spent{rest}, and {what} (max_daily_usd sets the cap{report}){day}"
    ))
}

/// What counts against a cap besides what was spent.
fn besides(unreported: Micros, reserved: Micros) -> String {
    let mut text = String::new();
    if unreported > Micros::ZERO {
        text = format!(", {unreported} was reserved and not reported");
    }
    if reserved > Micros::ZERO {
        text = format!("{text}, {reserved} is reserved for what runs");
    }
    text
}

/// What makes that a model has a price: what to write, with amounts as an example, and where.
pub fn how_to_price(model: &str) -> String {
    format!(
        "add [prices.{}] with input = 1.25 and output = 10, or what a million tokens of it cost in dollars, to config.toml",
        toml_key(model)
    )
}

/// The same as lines of that file.
pub fn price_lines(model: &str) -> String {
    format!("[prices.{}]\ninput = 1.25\noutput = 10", toml_key(model))
}

/// A key as TOML writes it.
fn toml_key(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.chars().all(is_bare) {
        return text.to_owned();
    }
    // What JSON escapes, TOML escapes in the same way.
    serde_json::Value::from(text).to_string()
}

/// What makes that no report is missing: the runner that left none, and the model that it used if that has no price.
pub fn how_to_report(runner: &str, unpriced: Option<&str>) -> String {
    if let Some(model) = unpriced {
        return how_to_price(model);
    }
    if runner.is_empty() {
        return "a worker reports what it spends with looop cost record before it ends".to_owned();
    }
    format!(
        "set runners.{runner}.cost (\"free\" if it costs nothing); a worker reports what it spends with looop cost record \
         before it ends"
    )
}

fn tokens(balance: &Balance, limits: &Limits) -> Result<(), String> {
    match limits.daily_tokens.filter(|cap| balance.tokens >= *cap) {
        None => Ok(()),
        Some(cap) => {
            let (used, day) = (balance.tokens, balance.day_text());
            Err(format!("{used} of today's {cap} tokens are used (max_daily_tokens sets the cap){day}"))
        }
    }
}

/// Nothing is decided under a cap after decides that may have cost something and left no receipt, until the
/// configuration changes or a person resumes deciding.
pub fn unmetered(ledger: &Ledger, limits: &Limits) -> Option<Why> {
    let found = ledger.unmetered.as_ref().filter(|found| found.config == Some(limits.config))?;
    let stops = limits.daily_usd.is_some() && found.runs >= UNMETERED;
    let (decider, model) = (found.decider.clone(), found.model.clone());
    stops.then_some(Why::Unmetered { runs: found.runs, decider, model })
}

/// Settles the decide under way: a receipt counts as it is, one that is a lower bound at least as much as was reserved,
/// and without one all that was reserved counts. What the receipt does not account for is marked as unreported.
pub fn settle(ledger: &Ledger, (receipt, unpriced): (Option<&Spend>, Option<&Spend>), now: &Now) -> Spend {
    let day = today(ledger, now);
    let deciding = ledger.deciding.as_ref();
    let free = deciding.is_none_or(|deciding| deciding.free);
    let runner = deciding.map(|deciding| deciding.decider.clone()).unwrap_or_default();
    let reserved = self::deciding(ledger);
    let Some(receipt) = receipt.filter(|receipt| Micros::from_dollars(receipt.usd).is_some()) else {
        let source = if free { FREE } else { RESERVED };
        // Tokens without a price are no receipt, but what is known of them counts, and so do the dollars beyond.
        let known = unpriced.cloned().unwrap_or_default();
        let usd = if free { Micros::ZERO } else { reserved.max(known.micros()) };
        let unreported = (!free).then(|| usd.saturating_sub(known.micros()).dollars());
        let (usd, source) = (usd.dollars(), source.to_owned());
        return Spend { day, usd, source, runner, unreported_usd: unreported, ..known };
    };
    let mut spend = Spend { day, ..receipt.clone() };
    if spend.source.ends_with(AT_LEAST) && spend.micros() < reserved {
        spend.unreported_usd = Some(reserved.saturating_sub(spend.micros()).dollars());
        spend.usd = reserved.dollars();
    }
    if free {
        (spend.usd, spend.unreported_usd) = (0.0, None);
    }
    if spend.runner.is_empty() {
        spend.runner = runner;
    }
    spend
}

#[cfg(test)]
mod tests;
