//! Shell text: a plain pipeline, which looop starts by itself, and the programs that a person's command seems to call.

mod calls;
mod stages;

pub use calls::calls;
pub use stages::{NotPlain, is_of_the_shell, script_stages, stages};
