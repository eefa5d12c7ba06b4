//! What is known against a program, one table a family.

mod cloud;
mod data;
mod family;
mod files;
mod git;
mod hosting;
mod interpreters;
mod judge;
mod net;
mod packages;
mod system;

pub(super) use files::{in_scratch, overwriting, removal};
pub(super) use judge::{is_known, judge};
