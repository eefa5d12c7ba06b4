//! What deciders say.

use looop_core::engine::io::Record;
use looop_core::ledger::entry::{AT_LEAST, FailureKind, Spend};
use looop_core::model::plan::RunId;
use serde_json::{Value, json};

use super::site::Site;
use super::texts;

/// When a decide is given up on, in milliseconds.
const DEADLINE: u64 = 1_800_000;

/// How deciders think.
#[derive(Clone, Debug)]
pub enum Mind {
    /// Nothing ever needs doing.
    Idle,
    /// Whatever comes to it.
    Wild,
    /// Every decide fails.
    Failing,
    /// Always this, after so many milliseconds.
    Fixed(Value, u64),
}

/// How long a decide takes.
pub(super) fn span(site: &mut Site) -> u64 {
    match site.mind {
        Mind::Idle | Mind::Failing => 2_000,
        Mind::Fixed(_, ms) => ms,
        Mind::Wild if site.dice.chance(site.weather.deciders / 6) => DEADLINE,
        Mind::Wild => *site.dice.pick(&[500, 8_000, 45_000, 240_000, 900_000]),
    }
}

/// What a decide leaves behind; nothing if it dies before it can.
pub(super) fn record(site: &mut Site, run: RunId) -> Option<Record> {
    let blank = Record::empty(run, site.clock.wall());
    let failed = |kind, text: &str| Some((kind, text.to_owned()));
    let record = match &site.mind {
        Mind::Idle => {
            let passed_over: Vec<String> = texts::Known::of(site).goals;
            Record { decision: Some(json!({"action": "noop", "deferred_goals": passed_over})), ..blank }
        }
        Mind::Fixed(decision, _) => Record { decision: Some(decision.clone()), ..blank },
        Mind::Failing => Record { failure: failed(FailureKind::Runner, "it cannot be run"), ..blank },
        Mind::Wild if site.dice.chance(site.weather.limits) => {
            site.tale.count("limits of a provider");
            let failure = failed(FailureKind::Limited, "usage limit reached");
            Record { failure, until: until(site), ..blank }
        }
        Mind::Wild if site.dice.chance(site.weather.deciders) => {
            site.tale.count("decides that came to nothing");
            match site.dice.below(7) {
                6 => Record { failure: failed(FailureKind::Budget, "it cost too much"), ..blank },
                0 => Record { failure: failed(FailureKind::Runner, "exit 1"), ..blank },
                1 => Record { failure: failed(FailureKind::Timeout, "it passed its deadline"), ..blank },
                2 => blank,
                3 => return None,
                _ => Record { decision: Some(texts::nonsense(&mut site.dice)), ..blank },
            }
        }
        Mind::Wild => {
            let names = texts::Known::of(site);
            Record { decision: Some(texts::decision(&mut site.dice, &names)), ..blank }
        }
    };
    Some(receipt(site, record))
}

/// When a provider says that it takes calls again, if it says so.
fn until(site: &mut Site) -> Option<i64> {
    let span = *site.dice.pick(&[None, Some(-1), Some(60), Some(1_800), Some(20_000), Some(120_000)]);
    span.map(|seconds: i64| site.clock.wall() + seconds * 1_000)
}

/// What a decide says of its cost: all of it, a part, or nothing.
fn receipt(site: &mut Site, record: Record) -> Record {
    let beyond = if site.dice.chance(site.weather.spenders) { 300 } else { 0 };
    let spend = cents(beyond + site.dice.below(50));
    if !site.dice.chance(site.weather.receipts) {
        return Record { spend: Some(spend), ..record };
    }
    match site.dice.below(6) {
        0 => {
            site.tale.count("receipts that are lower bounds");
            let source = format!("{}{AT_LEAST}", spend.source);
            Record { spend: Some(Spend { source, ..spend }), ..record }
        }
        1 => {
            site.tale.count("tokens without a price");
            Record { unpriced: Some(spend), ..record }
        }
        _ => {
            site.tale.count("decides without a receipt");
            record
        }
    }
}

fn cents(count: usize) -> Spend {
    #[expect(clippy::cast_precision_loss, reason = "cents")]
    let usd = count as f64 / 100.0;
    Spend { usd, source: "claude".to_owned(), tokens_in: 10, tokens_out: 10, ..Spend::default() }
}
