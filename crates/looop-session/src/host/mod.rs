//! A host: one small process that owns one child, outlives whoever launched it, and leaves a receipt.
//!
//! A session is a folder (mode 0700). All that is ever known about it is in there:
//!
//! | file | what |
//! | --- | --- |
//! | `lock` | held by the host with flock; alive means exactly that |
//! | `spec.json` | what to run, written before the host is launched |
//! | `started` | made with `O_EXCL` by the host just before exec, or by a [`fence`]: whoever makes it decides |
//! | `output.log` | the tail of what the child printed, readable while it runs |
//! | `receipt.json` | how it ended, written into space reserved before exec |
//! | `sock` | hello and kill, while the host lives |
//! | `cgroup` | where its control group is, if there is one |
//!
//! So a start happens at most once, whatever dies when; see [`Standing`] for what can be found afterwards.

mod door;
mod end;
mod folder;
mod launch;
mod life;
mod receipt;
mod setup;
mod spec;
mod standing;
mod tail;

pub use end::{EndError, end};
pub use launch::{HostError, Launched, Prepared, launch, prepare};
pub use life::main;
pub use spec::{Receipt, Spec};
pub use standing::{Fence, Standing, fence, output_tail, standing, wait};
