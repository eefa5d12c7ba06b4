//! Going after those who fork and end in one breath.
//!
//! A process that forks, lets its child go on and ends is dead by the time a look at the process table has come to its
//! end, and so is the next one. But the kernel says which number it gave last, and the one we want has it, or one just
//! below. So we look there, and strike at once.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::proc;

/// How often the last number is asked for at most.
const ROUNDS: u32 = 400;
/// After so many rounds without a trace there is nobody to go after.
const TRACELESS: u32 = 30;
/// How many numbers are looked at in a round.
const REACH: i32 = 12;

/// What is under a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Nobody of interest.
    Miss,
    /// One of those we want, and it has ended.
    Trace,
    /// One of those we want; it is signalled.
    Hit,
}

/// Goes after the newest processes with `probe`, which strikes. Says how many it hit.
pub(crate) fn hunt(probe: &dyn Fn(i32) -> Probe) -> usize {
    let (mut hits, mut traceless) = (0, 0);
    for _ in 0..ROUNDS {
        let Some(last) = proc::last_pid() else { return hits };
        let mut traces = 0;
        for pid in ((last - REACH).max(2)..=last).rev() {
            match probe(pid) {
                Probe::Miss => {}
                Probe::Trace => traces += 1,
                Probe::Hit => {
                    traces += 1;
                    hits += 1;
                }
            }
        }
        traceless = if traces == 0 { traceless + 1 } else { 0 };
        if traceless == TRACELESS {
            return hits;
        }
    }
    hits
}

/// Strikes a child of ours that `ours` says is to end.
///
/// A child is reaped by nobody but us, and we do not do it meanwhile: its number is its own as long as this takes.
pub(crate) fn strike_child(pid: i32, ours: &dyn Fn(i32) -> bool) -> Probe {
    let Some(id) = Pid::from_raw(pid) else { return Probe::Miss };
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match rustix::process::waitid(WaitId::Pid(id), look) {
        Ok(None) if ours(pid) => {
            let struck = rustix::process::kill_process(id, Signal::KILL);
            if struck == Err(Errno::PERM) { Probe::Miss } else { Probe::Hit }
        }
        Ok(Some(_)) => Probe::Trace,
        Ok(None) | Err(_) => Probe::Miss,
    }
}
