//! The weather: which hazards a storm has, and how often each strikes.

use crate::disk_dice::Dice;

/// Hazards by name, each with how often it strikes: of the looks, calls or turns that it can befall, so many in a
/// thousand.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// The lock holder is killed between two effects.
    pub kills: usize,
    /// It is killed in a call on the disk.
    pub cuts: usize,
    /// It is killed again and again right after its start.
    pub crash_loops: usize,
    /// The power goes.
    pub power: usize,
    /// The machine is started anew.
    pub reboots: usize,
    /// The disk is full for a while.
    pub full: usize,
    /// Calls on the disk fail.
    pub errors: usize,
    /// The wall clock is set.
    pub steps: usize,
    /// The machine sleeps.
    pub naps: usize,
    /// A file event is lost.
    pub deaf: usize,
    /// A file event comes twice.
    pub echoes: usize,
    /// Sensors hang, fail, flap.
    pub sensors: usize,
    /// Deciders fail, hang, talk nonsense.
    pub deciders: usize,
    /// Moves fail or hang.
    pub moves: usize,
    /// Hosts die with what they hosted.
    pub hosts: usize,
    /// It is not known which workers run.
    pub fleet: usize,
    /// Policy files become garbage, folders vanish.
    pub files: usize,
    /// The person ends the loop and starts it again.
    pub downs: usize,
    /// Decides leave no receipt, or half of one.
    pub receipts: usize,
    /// Decides and workers cost more than was set aside for them.
    pub spenders: usize,
    /// Providers take no calls for a while.
    pub limits: usize,
}

type Hazard = (&'static str, fn(&mut Weather) -> &mut usize, usize);

/// Every hazard: its name, where it stands, and the most that it strikes.
const HAZARDS: [Hazard; 21] = [
    ("kills", |w| &mut w.kills, 30),
    ("cuts", |w| &mut w.cuts, 120),
    ("crash_loops", |w| &mut w.crash_loops, 60),
    ("power", |w| &mut w.power, 60),
    ("reboots", |w| &mut w.reboots, 40),
    ("full", |w| &mut w.full, 100),
    ("errors", |w| &mut w.errors, 12),
    ("steps", |w| &mut w.steps, 120),
    ("naps", |w| &mut w.naps, 60),
    ("deaf", |w| &mut w.deaf, 300),
    ("echoes", |w| &mut w.echoes, 300),
    ("sensors", |w| &mut w.sensors, 300),
    ("deciders", |w| &mut w.deciders, 400),
    ("moves", |w| &mut w.moves, 400),
    ("hosts", |w| &mut w.hosts, 100),
    ("fleet", |w| &mut w.fleet, 60),
    ("files", |w| &mut w.files, 120),
    ("downs", |w| &mut w.downs, 60),
    ("receipts", |w| &mut w.receipts, 700),
    ("spenders", |w| &mut w.spenders, 300),
    ("limits", |w| &mut w.limits, 200),
];

impl Weather {
    /// The weather of a storm: some hazards, of some strength. Hazards named in `without` do not strike; what else
    /// happens stays the same as far as it can.
    pub fn roll(dice: &mut Dice, without: &[String]) -> Self {
        let mut weather = Self::default();
        for (name, at, most) in HAZARDS {
            let (strikes, strength) = (dice.below(3) > 0, dice.below(most) + 1);
            if strikes && !without.iter().any(|other| other == name) {
                *at(&mut weather) = strength;
            }
        }
        weather
    }

    /// The names of all hazards.
    pub fn hazards() -> impl Iterator<Item = &'static str> {
        HAZARDS.iter().map(|(name, ..)| *name)
    }
}
