//! What a shell text would do, read from its grammar.
//!
//! Text that a decider wrote is parsed, never matched against patterns: the tree is walked (`walk`), every command is
//! reduced to its words (`word`), commands that run other commands are opened (`wrap`, `builtin`), and what is left is
//! held against small tables, one a family (`rules`). What cannot be parsed, or hides which program it runs, is
//! unknown. Nothing here runs or expands anything, and the work is bounded whatever the text.
//!
//! The answer is advice for the policy, not a fence: the sandbox holds what a reading of the text cannot see.

mod ansi;
mod awk;
mod builtin;
mod call;
mod harmless;
mod parse;
mod paths;
mod peek;
mod rules;
mod screener;
mod screening;
mod script;
mod sed;
mod tame;
#[cfg(test)]
mod tests;
mod walk;
mod word;
mod wrap;

pub use harmless::is_harmless;
pub use screening::{Danger, Finding, Screening};
pub use script::{screen, screen_script};
