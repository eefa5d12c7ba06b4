//! The judgment after a storm: the weather clears, the loop comes to rest, stays there, and still hears.

use std::panic::{AssertUnwindSafe, catch_unwind};

use looop_core::engine::io::Request;
use looop_core::engine::machine::Engine;
use looop_core::gate::Why;

use super::agenda::Happening;
use super::decider::Mind;
use super::gauges::Mood;
use super::run::Storm;
use super::tale::Tale;
use super::texts;
use super::weather::Weather;

/// An hour in milliseconds.
const HOUR: u64 = 3_600_000;
/// A day in milliseconds.
pub(super) const DAY: u64 = 24 * HOUR;
/// After so many hours without weather the loop has come to rest, where nothing becomes due of itself, and else it has
/// shown that it cannot.
const PATIENCE: (u64, u64) = (60, 8);

/// Runs the storm of a seed and judges it.
pub fn judge(seed: u64, without: &[String], told: bool) -> (Tale, Result<(), String>) {
    let mut storm = Storm::of_seed(seed, without);
    storm.site.tale.lines = told.then(Vec::new);
    // What was told before a panic is told all the same.
    let judged = catch_unwind(AssertUnwindSafe(|| storm.pass_judgment())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    });
    if let Err(error) = &judged {
        storm.site.tell(|| format!("JUDGED: {error}"));
    }
    (storm.site.tale, judged)
}

impl Storm {
    fn pass_judgment(&mut self) -> Result<(), String> {
        let span = self.site.dice.between(HOUR / 2, 5 * HOUR);
        self.run_for(span);
        let tidy = self.site.dice.below(3) > 0;
        self.clear(tidy);
        self.come_to_rest(tidy)?;
        self.account_for_goals()?;
        self.account_for_letters()?;
        self.account_for_workers()?;
        self.stay_at_rest(tidy)?;
        self.hear(true)?;
        self.hear(false)?;
        self.wait_till_still()?;
        self.audit()
    }

    /// The weather clears: nothing fails any more, children end, and the person stops, maybe after tidying up.
    pub fn clear(&mut self, tidy: bool) {
        let site = &mut self.site;
        site.tell(|| format!("the weather clears, tidy: {tidy}"));
        site.weather = Weather::default();
        site.mind = Mind::Idle;
        (site.full, site.errors, site.blind, site.crashes) = (false, 0, false, 0);
        site.disk.arm(None);
        site.set_disk();
        site.clock.skew = 0;
        site.agenda
            .keep(|happening| !matches!(happening, Happening::Turns | Happening::Acts | Happening::Works(_)));
        for gauge in site.gauges.values_mut() {
            gauge.mood = Mood::Good;
        }
        for session in site.yard.living(true).into_iter().chain(site.yard.living(false)) {
            site.after(2_000, Happening::Child(session));
        }
        for folder in ["goals", "sensors", "schedules"] {
            if site.disk.get(folder).is_some() {
                site.disk.erase(folder);
            }
        }
        let by_person = site.dice.coin();
        site.after(5_000, Happening::Starts { by_person });
        if tidy {
            // What was decided in the storm is done by then.
            self.run_for(HOUR);
            self.tidy_up();
        }
    }

    /// The person leaves nothing that becomes due by itself.
    fn tidy_up(&mut self) {
        let site = &mut self.site;
        site.disk.erase("schedules");
        site.disk.put("PLAYBOOK.md", b"# Calm\n");
        for name in site.disk.names("goals") {
            if name != "archive" {
                site.disk.put(&format!("goals/{name}"), texts::quiet_goal(site.clock.t).as_bytes());
            }
        }
        self.ask(Request::Resume);
        if self.site.dice.coin() {
            self.site.settle_money();
        }
    }

    /// The loop comes to rest within hours.
    fn come_to_rest(&mut self, tidy: bool) -> Result<(), String> {
        let mut rested = 0;
        let patience = if tidy { PATIENCE.0 + 24 * self.days_ahead() } else { PATIENCE.1 };
        for _ in 0..patience {
            let before = self.log_bytes();
            self.run_for(HOUR);
            let quiet = self.is_still() && self.log_bytes() == before;
            rested = if quiet { rested + 1 } else { 0 };
            if rested >= 2 && self.is_content() {
                return self.is_at_rest();
            }
        }
        if tidy {
            Err(format!("it does not come to rest in {patience} h: {}", self.state()))
        } else {
            self.wait_till_still()
        }
    }

    /// How many days lie ahead on which money was spent while the clock was wrong: it counts when they come.
    fn days_ahead(&self) -> u64 {
        let today = self.site.clock.now().day();
        let days = self.engine().map(|engine| engine.ledger().spend.range(today..).count());
        days.map_or(0, |days| u64::try_from(days).unwrap_or(u64::MAX))
    }

    /// Where work becomes due again and again, there are at least moments of rest.
    fn wait_till_still(&mut self) -> Result<(), String> {
        for _ in 0..600 {
            if self.is_still() {
                return self.is_at_rest();
            }
            self.run_for(10_000);
        }
        Err(format!("it is never still: {}", self.state()))
    }

    fn is_still(&self) -> bool {
        self.pulse
            .as_ref()
            .is_some_and(|pulse| !pulse.closed && pulse.engine.is_idle() && pulse.events.is_empty())
    }

    /// Whether what holds it back is not going to pass by itself, as a lack of money does on another day.
    fn is_content(&self) -> bool {
        let Some(ledger) = self.engine().map(Engine::ledger) else { return false };
        if self.waits_for_another_day() {
            return false;
        }
        ledger.skipped.as_ref().is_some_and(|skip| match &skip.why {
            Why::Unchanged
            | Why::NothingReady { .. }
            | Why::Paused { until: None }
            | Why::BadFile { .. }
            | Why::Unmetered { .. } => true,
            Why::Purse { .. }
            | Why::Limited { .. }
            | Why::Stopping
            | Why::Paused { until: Some(_) }
            | Why::Chain { .. }
            | Why::Backoff { .. }
            | Why::DecidesPerHour { .. }
            | Why::Flapping { .. }
            | Why::Busy { .. } => false,
        })
    }

    pub(super) fn state(&self) -> String {
        let Some(pulse) = &self.pulse else { return "no pulse".to_owned() };
        let ledger = pulse.engine.ledger();
        format!(
            "closed {:?}, deciding {:?}, acting {:?}, skipped {:?}, alarm {:?}, waiting {:?}",
            pulse.closed, ledger.deciding, ledger.acting, ledger.skipped, pulse.alarm, pulse.waiting
        )
    }

    fn is_at_rest(&self) -> Result<(), String> {
        let pulse = self.pulse.as_ref().ok_or("there is no pulse")?;
        let ledger = pulse.engine.ledger();
        let living = self.site.yard.living(false);
        let nothing = ledger.deciding.is_none() && ledger.acting.is_none() && living.is_empty();
        let answered = pulse.waiting.is_empty();
        if nothing && answered && pulse.alarm.up.is_some() {
            return Ok(());
        }
        Err(format!("it is not at rest: {living:?} live, {}", self.state()))
    }
}
