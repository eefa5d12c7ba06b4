//! The lock holder: the one who beats, for one verb or for long.

pub(crate) mod client;
mod control;
mod driver;
mod effects;
mod inbox;
pub(crate) mod open;
mod signals;
mod wire;
mod workers;

pub(crate) use inbox::{Message, post};
