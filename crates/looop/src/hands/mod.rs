//! The hands: what to start for an effect, and what came of it.

pub(crate) mod act;
pub(crate) mod decide;
pub(crate) mod decider;
pub(crate) mod environ;
pub(crate) mod seeds;
pub(crate) mod sense;
pub(crate) mod trial;
pub(crate) mod upkeep;
