//! The brief: what a decider is shown, from most stable to most volatile.
//!
//! A fixed text comes first. In the rest every line of looop's own begins with a mark that is derived from a secret of
//! this beat; all other lines are data between a BEGIN and an END line. Data cannot contain the mark, so nothing that a
//! sensor, goal, ask or worker wrote can look like part of the structure.

mod compose;
mod escape;
mod fit;
mod fixed;
mod input;
mod mark;
mod memory;
mod section;
#[cfg(test)]
mod tests;
mod world;

pub use compose::{Brief, compose, split};
pub use fixed::fixed;
pub use input::{Input, Standing};
