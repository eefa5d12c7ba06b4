//! A decider that is a model: one call, one forced tool, the answer as it comes.

mod answer;
mod attempts;
mod body;
mod call;
mod events;
mod key;
mod listing;
mod refused;

pub(super) use attempts::decide;
pub(crate) use listing::{Listed, list_models};
