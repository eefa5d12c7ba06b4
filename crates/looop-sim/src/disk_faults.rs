//! Faults: what can befall a call on the disk.

use std::io;

use crate::disk_dice::Dice;

/// Text of the error that every call gives once the machine has stopped.
const CRASHED: &str = "the machine has stopped";

/// A fault that befalls one call, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails and the machine goes on.
    Fail {
        /// Which call.
        at: usize,
        /// With what: [`io::ErrorKind::StorageFull`] or another kind.
        kind: io::ErrorKind,
        /// Whether a write leaves half of its bytes.
        half: bool,
    },
    /// The machine stops in this call; this one and all later ones fail.
    Cut {
        /// Which call.
        at: usize,
        /// Whether it took effect before that: half the bytes of a write, all of anything else.
        half: bool,
    },
}

/// What befalls calls by chance, until it clears.
#[derive(Clone, Debug)]
pub struct DiskWeather {
    /// Whether nothing more fits.
    pub full: bool,
    /// How many calls of a thousand fail.
    pub errors: usize,
    /// What decides.
    pub dice: Dice,
}

impl Default for DiskWeather {
    fn default() -> Self {
        Self { full: false, errors: 0, dice: Dice::new(0) }
    }
}

impl DiskWeather {
    /// The fault that befalls this call, if one does.
    pub(crate) fn befalls(&mut self, call: &str) -> Option<Fault> {
        let grows = matches!(call, "create" | "append" | "make_dir");
        if self.full && grows {
            return Some(Fault::Fail { at: 0, kind: io::ErrorKind::StorageFull, half: self.dice.coin() });
        }
        let failed = self.errors > 0 && self.dice.below(1000) < self.errors;
        failed.then(|| Fault::Fail { at: 0, kind: io::ErrorKind::Other, half: self.dice.coin() })
    }
}

/// How much of a call happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Whole,
    Half,
    /// A sync that fails: the bytes are dropped from what will ever reach the disk.
    Lost,
}

impl Effect {
    /// The part of a write that happens.
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        match self {
            Self::Whole => bytes,
            Self::Half | Self::Lost => &bytes[..bytes.len() / 2],
        }
    }
}

impl Fault {
    pub(crate) fn at(&self) -> usize {
        match self {
            Self::Fail { at, .. } | Self::Cut { at, .. } => *at,
        }
    }

    pub(crate) fn error(&self) -> io::Error {
        match self {
            Self::Fail { kind, .. } => (*kind).into(),
            Self::Cut { .. } => crashed(),
        }
    }

    /// What the call still does. A failing one leaves half a write, or loses what it should have synced; any other
    /// call that fails has done nothing.
    pub(crate) fn effect(&self, call: &str) -> Option<Effect> {
        match self {
            Self::Fail { half: true, .. } => {
                matches!(call, "create" | "append" | "sync" | "sync_data").then_some(Effect::Lost)
            }
            Self::Cut { half: true, .. } => Some(Effect::Half),
            Self::Fail { half: false, .. } | Self::Cut { half: false, .. } => None,
        }
    }
}

/// The error of a stopped machine.
pub(crate) fn crashed() -> io::Error {
    io::Error::other(CRASHED)
}
