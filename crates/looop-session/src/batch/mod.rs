//! A batch: many short children under one process that ends with us.
//!
//! The asking side is [`Batch`]; the process itself is [`serve`], reached by running the image again with a word of
//! its own (`looop _batch`). Orders go in on its standard input, results come out on its standard output, and the end
//! of the input is the order to stop. So a batch cannot outlive whoever holds the other end.

mod client;
mod job;
mod pass;
mod running;
mod sweep;
mod wire;

pub use client::{Batch, BatchError, News, Next, Stopper};
pub use job::{Done, Job, Keep, Order, Output};
pub use pass::{ServeError, serve};
