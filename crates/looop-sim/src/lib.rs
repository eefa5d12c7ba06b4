//! Seeded worlds for looop: a disk in memory that fails on the n-th call, under the real engine and the real store.

pub mod disk;
pub mod disk_dice;
pub mod disk_faults;

mod disk_tree;
pub mod model;
pub mod profile;
pub mod storm;
pub mod terminal;
pub mod waiting;
pub mod world;
pub mod yard;
