//! A command with its confinement and its environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use looop_core::model::rights::Granted;

use super::{Means, means, of_granted, wrap};
use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::hands::{environ, outputs};

/// A command that a decider wrote.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    /// What is run.
    pub(crate) argv: Vec<OsString>,
    /// What it may read besides.
    pub(crate) read: Vec<PathBuf>,
    /// What it is told besides.
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// The goal that it serves; empty where it serves none.
    pub(crate) goal: &'a str,
}

/// A command as it is started, and its complete environment.
pub(crate) type Dressed = (Vec<OsString>, Vec<(String, String)>);

/// Prepares a command that a decider wrote. Where nothing can be confined, it still gets no more than listed variables.
pub(crate) fn dress(
    data: &Path,
    config: &Config,
    granted: &Granted,
    command: Command<'_>,
) -> Result<Dressed> {
    let means = means(config).map_err(Failure::new)?;
    let mut env = environ::of_decider(data, config, granted, command.env)?;
    own_temp(&means, &mut env);
    own_reports(data, &mut env)?;
    let mut confine = of_granted(config, granted, command.goal);
    confine.read.extend(command.read);
    let argv = wrap(&means, &confine, data, command.argv).map_err(Failure::new)?;
    Ok((argv, env))
}

/// The folder that a confined command works in. bubblewrap puts its own in the place of `scratch/`.
pub(crate) fn workplace(data: &Path, config: &Config) -> Result<PathBuf> {
    Ok(match means(config).map_err(Failure::new)? {
        Means::Bwrap(_) => data.join("scratch"),
        Means::None => {
            outputs::link_beside(data).map_err(|error| unmade(data, &error))?;
            data.join(outputs::SCRATCH)
        }
    })
}

fn unmade(data: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{} cannot be made: {error}", data.join("box").display()))
}

/// Names the folder of what it makes, from which the loop copies.
pub(crate) fn own_reports(data: &Path, env: &mut Vec<(String, String)>) -> Result<()> {
    outputs::make(data).map_err(|error| unmade(data, &error))?;
    env.retain(|(name, _)| name != "LOOOP_REPORTS_DIR");
    let folder = data.join(outputs::REPORTS).to_string_lossy().into_owned();
    env.push(("LOOOP_REPORTS_DIR".to_owned(), folder));
    Ok(())
}

/// Names the folder for what is thrown away: one that only this command sees.
pub(crate) fn own_temp(means: &Means, env: &mut Vec<(String, String)>) {
    if *means != Means::None {
        env.retain(|(name, _)| !matches!(name.as_str(), "TMPDIR" | "TMP" | "TEMP"));
        env.push(("TMPDIR".to_owned(), "/tmp".to_owned()));
    }
}
