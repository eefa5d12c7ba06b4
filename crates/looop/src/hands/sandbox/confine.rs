//! What is wanted of a confinement, and the command that has it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::means::Means;
use super::plan::Plan;
use super::{bwrap, plan};

/// What something confined may do besides reading what is no secret and writing `box/scratch/` and `box/reports/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confine {
    /// Folders and files that it may write.
    pub(crate) write: Vec<PathBuf>,
    /// Parts of those that it may only read all the same.
    pub(crate) keep: Vec<PathBuf>,
    /// What it may read although it is hidden else.
    pub(crate) read: Vec<PathBuf>,
    /// What is hidden from it besides the well-known secrets.
    pub(crate) hide: Vec<PathBuf>,
    /// Whether it reaches the network.
    pub(crate) net: bool,
    /// The session of a worker: it keeps its terminal and sees its own folder below `sessions/`.
    pub(crate) session: Option<String>,
}

/// The command that runs `argv` confined. Where there are no means, that is `argv` itself.
pub(crate) fn wrap(
    means: &Means,
    confine: &Confine,
    data: &Path,
    argv: Vec<OsString>,
) -> Result<Vec<OsString>, String> {
    let plan = match means {
        Means::None => return Ok(argv),
        Means::Bwrap(_) | Means::Landlock(_) => plan::plan(confine, data)?,
    };
    let mut words = match means {
        Means::None => Vec::new(),
        Means::Bwrap(bwrap) => bwrap::words(bwrap, &plan),
        Means::Landlock(_) => {
            let plan =
                serde_json::to_string(&plan).map_err(|error| format!("it cannot be confined: {error}"))?;
            vec![crate::hands::environ::image().into_os_string(), "_confine".into(), plan.into()]
        }
    };
    words.push("--".into());
    words.extend(argv);
    Ok(words)
}

/// The hidden verb: confines itself as a plan says and becomes the command. It returns only if that fails, with the exit
/// code that says so and the reason.
pub(crate) fn turn_into(plan: &OsStr, argv: &[OsString]) -> (u8, String) {
    match prepared(plan, argv) {
        Err(text) => (126, format!("it could not be confined and was not run: {text}")),
        Ok(argv) => {
            let error = looop_session::turn_into(argv);
            let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
            let program = argv.first().map(|program| program.to_string_lossy()).unwrap_or_default();
            (code, format!("{program}: {error}"))
        }
    }
}

/// Confines this process, and gives what it shall become.
fn prepared<'a>(plan: &OsStr, argv: &'a [OsString]) -> Result<&'a [OsString], String> {
    let plan: Plan = serde_json::from_slice(plan.as_encoded_bytes()).map_err(|error| error.to_string())?;
    let command = argv.split_first().filter(|(dashes, _)| *dashes == "--").map(|(_, command)| command);
    let command = command.ok_or("there is no command")?;
    restrict(&plan)?;
    Ok(command)
}

#[cfg(target_os = "linux")]
fn restrict(plan: &Plan) -> Result<(), String> {
    super::landlock::restrict(plan).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn restrict(_plan: &Plan) -> Result<(), String> {
    Err("Landlock is a part of Linux".to_owned())
}
