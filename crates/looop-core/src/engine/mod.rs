//! The loop as a state machine: events in, effects out.
//!
//! The engine holds the decide and the move under way apart, at most one of each. It never reads a clock, a file or an
//! environment: everything comes with the event, and the entries of one step are one append.

mod acts;
pub mod answers;
mod asking;
mod beat;
mod consent;
mod decide;
mod ending;
mod forgetting;
mod goals;
pub(crate) mod interview;
pub mod io;
mod letters;
mod limits;
mod looks;
pub mod machine;
mod notices;
pub mod preview;
mod requests;
mod spend;
#[cfg(test)]
pub(crate) mod tests;
pub mod wake;
mod workers;
