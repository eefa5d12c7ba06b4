//! What deciders say.

use looop_core::engine::io::Record;
use looop_core::ledger::entry::{FailureKind, Spend};
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
    let blank = Record {
        v: 1,
        run,
        decision: None,
        source: None,
        failure: None,
        spend: None,
        ended: site.clock.wall(),
    };
    let failed = |kind, text: &str| Some((kind, text.to_owned()));
    let record = match &site.mind {
        Mind::Idle => {
            let passed_over: Vec<String> = texts::Known::of(site).goals;
            Record { decision: Some(json!({"action": "noop", "deferred_goals": passed_over})), ..blank }
        }
        Mind::Fixed(decision, _) => Record { decision: Some(decision.clone()), ..blank },
        Mind::Failing => Record { failure: failed(FailureKind::Runner, "it cannot be run"), ..blank },
        Mind::Wild if site.dice.chance(site.weather.deciders) => {
            site.tale.count("decides that came to nothing");
            match site.dice.below(6) {
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
    Some(Record { spend: spend(site), ..record })
}

/// A receipt, where there is one. It never says more than was set aside.
fn spend(site: &mut Site) -> Option<Spend> {
    if site.dice.below(3) == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "cents")]
    let usd = site.dice.below(80) as f64 / 100.0;
    Some(Spend {
        day: String::new(),
        usd,
        source: "claude".to_owned(),
        tokens_in: 10,
        tokens_out: 10,
        tokens_cached: 0,
    })
}
