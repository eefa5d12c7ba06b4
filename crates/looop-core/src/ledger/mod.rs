//! The log's entries and their fold: all that the loop remembers.

pub mod entry;
pub mod fold;
pub mod state;
pub mod undo;
