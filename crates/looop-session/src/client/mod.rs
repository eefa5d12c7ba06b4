//! Seeing and driving a session from outside.
//!
//! A [`Client`] talks to the host of a live session; [`Attached`] is a terminal's view of it, made for a poll loop.
//! [`Follow`] gives the output from any offset on and never misses or repeats a byte, whether the session lives or has
//! ended. [`Emulated`] is a session's screen, drawn on a terminal of any size. [`Plain`] turns output into lines a person can read, [`Flow`] into text a pattern can be looked for in, and
//! [`last_screen`] is what a terminal showed last.

mod attached;
mod by_hand;
mod connection;
mod emulated;
mod error;
mod flow;
mod follow;
mod frame;
pub(crate) mod joint;
mod last;
mod line;
mod plain;
mod wire;

pub use attached::Attached;
pub use connection::{Client, View};
pub use emulated::{Emulated, Part};
pub use error::ClientError;
pub use flow::{Flow, Match};
pub use follow::{Follow, News};
pub use frame::Frame;
pub use last::{Last, coloured, last_screen, replayed};
pub use plain::Plain;
pub use wire::{Hello, Keyed, Sent};
