//! Storms about money: decides and workers are charged while everything goes wrong, and what the log has for each of
//! them is never less.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use looop_core::engine::io::Request;
use looop_core::engine::machine::PaidDecider;
use looop_core::meter::{CallBound, Micros, Prices};

use super::agenda::Happening;
use super::bank::Bank;
use super::config::Config;
use super::decider::Mind;
use super::run::Storm;
use super::tale::Tale;
use super::weather::Weather;
use crate::disk_dice::Dice;

const HOUR: u64 = 3_600_000;
const CENT: u64 = 10_000;
/// Rounds of an hour after which nothing runs any more.
const PATIENCE: usize = 30;

/// Runs the storm of a seed and judges it.
pub fn judge(seed: u64, told: bool) -> (Tale, Result<(), String>) {
    let mut storm = Storm::about_money(seed);
    storm.site.tale.lines = told.then(Vec::new);
    let judged = catch_unwind(AssertUnwindSafe(|| storm.settle_accounts())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    });
    if let Err(error) = &judged {
        storm.site.tell(|| format!("JUDGED: {error}"));
    }
    (storm.site.tale, judged)
}

/// A configuration in which money is short.
fn config(dice: &mut Dice) -> Config {
    let mut config = Config::roll(dice);
    config.cadence.idle = Duration::from_secs(*dice.pick(&[300, 600, 1200]));
    let limits = &mut config.setup.limits;
    limits.decides_per_hour = 0;
    // What is free here would be charged by the bank all the same.
    limits.free_runners.clear();
    limits.daily_tokens = None;
    limits.daily_usd = Some(Micros::new(CENT * dice.between(150, 1500)));
    limits.decide_usd = Micros::new(CENT * *dice.pick(&[0, 50, 100]));
    limits.worker_usd = Micros::new(CENT * dice.between(50, 200));
    limits.session_ttl = Duration::from_hours(*dice.pick(&[2, 72]));
    let bound = CallBound::new(&Prices::shipped(), "claude-opus-5-5", 4_000, 4_096);
    let bound = bound.filter(|_| dice.coin());
    config.setup.paid = vec![PaidDecider { name: "alpha".to_owned(), free: false, tool: true, bound }];
    config
}

/// Hazards that take no receipt with them.
fn gentle(weather: &Weather) -> Weather {
    Weather { power: 0, reboots: 0, hosts: 0, deciders: 0, errors: 0, full: 0, downs: 0, ..weather.clone() }
}

impl Storm {
    fn about_money(seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x006d_6f6e_6579);
        let config = config(&mut dice);
        let mut storm = Self::calm(dice.throw(), config);
        let site = &mut storm.site;
        let careless = dice.coin();
        let weather = Weather::roll(&mut dice, &["fleet".to_owned(), "files".to_owned()]);
        site.weather = if careless { weather } else { gentle(&weather) };
        site.bank = Some(Bank::new(careless));
        site.mind = Mind::Wild;
        // Midnight comes at any time of the storm.
        site.clock.skew = i64::try_from(dice.between(0, 24 * HOUR)).unwrap_or(0);
        site.disk.put("PLAYBOOK.md", b"# PLAYBOOK\n");
        site.after(0, Happening::Starts { by_person: dice.coin() });
        site.after(1_000, Happening::Turns);
        site.after(500, Happening::Acts);
        storm
    }

    fn settle_accounts(&mut self) -> Result<(), String> {
        let span = self.site.dice.between(HOUR, 5 * HOUR);
        self.run_for(span);
        self.clear(false);
        self.ask(Request::Resume);
        for _ in 0..PATIENCE {
            self.run_for(HOUR);
            if self.is_settled() {
                return self.compare().and_then(|()| self.audit());
            }
        }
        let books = self.site.bank.as_ref().map(|bank| &bank.books);
        Err(format!("something is set aside for ever: {books:?} {}", self.state()))
    }

    /// Whether nothing that costs runs any more, and all of it is settled.
    fn is_settled(&self) -> bool {
        let Some(ledger) = self.engine().map(looop_core::engine::machine::Engine::ledger) else {
            return false;
        };
        let still = ledger.deciding.is_none() && ledger.acting.is_none();
        let open = self.site.bank.as_ref().map_or(Micros::ZERO, |bank| bank.books.open());
        let workers = ledger.workers.values().any(|record| record.ended.is_none());
        still && open == Micros::ZERO && !workers
    }

    /// Where every receipt came, the log knows what was charged, to the millionth.
    fn compare(&mut self) -> Result<(), String> {
        let Some(bank) = &self.site.bank else { return Ok(()) };
        let (known, charged, exact) = (bank.books.settled, bank.charged(), bank.exact);
        if bank.books.days.len() > 1 {
            self.site.tale.count("storms over midnight");
        }
        self.site.tale.count(if exact { "exact ends" } else { "ends without a receipt" });
        if exact && known != charged {
            return Err(format!("the log knows {known} of {charged}: {:?}", self.site.bank));
        }
        Ok(())
    }
}
