//! The sandbox: what a decider wrote, and workers that shall be confined, run in a file system of their own in which only
//! what is listed can be seen.
//!
//! A [`Confine`] says what is wanted, a [`view`] lists what is shown and what can be written, and [`bwrap`] puts that in
//! front of a command, so that whoever starts it need not know. [`enter`] sets limits and hands over the filter of system
//! calls right before bubblewrap starts.

mod bwrap;
mod confine;
mod dress;
mod enter;
#[cfg(target_os = "linux")]
mod filter;
mod means;
mod rights;
mod system;
mod trial;
mod view;

pub(crate) use confine::{Confine, wrap};
pub(crate) use dress::{Command, Dressed, dress, own_reports, own_temp, workplace};
pub(crate) use enter::enter;
pub(crate) use means::{Means, check, found, means};
pub(crate) use rights::{Agent, is_unseen, of_granted, of_worker, unseen_programs};
pub(crate) use trial::trial;
