//! Event streams of agent CLIs: the final message, the error that an exit code does not tell, and readable lines.
//!
//! The format is known by the shapes of the lines, never by their key order or the name of the program. What is no
//! event of a known format is left alone.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod pi;
mod story;
#[cfg(test)]
mod tests;

pub use story::{Format, beside, error, final_message, render};
pub(crate) use story::{Story, text};
