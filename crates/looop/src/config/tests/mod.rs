//! What the whole room does, from bytes and an environment to a config or a refusal.

mod files;
mod given;
mod layering;
mod never_panics;
mod older_forms;
mod policy;
mod refusals;
mod starting;
mod variables;
