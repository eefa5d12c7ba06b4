//! A session as a pure machine: states, timers and deliveries, without a clock and without I/O.
//!
//! The host tells the [`Kernel`] what happened ([`Input`]) and when, does what it says ([`Action`]), and calls again at
//! [`Kernel::next`]. A session starts, lives, may be paused, ends with all that it started, and is over. The end wins
//! over everything: once it began nothing is typed any more and whoever waits is answered.

mod action;
mod answer;
mod delivery;
mod desk;
mod explain;
mod input;
mod job;
mod look;
mod machine;
mod memory;
mod paste;
mod state;
mod timer;
mod turn;

#[cfg(test)]
mod tests;

pub use action::Action;
pub use answer::{Answer, Delivery, Refusal};
pub use explain::{Explained, Step, Underway};
pub use input::Input;
pub use look::{Look, Reads, look, tail_of};
pub use machine::Kernel;
pub use paste::paste_bytes;
pub use state::{Stage, State};
pub use timer::{Timer, Wait};
