//! What the screen of an agent tells: that it stands at a dialog, or that its provider takes no calls.
//!
//! Each agent that looop knows has a table of its own. For every other program, and for dialogs that no table has, there
//! is the look of a menu: a cursor before one of several options.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod pi;
mod screen;
mod table;

#[cfg(test)]
mod tests;

pub use screen::{Halt, Reset, go_on, halt, is_composer_empty, is_dialog, until_text};
