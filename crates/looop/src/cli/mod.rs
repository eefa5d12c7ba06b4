//! The command line: one file a verb, which holds its arguments, its help and its printing.

mod answer;
mod args;
mod asks;
mod beat;
mod body;
mod completions;
mod doctor;
mod events;
mod goal;
mod help;
mod hidden;
mod init;
mod journal;
mod pause;
mod playbook;
mod print;
mod root;
mod run;
mod runs;
mod schedule;
mod sensor;
mod status;
mod why;

pub use root::main;

/// Says something beside the result, for operations that have something to warn of.
pub(crate) fn warn(text: &str) {
    print::say(&format!("looop: {text}"));
}
