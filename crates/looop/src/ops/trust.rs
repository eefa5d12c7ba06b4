//! Taking over what a decider wrote.

use looop_core::engine::io::Request;

use super::{Place, submit};
use crate::failure::{Failure, Result};

/// Makes a file the person's, and gives its path below the profile.
pub(crate) fn trust(place: &Place, file: &str) -> Result<String> {
    let below = std::path::Path::new(file).strip_prefix(&place.data).ok().and_then(|path| path.to_str());
    let path = below.unwrap_or(file).to_owned();
    let is_ours = ["sensors/", "goals/"].iter().any(|folder| path.starts_with(folder));
    if !is_ours || path.contains("..") {
        return Err(Failure::usage(format!("\"{file}\" is neither a sensor nor a goal"))
            .hint("looop trust sensors/<file>, or looop trust goals/<id>.md"));
    }
    if !place.data.join(&path).is_file() {
        return Err(Failure::new(format!("there is no file {path}")));
    }
    submit::done(place, Request::Trust { path: path.clone() })?;
    Ok(path)
}
