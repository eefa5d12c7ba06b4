//! The judgment after a storm: the weather clears, the loop comes to rest, stays there, and still hears.

use std::panic::{AssertUnwindSafe, catch_unwind};

use looop_core::builtin;
use looop_core::engine::io::Request;
use looop_core::engine::machine::Engine;
use looop_core::gate::Why;
use looop_core::ledger::entry::Entry;
use looop_core::world::probe::with_probes;

use super::agenda::Happening;
use super::decider::Mind;
use super::gauges::{DEADLINE, Mood};
use super::run::Storm;
use super::tale::Tale;
use super::texts;
use super::weather::Weather;

/// An hour and a day in milliseconds.
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
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
        let span = self.site.dice.between(HOUR / 2, 8 * HOUR);
        self.run_for(span);
        let tidy = self.site.dice.below(3) > 0;
        self.clear(tidy);
        self.come_to_rest(tidy)?;
        self.audit()?;
        self.account_for_goals()?;
        self.account_for_letters()?;
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
    }

    /// The loop comes to rest within hours.
    fn come_to_rest(&mut self, tidy: bool) -> Result<(), String> {
        let mut rested = 0;
        let patience = if tidy { PATIENCE.0 } else { PATIENCE.1 };
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

    /// Whether what holds it back is not going to pass by itself.
    fn is_content(&self) -> bool {
        let Some(ledger) = self.engine().map(Engine::ledger) else { return false };
        // Money that was spent while the clock was ahead counts until that day comes.
        let ahead = ledger.spend.keys().next_back().is_some_and(|day| *day > self.site.clock.now().day());
        ledger.skipped.as_ref().is_some_and(|skip| match &skip.why {
            Why::Unchanged | Why::NothingReady { .. } | Why::Paused { until: None } | Why::BadFile { .. } => {
                true
            }
            Why::Purse { .. } => ahead,
            Why::Stopping
            | Why::Paused { until: Some(_) }
            | Why::Chain { .. }
            | Why::Backoff { .. }
            | Why::DecidesPerHour { .. }
            | Why::Flapping { .. }
            | Why::Busy { .. } => false,
        })
    }

    fn state(&self) -> String {
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

    /// Every goal that could be served was, or there is a reason on record.
    fn account_for_goals(&self) -> Result<(), String> {
        let Some((pulse, (seen, now))) =
            self.pulse.as_ref().and_then(|pulse| Some((pulse, pulse.seen.as_ref()?)))
        else {
            return Err("nothing was ever seen".to_owned());
        };
        let (ledger, limits) = (pulse.engine.ledger(), &self.site.config.setup.limits);
        let Some(skip) = &ledger.skipped else {
            return Err(format!("it rests for no reason: {}", self.state()));
        };
        let readings = with_probes(ledger, seen, now, limits);
        let choice = builtin::choose(ledger, seen, &readings, (now, limits));
        let Some((proposal, why)) = choice.pick.filter(|_| self.site.config.setup.builtin) else {
            return Ok(());
        };
        let goal = proposal.goal.map(|goal| goal.to_string()).unwrap_or_default();
        match &skip.why {
            Why::Paused { .. } | Why::BadFile { .. } => Ok(()),
            Why::NothingReady { reason } if reason.contains(&goal) => Ok(()),
            Why::Stopping
            | Why::Unchanged
            | Why::Chain { .. }
            | Why::Backoff { .. }
            | Why::DecidesPerHour { .. }
            | Why::Purse { .. }
            | Why::Flapping { .. }
            | Why::NothingReady { .. }
            | Why::Busy { .. } => Err(format!("{why}, and it rests because of {:?}", skip.why)),
        }
    }

    /// Every letter is known, and what was answered is settled.
    fn account_for_letters(&self) -> Result<(), String> {
        let (Some(reader), Some(engine)) = (self.site.reader(), self.engine()) else {
            return Err("no profile".to_owned());
        };
        let letters = reader.letters();
        let ledger = engine.ledger();
        if ledger.skipped.as_ref().is_some_and(|skip| matches!(skip.why, Why::BadFile { .. })) {
            // Nothing is done about anything until that file is mended.
            return Ok(());
        }
        for (id, ask) in &letters.asks {
            if !ledger.asks.contains_key(id) {
                return Err(format!("{id} of {} waits and is not known", ask.from));
            }
        }
        for id in ledger.asks.keys() {
            let broken = letters.broken.iter().any(|(file, _)| file.contains(id.as_str()));
            if !letters.asks.contains_key(id) && !broken {
                return Err(format!("{id} is waited for and its letter is gone"));
            }
        }
        match letters.answers.keys().next() {
            Some(id) => Err(format!("the answer to {id} is not settled")),
            None => Ok(()),
        }
    }

    /// What was written after this append.
    fn since(&self, seq: u64) -> Vec<Entry> {
        self.lines().into_iter().filter(|line| line.seq > seq).flat_map(|line| line.entries).collect()
    }

    /// A day goes by: nothing is decided or written where nothing is due, and the loop looks no more often than it has to.
    fn stay_at_rest(&mut self, tidy: bool) -> Result<(), String> {
        let (seq, tale) = (self.engine().map_or(0, |engine| engine.ledger().seq), self.site.tale.clone());
        self.run_for(DAY);
        let more = |what: &str| self.site.tale.counted(what) - tale.counted(what);
        // What is kept of ended workers goes when it is old enough, and a person is told again of what waits for them.
        let told = |entry: &Entry| {
            let kept = matches!(entry, Entry::Pruned { .. } | Entry::Notified { .. });
            !kept && !matches!(entry, Entry::Undelivered { .. } | Entry::Delivered { .. })
        };
        let news = self.since(seq).into_iter().find(told);
        if let Some(entry) = news.filter(|_| tidy) {
            return Err(format!("an idle day wrote {entry:?}"));
        }
        let cadence = &self.site.config.cadence;
        let shortest = cadence.idle.min(cadence.busy).min(cadence.active).as_secs().max(1);
        let (full, quick) = (more("full looks"), more("quick looks"));
        let moves = more("entry finished") + more("entry decide_started");
        if full > 86_400 / shortest + 20 + 2 * moves || quick > 600 + 10 * moves {
            return Err(format!("an idle day had {full} full and {quick} quick looks, {moves} moves"));
        }
        let cap = u64::from(self.site.config.setup.limits.decides_per_hour);
        if cap > 0 && more("entry decide_started") > cap * 25 {
            return Err(format!("an idle day had {} decides", more("entry decide_started")));
        }
        Ok(())
    }

    /// A fresh edit is heard at once, or at the end of the interval if its file event is lost.
    fn hear(&mut self, event: bool) -> Result<(), String> {
        let seq = self.engine().map_or(0, |engine| engine.ledger().seq);
        let text = format!(
            "---\ncheck: ran do fresh {event}\nrun: do fresh {event}\n---\n# Fresh {}\n",
            self.site.clock.t
        );
        self.site.tell(|| format!("person: a fresh goal, event {event}"));
        self.site.disk.put("goals/fresh.md", text.as_bytes());
        let cadence = self.site.config.cadence;
        let wait = if event {
            self.site.after(0, Happening::Settles(0));
            2 * DEADLINE
        } else {
            drop(self.site.disk.touched());
            u64::try_from(cadence.idle.max(cadence.busy).max(cadence.active).as_millis()).unwrap_or(0)
                + 3 * DEADLINE
        };
        self.run_for(wait);
        let ledger = self.engine().ok_or("no pulse")?.ledger();
        let since = self.since(seq);
        let served =
            since.iter().any(|entry| matches!(entry, Entry::DecideStarted { .. } | Entry::Intended { .. }));
        let held = ledger.skipped.as_ref().is_some_and(|skip| match &skip.why {
            Why::Unchanged | Why::Busy { .. } | Why::Stopping | Why::Flapping { .. } => false,
            Why::NothingReady { .. } => !self.site.config.has_paid(),
            Why::Paused { .. }
            | Why::Chain { .. }
            | Why::Backoff { .. }
            | Why::DecidesPerHour { .. }
            | Why::Purse { .. }
            | Why::BadFile { .. } => true,
        });
        let busy = ledger.deciding.is_some() || ledger.acting.is_some();
        if served || held || busy {
            Ok(())
        } else {
            Err(format!("a fresh goal is not heard (event {event}): {} {since:?}", self.state()))
        }
    }
}
