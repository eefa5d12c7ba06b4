//! Setting up a profile.

use looop_core::engine::io::Request;
use looop_core::policy::grant_text;
use looop_store::Reader;
use looop_store::disk::write_new;

use super::letters::person_only;
use super::worker_letters::own_session;
use super::{Place, submit};
use crate::clock;
use crate::config::{
    FILE_NAMES, POLICY_FILE, PRESETS, TOOLS, Tool, found_on_path, nearest, preset, render_starter,
    tool_folders, tools_on_path,
};
use crate::failure::{Failure, Result};
use crate::hands::policy;
use crate::pulse::open::open_failure;

/// Writes `config.toml` for the chosen or found runner, grants what is asked for, and makes the profile. Says what it
/// did.
pub(crate) fn init(place: &Place, runner: Option<&str>, grants: &[String]) -> Result<Vec<String>> {
    outside_only(place)?;
    let wanted: Vec<&Tool> = grants.iter().map(|name| tool(name)).collect::<Result<_>>()?;
    let found = found_on_path(&place.env);
    let chosen = match runner {
        Some("builtin") => None,
        Some(name) => Some(preset(name).ok_or_else(|| unknown(name))?),
        None => found.first().and_then(|name| preset(name)),
    };
    let reader = Reader::adopt(&place.data).map_err(|error| open_failure(&error))?;
    let mut said = vec![format!("profile {}", place.data.display())];
    if let Some(there) = FILE_NAMES.iter().find(|name| !reader.disk().stat(name).is_absent()) {
        said.push(format!("{there} is there already and was left as it is"));
    } else {
        let shown = tool_folders(&place.env);
        let text = render_starter(chosen, &shown);
        let written = write_new(reader.disk(), "config.toml", text.as_bytes(), 0o600);
        written.map_err(|error| Failure::new(error.text()))?;
        let who = chosen.map_or("builtin", |preset| preset.name);
        said.push(format!("wrote config.toml: {who} decides"));
        if !shown.is_empty() {
            said.push(format!("shown in the sandbox: {} (sandbox_tools in config.toml)", shown.join(", ")));
        }
    }
    let others: Vec<&str> =
        found.iter().copied().filter(|name| chosen.is_none_or(|c| c.name != *name)).collect();
    if !others.is_empty() {
        said.push(format!("also installed: {}; looop help config tells how to use them", others.join(", ")));
    }
    if let Some(chosen) = chosen.filter(|chosen| !found.contains(&chosen.name)) {
        said.push(format!("note: {} is not on your PATH yet", chosen.name));
    }
    said.extend(granted(place, &reader, &wanted)?);
    // A dry run opens the profile as its holder does: folders, log and starter files are there afterwards.
    submit::submit(place, Request::DryRun, &mut |_| {})?;
    said.push("next: looop beat".to_owned());
    Ok(said)
}

/// Refuses from inside any session to write configuration, policy or services: also of another profile, or of one that
/// is not there yet.
pub(super) fn outside_only(place: &Place) -> Result<()> {
    person_only(place)?;
    match own_session(place) {
        None => Ok(()),
        Some(session) => Err(Failure::new(format!(
            "this comes from inside session {session}, and only a person can do that; a worker can `looop propose`"
        ))),
    }
}

fn tool(name: &str) -> Result<&'static Tool> {
    let known = || TOOLS.iter().map(|tool| tool.program);
    TOOLS.iter().find(|tool| tool.program == name).ok_or_else(|| {
        let failure = Failure::usage(format!("it is not known what \"{name}\" needs"));
        match nearest(name, known()) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint(format!("one of {}; or write a [[grant]] into policy.toml", all(known()))),
        }
    })
}

fn all<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Grants programs what they need, each once. Without any named it only says which could be.
fn granted(place: &Place, reader: &Reader, wanted: &[&Tool]) -> Result<Vec<String>> {
    let found = tools_on_path(&place.env);
    let mut said = Vec::new();
    let mut added = Vec::new();
    let day = clock::now().day();
    let policy = policy::append(reader, |before| {
        let is_granted =
            |tool: &Tool| before.grants.iter().any(|grant| grant.program() == Some(tool.program));
        for tool in wanted {
            if is_granted(tool) {
                said.push(format!("{} is granted already", tool.program));
            } else if !added.contains(&tool.program) {
                added.push(tool.program);
            }
        }
        let new = TOOLS.iter().filter(|tool| added.contains(&tool.program));
        new.map(|tool| grant_text(&tool.grant(), &format!("granted by looop init on {day}"))).collect()
    })?;
    if !added.is_empty() {
        said.push(format!("wrote {POLICY_FILE}: {} granted; looop policy show lists it", added.join(", ")));
    }
    let away = added.iter().filter(|name| !found.iter().any(|tool| tool.program == **name));
    said.extend(away.map(|name| format!("note: {name} is not on your PATH yet")));
    let open = found.iter().map(|tool| tool.program);
    let open: Vec<&str> =
        open.filter(|name| policy.grants.iter().all(|grant| grant.program() != Some(*name))).collect();
    if !open.is_empty() {
        said.push(format!(
            "found {}: run by a decider they get no network and no secrets until you grant them; for one: looop init \
             --grant {}",
            open.join(", "),
            open[0]
        ));
    }
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
