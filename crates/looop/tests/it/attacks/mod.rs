//! A decider that means harm, against the default policy: whatever it tries, nothing outside the policy happens. What
//! must not happen is seen by canaries, never by what looop says.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

mod approvals;
mod field;
mod files;
mod grants;
mod links;
mod person;
mod races;
mod reach;
mod repos;
mod screens;
mod shell;
mod vehicles;
