//! File events: what makes noise, who hears it, and when a burst is over.

use looop_core::ledger::entry::Cause;

use super::agenda::{Happening, Message};
use super::run::{Fall, Storm};

/// Folders and files whose changes are seen.
const WATCHED: [&str; 8] =
    ["goals", "sensors", "schedules", "asks", "answers", "tells", "claims", "PLAYBOOK.md"];

impl Storm {
    /// What follows from what happened: a process that was cut, a file event.
    pub(super) fn look_after(&mut self) {
        if self.site.disk.is_stopped() {
            self.site.tale.count("cuts");
            let fall =
                if self.site.dice.chance(self.site.weather.power * 5) { Fall::Power } else { Fall::Killed };
            self.fall(fall);
        }
        let touched = self.site.disk.touched();
        let counts = |path: &String| {
            let name = path.rsplit('/').next().unwrap_or("");
            !name.starts_with('.') && WATCHED.iter().any(|watched| path.split('/').next() == Some(watched))
        };
        if touched.iter().any(counts) {
            self.noise(Cause::Files);
        }
    }

    /// A file event, unless nobody hears it.
    pub(super) fn noise(&mut self, cause: Cause) {
        let site = &mut self.site;
        let Some(pulse) = self.pulse.as_mut().filter(|pulse| pulse.loops) else { return };
        if site.dice.chance(site.weather.deaf) {
            return site.tale.count("file events lost");
        }
        let t = site.clock.t;
        let (first, _, before) = pulse.burst.unwrap_or((t, t, cause));
        pulse.burst = Some((first, t, if before == cause { cause } else { Cause::Files }));
        let life = pulse.life;
        site.after(50, Happening::Settles(life));
        if site.dice.chance(site.weather.echoes) {
            site.tale.count("file events doubled");
            site.post(life, 120, Message::Noise(cause));
        }
    }

    /// A burst of file events may be over.
    pub(super) fn settle(&mut self, life: u64) {
        let t = self.site.clock.t;
        let Some(pulse) = self.pulse.as_mut().filter(|pulse| pulse.life == life) else { return };
        let Some((first, last, cause)) = pulse.burst else { return };
        if t >= (last + 50).min(first + 500) {
            pulse.burst = None;
            self.drive(|pulse, site| pulse.receive(site, Message::Noise(cause)));
        }
    }
}
