//! `looop watch <id>`.

use std::process::ExitCode;

use clap::Args;

use super::attach::{detach_key, leave, not_from_within};
use super::log::Log;
use super::viewer::{Left, Viewer};
use crate::failure::Result;
use crate::ops::Place;
use crate::ops::session::{self, Shown};

/// Look at a worker's terminal without touching it; q leaves
///
/// A terminal that is smaller than the worker's shows the part with the cursor's row, and its last row says so.
#[derive(Args, Debug)]
pub(super) struct Watch {
    /// Which worker or session; `pulse` is the loop itself
    id: String,
}

impl Watch {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let target = match session::readable(place, &self.id)? {
            Shown::Session(target) => target,
            Shown::Pulse(_) => return Log::watching(&self.id).run(place),
        };
        not_from_within(place, &target)?;
        match Viewer::attach(&target, detach_key(place), true)?.run()? {
            // It was only watched: that it ended is no failure of the watching.
            left @ Left::Ended(_) => leave(&target, left).map(|_| ExitCode::SUCCESS),
            Left::Detached => Ok(ExitCode::SUCCESS),
            left @ (Left::SentAway | Left::Gone | Left::Signal(_)) => leave(&target, left),
        }
    }
}
