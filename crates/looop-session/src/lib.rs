//! The yard: every process that looop starts, and its total end.
//!
//! There are two ways to start something. A [`batch`] runs many short children and ends with the process that asked
//! for it. A [`host`] owns one child, outlives whoever launched it, and leaves a receipt. Both see to it that nothing
//! a child ever started stays behind, however it tried: that is `tree`.
//!
//! The crate knows nothing of goals, beats or logs, and imports nothing of ours. Its `unsafe` code is in `sys`.

pub mod batch;
mod cgroup;
mod clock;
mod ended;
pub mod host;
mod hunt;
mod mark;
mod point;
mod proc;
mod reaper;
mod spawn;
mod sys;
mod text;
mod tree;

pub use batch::{Batch, BatchError, Done, Job, Keep, Order, Stopper};
pub use ended::Ended;
pub use host::{EndError, Fence, HostError, Launched, Prepared, Receipt, Spec, Standing};
pub use point::point;
