//! A decider that is a model: one call, one forced tool, the answer as it comes.

mod answer;
mod attempts;
mod body;
mod call;
mod events;
mod key;
mod refused;

pub(super) use attempts::decide;
