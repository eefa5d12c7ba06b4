//! What is wanted of a confinement, and the command that has it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::means::Means;
use super::{bwrap, view};
use crate::egress;
use crate::hands::environ;

/// What something confined sees besides the machine's programs, the profile, and `box/scratch/` and `box/reports/`,
/// which it may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confine {
    /// Folders and files that it may write.
    pub(crate) write: Vec<PathBuf>,
    /// Parts of those that it may only read all the same.
    pub(crate) keep: Vec<PathBuf>,
    /// What it may read.
    pub(crate) read: Vec<PathBuf>,
    /// Folders of programs that the person listed.
    pub(crate) tools: Vec<PathBuf>,
    /// Files that it may not read, wherever they lie.
    pub(crate) hide: Vec<PathBuf>,
    /// Whether it reaches the whole network.
    pub(crate) net: bool,
    /// The hosts that it reaches where it does not reach all.
    pub(crate) hosts: Vec<String>,
    /// The session of a worker: it keeps its terminal and sees its own folder below `sessions/`.
    pub(crate) session: Option<String>,
    /// The goal whose caches it has; without one it has none that are kept.
    pub(crate) goal: Option<String>,
}

/// The command that runs `argv` confined. Where there are no means, that is `argv` itself.
pub(crate) fn wrap(
    means: &Means,
    confine: &Confine,
    data: &Path,
    argv: Vec<OsString>,
) -> Result<Vec<OsString>, String> {
    let Means::Bwrap(bwrap) = means else { return Ok(argv) };
    let mut words = bwrap::words(bwrap, &view::view(confine, data)?);
    let boxed = |argv: Vec<OsString>| {
        words.extend(argv);
        Ok(words)
    };
    if confine.hosts.is_empty() {
        return boxed(argv);
    }
    let inner = environ::bin().ok_or("the path of this program cannot be found")?;
    egress::through(&confine.hosts, (&environ::image(), &inner), argv, boxed)
}
