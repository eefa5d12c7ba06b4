//! `looop cost [today|week|all]`, `looop cost record`, and `looop _ cost`.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use looop_core::meter::Micros;
use looop_core::purse::price_lines;
use looop_core::view::cost::{By, Report, Sum, bar};

use super::print;
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::cost::{self, Spent};

/// The longest bar.
const LONGEST: usize = 40;
/// The shortest.
const SHORTEST: usize = 8;

/// What was spent, by day, goal, runner, model or worker
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Cost {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Which days
    #[arg(value_enum, default_value = "week")]
    period: Period,
    /// What the sums are by [default: runner for today, else day]
    #[arg(long, value_enum)]
    by: Option<Grouping>,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Subcommand, Debug)]
enum Verb {
    Record(Record),
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Period {
    Today,
    Week,
    All,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Grouping {
    Goal,
    Runner,
    Model,
    Worker,
    Day,
}

impl Cost {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        if let Some(Verb::Record(verb)) = &self.verb {
            return verb.run(place);
        }
        let period = match self.period {
            Period::Today => cost::Period::Today,
            Period::Week => cost::Period::Week,
            Period::All => cost::Period::All,
        };
        let report = cost::sums(place, period, self.by())?;
        if self.json {
            print::json(&report)?;
        } else if self.csv {
            print::out(&csv(&report));
        } else {
            show(&report);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn by(&self) -> By {
        match (self.by, self.period) {
            (Some(Grouping::Goal), _) => By::Goal,
            (Some(Grouping::Runner), _) | (None, Period::Today) => By::Runner,
            (Some(Grouping::Model), _) => By::Model,
            (Some(Grouping::Worker), _) => By::Worker,
            (Some(Grouping::Day), _) | (None, Period::Week | Period::All) => By::Day,
        }
    }
}

fn show(report: &Report) {
    if report.groups.is_empty() {
        print::say("nothing was spent in that time");
        return reserved(report);
    }
    let counted = |sum: &Sum| sum.spent().saturating_add(sum.unreported());
    let most = report.groups.iter().map(counted).max().unwrap_or_default();
    let name = report.groups.iter().map(|sum| sum.name.chars().count()).max().unwrap_or(0).max(6);
    let cells = usize::from(print::width()).saturating_sub(name + 50).clamp(SHORTEST, LONGEST);
    let row = |sum: &Sum| {
        let length = bar(counted(sum), most, cells);
        vec![
            sum.name.clone(),
            sum.spent().to_string(),
            sum.unreported().to_string(),
            sum.tokens().to_string(),
            sum.count.to_string(),
            length,
        ]
    };
    let mut rows: Vec<Vec<String>> = report.groups.iter().map(row).collect();
    let mut total = row(&report.total);
    total[5] = String::new();
    rows.push(total);
    print::out(&print::table(&[report.by.word(), "spent", "unreported", "tokens", "times", ""], &rows));
    if report.total.unreported() > Micros::ZERO {
        if let [model, ..] = report.unpriced.as_slice() {
            let models = report.unpriced.join(", ");
            print::out(&format!(
                "no price is known for {models}. Add to config.toml, with what a million tokens cost in dollars:\n{}",
                price_lines(model)
            ));
        }
        print::out(
            "unreported: reserved for an agent that did not tell what it spent; it counts against the caps. \
             looop help config describes runners.<name>.cost",
        );
    }
    reserved(report);
}

fn reserved(report: &Report) {
    if report.reserved_usd > 0.0 {
        print::out(&format!("${:.2} is reserved for what runs now", report.reserved_usd));
    }
}

fn csv(report: &Report) -> String {
    let head = format!("{},usd,tokens_in,tokens_out,tokens_cached,count,unreported_usd", report.by.word());
    let row = |sum: &Sum| {
        let (tokens, cached) = (format!("{},{}", sum.tokens_in, sum.tokens_out), sum.tokens_cached);
        let (name, count) = (quoted(&sum.name), sum.count);
        format!("{name},{},{tokens},{cached},{count},{}", sum.usd, sum.unreported_usd)
    };
    std::iter::once(head).chain(report.groups.iter().map(row)).collect::<Vec<_>>().join("\n")
}

/// A cell of a comma-separated file.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Record what a worker has spent since it last did
#[derive(Args, Debug)]
struct Record {
    /// Dollars
    #[arg(long, value_name = "DOLLARS")]
    usd: f64,
    /// Tokens read
    #[arg(long, value_name = "N", default_value_t = 0)]
    tokens_in: u64,
    /// Tokens written
    #[arg(long, value_name = "N", default_value_t = 0)]
    tokens_out: u64,
    /// Tokens read from a cache
    #[arg(long, value_name = "N", default_value_t = 0)]
    tokens_cached: u64,
    /// The model
    #[arg(long)]
    model: Option<String>,
    /// It was spent besides what the worker's agent itself spends, as by a script
    #[arg(long)]
    extra: bool,
    /// Whose spend it is [default: the worker that calls this]
    #[arg(long, value_name = "WORKER")]
    session: Option<String>,
}

impl Record {
    fn run(&self, place: &Place) -> Result<ExitCode> {
        let spent = Spent {
            session: self.session.as_deref(),
            usd: self.usd,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            tokens_cached: self.tokens_cached,
            model: self.model.as_deref(),
            runner: None,
            extra: self.extra,
        };
        say(place, &spent)
    }
}

/// Record what was spent, as older versions called it
#[derive(Args, Debug)]
pub(super) struct OlderCost {
    /// `goal`, `worker` or `tick`
    kind: String,
    /// Which
    id: String,
    /// The runner
    runner: String,
    /// Dollars
    usd: f64,
}

impl OlderCost {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        // Inside a worker it is that worker's, whatever it calls itself.
        let session = (self.kind != "tick" && !cost::is_worker(place)).then_some(self.id.as_str());
        say(place, &Spent { session, usd: self.usd, runner: Some(&self.runner), ..Spent::default() })
    }
}

fn say(place: &Place, spent: &Spent<'_>) -> Result<ExitCode> {
    let expense = cost::record(place, spent)?;
    print::out(&format!("recorded {} for {}", expense.used().usd, expense.session));
    Ok(ExitCode::SUCCESS)
}
