//! Upkeep: what grows is bounded.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use looop_core::bounds;
use looop_core::model::plan::RunId;
use looop_session::{Standing, host};
use looop_store::{CutRun, RunBounds, Writer};

use super::brakes::Brakes;
use super::{temp, worker};
use crate::clock;
use crate::config::Config;

/// Removes what is older than it has to be kept, or more than may be kept. Says what went before its time, and what
/// cannot be removed now, which is tried again next time. It may take long, and ends early with the brakes.
pub(crate) fn sweep(
    writer: &Writer,
    config: &Config,
    under_way: Option<RunId>,
    brakes: &Brakes,
) -> Vec<String> {
    let mut said = Vec::new();
    let keep = usize::try_from(config.runs_keep).unwrap_or(usize::MAX);
    said.extend(writer.prune_runs(keep).err().map(|error| error.to_string()));
    match writer.bound_runs(under_way, RunBounds::default()) {
        Ok(cut) => said.extend(cut.iter().map(cut_text)),
        Err(error) => said.push(error.to_string()),
    }
    said.extend(writer.sweep_mail(clock::now().wall).err().map(|error| error.to_string()));
    let unreadable = |error: std::io::Error| format!("sessions/: {error}");
    match sessions(&writer.path("sessions"), (config.session_ttl, bounds::HOSTED), brakes) {
        Ok(0) => {}
        Ok(early) => said.push(format!(
            "sessions/: removed {early} of ended moves and decides before session_ttl was over: at most {} are kept",
            bounds::HOSTED
        )),
        Err(error) => said.push(unreadable(error)),
    }
    said.extend(worker::sweep(writer).err().map(unreadable));
    said.extend(temp::sweep(writer.root(), brakes));
    said
}

fn cut_text(cut: &CutRun) -> String {
    match cut {
        CutRun::Work { run, bytes } => format!(
            "runs/{run}: removed {bytes} bytes that its command left in its working folder: at most {} are kept",
            bounds::RUN
        ),
        CutRun::Whole { run, bytes } => format!(
            "runs/{run}: removed with {bytes} bytes: at most {} are kept of one, {} of all",
            bounds::RUN,
            bounds::RUNS_TOTAL
        ),
    }
}

/// Removes the folders of hosted children that ended long ago, and the oldest of those that are too many. Says how many
/// went before their time.
fn sessions(root: &Path, (ttl, most): (Duration, usize), brakes: &Brakes) -> std::io::Result<usize> {
    let mut all = hosted(root)?;
    all.sort_unstable();
    let (mut beyond, mut early) = (all.len().saturating_sub(most), 0);
    for (modified, path) in all {
        if brakes.are_pulled() {
            break;
        }
        let old = SystemTime::now().duration_since(modified).is_ok_and(|age| age >= ttl);
        if !old && beyond == 0 {
            break;
        }
        if !matches!(host::standing(&path)?, Standing::Live) {
            // The folder is the last that names what a dead host left running.
            host::sweep(&path).map_err(std::io::Error::other)?;
            std::fs::remove_dir_all(&path)?;
            early += usize::from(!old);
        }
        beyond = beyond.saturating_sub(1);
    }
    Ok(early)
}

/// The folders of moves and decides, and when they last changed.
fn hosted(root: &Path) -> std::io::Result<Vec<(SystemTime, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with("move~") || name.starts_with("decide~"));
        if ours && entry.file_type()?.is_dir() {
            found.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Folders of ended children, the first of which is the oldest.
    fn ended(root: &Path, names: &[&str]) {
        for (at, name) in names.iter().enumerate() {
            let folder = root.join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("started"), "").unwrap();
            let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + at as u64);
            fs::File::open(&folder).unwrap().set_modified(date).unwrap();
        }
    }

    fn left(root: &Path) -> Vec<String> {
        let names =
            fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_oldest_of_too_many_ended_children_go_before_their_time() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["move~9", "decide~10", "move~11", "move~12", "w~1", "status"];
        ended(dir.path(), &names);
        let long = Duration::from_secs(u64::MAX / 4);
        assert_eq!(sessions(dir.path(), (long, 4), &Brakes::default()).unwrap(), 0);
        assert_eq!(left(dir.path()).len(), names.len());
        assert_eq!(sessions(dir.path(), (long, 2), &Brakes::default()).unwrap(), 2);
        assert_eq!(left(dir.path()), ["move~11", "move~12", "status", "w~1"]);
        assert_eq!(sessions(dir.path(), (Duration::ZERO, 2), &Brakes::default()).unwrap(), 0);
        assert_eq!(left(dir.path()), ["status", "w~1"], "what is old is nothing to be said");
    }
}
