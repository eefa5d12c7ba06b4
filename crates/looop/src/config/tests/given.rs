//! Short ways to say what a config is read from.

pub(super) use std::path::Path;

pub(super) use crate::config::{Env, Loaded, Refusal, from_bytes};

/// An environment of a few variables.
pub(super) fn env(variables: &[(&str, &str)]) -> Env {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
}

pub(super) fn toml(text: &str) -> Result<Loaded, Refusal> {
    from_bytes(Some((Path::new("config.toml"), text.as_bytes())), &Env::new())
}

pub(super) fn json(text: &str) -> Result<Loaded, Refusal> {
    from_bytes(Some((Path::new("config.json"), text.as_bytes())), &Env::new())
}

pub(super) fn refusal(result: Result<Loaded, Refusal>) -> String {
    result.expect_err("refused").to_string()
}
