//! The pulse as others see it: whether one runs, and when it has ended.

use std::os::fd::{AsFd, OwnedFd};

use looop_core::engine::io::PulseView;
use looop_store::Reader;
use rustix::event::PollFlags;

use super::see::holder;
use super::{Place, submit};
use crate::failure::Result;
use crate::hands::await_folders::{Beside, is_ready};

/// The loop that runs on this profile, as it describes itself. A verb that holds the lock for a moment is none.
pub(crate) fn pulse(place: &Place) -> Result<Option<PulseView>> {
    Ok(if let submit::Holder::Pulse(view) = submit::holder(place)? { Some(view) } else { None })
}

/// The process that holds the lock, watched for its end without disturbing it.
#[derive(Debug)]
pub(crate) struct Holder {
    pid: u32,
    reader: Reader,
    life: Option<OwnedFd>,
}

impl Holder {
    /// The pulse, if one runs.
    pub(crate) fn of_pulse(place: &Place) -> Result<Option<Self>> {
        let reader = place.reader()?;
        while let Some(view) = pulse(place)? {
            let life = open_life(view.pid);
            // Only the process that still has the lock is the one that was opened: numbers are used again.
            if holder(&reader) == Some(view.pid) {
                return Ok(Some(Self { pid: view.pid, reader, life }));
            }
        }
        Ok(None)
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        match self.end() {
            Some(end) => is_ready(end),
            None => holder(&self.reader) != Some(self.pid),
        }
    }

    /// What becomes ready when it ends. Where there is no such thing one asks every second.
    pub(crate) fn end(&self) -> Option<Beside<'_>> {
        self.life.as_ref().map(|life| (life.as_fd(), PollFlags::IN))
    }
}

#[cfg(target_os = "linux")]
fn open_life(pid: u32) -> Option<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_life(_pid: u32) -> Option<OwnedFd> {
    None
}
