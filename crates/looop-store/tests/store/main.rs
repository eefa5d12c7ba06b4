//! The store on a real disk and on the one in memory.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

mod asks;
mod bounds;
mod broken;
mod claims;
mod crash;
mod docs;
mod faults;
mod folds;
mod harness;
mod journal;
mod letter_faults;
mod lock;
mod log;
mod mail;
mod modes;
mod moves;
mod profile;
mod tail;
mod tells;
