//! The lock holder: the one who beats, for one verb or for long.

pub(crate) mod client;
mod control;
mod driver;
mod ear;
mod effects;
pub(crate) mod guest;
mod inbox;
mod life;
pub(crate) mod open;
pub(crate) mod pulse_log;
mod release;
mod reopen;
mod scans;
mod settings;
pub(crate) mod show;
mod signals;
mod timers;
mod watch;
mod wire;
mod workers;

pub(crate) use inbox::{Message, Poster, post};
