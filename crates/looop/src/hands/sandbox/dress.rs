//! A command with its confinement and its environment.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use looop_core::model::rights::Granted;

use super::{Means, means, of_granted, wrap};
use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::hands::environ;

/// A command as it is started, and its complete environment.
pub(crate) type Dressed = (Vec<OsString>, Vec<(String, String)>);

/// Prepares a command that a decider wrote. Where nothing can be confined, it still gets no more than listed variables.
pub(crate) fn dress(
    data: &Path,
    config: &Config,
    granted: &Granted,
    (argv, more): (Vec<OsString>, &[(&str, &str)]),
) -> Result<Dressed> {
    let means = means(config).map_err(Failure::new)?;
    let mut env = environ::of_decider(data, config, granted, more)?;
    own_temp(&means, data, &mut env)?;
    let argv = wrap(&means, &of_granted(config, granted), data, argv).map_err(Failure::new)?;
    Ok((argv, env))
}

/// Names the folder for what is thrown away: one that only this command sees, where the means can make one.
pub(crate) fn own_temp(means: &Means, data: &Path, env: &mut Vec<(String, String)>) -> Result<()> {
    let folder = match means {
        Means::None => return Ok(()),
        Means::Bwrap(_) => Path::new("/tmp").to_owned(),
        Means::Landlock(_) => {
            let folder = data.join("scratch/.tmp");
            let made = std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder);
            made.map_err(|error| Failure::new(format!("{} cannot be made: {error}", folder.display())))?;
            folder
        }
    };
    env.retain(|(name, _)| !matches!(name.as_str(), "TMPDIR" | "TMP" | "TEMP"));
    env.push(("TMPDIR".to_owned(), folder.to_string_lossy().into_owned()));
    Ok(())
}
