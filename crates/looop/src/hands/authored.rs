//! Whose a sensor, a check or a proof is, and how it is run accordingly.

use std::collections::BTreeMap;
use std::path::PathBuf;

use looop_core::model::digest::Digest;
use looop_core::model::rights::Rights;
use looop_core::policy::{Level, Policy, Text, run};
use looop_core::world::observation::{Doc, Docs};
use looop_session::Job;
use looop_store::Reader;

use super::sense::FOREIGN_TIMEOUT;
use super::{sandbox, stages, worktree};
use crate::config::Config;

/// What is said of something that must not be run.
const UNCONFINED: &str = "not run: it was written by a decider and nothing here can confine it";

/// Tells whose a file is: bytes that a decider's move wrote are the decider's, all others are the person's.
#[derive(Debug)]
pub(crate) struct Authored<'a> {
    config: &'a Config,
    policy: Policy,
    written: &'a BTreeMap<String, Digest>,
}

impl<'a> Authored<'a> {
    /// By what the log says that deciders wrote.
    pub(crate) fn new(config: &'a Config, written: &'a BTreeMap<String, Digest>) -> Self {
        Self { config, policy: config.policy.clone(), written }
    }

    /// The rights of a sensor as it lies in the profile.
    pub(crate) fn sensor(&self, reader: &Reader, docs: &Docs, name: &str) -> Result<Rights, String> {
        let Some(sensor) = docs.sensors.get(name) else { return Ok(Rights::Person) };
        let path = format!("sensors/{}", sensor.file);
        let written = self.written.get(&path).copied();
        // What cannot be read cannot be told apart from what was written.
        if written.is_none() || sensor.digest.is_some() && sensor.digest != written {
            return Ok(Rights::Person);
        }
        let script = reader.read(&path).known(&path)?.unwrap_or_default();
        let script = String::from_utf8_lossy(&script);
        Ok(run(&self.policy.grants, Text::Sensor(&script), false).rights)
    }

    /// The rights of a goal's check.
    pub(crate) fn check(&self, docs: &Docs, goal: &str, check: &str) -> Rights {
        let written = self.written.get(&format!("goals/{goal}.md")).copied();
        if written.is_some() && written == docs.goals.get(goal).and_then(Doc::digest) {
            return run(&self.policy.grants, Text::Check(check), false).rights;
        }
        Rights::Person
    }

    /// The job with these rights, or why it is not run.
    pub(crate) fn dressed(&self, reader: &Reader, rights: &Rights, job: Job) -> Result<Job, String> {
        if rights.is_person() {
            return Ok(job);
        }
        let means = sandbox::means(self.config)?;
        if means == sandbox::Means::None && self.policy.level != Level::Open {
            return Err(UNCONFINED.to_owned());
        }
        let read = needed(reader, &job)?;
        let dressed = match rights {
            Rights::Person => return Ok(job),
            Rights::Confined(granted) => {
                let command = sandbox::Command { argv: job.argv, read, env: &[], goal: "" };
                sandbox::dress(reader.root(), self.config, granted, command)
            }
            Rights::Staged(parts) => {
                let command = stages::Pipeline { stages: parts, cwd: &job.cwd, read, env: &[], goal: "" };
                stages::dress(reader.root(), self.config, command)
            }
        };
        let (argv, env) = dressed.map_err(|failure| failure.error)?;
        // A daemon that outlived it would outlive what confines and names it.
        let timeout = job.timeout.or(Some(FOREIGN_TIMEOUT));
        Ok(Job { argv, env: Some(env), timeout, strict: true, ..job })
    }
}

/// What a job needs to see besides the profile: the file that it runs, and the repository of the copy that it works in. A
/// folder elsewhere is not shown because a decider named it.
fn needed(reader: &Reader, job: &Job) -> Result<Vec<PathBuf>, String> {
    let Ok(inside) = job.cwd.strip_prefix(reader.root()) else {
        return Err(format!(
            "not run: it was written by a decider, and {} is not shown in the sandbox; looop trust makes it yours",
            job.cwd.display()
        ));
    };
    let mut needed: Vec<PathBuf> =
        job.argv.first().map(PathBuf::from).filter(|file| file.is_absolute()).into_iter().collect();
    if let Ok(copy) = inside.strip_prefix("work")
        && let Some(session) = copy.components().next()
    {
        needed.push(worktree::repository(&reader.path("work").join(session))?);
    }
    Ok(needed)
}
