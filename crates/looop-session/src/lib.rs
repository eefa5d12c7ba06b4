//! The yard: every process that looop starts, and its total end.
//!
//! There are two ways to start something. A [`batch`] runs many short children and ends with the process that asked
//! for it. A [`host`] owns one child, outlives whoever launched it, and leaves a receipt. Both see to it that nothing
//! a child ever started stays behind, however it tried: that is `tree`.
//!
//! The crate knows nothing of goals, beats or logs, and imports nothing of ours. Its `unsafe` code is in `sys`.

pub mod batch;
mod cgroup;
pub mod client;
mod clock;
mod ended;
pub mod host;
mod hunt;
pub mod kernel;
pub mod keys;
mod mark;
mod point;
mod proc;
mod pty;
mod reader;
mod reaper;
mod roll;
mod screen;
mod size;
mod skim;
mod spawn;
mod start;
mod status;
mod sys;
mod text;
mod transcript;
mod tree;

pub use batch::{Batch, BatchError, Done, Job, Keep, Order, Stopper};
pub use client::{Client, ClientError};
pub use ended::Ended;
pub use host::{EndError, Fence, HostError, Kill, Launched, Prepared, Receipt, Spec, Standing};
pub use kernel::State;
pub use point::point;
pub use reader::{Extent, Piece, Transcript};
pub use roll::{Roll, Row, row};
pub use screen::Shot;
pub use size::Size;
pub use start::{Start, StartError, start};
pub use status::{Status, forget};
