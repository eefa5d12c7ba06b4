//! The purse, with the real binary and a model server on loopback that counts what it charges.
#![expect(clippy::unwrap_used, reason = "what goes wrong fails the test")]

mod desk;
mod growth;
mod schedules;
mod stops;
