//! The hands: what to start for an effect, and what came of it.

pub(crate) mod act;
pub(crate) mod adapt;
pub(crate) mod authored;
pub(crate) mod await_file;
pub(crate) mod await_folders;
pub(crate) mod awaited;
pub(crate) mod brakes;
pub(crate) mod contract;
pub(crate) mod decide;
pub(crate) mod decider;
pub(crate) mod dialog;
pub(crate) mod environ;
pub(crate) mod files;
pub(crate) mod fleet;
mod git;
#[cfg(target_os = "linux")]
pub(crate) mod growth;
#[cfg(not(target_os = "linux"))]
pub(crate) mod growth_none;
#[cfg(not(target_os = "linux"))]
pub(crate) use self::growth_none as growth;
#[cfg(target_os = "linux")]
pub(crate) mod inotify;
mod keeper;
pub(crate) mod labour;
pub(crate) mod locked;
pub(crate) mod model;
pub(crate) mod notify;
mod opencode_db;
pub(crate) mod outputs;
pub(crate) mod policy;
mod post;
pub(crate) mod proofs;
mod pull_request;
pub(crate) mod room;
pub(crate) mod rules;
pub(crate) mod runner;
pub(crate) mod sandbox;
pub(crate) mod screens;
pub(crate) mod seeds;
pub(crate) mod sense;
pub(crate) mod settled;
pub(crate) mod stages;
pub(crate) mod task;
mod temp;
pub(crate) mod trial;
pub(crate) mod upkeep;
pub(crate) mod usage;
pub(crate) mod worker;
pub(crate) mod workplace;
pub(crate) mod works;
pub(crate) mod worktree;
