//! The study: everything in looop that decides, as pure functions over values.
//!
//! No file system, clock, environment or process is reachable from here; `clippy.toml` of this crate bans the calls.
//! Time, ids and randomness come in as arguments, so that the same inputs always give the same effects.

pub mod admit;
pub mod agents;
pub mod approval;
pub mod bounds;
pub mod brief;
pub mod builtin;
pub mod check;
pub mod egress;
pub mod engine;
pub mod gate;
pub mod intake;
pub mod ledger;
pub mod meter;
pub mod model;
pub mod notice;
pub mod policy;
pub mod purse;
pub mod schedule;
pub mod shell;
pub mod shown;
pub mod span;
pub mod taint;
pub mod time;
pub mod view;
pub mod world;
