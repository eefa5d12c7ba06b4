//! What a brief is made of.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::gate::Limits;
use crate::ledger::entry::Force;
use crate::ledger::state::Ledger;
use crate::time::Now;
use crate::world::baseline::Change;
use crate::world::observation::Docs;
use crate::world::reading::Reading;

/// Everything that a brief shows.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What the loop remembers: notes, journal, asks, failures.
    pub ledger: &'a Ledger,
    /// PLAYBOOK and goals.
    pub docs: &'a Docs,
    /// Readings of sensors and probes.
    pub readings: &'a BTreeMap<String, Reading>,
    /// What differs from the baseline.
    pub changes: &'a [Change],
    /// Readings that flap.
    pub flapping: &'a [&'a str],
    /// Why the decider is asked, if the world is unchanged.
    pub forced: Option<&'a Force>,
    /// The goals by their turn, first come first.
    pub fairness: &'a [Standing],
    /// The present moment.
    pub now: &'a Now,
    /// Bounds of the loop.
    pub limits: &'a Limits,
    /// The secret of this beat.
    pub secret: [u8; 16],
    /// Whether the moves are listed in the text; else they are in the schema of a tool.
    pub catalogue_in_text: bool,
    /// Whether moves about workers are offered.
    pub workers_available: bool,
}

/// How a goal stands in the ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which goal.
    pub goal: String,
    /// How long ago it was last served, if ever.
    pub unserved: Option<Duration>,
    /// Whether its check fails or its time has come.
    pub ready: bool,
    /// Whether it has been ready too long.
    pub overdue: bool,
}
