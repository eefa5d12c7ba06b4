//! What a host needs besides its child's body: all that can fail before the start, so that nothing of it can fail
//! after.

use std::io;

use crate::clock::Alarm;
use crate::reaper::{self, Bell};

/// Signals and time.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) children: Bell,
    pub(super) stopping: Bell,
    pub(super) alarm: Alarm,
}

impl Tools {
    /// Makes the process a subreaper and listens to signals.
    pub(super) fn gather() -> io::Result<Self> {
        reaper::adopt_orphans()?;
        reaper::survive_broken_pipes()?;
        Ok(Self { children: Bell::of_children()?, stopping: Bell::of_stopping()?, alarm: Alarm::new()? })
    }
}
