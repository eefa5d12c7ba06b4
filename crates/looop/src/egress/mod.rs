//! The way out of a box that has no network: connections to the hosts that were granted, and to no others.
//!
//! Two processes share a pair of sockets. [`inside`], the first in the box, listens on the loopback of the box, where
//! programs find it by `HTTPS_PROXY`, and hands every connection to [`outside`]. That one reads where it shall lead,
//! looks the name up itself, and connects or refuses. Nothing of it lies in the file system.

mod inside;
mod outside;
mod proxy;
mod tunnel;

pub(crate) use inside::inside;
pub(crate) use outside::{outside, through};
