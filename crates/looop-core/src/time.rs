//! Time as an argument: the wall clock for people, the boot-time clock for waits.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

/// The present moment, as the edge read it once for a whole step.
#[derive(Clone, Debug)]
pub struct Now {
    /// Milliseconds since the Unix epoch.
    pub wall: i64,
    /// Milliseconds since boot, suspend included.
    pub up: u64,
    /// Which boot `up` belongs to.
    pub boot: u32,
    /// The person's time zone.
    pub zone: TimeZone,
}

/// A moment as the log stores it: both clocks, so that a later reader can use the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Milliseconds since the Unix epoch.
    pub wall: i64,
    /// Milliseconds since boot.
    pub up: u64,
    /// Which boot `up` belongs to.
    pub boot: u32,
}

impl Stamp {
    /// How long before this one `then` was. Within one boot the boot clock answers. Across boots the wall clock does,
    /// which may have been ahead then: as long as this boot lasts, at least, it must have been.
    pub fn since(&self, then: &Self) -> Duration {
        if self.boot == then.boot {
            return Duration::from_millis(self.up.saturating_sub(then.up));
        }
        let by_wall = u64::try_from(self.wall.saturating_sub(then.wall)).unwrap_or(0);
        Duration::from_millis(by_wall.max(self.up))
    }
}

impl Now {
    /// This moment in its stored form.
    pub fn stamp(&self) -> Stamp {
        Stamp { wall: self.wall, up: self.up, boot: self.boot }
    }

    /// How long ago `then` was.
    pub fn since(&self, then: &Stamp) -> Duration {
        self.stamp().since(then)
    }

    /// What is left of a wait of `length` that began at `from`: never more than its own length.
    pub fn left(&self, from: &Stamp, length: Duration) -> Duration {
        length.saturating_sub(self.since(from))
    }

    /// The local calendar day, `YYYY-MM-DD`.
    pub fn day(&self) -> String {
        self.local().strftime("%Y-%m-%d").to_string()
    }

    /// This moment in the person's zone.
    pub fn local(&self) -> Zoned {
        local(self.wall, &self.zone)
    }
}

/// A wall-clock moment in a zone; moments that the calendar cannot hold become the epoch.
pub fn local(wall: i64, zone: &TimeZone) -> Zoned {
    Timestamp::from_millisecond(wall).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone())
}

/// `HH:MM:SS`, for human lines.
pub fn clock_text(wall: i64, zone: &TimeZone) -> String {
    local(wall, zone).strftime("%H:%M:%S").to_string()
}

/// `YYYY-MM-DD HH:MM`, for the journal.
pub fn minute_text(wall: i64, zone: &TimeZone) -> String {
    local(wall, zone).strftime("%Y-%m-%d %H:%M").to_string()
}

/// RFC 3339 with milliseconds in UTC, for machines.
pub fn machine_text(wall: i64) -> String {
    let stamp = Timestamp::from_millisecond(wall).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{stamp:.3}")
}

/// A duration the way people say it: `45s`, `12m`, `3h 20m`, `2d 4h`.
pub fn span_text(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, m) => format!("{m}m"),
        (0, h, 0) => format!("{h}h"),
        (0, h, m) => format!("{h}h {m}m"),
        (d, 0, _) => format!("{d}d"),
        (d, h, _) => format!("{d}d {h}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(wall: i64, up: u64, boot: u32) -> Now {
        Now { wall, up, boot, zone: TimeZone::UTC }
    }

    #[test]
    fn waits_follow_the_boot_clock_when_the_wall_clock_steps() {
        let from = now(1_000_000, 50_000, 1).stamp();
        let stepped_back = now(-3_600_000, 80_000, 1);
        assert_eq!(stepped_back.left(&from, Duration::from_mins(1)), Duration::from_secs(30));
    }

    #[test]
    fn a_wait_from_another_boot_is_at_most_its_own_length() {
        let from = now(9_000_000, 50_000, 1).stamp();
        let earlier = now(1_000_000, 0, 2);
        assert_eq!(earlier.left(&from, Duration::from_mins(1)), Duration::from_mins(1));
        let still_earlier = now(1_020_000, 20_000, 2);
        assert_eq!(still_earlier.left(&from, Duration::from_mins(1)), Duration::from_secs(40), "it goes on");
        let later = now(9_030_000, 10, 2);
        assert_eq!(later.left(&from, Duration::from_mins(1)), Duration::from_secs(30));
    }

    #[test]
    fn spans_read_like_speech() {
        let table = [(5, "5s"), (60, "1m"), (3599, "59m"), (3600, "1h"), (4800, "1h 20m"), (90_000, "1d 1h")];
        for (seconds, text) in table {
            assert_eq!(span_text(Duration::from_secs(seconds)), text);
        }
    }
}
