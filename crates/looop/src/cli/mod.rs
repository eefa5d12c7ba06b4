//! The command line: one file a verb, which holds its arguments, its help and its printing.

mod answer;
mod args;
mod ask;
mod asks;
mod attach;
mod beat;
mod body;
mod claim;
mod completions;
mod cost;
mod detach;
mod doctor;
mod down;
mod events;
mod expect;
mod flag;
mod foreground;
mod goal;
mod help;
mod hidden;
mod init;
mod inner_screen;
mod journal;
mod key;
mod kill;
mod leaving;
mod list;
mod log;
mod pause;
mod playbook;
mod policy;
mod print;
mod propose;
mod prune;
mod resize;
mod restart;
mod review;
mod root;
mod run;
mod runs;
mod schedule;
mod send;
mod sensor;
mod service;
mod shot;
mod side;
mod status;
mod tell;
mod terminal;
mod told;
mod trust;
mod undo;
mod up;
mod viewer;
mod wait;
mod wait_idle;
mod wake;
mod watch;
mod watched;
mod why;
mod worker;

pub use root::main;

/// Says something beside the result, for operations that have something to warn of.
pub(crate) fn warn(text: &str) {
    print::say(&format!("looop: {text}"));
}
