//! The sandbox: what a decider wrote, and workers that shall be confined, see a world in which little can be written and
//! secrets are not there.
//!
//! A [`Confine`] says what is wanted, a [`plan`] says which paths are shown, hidden or writable, and a [`Means`]
//! enforces it: `bwrap` builds a file system of its own, Landlock makes the kernel refuse what is not listed. Either is
//! a few words in front of a command, so that whoever starts it need not know.

mod bwrap;
mod confine;
mod dress;
#[cfg(target_os = "linux")]
mod landlock;
mod means;
mod plan;
mod rights;
mod secrets;
mod trial;

pub(crate) use confine::{Confine, turn_into, wrap};
pub(crate) use dress::{dress, own_reports, own_temp, workplace};
pub(crate) use means::{Means, check, found, means};
pub(crate) use rights::{Agent, of_granted, of_worker};
pub(crate) use trial::trial;
