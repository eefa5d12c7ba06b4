//! A storm as it runs: one thing after the other, the lock holder among them.

use looop_core::engine::io::Request;
use looop_core::engine::machine::Engine;
use looop_core::ledger::entry::Cause;

use super::agenda::{Happening, Message};
use super::config::Config;
use super::decider::Mind;
use super::pulse::{Halt, Pulse};
use super::site::Site;
use super::weather::Weather;
use crate::disk_dice::Dice;
use crate::disk_faults::Fault;

/// Most turns of the loop at one moment.
const MOST_TURNS: u32 = 300;
/// Most that happens in one storm.
const MOST: u64 = 30_000;
/// A machine, the loop on it, and what befalls both.
pub struct Storm {
    /// The machine.
    pub site: Site,
    pub(super) pulse: Option<Pulse>,
    /// How often the loop turned at this moment.
    turns: (u64, u32),
    /// How much has happened.
    happened: u64,
}

/// How a lock holder goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fall {
    /// It alone is killed.
    Killed,
    /// The machine is started anew, with all that was written.
    Rebooted,
    /// The power goes, and what was not synced is lost.
    Power,
}

impl Storm {
    /// A calm machine with this configuration.
    pub fn calm(seed: u64, config: Config) -> Self {
        Self { site: Site::new(seed, config), pulse: None, turns: (0, 0), happened: 0 }
    }

    /// The storm of a seed.
    pub fn of_seed(seed: u64, without: &[String]) -> Self {
        let mut dice = Dice::new(seed);
        let config = Config::roll(&mut dice);
        let mut storm = Self::calm(dice.throw(), config);
        let site = &mut storm.site;
        site.weather = Weather::roll(&mut dice, without);
        site.mind = Mind::Wild;
        site.disk.put("PLAYBOOK.md", b"# PLAYBOOK\n");
        site.after(0, Happening::Starts { by_person: dice.coin() });
        site.after(1_000, Happening::Turns);
        site.after(500, Happening::Acts);
        storm
    }

    /// The engine of the lock holder, if there is one.
    pub fn engine(&self) -> Option<&Engine> {
        self.pulse.as_ref().map(|pulse| &pulse.engine)
    }

    /// Lets so many milliseconds pass.
    pub fn run_for(&mut self, ms: u64) {
        let end = self.site.clock.t + ms;
        while let Some(t) = self.next().filter(|t| *t <= end) {
            self.site.clock.t = self.site.clock.t.max(t);
            self.happen();
        }
        self.site.clock.t = self.site.clock.t.max(end);
    }

    /// When something happens next: of itself, or because the loop wakes.
    fn next(&self) -> Option<u64> {
        let alarm = self.pulse.as_ref().map(|pulse| &pulse.alarm);
        let clock = &self.site.clock;
        let up = alarm.and_then(|alarm| alarm.up.as_ref()).map(|ring| clock.at_up(ring.at));
        let wall = alarm.and_then(|alarm| alarm.wall.as_ref()).map(|ring| clock.at_wall(ring.at));
        self.site.agenda.next().into_iter().chain(up).chain(wall).min()
    }

    fn happen(&mut self) {
        self.happened += 1;
        assert!(self.happened < MOST, "it never ends: {MOST} things have happened");
        let t = self.site.clock.t;
        match self.site.agenda.take(t) {
            Some(happening) => self.handle(happening),
            None => self.drive(Pulse::turn),
        }
        self.look_after();
        if let Some(bank) = &self.site.bank {
            bank.check();
        }
        self.turns = if self.turns.0 == t { (t, self.turns.1 + 1) } else { (t, 0) };
        assert!(self.turns.1 < MOST_TURNS, "it spins at {t}: {:?}", self.pulse.as_ref().map(|p| &p.alarm));
    }

    fn handle(&mut self, happening: Happening) {
        match happening {
            Happening::Reaches(life, message) => {
                if self.pulse.as_ref().is_some_and(|pulse| pulse.life == life) {
                    self.drive(|pulse, site| pulse.receive(site, message));
                }
            }
            Happening::Retries(life) => {
                if self.pulse.as_ref().is_some_and(|pulse| pulse.life == life) {
                    self.drive(Pulse::retry);
                }
            }
            Happening::Settles(0) => self.noise(Cause::Session),
            Happening::Settles(life) => self.settle(life),
            Happening::Starts { by_person } => self.start(by_person),
            Happening::Child(session) => self.site.child(&session),
            Happening::Works(session) => self.site.work(&session),
            Happening::Charges(session) => self.site.charge(&session),
            Happening::Turns => self.weather_turns(),
            Happening::Acts => self.person_acts(),
        }
    }

    /// Starts the loop, unless it runs or a verb is at work.
    pub fn start(&mut self, by_person: bool) {
        if let Some(pulse) = &self.pulse {
            if !pulse.loops {
                self.site.after(1_000, Happening::Starts { by_person });
            }
            return;
        }
        if self.site.crashes > 0 {
            self.site.crashes -= 1;
            let at = self.site.dice.below(80);
            self.site.disk.arm(Some(Fault::Cut { at, half: false }));
        }
        self.site.tale.count(if by_person { "starts by a person" } else { "starts by a keeper" });
        match Pulse::open(&mut self.site, Some(by_person)) {
            Ok(pulse) => {
                self.pulse = Some(pulse);
                self.drive(Pulse::turn);
            }
            Err(error) => {
                self.site.tale.count("starts that failed");
                self.site.forgive();
                self.site.tell(|| format!("pulse: cannot start: {error}"));
                let later = self.site.dice.between(1_000, 60_000);
                self.site.after(later, Happening::Starts { by_person });
            }
        }
    }

    /// Hands a request to the lock holder, or does it without one, as a verb does.
    pub fn ask(&mut self, request: Request) {
        self.site.tell(|| format!("person: asks {request:?}"));
        if let Some(pulse) = &self.pulse {
            let life = pulse.life;
            return self.site.post(life, 1, Message::Asked(Box::new(request)));
        }
        match Pulse::open(&mut self.site, None) {
            Ok(pulse) => {
                self.site.tale.count("verbs without a pulse");
                self.pulse = Some(pulse);
                self.drive(|pulse, site| pulse.receive(site, Message::Asked(Box::new(request))));
            }
            Err(error) => {
                self.site.forgive();
                self.site.tell(|| format!("person: is refused: {error}"));
            }
        }
    }

    /// Lets the lock holder do something, and sees what becomes of it.
    pub(super) fn drive(&mut self, deed: impl FnOnce(&mut Pulse, &mut Site) -> Result<(), Halt>) {
        let Some(mut pulse) = self.pulse.take() else { return };
        let done = deed(&mut pulse, &mut self.site);
        let stopped = self.site.disk.is_stopped();
        let exited = pulse.exited;
        let verb_is_done =
            !pulse.loops && !pulse.closed && pulse.waiting.is_empty() && !pulse.engine.is_acting();
        let life = pulse.life;
        self.pulse = Some(pulse);
        match done {
            Err(Halt::Dead) => self.fall(Fall::Killed),
            Err(Halt::Failed(error)) => {
                self.site.tell(|| format!("pulse: gives up: {error}"));
                self.fall(Fall::Killed);
            }
            _ if stopped => {}
            Err(Halt::Log(error)) => {
                if let Some(pulse) = &mut self.pulse {
                    pulse.close(&mut self.site, &error);
                }
            }
            Ok(()) if exited => self.leave(),
            Ok(()) if verb_is_done => {
                self.site.tell(|| format!("verb {life}: done"));
                self.pulse = None;
            }
            Ok(()) => {}
        }
    }

    /// The lock holder has ended in order: nothing of the loop's own may run any more.
    fn leave(&mut self) {
        let closed = self.pulse.as_ref().is_some_and(|pulse| pulse.closed);
        self.site.tell(|| "pulse: has ended");
        self.site.tale.count("orderly ends");
        self.pulse = None;
        let left = self.site.yard.living(false);
        assert!(closed || left.is_empty(), "{left:?} run on after the loop has ended");
        let later = self.site.dice.between(1_000, 3_600_000);
        self.site.after(later, Happening::Starts { by_person: true });
    }

    /// The lock holder goes down without order.
    pub(super) fn fall(&mut self, fall: Fall) {
        self.site.tell(|| format!("pulse: falls ({fall:?})"));
        self.site.tale.count(match fall {
            Fall::Killed => "kills",
            Fall::Rebooted => "reboots",
            Fall::Power => "power losses",
        });
        self.pulse = None;
        let site = &mut self.site;
        if fall != Fall::Killed {
            site.lose_power();
        }
        if fall == Fall::Killed {
            site.forgive();
        }
        site.disk = if fall == Fall::Power { site.disk.crash(site.dice.throw()) } else { site.disk.kill() };
        site.set_disk();
        let later = site.dice.between(100, 30_000);
        site.after(later, Happening::Starts { by_person: false });
    }
}
