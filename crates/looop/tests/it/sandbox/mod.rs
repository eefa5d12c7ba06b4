//! What deciders wrote, and workers that shall be, are confined: the real binary.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

mod bounds;
mod egress;
mod ground;
mod ordinary;
mod sensors;
mod shell;
mod workers;
