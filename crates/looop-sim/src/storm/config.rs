//! How a simulated loop is configured.

use std::time::Duration;

use looop_core::engine::machine::{PaidDecider, Setup};
use looop_core::engine::wake::Cadence;
use looop_core::gate::Limits;
use looop_core::meter::Micros;
use looop_core::model::digest::Digest;

use crate::disk_dice::Dice;

/// A configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Counts the edits.
    pub version: u64,
    /// What the engine is set up with.
    pub setup: Setup,
    /// How long it rests.
    pub cadence: Cadence,
}

impl Config {
    /// A loop with these deciders that looks every so many seconds.
    pub fn new(builtin: bool, paid: usize, seconds: u64) -> Self {
        let names = ["alpha", "beta", "gamma"];
        let paid = names.iter().take(paid).map(|name| PaidDecider {
            name: (*name).to_owned(),
            free: false,
            tool: false,
            bound: None,
        });
        let limits = Limits {
            can_notify: true,
            config: Digest::of(b"config 0"),
            worker_runners: vec!["claude".to_owned()],
            session_ttl: Duration::from_hours(2),
            ..Limits::default()
        };
        let span = Duration::from_secs(seconds);
        let cadence = Cadence { idle: span, busy: span, active: span };
        Self { version: 0, setup: Setup { limits, builtin, paid: paid.collect() }, cadence }
    }

    /// A configuration that somebody may have.
    pub fn roll(dice: &mut Dice) -> Self {
        let (builtin, paid) =
            *dice.pick(&[(true, 0), (false, 1), (true, 1), (true, 1), (true, 2), (false, 2)]);
        let seconds = *dice.pick(&[600, 900, 1800, 1800, 3600, 3600, 7200]);
        let mut config = Self::new(builtin, paid, seconds);
        if dice.coin() {
            config.cadence.busy = Duration::from_secs(*dice.pick(&[120, 600, 900]));
        }
        if dice.coin() {
            config.cadence.active = Duration::from_secs(*dice.pick(&[300, 600, 1800]));
        }
        let limits = &mut config.setup.limits;
        limits.decide_usd = Micros::new(*dice.pick(&[1_000_000, 1_000_000, 500_000, 0]));
        limits.worker_usd = Micros::new(*dice.pick(&[2_000_000, 2_000_000, 500_000, 0]));
        limits.daily_tokens = *dice.pick(&[None, None, None, Some(300)]);
        if dice.below(6) == 0 {
            limits.free_runners = limits.worker_runners.clone();
        }
        limits.decides_per_hour = *dice.pick(&[0, 3, 12, 120]);
        limits.daily_usd = cap(dice);
        limits.max_workers = *dice.pick(&[Some(1), Some(2), Some(8), None]);
        limits.noop_ttl = Duration::from_hours(*dice.pick(&[1, 6]));
        limits.fairness_wait = Duration::from_hours(*dice.pick(&[1, 6, 24]));
        limits.can_notify = dice.coin();
        for decider in &mut config.setup.paid {
            decider.free = dice.below(8) == 0;
        }
        config
    }

    /// A person's edit of it.
    pub fn edit(&mut self, dice: &mut Dice) {
        self.version += 1;
        self.setup.limits.config = Digest::of(format!("config {}", self.version).as_bytes());
        if dice.coin() {
            self.cadence.idle = Duration::from_secs(*dice.pick(&[600, 1800, 3600]));
        }
        if dice.below(3) == 0 {
            self.setup.limits.daily_usd = cap(dice);
        }
    }

    /// Whether a model decides.
    pub fn has_paid(&self) -> bool {
        !self.setup.paid.is_empty()
    }
}

/// A cap on the dollars of a day, or none. The smallest covers one decide, and not every worker.
fn cap(dice: &mut Dice) -> Option<Micros> {
    dice.pick(&[None, None, Some(1_000_000), Some(3_000_000), Some(20_000_000)]).map(Micros::new)
}
