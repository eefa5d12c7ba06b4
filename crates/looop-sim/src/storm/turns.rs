//! The weather as it turns: what strikes, when it strikes.

use jiff::tz::TimeZone;
use looop_core::ledger::entry::Cause;

use super::agenda::{Happening, Message};
use super::gauges::Mood;
use super::run::{Fall, Storm};
use super::site::Site;
use super::texts::{GOALS, SENSORS};
use super::yard::Stage;
use crate::disk_faults::Fault;

/// A second, a minute, an hour, a day, in milliseconds.
const SPANS: [i64; 4] = [1_000, 60_000, 3_600_000, 86_400_000];

impl Storm {
    /// The weather turns, and again later.
    pub(super) fn weather_turns(&mut self) {
        let next = self.site.dice.between(1_000, 600_000);
        self.site.after(next, Happening::Turns);
        self.site.turn_disk();
        self.site.turn_gauges();
        self.site.turn_files();
        let weather = self.site.weather.clone();
        let dice = &mut self.site.dice;
        self.site.blind = !self.site.blind && dice.chance(weather.fleet);
        if self.site.blind {
            self.site.tell(|| "the fleet is out of sight");
            self.site.tale.count("fleets out of sight");
        }
        let dice = &mut self.site.dice;
        if dice.chance(weather.steps) {
            self.step_clock();
        }
        if self.site.bank.is_some() {
            self.site.travel();
        }
        let dice = &mut self.site.dice;
        if dice.chance(weather.hosts) {
            self.site.lose_a_host();
        }
        let dice = &mut self.site.dice;
        if dice.chance(weather.naps) {
            let span = dice.between(60_000, 36_000_000);
            self.nap(span);
        }
        self.turn_life(&weather);
    }

    /// What befalls the lock holder.
    fn turn_life(&mut self, weather: &super::weather::Weather) {
        let dice = &mut self.site.dice;
        if dice.chance(weather.cuts) {
            let (at, half) = (dice.below(60), dice.coin());
            self.site.tell(|| format!("the call after {at} others is the last"));
            self.site.disk.arm(Some(Fault::Cut { at, half }));
        } else if dice.chance(weather.crash_loops) {
            self.site.crashes = dice.between(2, 12);
            self.site.tale.count("crash loops");
            self.fall(Fall::Killed);
        } else if dice.chance(weather.power) {
            self.fall(Fall::Power);
        } else if dice.chance(weather.reboots) {
            self.fall(Fall::Rebooted);
        } else if dice.chance(weather.kills * 2) {
            self.site.tale.count("kills at rest");
            self.fall(Fall::Killed);
        }
    }

    fn step_clock(&mut self) {
        let dice = &mut self.site.dice;
        let span = *dice.pick(&SPANS) * i64::try_from(dice.between(1, 5)).unwrap_or(1);
        let (back, heard) = (dice.coin(), !dice.chance(self.site.weather.deaf));
        self.set_clock(if back { -span } else { span }, heard);
    }

    /// Sets the wall clock by so many milliseconds; the loop may hear of it.
    pub fn set_clock(&mut self, by: i64, heard: bool) {
        let site = &mut self.site;
        site.clock.skew += by;
        site.tale.count(if by < 0 { "clock steps back" } else { "clock steps forward" });
        site.tell(|| format!("the clock is set by {} s", by / 1000));
        if let Some(pulse) = self.pulse.as_ref().filter(|_| heard) {
            site.post(pulse.life, 1, Message::Noise(Cause::Clock));
        }
    }

    /// Lets the machine sleep. What was to happen meanwhile happens when it wakes.
    pub fn nap(&mut self, ms: u64) {
        self.site.tale.count("naps");
        self.site.tell(|| format!("the machine sleeps for {} s", ms / 1000));
        self.site.clock.t += ms;
    }

    /// Kills the lock holder. Nobody starts it again.
    pub fn kill(&mut self) {
        self.fall(Fall::Killed);
        self.site.agenda.keep(|happening| !matches!(happening, Happening::Starts { .. }));
    }
}

impl Site {
    /// The person goes where the time is another.
    fn travel(&mut self) {
        if self.dice.chance(self.weather.steps / 2) {
            let hours = i8::try_from(self.dice.below(24)).unwrap_or(0) - 11;
            self.tale.count("journeys");
            self.tell(|| format!("the person is {hours} hours east of Greenwich"));
            self.clock.zone = TimeZone::fixed(jiff::tz::Offset::constant(hours));
        }
    }

    fn turn_disk(&mut self) {
        if self.full {
            self.full = self.dice.below(3) > 0;
        } else if self.dice.chance(self.weather.full) {
            self.full = true;
            self.tale.count("full disks");
        }
        self.errors = if self.dice.coin() { self.weather.errors } else { 0 };
        if self.errors > 0 {
            self.tale.count("broken disks");
        }
        let (full, errors) = (self.full, self.errors);
        self.tell(|| format!("disk: full {full}, errors {errors}"));
        self.set_disk();
    }

    fn turn_gauges(&mut self) {
        let name = (*self.dice.pick(&SENSORS)).to_owned();
        let value = i64::try_from(self.dice.below(3)).unwrap_or(0);
        let bad = self.dice.chance(self.weather.sensors);
        let moods = [Mood::Fails(3), Mood::Hangs, Mood::Flaps, Mood::Babbles];
        let mood = if bad { *self.dice.pick(&moods) } else { Mood::Good };
        if bad {
            self.tale.count("sensors gone bad");
        }
        self.tell(|| format!("sensor {name} is {mood:?}, {value}"));
        let gauge = self.gauges.entry(name).or_default();
        (gauge.mood, gauge.value) = (mood, value);
    }

    fn turn_files(&mut self) {
        if !self.dice.chance(self.weather.files) {
            return;
        }
        let goal = format!("goals/{}.md", self.dice.pick(&GOALS));
        let what = self.dice.below(8);
        self.tale.count("files gone bad");
        self.tell(|| format!("files: {what} befalls them"));
        match what {
            0 => self.disk.put(&goal, b"\xff\xfe garbage"),
            1 => self.disk.put("PLAYBOOK.md", b"\xff\xfe garbage"),
            2 => self.disk.erase("PLAYBOOK.md"),
            3 => {
                let folder =
                    *self.dice.pick(&["goals", "sensors", "schedules", "asks", "answers", "claims", "tells"]);
                self.disk.erase(folder);
            }
            4 => {
                let folder = *self.dice.pick(&["goals", "sensors", "schedules"]);
                self.disk.erase(folder);
                self.disk.put(folder, b"no folder");
            }
            5 => self.disk.put("asks/broken.json", b"{"),
            6 => self.disk.put("schedules/soon.json", b"{\"when\":"),
            _ => {
                // What was in the way goes, and folders come back.
                for folder in ["goals", "sensors", "schedules"] {
                    if self.disk.get(folder).is_some() {
                        self.disk.erase(folder);
                    }
                }
                self.disk.put(&goal, b"# Back again\n");
            }
        }
    }

    fn lose_a_host(&mut self) {
        let living: Vec<String> = self.yard.living(true).into_iter().chain(self.yard.living(false)).collect();
        if living.is_empty() {
            return;
        }
        let session = self.dice.pick(&living).clone();
        self.tale.count("hosts lost");
        self.end_child(&session, &Stage::Lost);
    }
}
