//! A host: one small process that owns one child, outlives whoever launched it, and leaves a receipt.
//!
//! A session is a folder (mode 0700). All that is ever known about it is in there:
//!
//! | file | what |
//! | --- | --- |
//! | `lock` | held by the host with flock; alive means exactly that |
//! | `spec.json` | what to run, written before the host is launched, durable with its folder before `started` is made |
//! | `started` | made with `O_EXCL` by the host just before exec, or by a [`fence`]: whoever makes it decides |
//! | `output.log` | what the child printed, readable while it runs: the tail of a pipe, the newest segment of a terminal |
//! | `output-<start>.log` | older segments of a terminal's output, named by the offset of their first byte |
//! | `screen.json` | the last screen of a terminal |
//! | `receipt.json` | how it ended, written into space reserved before exec |
//! | `sock` | while the host lives: see, type, end |
//! | `cgroup` | where its control group is, if there is one |
//! | `swept` | its host died, and nothing that it had started runs any more |
//!
//! Its status is published beside it, in `status/`, if the spec says so.
//!
//! So a start happens at most once, whatever dies when; see [`Standing`] for what can be found afterwards.

mod answers;
mod body;
mod caller;
mod door;
mod end;
pub(crate) mod folder;
mod frame;
mod keeper;
pub(crate) mod launch;
mod life;
mod outbox;
mod pipe;
mod publisher;
mod receipt;
mod setup;
mod spec;
pub(crate) mod standing;
mod tail;
mod terminal;
mod tools;
mod typing;
mod words;

pub use end::{EndError, Kill, end, finish, is_unswept, kill, sweep};
pub use launch::{HostError, Launched, Prepared, launch, prepare};
pub use life::main;
pub use spec::{Receipt, Spec};
pub use standing::{Fence, Standing, child, fence, output_tail, standing, wait};
pub(crate) use standing::{mark_of, sought};
