//! Whether a worker stands at a dialog, in which each key may choose something: then no text is typed into it.

use std::path::Path;

use looop_core::agents::is_dialog;
use looop_session::Shot;
use serde_json::Value;

use super::adapt::base;
use super::runner::program;

/// Whether the screen of a session shows a dialog of the agent that it runs.
pub(crate) fn is_open(folder: &Path, shot: &Shot) -> bool {
    // Of a program that is not known only the echo tells whether a text arrived.
    let command = command(folder);
    is_dialog(command.as_deref().and_then(program).map(base), &shot.lines)
}

/// The shell command that a session was started with.
fn command(folder: &Path) -> Option<String> {
    let spec: Value = serde_json::from_slice(&std::fs::read(folder.join("spec.json")).ok()?).ok()?;
    Some(spec.get("argv")?.as_array()?.last()?.as_str()?.to_owned())
}
