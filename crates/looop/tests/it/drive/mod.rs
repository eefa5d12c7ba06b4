//! Workers driven by hand: the verbs that see a session and type into it, with the real binary in real terminals.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attach;
mod ground;
mod person;
mod see;
mod types;
mod watch;
