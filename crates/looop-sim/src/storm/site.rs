//! The machine and all that is on it, besides the loop itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use looop_core::ledger::state::Ledger;
use looop_core::world::fleet::Fleet;
use looop_store::Reader;

use super::agenda::{Agenda, Happening, Message};
use super::bank::Bank;
use super::clock::Clock;
use super::config::Config;
use super::decider::Mind;
use super::gauges::Gauge;
use super::tale::Tale;
use super::till::Till;
use super::weather::Weather;
use super::yard::Yard;
use crate::disk::MemDisk;
use crate::disk_dice::Dice;
use crate::disk_faults::DiskWeather;

/// The machine.
#[derive(Debug)]
pub struct Site {
    /// Its clocks.
    pub clock: Clock,
    /// What is going to happen.
    pub agenda: Agenda,
    /// The profile's disk.
    pub disk: MemDisk,
    /// Chance.
    pub dice: Dice,
    /// What can go wrong.
    pub weather: Weather,
    /// What happened.
    pub tale: Tale,
    /// The configuration as the person last wrote it.
    pub config: Config,
    /// What the sensors measure.
    pub gauges: BTreeMap<String, Gauge>,
    /// Commands that ran to a good end.
    pub done: BTreeSet<String>,
    /// What the deciders say.
    pub mind: Mind,
    /// Why it is not known which workers run, while it is not.
    pub blind: bool,
    /// Hosted children.
    pub yard: Yard,
    /// Number of the newest lock holder.
    pub life: u64,
    /// Whether the disk is full.
    pub full: bool,
    /// How many calls of a thousand fail.
    pub errors: usize,
    /// How long workers work, in milliseconds, where that is not up to chance.
    pub shift: Option<u64>,
    /// How many starts are still going to end in a crash.
    pub crashes: u64,
    /// What providers charge, where that matters.
    pub bank: Option<Bank>,
    /// What is known of money besides the log.
    pub till: Till,
}

impl Site {
    /// A machine that was just switched on, with an empty profile.
    pub fn new(seed: u64, config: Config) -> Self {
        let disk = MemDisk::new();
        disk.forget_names();
        Self {
            clock: Clock::default(),
            agenda: Agenda::default(),
            disk,
            dice: Dice::new(seed),
            weather: Weather::default(),
            tale: Tale::default(),
            config,
            gauges: BTreeMap::new(),
            done: BTreeSet::new(),
            mind: Mind::Idle,
            blind: false,
            yard: Yard::default(),
            life: 0,
            full: false,
            errors: 0,
            shift: None,
            crashes: 0,
            bank: None,
            till: Till::default(),
        }
    }

    /// Lets the disk be as full and as broken as it is now.
    pub fn set_disk(&mut self) {
        let dice = Dice::new(self.dice.throw());
        self.disk.set_weather(DiskWeather { full: self.full, errors: self.errors, dice });
    }

    /// Who dies right after a failed sync tells nobody of it. The next one cannot know that a part of a file is only
    /// shown and not stored, and a later loss of power would leave a hole: one fault too many for one file.
    pub(super) fn forgive(&self) {
        self.disk.heal();
    }

    /// Nothing is done before its intention is on the disk: a loss of power at this very moment must not undo it.
    pub(super) fn assert_intended(&mut self, found: impl Fn(&Ledger) -> bool) {
        if self.disk.is_stopped() || self.dice.below(4) > 0 {
            return;
        }
        let disk = self.disk.crash(self.dice.throw());
        let reader = Reader::on(Arc::new(disk), Path::new("profile")).expect("a profile");
        let ledger = reader.ledger().expect("a log");
        assert!(found(&ledger), "something is done before it is on the disk");
    }

    /// Tells a line.
    pub fn tell<T: Display>(&mut self, line: impl FnOnce() -> T) {
        self.tale.tell(&self.clock, line);
    }

    /// Lets something happen so many milliseconds from now.
    pub fn after(&mut self, ms: u64, happening: Happening) {
        self.agenda.add(self.clock.t + ms, happening);
    }

    /// Posts a message to the lock holder of this life.
    pub fn post(&mut self, life: u64, ms: u64, message: Message) {
        self.after(ms, Happening::Reaches(life, message));
    }

    /// The profile as any process sees it.
    pub fn reader(&self) -> Option<Reader> {
        Reader::on(Arc::new(self.disk.clone()), Path::new("profile")).ok()
    }

    /// The workers, as far as that can be known.
    pub fn fleet(&self) -> Fleet {
        if self.blind {
            let fault = Some("sessions/ cannot be read: input/output error".to_owned());
            return Fleet { fault, ..Fleet::default() };
        }
        self.yard.fleet(self.clock.t)
    }
}
