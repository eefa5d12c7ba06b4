//! Policy: which moves of a decider are admitted, which wait for a person, which are refused.
//!
//! [`case`] tells all that the rules may ask about a move, [`judge`] takes the first rule that matches: the person's own
//! in the order of `policy.toml`, then the built-in list of the [`Level`]. [`granted`] tells what a confined command gets.

mod always;
mod case;
mod glob;
mod judge;
mod lists;
mod render;
mod rule;
mod scene;
mod valid;

#[cfg(test)]
mod tests;

pub use always::{always_rule, always_text};
pub use case::{Case, Ruling};
pub use judge::{granted, judge, matches};
pub use lists::{Builtin, Fact, builtin};
pub use render::{grant_text, rule_text};
pub use rule::{Grant, Level, Policy, Rule, Then, When};
pub use scene::{Scene, case};
pub use valid::{
    action_names, command_fault, env_fault, never_matches, pattern_fault, program_fault, read_fault,
    unreached,
};
