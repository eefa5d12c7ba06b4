//! Setting up a profile.

use looop_core::engine::io::Request;
use looop_store::Reader;
use looop_store::disk::write_new;

use super::{Place, submit};
use crate::config::{FILE_NAMES, PRESETS, found_on_path, nearest, preset, render_starter};
use crate::failure::{Failure, Result};
use crate::pulse::open::open_failure;

/// Writes `config.toml` for the chosen or found runner and makes the profile. Says what it did.
pub(crate) fn init(place: &Place, runner: Option<&str>) -> Result<Vec<String>> {
    let found = found_on_path(&place.env);
    let chosen = match runner {
        Some("builtin") => None,
        Some(name) => Some(preset(name).ok_or_else(|| unknown(name))?),
        None => found.first().and_then(|name| preset(name)),
    };
    let reader = Reader::create(&place.data).map_err(|error| open_failure(&error))?;
    let mut said = vec![format!("profile {}", place.data.display())];
    if let Some(there) = FILE_NAMES.iter().find(|name| !reader.disk().stat(name).is_absent()) {
        said.push(format!("{there} is there already and was left as it is"));
    } else {
        let text = render_starter(chosen);
        let written = write_new(reader.disk(), "config.toml", text.as_bytes(), 0o600);
        written.map_err(|error| Failure::new(error.text()))?;
        let who = chosen.map_or("builtin", |preset| preset.name);
        said.push(format!("wrote config.toml: {who} decides"));
    }
    let others: Vec<&str> =
        found.iter().copied().filter(|name| chosen.is_none_or(|c| c.name != *name)).collect();
    if !others.is_empty() {
        said.push(format!("also installed: {}; looop help config tells how to use them", others.join(", ")));
    }
    if let Some(chosen) = chosen.filter(|chosen| !found.contains(&chosen.name)) {
        said.push(format!("note: {} is not on your PATH yet", chosen.name));
    }
    // A dry run opens the profile as its holder does: folders, log and starter files are there afterwards.
    submit::submit(place, Request::DryRun, &mut |_| {})?;
    said.push("next: looop beat".to_owned());
    Ok(said)
}

fn unknown(name: &str) -> Failure {
    let names = || PRESETS.iter().map(|preset| preset.name).chain(["builtin"]);
    let failure = Failure::usage(format!("there is no preset for \"{name}\""));
    match nearest(name, names()) {
        Some(near) => failure.hint(format!("did you mean {near}?")),
        None => failure.hint(format!("one of {}", names().collect::<Vec<_>>().join(", "))),
    }
}
