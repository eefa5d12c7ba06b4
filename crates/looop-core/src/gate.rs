//! The gates: whether a paid decider may be asked now, and if not, why not.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ledger::entry::Force;
use crate::ledger::state::{Ledger, NoteKind};
use crate::meter::Micros;
use crate::model::digest::Digest;
use crate::policy::{Level, Policy};
use crate::purse::{self, Fee};
use crate::time::{Now, minute_text, span_text};
use crate::world::baseline::Change;

/// Decides in a row that our own doing may force without a change of the world.
const CHAIN: u32 = 5;
/// How long the chain gate stays shut.
const CHAIN_WAIT: Duration = Duration::from_hours(1);
/// How often a flapping reading alone may wake the loop.
const FLAP_WAIT: Duration = Duration::from_mins(10);
/// How often a start of the loop may force a decide.
const START_WAIT: Duration = Duration::from_hours(1);
/// The longest that a provider's limit is waited for.
const LIMIT: Duration = Duration::from_hours(24);
/// How often an overdue goal may force a decide.
const OVERDUE_WAIT: Duration = Duration::from_hours(24);

/// Bounds of the loop, from the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Most decides in an hour; 0 is none.
    pub decides_per_hour: u32,
    /// Dollars a day, where there is a cap.
    pub daily_usd: Option<Micros>,
    /// Tokens a day, where there is a cap.
    pub daily_tokens: Option<u64>,
    /// Dollars set aside for one decide; nothing where it has no bound.
    pub decide_usd: Micros,
    /// Dollars set aside for one worker; nothing where it has no bound.
    pub worker_usd: Micros,
    /// Age from which a decision to do nothing counts as stale.
    pub noop_ttl: Duration,
    /// How long a ready goal may wait.
    pub fairness_wait: Duration,
    /// Changes in a row that make a reading flap.
    pub flap_streak: u32,
    /// Longest nudge.
    pub max_next_interval: Duration,
    /// Whether there is a channel to reach the person by.
    pub can_notify: bool,
    /// Digest of the configuration.
    pub config: Digest,
    /// Most bytes of a brief.
    pub brief_bytes: usize,
    /// Most workers that live at once, where there is a bound.
    pub max_workers: Option<usize>,
    /// For how long a worker may print nothing before it counts as stuck.
    pub worker_stuck: Duration,
    /// How long a goal waits after a worker that failed before the next one is started; each failure makes it longer.
    pub worker_retry: Duration,
    /// For how long what an ended worker left is kept.
    pub session_ttl: Duration,
    /// Runners that can start a worker; the first is taken where none is named.
    pub worker_runners: Vec<String>,
    /// Runners that cost nothing.
    pub free_runners: Vec<String>,
    /// Runners whose worker command runs no model, as far as its text tells: nothing is reserved for their workers.
    pub plain_runners: Vec<String>,
    /// Runners whose worker command runs an agent that can be given a model.
    pub model_runners: Vec<String>,
    /// Which moves are admitted.
    pub policy: Policy,
    /// Whether what a decider wrote is really confined on this machine.
    pub confines: bool,
}

impl Default for Limits {
    /// The bounds of a configuration that says nothing, without a cap on dollars and without a runner.
    fn default() -> Self {
        Self {
            decides_per_hour: 120,
            daily_usd: None,
            daily_tokens: None,
            decide_usd: Micros::new(1_000_000),
            worker_usd: Micros::new(2_000_000),
            noop_ttl: Duration::from_hours(6),
            fairness_wait: Duration::from_hours(24),
            flap_streak: 5,
            max_next_interval: Duration::from_hours(1),
            can_notify: false,
            config: Digest::of(b""),
            brief_bytes: 1 << 18,
            max_workers: Some(8),
            worker_stuck: Duration::from_mins(15),
            worker_retry: Duration::from_mins(1),
            session_ttl: Duration::from_hours(72),
            worker_runners: Vec::new(),
            free_runners: Vec::new(),
            plain_runners: Vec::new(),
            model_runners: Vec::new(),
            policy: Policy { level: Level::Open, ..Policy::default() },
            confines: true,
        }
    }
}

/// Why a beat did nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// The pulse is ending.
    Stopping,
    /// A person paused it.
    Paused {
        /// Until when, in milliseconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
    /// The world is as the last decision saw it.
    Unchanged,
    /// Too many decides in a row were our own doing.
    Chain {
        /// How many.
        count: u32,
    },
    /// The last decides failed.
    Backoff {
        /// How many in a row.
        failures: u32,
        /// The whole wait in seconds.
        wait_s: u64,
        /// What failed last.
        reason: String,
    },
    /// The hourly number of decides is used up.
    DecidesPerHour {
        /// The cap.
        cap: u32,
    },
    /// The money is used up.
    Purse {
        /// Which cap, and how it stands.
        reason: String,
    },
    /// Decides left no receipt, and there is a cap.
    Unmetered {
        /// How many in a row.
        runs: u32,
        /// The decider of the last one.
        #[serde(default)]
        decider: String,
        /// The model that it used and that has no price, if that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The providers of all deciders take no calls.
    Limited {
        /// Until when, in milliseconds since the epoch.
        until: i64,
    },
    /// Only flapping readings changed.
    Flapping {
        /// Which.
        readings: Vec<String>,
    },
    /// The built-in decider found nothing to do and there is no other.
    NothingReady {
        /// What it says about the goals.
        reason: String,
    },
    /// A policy file cannot be used.
    BadFile {
        /// What is wrong, with the file's name.
        error: String,
    },
    /// A decide or a move is under way.
    Busy {
        /// What.
        with: String,
    },
}

impl Why {
    /// The reason in words.
    pub fn text(&self, now: &Now) -> String {
        match self {
            Self::Stopping => "the loop is ending".to_owned(),
            Self::Paused { until: None } => "paused until `looop resume`".to_owned(),
            Self::Paused { until: Some(until) } => format!("paused until {}", minute_text(*until, &now.zone)),
            Self::Unchanged => "nothing changed since the last decision".to_owned(),
            Self::Chain { count } => format!(
                "{count} decides in a row looked only at the loop's own doing; waiting for a change or an hour"
            ),
            Self::Backoff { failures, wait_s, reason } => {
                let times =
                    if *failures == 1 { "once".to_owned() } else { format!("{failures} times in a row") };
                let wait = span_text(Duration::from_secs(*wait_s));
                format!(
                    "deciding failed {times}; the next try is {wait} after that (looop beat tries now); last: {reason}"
                )
            }
            Self::DecidesPerHour { cap } => format!("{cap} decides in the last hour, which is the cap"),
            Self::Purse { reason } | Self::NothingReady { reason } => reason.clone(),
            Self::Unmetered { runs, model: Some(model), .. } => {
                let how = purse::how_to_price(model);
                format!(
                    "{runs} decides in a row used a model without a price, so looop cannot keep max_daily_usd; {how} \
                     (looop beat tries once, looop resume goes on)"
                )
            }
            Self::Unmetered { runs, decider, model: None } => {
                let name = if decider.is_empty() { "<name>" } else { decider };
                format!(
                    "{runs} decides in a row reported no cost, so looop cannot keep max_daily_usd; set \
                     runners.{name}.cost to where the output says the dollars, or to \"free\" (looop beat tries once, \
                     looop resume goes on)"
                )
            }
            Self::Limited { until } => {
                let until = minute_text(*until, &now.zone);
                format!("the provider takes no calls until {until} (looop beat tries now)")
            }
            Self::Flapping { readings } => {
                format!("only {} changed, which flaps; looking at it every 10m", readings.join(", "))
            }
            Self::BadFile { error } => error.clone(),
            Self::Busy { with } => format!("{with} is under way"),
        }
    }
}

/// Whether to ask a paid decider.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Verdict {
    /// Ask, for this reason if the world is unchanged, with this much set aside.
    Decide {
        /// What lets it through, if not a change.
        forced: Option<Force>,
        /// Dollars to set aside.
        reserve: Micros,
    },
    /// Do not ask.
    Skip(Why),
}

/// What the gates look at besides the ledger.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub struct Asking<'a> {
    /// What differs from the baseline.
    pub changes: &'a [Change],
    /// Whether a person asked for this beat.
    pub by_person: bool,
    /// Whether a person has just started the loop.
    pub begun: bool,
    /// What the decide costs at most, as far as that is known without its brief.
    pub fee: Fee,
    /// Ready goals, and whether a sensor is failing: work that a decision to do nothing left open.
    pub open_work: bool,
    /// The policy files and the configuration as they are now.
    pub policy: Digest,
    /// Until when the providers of all paid deciders take no calls, if that is so.
    pub limited: Option<i64>,
    /// How many paid deciders there are: a wait comes when each of them has failed.
    pub deciders: usize,
    /// Whether the pulse is ending.
    pub stopping: bool,
}

/// Passes a paid decide through the gates, in their order.
pub fn gate(ledger: &Ledger, asking: &Asking<'_>, now: &Now, limits: &Limits) -> Verdict {
    if asking.stopping {
        return Verdict::Skip(Why::Stopping);
    }
    if let Some(why) = paused(ledger, now) {
        return Verdict::Skip(why);
    }
    let forced = forced(ledger, asking, now, limits);
    if asking.changes.is_empty() && forced.is_none() {
        return Verdict::Skip(Why::Unchanged);
    }
    let forced = forced.filter(|force| asking.changes.is_empty() || *force == Force::Person);
    let shut = chain(ledger, asking, forced.as_ref(), now)
        .or_else(|| provider(asking))
        .or_else(|| backoff(ledger, asking, now))
        .or_else(|| decides_per_hour(ledger, now, limits))
        .or_else(|| flapping(ledger, asking, forced.as_ref(), now, limits))
        .or_else(|| unmetered(ledger, asking, limits));
    if let Some(why) = shut {
        return Verdict::Skip(why);
    }
    match purse::decide(ledger, limits, asking.fee, now) {
        Ok(reserve) => Verdict::Decide { forced, reserve },
        Err(why) => Verdict::Skip(why),
    }
}

/// Until when a decider's provider takes no calls, if that is so now. The clock may have been stepped: no limit lasts
/// longer than it was meant to, nor than a day, and another configuration may mean another account.
pub fn limited(ledger: &Ledger, decider: &str, now: &Now, limits: &Limits) -> Option<i64> {
    let limited = ledger.limited.get(decider).filter(|limited| limited.config == Some(limits.config))?;
    let length = u64::try_from(limited.until.saturating_sub(limited.at.wall)).unwrap_or(0);
    let length = Duration::from_millis(length).min(LIMIT);
    let over = limited.until <= now.wall || now.left(&limited.at, length).is_zero();
    (!over).then_some(limited.until)
}

/// Whether deciding waits because of failures, a provider's limit or missing receipts: what `resume` ends.
pub fn is_waiting(ledger: &Ledger, deciders: usize, now: &Now, limits: &Limits) -> bool {
    let mut limits_set = ledger.limited.keys().map(|decider| limited(ledger, decider, now, limits));
    !backoff_left(ledger, deciders, now).is_zero()
        || limits_set.any(|until| until.is_some())
        || purse::unmetered(ledger, limits).is_some()
}

/// Whether deciding is paused now.
pub fn paused(ledger: &Ledger, now: &Now) -> Option<Why> {
    let paused = ledger.paused.as_ref()?;
    match paused.until {
        Some(until) => {
            // The clock may have been stepped: a pause never lasts longer than it was meant to.
            let length =
                Duration::from_millis(u64::try_from(until.saturating_sub(paused.at.wall)).unwrap_or(0));
            (!now.left(&paused.at, length).is_zero()).then_some(Why::Paused { until: Some(until) })
        }
        None => Some(Why::Paused { until: None }),
    }
}

fn forced(ledger: &Ledger, asking: &Asking<'_>, now: &Now, limits: &Limits) -> Option<Force> {
    if asking.by_person {
        return Some(Force::Person);
    }
    // A loop that is started again and again must not cost a decide each time.
    if asking.begun && ledger.last_decide.as_ref().is_none_or(|at| now.since(at) >= START_WAIT) {
        return Some(Force::Start);
    }
    if let Some(nudge) = &ledger.nudge
        && now.left(&nudge.at, Duration::from_secs(nudge.seconds)).is_zero()
    {
        return Some(Force::Nudge);
    }
    if ledger.notes.iter().any(|note| matches!(note.what, NoteKind::Shell { own: true, .. })) {
        return Some(Force::Shell);
    }
    if ledger.notes.iter().any(|note| matches!(note.what, NoteKind::Answer { .. })) {
        return Some(Force::Answer);
    }
    if let Some(goal) = overdue(ledger, now, limits) {
        return Some(Force::Overdue(goal));
    }
    let stale = ledger.noop.as_ref().is_some_and(|at| now.since(at) >= limits.noop_ttl);
    (stale && asking.open_work).then_some(Force::StaleNoop)
}

/// The ready goal that has waited longest beyond the bound, if it has not forced a decide within a day.
fn overdue(ledger: &Ledger, now: &Now, limits: &Limits) -> Option<String> {
    let waits = ledger.goals.iter().filter_map(|(id, record)| {
        let ready = now.since(&record.ready?);
        let unserved = record.served.as_ref().map_or(ready, |served| ready.min(now.since(served)));
        let asked = ledger.overdue.get(id).is_some_and(|at| now.since(at) < OVERDUE_WAIT);
        (unserved >= limits.fairness_wait && !asked).then_some((unserved, id))
    });
    waits.max().map(|(_, id)| id.clone())
}

fn chain(ledger: &Ledger, asking: &Asking<'_>, forced: Option<&Force>, now: &Now) -> Option<Why> {
    let own = asking.changes.is_empty() && forced.is_some_and(Force::is_own_doing);
    let recent = ledger.last_decide.as_ref().is_some_and(|at| now.since(at) < CHAIN_WAIT);
    (own && recent && ledger.chain >= CHAIN).then_some(Why::Chain { count: ledger.chain })
}

/// The wait after so many failures in a row.
pub fn backoff_wait(failures: u32) -> Duration {
    let doubled = 60u64.saturating_mul(1 << (failures.clamp(1, 16) - 1));
    Duration::from_secs(doubled.min(if failures >= 5 { 3600 } else { 300 }))
}

/// What is left of the wait after failures. It comes when each of so many deciders has failed.
pub fn backoff_left(ledger: &Ledger, deciders: usize, now: &Now) -> Duration {
    let Some(failures) = ledger.failures.as_ref().filter(|failures| !failures.resumed) else {
        return Duration::ZERO;
    };
    let deciders = u32::try_from(deciders.max(1)).unwrap_or(1);
    if failures.count % deciders != 0 {
        return Duration::ZERO;
    }
    now.left(&failures.at, backoff_wait(failures.count / deciders))
}

fn provider(asking: &Asking<'_>) -> Option<Why> {
    // Whoever asks for a beat may know that the limit was raised.
    asking.limited.filter(|_| !asking.by_person).map(|until| Why::Limited { until })
}

fn backoff(ledger: &Ledger, asking: &Asking<'_>, now: &Now) -> Option<Why> {
    // Whoever asks for a beat wants to see now whether it works by now.
    let failures = ledger.failures.as_ref().filter(|_| !asking.by_person)?;
    let deciders = u32::try_from(asking.deciders.max(1)).unwrap_or(1);
    let wait = backoff_wait(failures.count / deciders);
    let edited = failures.policy != asking.policy;
    let shut = !edited && !backoff_left(ledger, asking.deciders, now).is_zero();
    shut.then(|| Why::Backoff {
        failures: failures.count,
        wait_s: wait.as_secs(),
        reason: failures.reason.clone(),
    })
}

/// Whoever asks for a beat may try once whether costs are reported by now: it counts in full against the cap if not.
fn unmetered(ledger: &Ledger, asking: &Asking<'_>, limits: &Limits) -> Option<Why> {
    let counts = asking.fee != Fee::Free && !asking.by_person;
    counts.then(|| purse::unmetered(ledger, limits)).flatten()
}

fn decides_per_hour(ledger: &Ledger, now: &Now, limits: &Limits) -> Option<Why> {
    let hour = Duration::from_hours(1);
    let recent = ledger.decides.iter().filter(|at| now.since(at) < hour).count();
    let full = recent >= limits.decides_per_hour as usize;
    (full && limits.decides_per_hour > 0).then_some(Why::DecidesPerHour { cap: limits.decides_per_hour })
}

/// The readings that flap.
pub fn flappers<'a>(ledger: &'a Ledger, limits: &Limits) -> Vec<&'a str> {
    let flaps = ledger.readings.iter().filter(|(_, record)| record.streak >= limits.flap_streak.max(1));
    flaps.map(|(name, _)| name.as_str()).collect()
}

fn flapping(
    ledger: &Ledger,
    asking: &Asking<'_>,
    forced: Option<&Force>,
    now: &Now,
    limits: &Limits,
) -> Option<Why> {
    let flappers = flappers(ledger, limits);
    let only =
        asking.changes.iter().all(|change| change.reading().is_some_and(|name| flappers.contains(&name)));
    let recent = ledger.last_decide.as_ref().is_some_and(|at| now.since(at) < FLAP_WAIT);
    let shut = forced.is_none() && !asking.changes.is_empty() && only && recent;
    shut.then(|| Why::Flapping {
        readings: asking.changes.iter().filter_map(|c| Some(c.reading()?.to_owned())).collect(),
    })
}

#[cfg(test)]
mod tests;
