//! The meter: what a run costs, from what its agent prints, and from the session files that agents keep.
//!
//! `Meter` takes the lines of a stream one by one. At any moment it knows a lower bound of what was spent, so that a
//! call can be stopped when it passes its reservation; at the end it knows the exact figure, or that there is none.
//! Dollars come from the stream where it states them, else from `Prices`. A stream that states tokens and no dollars,
//! for a model that has no price, is unmetered: nothing is guessed.
//!
//! Tokens: `tokens_in` are those read at full price or written to a cache, `tokens_cached` those read from a cache;
//! together they are all that the model was given.

mod bill;
mod bound;
mod call;
mod claude;
mod codex;
mod gemini;
pub mod limit;
mod machine;
mod micros;
mod opencode;
pub mod opencode_db;
mod pi;
mod prices;
mod refused;
mod reset;
pub mod session_file;
mod sift;
mod spec;
pub mod sqlite;
mod talk;
#[cfg(test)]
mod tests;
mod tokens;
mod trouble;
mod unreached;
mod usage;

pub use crate::intake::stream::Format;
pub use bound::CallBound;
pub use call::{Call, Provider};
pub use machine::Meter;
pub use micros::Micros;
pub use prices::{PRICES_AS_OF, Price, Prices};
pub(crate) use reset::after as reset_of;
pub use spec::{Cost, LineCost, Mode, Spec};
pub use trouble::Trouble;
pub use unreached::says_so as reached_no_model;
pub use usage::{Metered, Source, Usage};
