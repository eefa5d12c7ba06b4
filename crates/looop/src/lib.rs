//! looop: a control loop for a person's work, in one binary over plain files.
//!
//! This crate is the edge: argv, environment, printing, clock and threads live here only. What decides is in
//! `looop-core`, what is stored in `looop-store`, what runs in `looop-session`.

pub mod cli;
pub mod clock;
pub mod config;
mod egress;
pub mod failure;
mod hands;
mod ops;
mod pulse;
mod setup;
mod threads;
