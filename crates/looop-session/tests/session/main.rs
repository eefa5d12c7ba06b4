//! Real processes, from their start to their total end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch;
mod client;
#[cfg(debug_assertions)]
mod crash;
mod detach;
mod dialogs;
mod host;
mod kill;
mod old_host;
mod starts;
mod status;
mod strays;
mod support;
mod talk;
mod terminal;
mod torture;
mod torture_ground;
mod torture_terminal;
mod typing;
mod viewers;
