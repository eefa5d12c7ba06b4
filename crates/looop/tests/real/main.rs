//! Real programs as workers: editors, pagers, shells and the agents of the presets, driven by the verbs that a person
//! would use; and the agents as deciders. The agents talk to a scripted model server on loopback. A program that is not installed is told as
//! skipped; `agents` in this folder installs the agents, `./test` all of them, and with `LOOOP_TEST_ALL` none may miss.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what goes wrong fails the test")]

mod agents;
mod apart;
mod asks;
mod bad_days;
mod contained;
mod crews;
mod decides;
mod desk;
mod dialogs;
mod failures;
mod idlers;
mod models;
mod needs;
mod person;
mod programs;
mod story;
mod till;
mod views;
