//! Real processes, from their start to their total end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch;
#[cfg(debug_assertions)]
mod crash;
mod host;
mod support;
mod torture;
