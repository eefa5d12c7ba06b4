//! When the loop looks next by itself.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::io::NextWake;
use super::machine::Engine;
use crate::builtin::retry_left;
use crate::gate::{backoff_left, paused};
use crate::ledger::entry::{Cause, Entry};
use crate::ledger::state::Ledger;
use crate::schedule::Schedule;
use crate::time::{Now, span_text};
use crate::world::observation::{Docs, ScheduleDoc};

/// How long the loop rests between two full looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// While nothing happens.
    pub idle: Duration,
    /// After a move.
    pub busy: Duration,
    /// While a worker lives.
    pub active: Duration,
}

/// When to wake, on each of the two clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alarm {
    /// By the boot-time clock, in milliseconds: waits.
    pub up: Option<Ring<u64>>,
    /// By the wall clock, in milliseconds since the epoch: what is due at a time of day.
    pub wall: Option<Ring<i64>>,
}

/// One time to wake, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring<T> {
    /// When.
    pub at: T,
    /// What the look is logged with.
    pub cause: Cause,
    /// Why then, in words.
    pub why: String,
}

impl Alarm {
    /// The cause to wake for, if it is time.
    pub fn rings(&self, now: &Now) -> Option<Cause> {
        let waited = self.up.as_ref().filter(|ring| ring.at <= now.up).map(|ring| ring.cause);
        waited.or_else(|| self.wall.as_ref().filter(|ring| ring.at <= now.wall).map(|ring| ring.cause))
    }

    /// The earlier of the two, as a time of day.
    pub fn next(&self, now: &Now) -> Option<NextWake> {
        let waits = self.up.as_ref().map(|ring| {
            let left = i64::try_from(ring.at.saturating_sub(now.up)).unwrap_or(i64::MAX);
            NextWake { at: now.wall.saturating_add(left), why: ring.why.clone() }
        });
        let due = self.wall.as_ref().map(|ring| NextWake { at: ring.at, why: ring.why.clone() });
        waits.into_iter().chain(due).min_by_key(|next| next.at)
    }
}

/// The schedules that the last look saw, each with its zone.
#[derive(Debug, Default)]
pub(super) struct Timetable(Vec<(Schedule, TimeZone)>);

impl Timetable {
    pub(super) fn of(docs: &Docs, now: &Now) -> Self {
        let good = docs.schedules.values().filter_map(|doc| match doc {
            ScheduleDoc::Good { schedule, .. } => Some(schedule.clone()),
            ScheduleDoc::Broken { .. } => None,
        });
        let zoned = good.map(|schedule| {
            let zone =
                schedule.zone_name().and_then(|name| docs.zones.get(name)).unwrap_or(&now.zone).clone();
            (schedule, zone)
        });
        Self(zoned.collect())
    }

    /// The next moment that one of them becomes due.
    fn next(&self, wall: i64) -> Option<Ring<i64>> {
        let moments =
            self.0.iter().filter_map(|(schedule, zone)| Some((schedule.next(wall, zone)?, schedule)));
        let (at, schedule) = moments.min_by_key(|(at, _)| *at)?;
        Some(Ring { at, cause: Cause::Schedule, why: format!("schedule {} is due", schedule.name) })
    }
}

/// Schedules that have become due since the log last said so.
pub(super) fn dues(ledger: &Ledger, docs: &Docs, now: &Now) -> Vec<Entry> {
    let due = Timetable::of(docs, now).0.into_iter().filter_map(|(schedule, zone)| {
        let met = ledger.due.get(&schedule.name).copied();
        let due = schedule.due(now.wall, &zone, met).filter(|due| met != Some(*due))?;
        Some(Entry::ScheduleDue { schedule: schedule.name, due })
    });
    due.collect()
}

impl Engine {
    /// When to look next, if nothing happens before. What is past due and was not served is held back by a gate, and
    /// must not make the loop spin: only what lies ahead counts.
    pub fn alarm(&self, cadence: &Cadence, now: &Now) -> Alarm {
        if self.stop.is_some() {
            return Alarm::default();
        }
        let wall = self.timetable.next(now.wall).into_iter();
        let wall = wall.chain(self.pause_ends(now)).chain(self.limit_ends(now)).chain(self.waiters.next(now));
        let up = (!self.looks.is_full_ahead()).then(|| self.next_wait(cadence, now));
        Alarm { up, wall: wall.min_by_key(|ring| ring.at) }
    }

    fn next_wait(&self, cadence: &Cadence, now: &Now) -> Ring<u64> {
        let works = self.ledger.workers.values().any(|worker| worker.ended.is_none());
        let (length, word) = match (works, self.moved) {
            (true, _) => (cadence.active, "interval while a worker lives"),
            (false, true) => (cadence.busy, "interval after a move"),
            (false, false) => (cadence.idle, "interval"),
        };
        let rested = self.rested.unwrap_or(now.up);
        // A move puts the next full look off, and no row of moves does so for ever.
        let latest = self.looked_at.map_or(rested, |at| at.saturating_add(millis(length)));
        let why = format!("the {word} of {} is over", span_text(length));
        let interval =
            Ring { at: rested.min(latest).saturating_add(millis(length)), cause: Cause::Timer, why };
        let ahead = |left: Duration, cause: Cause, why: &str| {
            let at = now.up.saturating_add(millis(left));
            (!left.is_zero()).then(|| Ring { at, cause, why: why.to_owned() })
        };
        let nudge = self.ledger.nudge.as_ref();
        let nudge = nudge.map(|nudge| now.left(&nudge.at, Duration::from_secs(nudge.seconds)));
        let nudge = nudge.and_then(|left| ahead(left, Cause::Nudge, "the decider asked for it"));
        let backoff = backoff_left(&self.ledger, self.setup.paid.len(), now);
        let backoff = ahead(backoff, Cause::Timer, "the wait after a failure is over");
        let notice = self.next_notice(now).unwrap_or_default();
        let notice = ahead(notice, Cause::Timer, "what waits for you is told again");
        let limits = &self.setup.limits;
        let retries = self.ledger.goals.values().map(|record| retry_left(record, limits, now));
        let retry = retries.filter(|left| !left.is_zero()).min().unwrap_or_default();
        let retry = ahead(retry, Cause::Timer, "the wait after a worker that failed is over");
        let first = nudge.into_iter().chain(backoff).chain(notice).chain(retry).min_by_key(|ring| ring.at);
        first.filter(|ring| ring.at < interval.at).unwrap_or(interval)
    }

    fn pause_ends(&self, now: &Now) -> Option<Ring<i64>> {
        paused(&self.ledger, now)?;
        let at = self.ledger.paused.as_ref()?.until?;
        (at > now.wall).then(|| Ring { at, cause: Cause::Timer, why: "the pause is over".to_owned() })
    }

    fn limit_ends(&self, now: &Now) -> Option<Ring<i64>> {
        let at = self.limit(now).filter(|at| *at > now.wall)?;
        Some(Ring { at, cause: Cause::Timer, why: "the provider takes calls again".to_owned() })
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
