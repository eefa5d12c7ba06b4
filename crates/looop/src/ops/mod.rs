//! Operations: each verb builds a request or reads a view, and nothing else.

mod alive;
pub(crate) mod approvals;
pub(crate) mod claims;
mod confinement;
pub(crate) mod cost;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod drive;
pub(crate) mod expect;
pub(crate) mod follow;
pub(crate) mod forever;
pub(crate) mod history;
pub(crate) mod holder;
pub(crate) mod init;
pub(crate) mod letters;
pub(crate) mod log;
pub(crate) mod news;
mod place;
pub(crate) mod policy;
pub(crate) mod propose;
mod pulse_log;
pub(crate) mod review;
pub(crate) mod runs;
pub(crate) mod see;
pub(crate) mod sensors;
pub(crate) mod service;
pub(crate) mod session;
pub(crate) mod submit;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod up;
pub(crate) mod why;
pub(crate) mod worker_letters;
pub(crate) mod workers;

pub(crate) use place::{Place, named, reaches_the_loop};
