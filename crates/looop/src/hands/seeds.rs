//! The starter files of a fresh profile.

use looop_store::{Stored, Writer};

use crate::config::{Config, Decider};
use crate::failure::{Failure, Result};

const PLAYBOOK: &str = include_str!("seeds/PLAYBOOK.md");
const TODAY: &str = include_str!("seeds/today.sh");
const WELCOME: &str = include_str!("seeds/welcome.md");
const DISK: &str = include_str!("seeds/disk-report.md");
const SETUP: &str = include_str!("seeds/setup.md");

/// Path, content and mode.
type Seed = (&'static str, &'static str, u32);

/// Where an agent can be asked. The PLAYBOOK comes last: with it the profile is no longer fresh.
const WITH_AGENT: [Seed; 3] =
    [("goals/setup.md", SETUP, 0o600), ("sensors/today.sh", TODAY, 0o700), ("PLAYBOOK.md", PLAYBOOK, 0o600)];

/// Where there is none.
const SEEDS: [Seed; 4] = [
    ("goals/welcome.md", WELCOME, 0o600),
    ("goals/disk-report.md", DISK, 0o600),
    ("sensors/today.sh", TODAY, 0o700),
    ("PLAYBOOK.md", PLAYBOOK, 0o600),
];

/// Puts the starter files into a profile that nobody has used yet, and says which. A profile that holds anything of a
/// person's, or of an older looop, gets none.
pub(crate) fn plant(writer: &Writer, config: &Config) -> Result<Vec<String>> {
    // What an interrupted planting left half written is nobody's.
    writer.sweep().map_err(|error| Failure::new(error.text()))?;
    if !is_fresh(writer)? {
        return Ok(Vec::new());
    }
    let seeds: &[Seed] = if has_agent(config) { &WITH_AGENT } else { &SEEDS };
    let seeds: Vec<_> = seeds.iter().map(|(path, text, mode)| (*path, text.as_bytes(), *mode)).collect();
    writer.seed(&seeds).map_err(|error| Failure::new(error.text()))
}

/// Offers the interview to a profile that was made before there was an agent to hold it, and in which nothing but starter
/// files is to be found; says which file it put in place.
pub(crate) fn offer_interview(writer: &Writer, config: &Config) -> Result<Vec<String>> {
    let untouched =
        matches!(writer.read("PLAYBOOK.md"), Stored::Value(bytes) if bytes == PLAYBOOK.as_bytes());
    if !has_agent(config) || !untouched || !only_seeds(writer)? {
        return Ok(Vec::new());
    }
    writer.seed(&[("goals/setup.md", SETUP.as_bytes(), 0o600)]).map_err(|error| Failure::new(error.text()))
}

/// Whether an agent decides and can be started as a worker.
fn has_agent(config: &Config) -> bool {
    config.worker_runner().is_some() && config.default != [Decider::Builtin]
}

/// Fresh: no PLAYBOOK, and no goal or sensor but those that an interrupted planting left.
fn is_fresh(writer: &Writer) -> Result<bool> {
    if !writer.read("PLAYBOOK.md").is_absent() {
        return Ok(false);
    }
    only_seeds(writer)
}

/// Whether goals and sensors are starter files and nothing else.
fn only_seeds(writer: &Writer) -> Result<bool> {
    for folder in ["goals", "sensors"] {
        let listed = writer.disk().list(folder).known(folder).map_err(Failure::new)?.unwrap_or_default();
        for entry in listed {
            let path = format!("{folder}/{}", entry.name.to_string_lossy());
            if path == "goals/archive" {
                continue;
            }
            let planted = SEEDS.iter().chain(&WITH_AGENT).find(|(seed, ..)| *seed == path);
            let same = planted.is_some_and(
                |(_, text, _)| matches!(writer.read(&path), Stored::Value(bytes) if bytes == text.as_bytes()),
            );
            if !same {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
