//! The yard: every process that looop starts, and its total end.
//!
//! There are two ways to start something. A [`batch`] runs many short children and ends with the process that asked
//! for it. A [`host`] owns one child, outlives whoever launched it, and leaves a receipt. Both see to it that nothing
//! a child ever started stays behind, however it tried: that is `tree`. What either runs may be a [`pipeline`], which waits
//! for its commands and ends with them. Beside them [`detach`] lets the program itself go
//! on without a terminal; nobody owns that process, and it ends by its own will.
//!
//! The crate knows nothing of goals, beats or logs, and imports nothing of ours. Its `unsafe` code is in `sys`.

pub mod batch;
mod cgroup;
pub mod client;
mod clock;
mod detach;
mod ended;
pub mod host;
mod hunt;
mod inside;
pub mod kernel;
pub mod keys;
mod mark;
mod memory;
mod pipeline;
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
mod strays;
mod sys;
mod text;
mod transcript;
mod tree;
mod watched;

pub use batch::{Batch, BatchError, Done, Job, Keep, News, Next, Order, Output, Stopper};
pub use client::{Client, ClientError};
pub use detach::{Detached, detach};
pub use ended::Ended;
pub use host::{EndError, Fence, HostError, Kill, Launched, Prepared, Receipt, Spec, Standing};
pub use inside::{inside, is_below, peer};
pub use kernel::State;
pub use memory::let_go_of_code;
pub use pipeline::{Part, pipeline};
pub use point::point;
pub use reader::{Extent, Piece, Transcript};
pub use roll::{Roll, Row, lost, row};
pub use screen::Shot;
pub use size::Size;
pub use spawn::turn_into;
pub use start::{Start, StartError, start};
pub use status::{Status, forget};
pub use strays::{Sign, Stray, end_strays, strays};
pub use watched::Watched;
