//! What holds of every entry of a kind.

use super::entry::{Entry, Line};
use crate::model::plan::BeatId;

impl Line {
    /// Whether it must be on the disk before anything follows. What was merely seen need not be.
    pub fn needs_sync(&self) -> bool {
        let seen = |entry: &Entry| {
            matches!(entry, Entry::Saw { .. } | Entry::Skipped { .. } | Entry::Flapping { .. })
        };
        !self.entries.iter().all(seen)
    }
}

impl Entry {
    /// The beat that it belongs to, if it belongs to one.
    pub fn beat(&self) -> Option<BeatId> {
        match self {
            Self::Skipped { beat, .. }
            | Self::DecideStarted { beat, .. }
            | Self::Decided { beat, .. }
            | Self::Failed { beat, .. }
            | Self::Rejected { beat, .. }
            | Self::Overtaken { beat, .. }
            | Self::Intended { beat, .. }
            | Self::Restarted { beat, .. }
            | Self::Finished { beat, .. }
            | Self::Parked { beat: Some(beat), .. } => Some(*beat),
            Self::Seeded { .. }
            | Self::WorkFound { .. }
            | Self::GoalsHold { .. }
            | Self::WorkerNoted { .. }
            | Self::Saw { .. }
            | Self::SensorChanged { .. }
            | Self::Flapping { .. }
            | Self::Parked { beat: None, .. }
            | Self::Approved { .. }
            | Self::Declined { .. }
            | Self::Lapsed { .. }
            | Self::Reparked { .. }
            | Self::RuleWritten { .. }
            | Self::Asked { .. }
            | Self::Answered { .. }
            | Self::Dismissed { .. }
            | Self::Withdrawn { .. }
            | Self::Trusted { .. }
            | Self::WorkerStarted { .. }
            | Self::WorkerEnded { .. }
            | Self::Spent { .. }
            | Self::Granted { .. }
            | Self::Verified { .. }
            | Self::ClaimReaped { .. }
            | Self::Told { .. }
            | Self::Pruned { .. }
            | Self::ScheduleDue { .. }
            | Self::ConfigError { .. }
            | Self::ConfigMended
            | Self::Notified { .. }
            | Self::Undelivered { .. }
            | Self::Delivered { .. }
            | Self::Forgot { .. }
            | Self::Renumbered { .. }
            | Self::Paused { .. }
            | Self::Resumed
            | Self::Dropped { .. }
            | Self::Stopped { .. } => None,
        }
    }
}
