//! Upkeep: what grows is bounded.

use std::time::{Duration, SystemTime};

use looop_session::{Standing, host};
use looop_store::Writer;

use super::brakes::Brakes;
use super::worker;
use crate::clock;
use crate::config::Config;

/// Removes what is older than it has to be kept. What cannot be removed now is tried again next time; the first problem
/// is said. It may take long, and ends early with the brakes.
pub(crate) fn sweep(writer: &Writer, config: &Config, brakes: &Brakes) -> Option<String> {
    let problems = [
        writer
            .prune_runs(usize::try_from(config.runs_keep).unwrap_or(usize::MAX))
            .err()
            .map(|error| error.to_string()),
        writer.sweep_mail(clock::now().wall).err().map(|error| error.to_string()),
        sessions(writer, config.session_ttl, brakes).err().map(|error| format!("sessions/: {error}")),
        worker::sweep(writer).err().map(|error| format!("sessions/: {error}")),
    ];
    problems.into_iter().flatten().next()
}

/// Removes the folders of hosted children that ended long ago.
fn sessions(writer: &Writer, keep: Duration, brakes: &Brakes) -> std::io::Result<()> {
    for entry in std::fs::read_dir(writer.path("sessions"))? {
        if brakes.are_pulled() {
            return Ok(());
        }
        let entry = entry?;
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with("move~") || name.starts_with("decide~"));
        if !ours || !entry.file_type()?.is_dir() {
            continue;
        }
        let age = entry.metadata()?.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_none_or(|age| age < keep) {
            continue;
        }
        if !matches!(host::standing(&entry.path())?, Standing::Live) {
            // The folder is the last that names what a dead host left running.
            host::sweep(&entry.path()).map_err(std::io::Error::other)?;
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
