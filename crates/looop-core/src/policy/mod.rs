//! Policy: which moves of a decider are admitted, which wait for a person, which are refused.
//!
//! [`case`] tells all that the rules may ask about a move, [`judge`] takes the first rule that matches: the person's own
//! in the order of `policy.toml`, then the built-in list of the [`Level`]. [`run`] tells what a shell text gets: which grants
//! apply to it, and why others do not.

mod always;
mod case;
mod glob;
mod grant;
mod judge;
mod lists;
mod pattern;
mod reading;
mod render;
mod rule;
mod run;
mod scene;
mod shipped;
mod valid;

#[cfg(test)]
mod tests;

pub use always::{always_rule, always_text};
pub use case::{Case, Ruling};
pub use grant::{CommandGrant, Gives, Grant, Net, OnTaint, PathGrant, ProgramGrant, gives_nothing};
pub use judge::{judge, matches};
pub use lists::{Builtin, Fact, builtin};
pub use pattern::{Fault, Pattern};
pub use reading::{GRANT_KEYS, GrantFault, read_allow, read_grant};
pub use render::{grant_text, rule_text};
pub use rule::{Level, Policy, Rule, Then, When};
pub use run::{Run, Text, run, with_goal};
pub use scene::{Scene, case};
pub use shipped::shipped_programs;
pub use valid::{action_names, command_fault, never_matches, pattern_fault, program_fault, unreached};
