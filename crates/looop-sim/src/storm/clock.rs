//! The clocks of a simulated machine.

use jiff::tz::TimeZone;
use looop_core::time::Now;

/// The wall clock when the machine is switched on, in milliseconds since the epoch.
const BEGINNING: i64 = 1_800_000_000_000;
/// What the boot-time clock shows when the loop can first run.
const BOOTED: u64 = 5_000;

/// Both clocks, and the true time that neither shows.
#[derive(Clone, Debug)]
pub struct Clock {
    /// True time in milliseconds since the beginning.
    pub t: u64,
    /// How far the wall clock is off.
    pub skew: i64,
    boot: u32,
    booted: u64,
    /// The person's zone.
    pub zone: TimeZone,
}

impl Default for Clock {
    fn default() -> Self {
        Self { t: 0, skew: 0, boot: 1, booted: 0, zone: TimeZone::UTC }
    }
}

impl Clock {
    /// The present moment as the loop reads it.
    pub fn now(&self) -> Now {
        let up = self.t - self.booted + BOOTED;
        Now { wall: self.wall(), up, boot: self.boot, zone: self.zone.clone() }
    }

    /// The wall clock, in milliseconds since the epoch.
    pub fn wall(&self) -> i64 {
        BEGINNING + i64::try_from(self.t).unwrap_or(i64::MAX - BEGINNING) + self.skew
    }

    /// The machine starts anew.
    pub fn reboot(&mut self) {
        self.boot += 1;
        self.booted = self.t;
    }

    /// When the boot-time clock shows this.
    pub fn at_up(&self, up: u64) -> u64 {
        (up + self.booted).saturating_sub(BOOTED)
    }

    /// When the wall clock shows this, if nobody sets it.
    pub fn at_wall(&self, wall: i64) -> u64 {
        u64::try_from(wall - BEGINNING - self.skew).unwrap_or(0)
    }
}
