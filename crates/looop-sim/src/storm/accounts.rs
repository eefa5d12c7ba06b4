//! What a loop at rest must account for: goals, letters, an idle day, a fresh edit.

use std::collections::BTreeMap;

use looop_core::builtin;
use looop_core::engine::machine::Engine;
use looop_core::gate::Why;
use looop_core::ledger::state::Ledger;
use looop_core::model::goal;
use looop_core::purse;
use looop_core::world::probe::with_probes;

use super::agenda::Happening;
use super::gauges::DEADLINE;
use super::judge::DAY;
use super::run::Storm;
use super::yard::Child;

impl Storm {
    /// Every goal that could be served was, or there is a reason on record.
    pub(super) fn account_for_goals(&self) -> Result<(), String> {
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
            // The next full look tells whether it holds now.
            _ if self.is_served(&goal) => Ok(()),
            Why::Stopping
            | Why::Unchanged
            | Why::Chain { .. }
            | Why::Backoff { .. }
            | Why::DecidesPerHour { .. }
            | Why::Purse { .. }
            | Why::Unmetered { .. }
            | Why::Limited { .. }
            | Why::Flapping { .. }
            | Why::NothingReady { .. }
            | Why::Busy { .. } => Err(format!("{why}, and it rests because of {:?}", skip.why)),
        }
    }

    /// Every letter is known, and what was answered is settled.
    pub(super) fn account_for_letters(&self) -> Result<(), String> {
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
            let waits = letters.answers.contains_key(id) && !self.hears(&ask.from);
            if !ledger.asks.contains_key(id) && !waits {
                return Err(format!("{id} of {} waits and is not known", ask.from));
            }
        }
        for id in ledger.asks.keys() {
            let broken = letters.broken.iter().any(|(file, _)| file.contains(id.as_str()));
            if !letters.asks.contains_key(id) && !broken {
                return Err(format!("{id} is waited for and its letter is gone"));
            }
        }
        let mut kept = letters.answers.keys().filter(|id| {
            let from = letters.asks.get(*id).map(|ask| ask.from.as_str());
            from.is_none_or(|from| self.hears(from))
        });
        if let Some(id) = kept.next() {
            return Err(format!("the answer to {id} is not settled"));
        }
        match letters.expenses.keys().next() {
            Some(id) => Err(format!("the expense {id} is not counted")),
            None => Ok(()),
        }
    }

    /// Whether a goal was served after the last full look began.
    fn is_served(&self, goal: &str) -> bool {
        let now = self.site.clock.now();
        let Some(pulse) = &self.pulse else { return false };
        let served = pulse.engine.ledger().goals.get(goal).and_then(|record| record.served);
        served.zip(pulse.full).is_some_and(|(served, full)| now.since(&served) <= now.since(&full))
    }

    /// Whether an answer reaches a session. One that is stopped fetches none, and one that did not live to see it is
    /// begun anew if there is money.
    fn hears(&self, session: &str) -> bool {
        if self.site.yard.children.get(session).is_some_and(Child::is_frozen) {
            return false;
        }
        self.engine().is_some_and(|engine| self.pays(engine.ledger(), engine.ledger(), session))
    }

    /// Whether an answer waits for money that there is going to be on another day.
    pub(super) fn waits_for_another_day(&self) -> bool {
        let (Some(reader), Some(engine)) = (self.site.reader(), self.engine()) else { return false };
        let ledger = engine.ledger();
        let another = Ledger { spend: BTreeMap::new(), ..ledger.clone() };
        let letters = reader.letters();
        let mut answered = letters.asks.iter().filter(|(id, _)| letters.answers.contains_key(*id));
        // Which budget of its goal counts is known to the loop; where either leaves enough, it may go on then.
        answered.any(|(_, ask)| {
            !self.pays(ledger, ledger, &ask.from) && self.pay(&another, ledger, &ask.from).contains(&true)
        })
    }

    /// Whether what was spent so far leaves enough to begin a session anew, within the cap and its goal's budget, as the
    /// last look saw it.
    fn pays(&self, spent: &Ledger, ledger: &Ledger, session: &str) -> bool {
        !self.pay(spent, ledger, session).contains(&false)
    }

    /// The same by the budget in the goal's file, and by the one that a person gave it before a decider rewrote it.
    fn pay(&self, spent: &Ledger, ledger: &Ledger, session: &str) -> [bool; 2] {
        let Some((_, now)) = self.pulse.as_ref().and_then(|pulse| pulse.seen.as_ref()) else {
            return [false; 2];
        };
        let limits = &self.site.config.setup.limits;
        let record = ledger.workers.get(session);
        let allowance = record.map(|record| record.allowance).unwrap_or_default();
        let goal = record.and_then(|record| record.goal.as_deref()).unwrap_or_default();
        let text = self.site.disk.get(&format!("goals/{goal}.md")).unwrap_or_default();
        let budgets = [
            goal::parse(&String::from_utf8_lossy(&text)).budget_usd,
            ledger.goals.get(goal).and_then(|record| record.budget),
        ];
        budgets.map(|budget| purse::worker(spent, limits, allowance, Some((goal, budget)), now).is_ok())
    }

    /// Every worker that is stopped has passed its allowance, and a person is asked about it.
    pub(super) fn account_for_workers(&self) -> Result<(), String> {
        let Some(ledger) = self.engine().map(Engine::ledger) else { return Err("no pulse".to_owned()) };
        if ledger.skipped.as_ref().is_some_and(|skip| matches!(skip.why, Why::BadFile { .. })) {
            return Ok(());
        }
        for (session, child) in &self.site.yard.children {
            let Some(record) = ledger.workers.get(session).filter(|_| child.lives()) else { continue };
            let over = purse::is_over(record);
            let asked = record.account.ask.as_ref().is_some_and(|ask| ledger.asks.contains_key(ask));
            if child.is_frozen() != over || over && !asked {
                return Err(format!("{session} is paused: {}, and {record:?}", child.is_frozen()));
            }
        }
        Ok(())
    }

    /// A day goes by: nothing is decided or written where nothing is due, and the loop looks no more often than it has to.
    pub(super) fn stay_at_rest(&mut self, tidy: bool) -> Result<(), String> {
        let tale = self.site.tale.clone();
        self.run_for(DAY);
        let more = |what: &str| self.site.tale.counted(what) - tale.counted(what);
        // What is kept of ended workers goes when it is old enough, and a person is told again of what waits for them.
        let expected = ["entry pruned", "entry notified", "entry undelivered", "entry delivered"];
        let news = more("entries") - expected.iter().map(|kind| more(kind)).sum::<u64>();
        if tidy && news > 0 {
            let lines = self.lines();
            let last = &lines[lines.len().saturating_sub(usize::try_from(news).unwrap_or(0))..];
            return Err(format!("an idle day wrote {last:?}"));
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
    pub(super) fn hear(&mut self, event: bool) -> Result<(), String> {
        let done =
            |storm: &Self| storm.site.tale.counted("entry decide_started") + storm.site.tale.counted("moves");
        let before = done(self);
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
        let served = done(self) > before;
        let held = ledger.skipped.as_ref().is_some_and(|skip| match &skip.why {
            Why::Unchanged | Why::Busy { .. } | Why::Stopping | Why::Flapping { .. } => false,
            Why::NothingReady { .. } => !self.site.config.has_paid(),
            Why::Paused { .. }
            | Why::Chain { .. }
            | Why::Backoff { .. }
            | Why::DecidesPerHour { .. }
            | Why::Purse { .. }
            | Why::Unmetered { .. }
            | Why::Limited { .. }
            | Why::BadFile { .. } => true,
        });
        let busy = ledger.deciding.is_some() || ledger.acting.is_some();
        if served || held || busy {
            Ok(())
        } else {
            Err(format!("a fresh goal is not heard (event {event}): {}", self.state()))
        }
    }
}
