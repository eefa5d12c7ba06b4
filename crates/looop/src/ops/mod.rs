//! Operations: each verb builds a request or reads a view, and nothing else.

pub(crate) mod doctor;
pub(crate) mod forever;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod letters;
mod place;
pub(crate) mod runs;
pub(crate) mod see;
pub(crate) mod sensors;
pub(crate) mod submit;
pub(crate) mod why;

pub(crate) use place::{Place, named};
