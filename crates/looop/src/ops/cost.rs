//! What was spent: recording it, and summing it up.

use looop_core::meter::Micros;
use looop_core::model::letter::Expense;
use looop_core::purse;
use looop_core::time::{Now, local};
use looop_core::view::cost::{By, Collector, Item, Report, report};
use looop_store::mail::ExpenseError;
use serde::Deserialize;

use super::worker_letters::{own_goal, own_session, whoever};
use super::{Place, history};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::pulse::open::log_failure;

/// What older versions kept.
const OLDER: &str = "cost.jsonl";

/// Which days count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    Today,
    Week,
    All,
}

/// What a worker has spent since it last said so.
#[derive(Debug, Default)]
pub(crate) struct Spent<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) usd: f64,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
    pub(crate) tokens_cached: u64,
    pub(crate) model: Option<&'a str>,
    pub(crate) runner: Option<&'a str>,
    /// Whether it was spent besides what the session's agent itself spends.
    pub(crate) extra: bool,
}

/// Records what was spent. It is counted by whoever holds the profile.
pub(crate) fn record(place: &Place, spent: &Spent<'_>) -> Result<Expense> {
    let reader = place.reader()?;
    let session = whoever(place, &reader, spent.session, "looop cost record --usd 0.12 --session <worker>")?;
    let expense = Expense {
        v: 1,
        id: String::new(),
        goal: own_goal(place, &session),
        session,
        usd: spent.usd,
        tokens_in: spent.tokens_in,
        tokens_out: spent.tokens_out,
        tokens_cached: spent.tokens_cached,
        model: spent.model.map(str::to_owned),
        runner: spent.runner.map(str::to_owned),
        extra: spent.extra,
        recorded: clock::now().wall,
    };
    reader.post_expense(expense).map_err(|error| match error {
        ExpenseError::NotASession(_) | ExpenseError::NoAmount(_) => Failure::usage(error.to_string()),
        ExpenseError::TooMany => Failure::new(error.to_string()).hint("looop beat counts what waits"),
        ExpenseError::Busy(_) => Failure::new(error.to_string()),
        ExpenseError::Write(error) => Failure::new(error.text()),
    })
}

/// Sums up what the log and the files of older versions say.
pub(crate) fn sums(place: &Place, period: Period, by: By) -> Result<Report> {
    let now = clock::now();
    let mut items = older(place, &now)?;
    let mut collector = Collector::default();
    history::lines(place, 0, &mut |line| items.extend(collector.items(line)))?;
    let ledger = place.reader()?.ledger().map_err(|error| log_failure(&error))?;
    let today = purse::today(&ledger, &now);
    let since = match period {
        Period::Today => Some(today),
        Period::Week => Some(week_before(&today, &now)),
        Period::All => None,
    };
    let reserved_usd = purse::open(&ledger).dollars();
    Ok(Report { reserved_usd, ..report(&items, since.as_deref(), by) })
}

/// The first of seven days, of which this is the last.
fn week_before(today: &str, now: &Now) -> String {
    let day: Option<jiff::civil::Date> = today.parse().ok();
    let first = day.unwrap_or_else(|| now.local().date()).saturating_sub(jiff::Span::new().days(6));
    first.to_string()
}

/// A line of an older version.
#[derive(Deserialize)]
struct Older {
    cost_usd: f64,
    #[serde(default)]
    id: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    runner: String,
    ts: String,
}

/// What older versions recorded. A line that makes no sense is passed over: they wrote some halfway.
fn older(place: &Place, now: &Now) -> Result<Vec<Item>> {
    let bytes = place.reader()?.read(OLDER).known(OLDER).map_err(Failure::new)?.unwrap_or_default();
    let lines =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Older>(line).ok());
    let item = |line: Older| {
        let at: jiff::Timestamp = line.ts.parse().ok()?;
        let day = local(at.as_millisecond(), &now.zone).strftime("%Y-%m-%d").to_string();
        let named = Some(line.id).filter(|id| !id.is_empty() && line.kind != "tick");
        let goal = named.clone().filter(|_| line.kind == "goal");
        Some(Item {
            day,
            goal,
            runner: Some(line.runner).filter(|runner| !runner.is_empty()),
            model: None,
            worker: named,
            usd: Micros::from_dollars(line.cost_usd)?,
            unreported: Micros::ZERO,
            unpriced: false,
            tokens_in: 0,
            tokens_out: 0,
            tokens_cached: 0,
        })
    };
    Ok(lines.filter_map(item).collect())
}

/// Whether a worker calls.
pub(crate) fn is_worker(place: &Place) -> bool {
    own_session(place).is_some()
}
