//! What was spent, summed up: by day, goal, runner, model or worker.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::ledger::entry::{Entry, Line, Spend};
use crate::meter::Micros;
use crate::world::fleet::worker_of;

/// One spend, with all that it can be summed up by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The local day that it counts for.
    pub day: String,
    /// The goal that it was for.
    pub goal: Option<String>,
    /// The runner.
    pub runner: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The worker; none for a decide.
    pub worker: Option<String>,
    /// Dollars that were spent, as reported.
    pub usd: Micros,
    /// Dollars that were reserved and not reported.
    pub unreported: Micros,
    /// Whether they were not reported because the model has no price.
    pub unpriced: bool,
    /// Tokens read.
    pub tokens_in: u64,
    /// Tokens written.
    pub tokens_out: u64,
    /// Tokens read from a cache.
    pub tokens_cached: u64,
}

/// What spends are summed up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The goal.
    Goal,
    /// The runner.
    Runner,
    /// The model.
    Model,
    /// The worker.
    Worker,
    /// The day.
    Day,
}

impl By {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Runner => "runner",
            Self::Model => "model",
            Self::Worker => "worker",
            Self::Day => "day",
        }
    }

    fn name(self, item: &Item) -> String {
        let (known, none) = match self {
            Self::Goal => (&item.goal, "(no goal)"),
            Self::Runner => (&item.runner, "(unknown)"),
            Self::Model => (&item.model, "(unknown)"),
            Self::Worker => (&item.worker, "(decides)"),
            Self::Day => return item.day.clone(),
        };
        known.clone().unwrap_or_else(|| none.to_owned())
    }
}

/// A sum.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sum {
    /// Of what.
    pub name: String,
    /// Dollars that were spent, as reported.
    pub usd: f64,
    /// Dollars that were reserved and not reported.
    pub unreported_usd: f64,
    /// Tokens read.
    pub tokens_in: u64,
    /// Tokens written.
    pub tokens_out: u64,
    /// Tokens read from a cache.
    pub tokens_cached: u64,
    /// How many spends it is made of.
    pub count: u64,
    #[serde(skip)]
    micros: Micros,
    #[serde(skip)]
    unreported: Micros,
}

impl Sum {
    fn add(&mut self, item: &Item) {
        self.micros = self.micros.saturating_add(item.usd);
        self.usd = self.micros.dollars();
        self.unreported = self.unreported.saturating_add(item.unreported);
        self.unreported_usd = self.unreported.dollars();
        self.tokens_in = self.tokens_in.saturating_add(item.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(item.tokens_out);
        self.tokens_cached = self.tokens_cached.saturating_add(item.tokens_cached);
        self.count += 1;
    }

    /// The dollars that were spent, exact.
    pub fn spent(&self) -> Micros {
        self.micros
    }

    /// The dollars that were reserved and not reported, exact.
    pub fn unreported(&self) -> Micros {
        self.unreported
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_cached).saturating_add(self.tokens_out)
    }
}

/// Sums, and the sum of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of the form.
    pub v: u32,
    /// The first day that counts; nothing where all do.
    pub since: Option<String>,
    /// What the sums are by.
    pub by: By,
    /// The sums: days in their order, else the dearest first.
    pub groups: Vec<Sum>,
    /// The sum of all.
    pub total: Sum,
    /// Dollars that are reserved for what runs now.
    pub reserved_usd: f64,
    /// The models that were used and have no price.
    pub unpriced: Vec<String>,
}

/// Collects the spends of a log, append by append.
#[derive(Debug, Default)]
pub struct Collector {
    /// Who decides, or did last.
    decider: Option<String>,
}

impl Collector {
    /// The spends of one append.
    pub fn items(&mut self, line: &Line) -> Vec<Item> {
        line.entries.iter().filter_map(|entry| self.item(entry)).collect()
    }

    fn item(&mut self, entry: &Entry) -> Option<Item> {
        if let Entry::DecideStarted { decider, .. } = entry {
            // One decide at a time: those before have been settled.
            self.decider = Some(decider.clone());
            return None;
        }
        let (spend, goal, worker) = if let Entry::Decided { proposal, spend, .. } = entry {
            (spend, proposal.goal.as_ref().map(ToString::to_string), None)
        } else if let Entry::Failed { spend, .. } | Entry::Overtaken { spend: Some(spend), .. } = entry {
            (spend, None, None)
        } else if let Entry::Spent { session, goal, spend, .. } = entry {
            (spend, goal.clone(), Some(worker_of(session).to_owned()))
        } else {
            return None;
        };
        let decider = self.decider.clone().filter(|_| worker.is_none());
        let nothing = spend.micros() == Micros::ZERO && spend.tokens() == 0;
        (worker.is_none() || !nothing).then(|| of_spend(spend, goal, worker, decider))
    }
}

fn of_spend(spend: &Spend, goal: Option<String>, worker: Option<String>, decider: Option<String>) -> Item {
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Item {
        day: spend.day.clone(),
        goal,
        runner: known(&spend.runner).or(decider),
        model: known(&spend.model),
        worker,
        usd: spend.reported(),
        unreported: spend.unreported(),
        unpriced: spend.unpriced().is_some(),
        tokens_in: spend.tokens_in,
        tokens_out: spend.tokens_out,
        tokens_cached: spend.tokens_cached,
    }
}

/// Sums up the spends from a day on.
pub fn report(items: &[Item], since: Option<&str>, by: By) -> Report {
    let mut groups: BTreeMap<String, Sum> = BTreeMap::new();
    let mut total = Sum { name: "total".to_owned(), ..Sum::default() };
    let mut unpriced = BTreeSet::new();
    for item in items.iter().filter(|item| since.is_none_or(|since| item.day.as_str() >= since)) {
        unpriced.extend(item.model.clone().filter(|_| item.unpriced));
        let name = by.name(item);
        groups.entry(name.clone()).or_insert_with(|| Sum { name, ..Sum::default() }).add(item);
        total.add(item);
    }
    let mut groups: Vec<Sum> = groups.into_values().collect();
    if by != By::Day {
        groups.sort_by(|one, other| {
            let weight = |sum: &Sum| (sum.micros, sum.unreported, sum.tokens());
            weight(other).cmp(&weight(one)).then(one.name.cmp(&other.name))
        });
    }
    let (since, unpriced) = (since.map(str::to_owned), unpriced.into_iter().collect());
    Report { v: 1, since, by, groups, total, reserved_usd: 0.0, unpriced }
}

/// A bar of so many eighths of a cell.
pub fn bar(part: Micros, whole: Micros, cells: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if whole == Micros::ZERO {
        return String::new();
    }
    let eighths = u128::from(part.get()) * (cells as u128 * 8) / u128::from(whole.get());
    let eighths = usize::try_from(eighths).unwrap_or(0).min(cells * 8);
    // What is there is seen.
    let eighths = if part > Micros::ZERO { eighths.max(1) } else { eighths };
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

#[cfg(test)]
mod tests;
