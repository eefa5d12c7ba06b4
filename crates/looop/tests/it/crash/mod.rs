//! `kill -9` of the real binary at every named durable point and at random, and a disk that is full: nothing is lost,
//! nothing is done twice.

#![expect(clippy::unwrap_used, clippy::wildcard_enum_match_arm, reason = "a test that fails says where")]

mod checks;
mod full_disk;
mod machine;
mod points;
mod random;
mod scenarios;
