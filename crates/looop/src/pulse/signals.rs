//! Signals, each through a pipe of its own, so that the loop hears them in its one poll.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

use crate::failure::{Failure, Result};

/// The signals that end the loop.
const HEEDED: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The pipes of the signals.
#[derive(Debug)]
pub(super) struct Signals(Vec<(i32, UnixStream, SigId)>);

impl Signals {
    /// Listens from here on.
    pub(super) fn listen() -> Result<Self> {
        let failed = |error: std::io::Error| Failure::new(format!("cannot listen for signals: {error}"));
        let mut pipes = Self(Vec::new());
        for signal in HEEDED {
            let (ours, theirs) = UnixStream::pair().map_err(failed)?;
            ours.set_nonblocking(true).map_err(failed)?;
            let id = pipe::register(signal, theirs).map_err(failed)?;
            pipes.0.push((signal, ours, id));
        }
        Ok(pipes)
    }

    /// The next signal that came, if one did. Two of one kind that came together are one.
    pub(super) fn take(&mut self) -> Option<i32> {
        let came = |pipe: &mut UnixStream| pipe.read(&mut [0; 64]).is_ok_and(|count| count > 0);
        self.0.iter_mut().find_map(|(signal, pipe, _)| came(pipe).then_some(*signal))
    }

    /// The descriptors to wait for.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|(_, pipe, _)| pipe.as_fd())
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (_, _, id) in &self.0 {
            unregister(*id);
        }
    }
}

/// The signal's name.
pub(super) fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "a signal",
    }
}
