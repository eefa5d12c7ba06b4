//! Workers, with the real binary.

#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

mod answers;
mod crashes;
mod dialogs;
mod hand;
mod leftovers;
mod loops;
mod lost;
mod races;
mod review;
mod strays;
mod terms;
mod trees;
mod upgrade;
mod yard;
