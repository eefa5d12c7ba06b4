//! Schedules: durable timers. Due-ness is derived from the file and the clock, so nothing can be missed or doubled.

use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds};
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::time::local;

/// How long after its time an occurrence of a `skip` schedule still counts as met.
const GRACE_MS: i64 = 120_000;

/// When a schedule is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Once, at a moment in milliseconds since the epoch. It stays due until dropped.
    At(i64),
    /// Again and again, counted from a moment.
    Every {
        /// Seconds between two times.
        seconds: u64,
        /// The moment that is counted from.
        from: i64,
    },
    /// By a cron line in a zone (the person's, if none is named).
    Cron {
        /// Five fields.
        line: String,
        /// An IANA zone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
    },
}

/// What becomes of a time that passed while nothing ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// The latest one is made up for, once.
    #[default]
    Once,
    /// It is let go.
    Skip,
}

/// A stored schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Version of the stored form.
    pub v: u32,
    /// Its name, also the file's stem.
    pub name: String,
    /// When it is due.
    pub when: When,
    /// What becomes of missed times.
    #[serde(default)]
    pub missed: Missed,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was written, in milliseconds since the epoch.
    pub created: i64,
}

impl Schedule {
    /// The latest time that it became due, if any. The same moment is reported until the next one comes, so that a
    /// decision that has seen it is not woken by it again. `met` is the last time that the loop noticed.
    pub fn due(&self, wall: i64, zone: &TimeZone, met: Option<i64>) -> Option<i64> {
        let latest = match &self.when {
            When::At(at) => return (*at <= wall).then_some(*at),
            When::Every { seconds, from } => {
                let step = i64::try_from(*seconds).ok()?.checked_mul(1000).filter(|step| *step > 0)?;
                let passed = wall.checked_sub(*from)?.div_euclid(step);
                (passed >= 1).then(|| from + passed * step)?
            }
            When::Cron { line, .. } => {
                let cron = parse_cron(line).ok()?;
                let found = cron.find_previous_occurrence(&local(wall, zone), true).ok()?;
                found.timestamp().as_millisecond()
            }
        };
        let let_go =
            self.missed == Missed::Skip && wall.saturating_sub(latest) > GRACE_MS && met != Some(latest);
        (latest > self.created && !let_go).then_some(latest)
    }

    /// The next time that it becomes due, if any.
    pub fn next(&self, wall: i64, zone: &TimeZone) -> Option<i64> {
        match &self.when {
            When::At(at) => (*at > wall).then_some(*at),
            When::Every { seconds, from } => {
                let step = i64::try_from(*seconds).ok()?.checked_mul(1000).filter(|step| *step > 0)?;
                let passed = wall.checked_sub(*from)?.div_euclid(step).max(0);
                from.checked_add(step.checked_mul(passed + 1)?)
            }
            When::Cron { line, .. } => {
                let cron = parse_cron(line).ok()?;
                let found = cron.find_next_occurrence(&local(wall, zone), false).ok()?;
                Some(found.timestamp().as_millisecond())
            }
        }
    }

    /// The zone that its cron line names.
    pub fn zone_name(&self) -> Option<&str> {
        match &self.when {
            When::Cron { zone, .. } => zone.as_deref(),
            When::At(_) | When::Every { .. } => None,
        }
    }

    /// The timing in words.
    pub fn text(&self, zone: &TimeZone) -> String {
        match &self.when {
            When::At(at) => format!("at {}", crate::time::minute_text(*at, zone)),
            When::Every { seconds, .. } => {
                format!("every {}", crate::time::span_text(Duration::from_secs(*seconds)))
            }
            When::Cron { line, zone: Some(zone) } => format!("cron {line} ({zone})"),
            When::Cron { line, zone: None } => format!("cron {line}"),
        }
    }
}

/// Parses a cron line of five fields, or a nickname such as `@daily`.
pub fn parse_cron(line: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
    parser.parse(line).map_err(|error| format!("\"{line}\" is not a cron line of five fields: {error}"))
}

/// Parses a moment: RFC 3339, or a local `YYYY-MM-DD HH:MM[:SS]`, or `HH:MM` (the next such time).
pub fn parse_moment(text: &str, wall: i64, zone: &TimeZone) -> Result<i64, String> {
    let text = text.trim();
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Ok(stamp.as_millisecond());
    }
    let expected =
        || format!("\"{text}\" is not a time such as 2030-01-31 09:00, 09:00 or an RFC 3339 stamp");
    // A date and time is a time to the parser too.
    if !text.contains('-')
        && let Ok(time) = text.parse::<Time>()
    {
        let now = local(wall, zone);
        let today = now.date().to_datetime(time).to_zoned(zone.clone()).map_err(|_| expected())?;
        let chosen = if today > now { today } else { today.checked_add(1.day()).map_err(|_| expected())? };
        return Ok(chosen.timestamp().as_millisecond());
    }
    let civil: DateTime = text.parse().map_err(|_| expected())?;
    let zoned = civil.to_zoned(zone.clone()).map_err(|_| expected())?;
    Ok(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn schedule(when: When, created: i64) -> Schedule {
        Schedule { v: 1, name: "s".into(), when, missed: Missed::Once, note: None, created }
    }

    #[test]
    fn a_one_shot_stays_due_until_dropped() {
        let one = schedule(When::At(1000), 0);
        assert_eq!(one.due(999, &TimeZone::UTC, None), None);
        assert_eq!(one.due(1000, &TimeZone::UTC, None), Some(1000));
        assert_eq!(one.due(i64::MAX, &TimeZone::UTC, None), Some(1000));
        assert_eq!((one.next(999, &TimeZone::UTC), one.next(1000, &TimeZone::UTC)), (Some(1000), None));
    }

    #[test]
    fn every_reports_its_latest_time_only() {
        let every = schedule(When::Every { seconds: 60, from: 0 }, 0);
        let due = |wall| every.due(wall, &TimeZone::UTC, None);
        assert_eq!(
            (due(59_999), due(60_000), due(119_999), due(200_000)),
            (None, Some(60_000), Some(60_000), Some(180_000))
        );
        assert_eq!(every.next(200_000, &TimeZone::UTC), Some(240_000));
        assert_eq!(every.next(-200_000, &TimeZone::UTC), Some(60_000));
    }

    #[test]
    fn skip_lets_go_of_what_is_long_past() {
        let mut every = schedule(When::Every { seconds: 3600, from: 0 }, 0);
        every.missed = Missed::Skip;
        assert_eq!(every.due(3_600_000 + GRACE_MS, &TimeZone::UTC, None), Some(3_600_000));
        assert_eq!(every.due(3_600_001 + GRACE_MS, &TimeZone::UTC, None), None);
        let met = every.due(3_600_001 + GRACE_MS, &TimeZone::UTC, Some(3_600_000));
        assert_eq!(met, Some(3_600_000), "what was met in time does not vanish, which would be a change");
    }

    #[test]
    fn cron_is_right_on_both_sides_of_a_clock_change() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let nine = schedule(When::Cron { line: "0 9 * * *".into(), zone: None }, 0);
        // 2026-03-29 is the day the clocks go forward: 09:00 is 07:00Z, the day before it is 08:00Z.
        assert_eq!(nine.due(at("2026-03-29T12:00:00Z"), &berlin, None), Some(at("2026-03-29T07:00:00Z")));
        assert_eq!(nine.due(at("2026-03-28T12:00:00Z"), &berlin, None), Some(at("2026-03-28T08:00:00Z")));
        assert_eq!(nine.next(at("2026-10-24T12:00:00Z"), &berlin), Some(at("2026-10-25T08:00:00Z")));
    }

    #[test]
    fn nothing_was_due_before_it_was_written() {
        let cron = schedule(When::Cron { line: "0 9 * * *".into(), zone: None }, at("2026-11-15T10:00:00Z"));
        assert_eq!(cron.due(at("2026-11-15T11:00:00Z"), &TimeZone::UTC, None), None);
        assert!(cron.due(at("2026-11-16T09:00:00Z"), &TimeZone::UTC, None).is_some());
    }

    #[test]
    fn moments_by_table() {
        let wall = at("2026-11-15T10:00:00Z");
        let moment = |text: &str| parse_moment(text, wall, &TimeZone::UTC).ok();
        assert_eq!(moment("2026-11-16T09:00:00+01:00"), Some(at("2026-11-16T08:00:00Z")));
        assert_eq!(moment("2026-11-16 09:00"), Some(at("2026-11-16T09:00:00Z")));
        assert_eq!(moment("09:00"), Some(at("2026-11-16T09:00:00Z")));
        assert_eq!(moment("11:30"), Some(at("2026-11-15T11:30:00Z")));
        assert_eq!(moment("tomorrow"), None);
    }

    #[test]
    fn absurd_times_do_not_panic() {
        let odd = [
            When::Every { seconds: u64::MAX, from: i64::MIN },
            When::Every { seconds: 0, from: 0 },
            When::At(i64::MIN),
        ];
        for when in odd {
            let schedule = schedule(when, i64::MIN);
            for wall in [i64::MIN, 0, i64::MAX] {
                schedule.due(wall, &TimeZone::UTC, None);
                schedule.next(wall, &TimeZone::UTC);
            }
        }
    }
}
