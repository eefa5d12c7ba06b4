//! The person's settings: one [`Config`] value, built once from a file, the environment and the defaults.
//!
//! Environment beats file beats default, key by key, and [`Loaded`] remembers which of the three spoke. A file is
//! TOML or JSON with the same keys; older forms are brought to the present one before they are read. Nothing here
//! is global: the environment is an argument, and only [`load`] and its like touch a file.
//!
//! What cannot be understood is refused, never guessed: an unknown key names the nearest known one, a wrong type says
//! what was expected, and both show the line. [`KEYS`] is the one table behind parsing, help, docs and nearest names.

mod api;
mod channel;
mod detach_key;
mod error;
mod keys;
mod layers;
mod load;
mod model_option;
mod names;
mod older;
mod plain;
mod policy;
mod preset;
mod problem;
mod raw;
mod runner;
mod settings;
mod stamp;
mod starter;
mod template;
mod tools;
mod tree;
mod warning;

#[cfg(test)]
mod tests;

pub use api::{Api, KeySource};
pub use channel::{Address, HttpChannel};
pub use detach_key::DetachKey;
pub use error::{ConfigError, Refusal};
pub use keys::{KEYS, KeyDoc};
pub use layers::{Env, Layer, Loaded, from_bytes};
pub use load::{FILE_NAMES, MAX_BYTES, load, load_policy, load_settings, read_policy};
pub use looop_core::span::{DurationError, LONGEST, parse_duration};
pub use names::{CHILD_VARIABLES, nearest};
pub(crate) use plain::{calls_no_model, script_of};
pub use policy::{POLICY_FILE, policy_from_bytes};
pub use preset::{PRESETS, RunnerPreset, found_on_path, preset};
pub use problem::{Complaint, Place, Problem};
pub use runner::{Cost, CostMode, Runner, RunnerName};
pub use settings::{Config, DailyCap, Decider, LogFormat, Sandbox, Usd};
pub use stamp::Stamp;
pub use starter::render_starter;
pub(crate) use template::Fill;
pub use template::{NotificationCommand, Template};
pub use tools::{TOOLS, Tool, tool_folders, tools_on_path};
pub use warning::Warning;
