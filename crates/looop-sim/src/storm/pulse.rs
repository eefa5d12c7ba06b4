//! The lock holder of a storm: drives the engine as the binary does.

use std::collections::{BTreeMap, VecDeque};

use looop_core::engine::io::{Effect, Event};
use looop_core::engine::machine::Engine;
use looop_core::engine::wake::Alarm;
use looop_core::gate::Limits;
use looop_core::ledger::entry::{Cause, Entry, Line};
use looop_core::model::plan::{BeatId, Plan};
use looop_core::time::{Now, Stamp};
use looop_core::world::observation::Observation;
use looop_store::docs::DocsCache;
use looop_store::{AppendError, Log, Writer};

use super::agenda::Happening;
use super::gauges::Known;
use super::site::Site;

/// First wait for a log that cannot be written, and the longest, in milliseconds.
const RETRIES: (u64, u64) = (1_000, 60_000);
/// Steps that one message may lead to.
const MOST_STEPS: usize = 500;

/// Why a lock holder stops in the middle of a step.
#[derive(Debug)]
pub(super) enum Halt {
    /// The log cannot be written.
    Log(AppendError),
    /// The process is gone.
    Dead,
    /// It gave up.
    Failed(String),
}

/// The lock holder.
#[expect(clippy::struct_excessive_bools, reason = "as independent as they are in the binary")]
pub(super) struct Pulse {
    pub(super) life: u64,
    /// Whether it is the loop, and not a verb.
    pub(super) loops: bool,
    pub(super) writer: Writer,
    pub(super) log: Log,
    pub(super) engine: Engine,
    pub(super) cache: DocsCache,
    pub(super) known: Known,
    pub(super) events: VecDeque<Event>,
    pub(super) alarm: Alarm,
    /// Verbs that wait for a reply.
    pub(super) waiting: BTreeMap<u64, &'static str>,
    pub(super) asked: u64,
    pub(super) trying: Option<(BeatId, Box<Plan>)>,
    pub(super) journal_lags: bool,
    /// Whether the log could not be written and has to be opened again.
    pub(super) closed: bool,
    /// How long to wait before the log is tried again: set from the first failed append to the next good one.
    gap: Option<u64>,
    config: u64,
    pub(super) exited: bool,
    /// Full looks under way.
    pub(super) passes: u32,
    /// Whether it was told to end.
    pub(super) ending: bool,
    /// The last look that was taken in, and when.
    pub(super) seen: Option<(Observation, Now)>,
    /// When the last full look began.
    pub(super) full: Option<Stamp>,
    /// The bounds that the engine keeps now.
    limits: Limits,
    /// A burst of file events: when it began, and when the last one came.
    pub(super) burst: Option<(u64, u64, Cause)>,
}

impl Pulse {
    /// Takes the lock and brings the loop back to where it was.
    pub(super) fn open(site: &mut Site, loops: Option<bool>) -> Result<Self, String> {
        let reader = site.reader().ok_or("there is no profile")?;
        let writer = reader.lock().map_err(|error| error.to_string())?;
        writer.layout().map_err(|error| error.text())?;
        let (log, ledger, _) = writer.open_log().map_err(|error| error.to_string())?;
        writer.mend_journal(&ledger).map_err(|error| error.text())?;
        site.life += 1;
        site.recount();
        let seeded = ledger.seeded;
        let mut pulse = Self {
            life: site.life,
            loops: loops.is_some(),
            writer,
            log,
            engine: Engine::new(ledger, site.config.setup.clone()),
            cache: DocsCache::default(),
            known: Known::default(),
            events: VecDeque::new(),
            alarm: Alarm::default(),
            waiting: BTreeMap::new(),
            asked: 0,
            trying: None,
            journal_lags: false,
            closed: false,
            gap: None,
            config: site.config.version,
            exited: false,
            passes: 0,
            ending: false,
            seen: None,
            full: None,
            limits: site.config.setup.limits.clone(),
            burst: None,
        };
        if !seeded {
            pulse.events.push_back(Event::Seeded(Vec::new()));
        }
        pulse.opened(site);
        pulse.events.extend(loops.map(|by_person| Event::Began { by_person }));
        site.tell(|| format!("pulse {}: opened", pulse.life));
        Ok(pulse)
    }

    fn opened(&mut self, site: &mut Site) {
        let docs = self.engine.is_busy().then(|| Box::new(self.docs(site, None)));
        self.events.push_back(Event::Opened(docs));
    }

    /// One turn: what is at hand, then what is due, then the next alarm.
    pub(super) fn turn(&mut self, site: &mut Site) -> Result<(), Halt> {
        if self.closed {
            return Ok(());
        }
        self.drain(site)?;
        if self.exited || !self.loops {
            return Ok(());
        }
        if let Some(cause) = self.alarm.rings(&site.clock.now()) {
            site.tell(|| format!("pulse: woke ({cause:?})"));
            site.tale.count("wakes by the alarm");
            self.events.push_back(Event::Woke(cause));
            if self.journal_lags {
                self.journal_lags = self.writer.mend_journal(self.engine.ledger()).is_err();
            }
            self.drain(site)?;
        }
        if self.engine.is_idle() && self.config != site.config.version {
            self.config = site.config.version;
            self.limits = site.config.setup.limits.clone();
            self.engine.configure(site.config.setup.clone());
        }
        self.alarm = self.engine.alarm(&site.config.cadence, &site.clock.now());
        let looks = self.passes > 0 || self.engine.is_acting();
        assert!(self.alarm.up.is_some() || looks || self.ending, "nothing is armed: {:?}", self.alarm);
        Ok(())
    }

    pub(super) fn drain(&mut self, site: &mut Site) -> Result<(), Halt> {
        let mut steps = 0;
        while let Some(event) = self.events.pop_front() {
            self.step(site, event)?;
            steps += 1;
            assert!(steps < MOST_STEPS, "one message leads to more than {MOST_STEPS} steps");
        }
        Ok(())
    }

    fn step(&mut self, site: &mut Site, event: Event) -> Result<(), Halt> {
        site.tell(|| format!("  event {}", shown(&event)));
        let effects = self.engine.step(event, &site.clock.now());
        for effect in effects {
            if site.disk.is_stopped() {
                return Err(Halt::Dead);
            }
            if site.dice.chance(site.weather.kills) {
                site.tale.count("kills between effects");
                site.tell(|| "the pulse is killed");
                return Err(Halt::Dead);
            }
            site.tell(|| format!("    {}", shown(&effect)));
            if let Effect::Log(line) = &effect {
                self.append(site, line)?;
            }
            self.check_start(site, &effect);
            self.perform(site, effect);
        }
        if self.log.is_full() {
            self.log.rotate(self.engine.ledger()).map_err(Halt::Log)?;
        }
        Ok(())
    }

    /// What costs starts within the cap.
    fn check_start(&self, site: &Site, effect: &Effect) {
        let Some(bank) = &site.bank else { return };
        let spends = if let Effect::Act(_, plan) = effect {
            plan.act.spends().is_some()
        } else {
            matches!(effect, Effect::Decide(_))
        };
        if spends {
            let cap = site.config.setup.limits.daily_usd;
            bank.check_start(self.engine.ledger(), cap, &site.clock.now());
        }
    }

    fn append(&mut self, site: &mut Site, line: &Line) -> Result<(), Halt> {
        self.log.append(line, line.needs_sync()).map_err(Halt::Log)?;
        self.gap = None;
        if let Some(bank) = &mut site.bank {
            bank.books.add(line);
        }
        site.till.note(line, self.limits.daily_usd, site.clock.now());
        for entry in &line.entries {
            site.tale.count(super::audit::kind(entry));
            site.tale.count("entries");
            if matches!(entry, Entry::Intended { .. }) {
                site.tale.count("moves");
            }
            if let Some(word) = site.till.word(entry) {
                site.tale.count(word);
            }
        }
        Ok(())
    }

    /// After a failed append nothing acts: the log is opened again, with growing gaps.
    pub(super) fn close(&mut self, site: &mut Site, error: &AppendError) {
        site.tale.count("failed appends");
        site.tell(|| format!("pulse: the log cannot be written: {error}"));
        self.events.clear();
        self.waiting.clear();
        self.trying = None;
        self.alarm = Alarm::default();
        self.closed = true;
        site.after(self.gap.unwrap_or(RETRIES.0), Happening::Retries(self.life));
    }

    /// Tries to open the log again.
    pub(super) fn retry(&mut self, site: &mut Site) -> Result<(), Halt> {
        if !self.closed {
            return Ok(());
        }
        let gap = (self.gap.unwrap_or(RETRIES.0) * 2).min(RETRIES.1);
        self.gap = Some(gap);
        match self.log.reopen() {
            Ok((ledger, _)) => {
                site.recount();
                self.closed = false;
                self.ending = false;
                self.engine = Engine::new(ledger, site.config.setup.clone());
                self.config = site.config.version;
                self.limits = site.config.setup.limits.clone();
                self.full = None;
                self.opened(site);
                self.events.push_back(Event::Woke(Cause::Start));
                self.turn(site)
            }
            Err(error) if error.is_passing() => {
                site.after(gap, Happening::Retries(self.life));
                Ok(())
            }
            Err(error) => Err(Halt::Failed(error.to_string())),
        }
    }
}

/// An event or effect in one line.
fn shown(what: &impl std::fmt::Debug) -> String {
    format!("{what:?}").replace('\n', " ")
}
