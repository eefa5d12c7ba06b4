//! The long-running loop, tried with the real binary: what wakes it, what it does meanwhile, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chaos;
mod deciding;
mod ending;
mod faults;
mod folders;
pub(crate) mod looping;
mod place;
mod storms;
mod terminal;
mod wakes;
