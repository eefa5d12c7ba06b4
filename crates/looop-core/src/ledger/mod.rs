//! The log's entries and their fold: all that the loop remembers.

mod bound;
pub mod entry;
pub mod fold;
mod reasons;
mod spend;
pub mod state;
mod traits;
pub mod undo;
