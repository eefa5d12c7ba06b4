//! By what means things are confined here: found out by trying, once a process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use looop_core::model::moves::one_line;
use looop_session::{Batch, Ended, Job, Order};

use super::bwrap::{Bwrap, words};
use super::view::{Sight, View};
use crate::config::{Config, Sandbox};
use crate::hands::environ;

/// How long a trial may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// What is kept of what it says.
const WORDS: u64 = 2 << 10;

/// By what means things are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// bubblewrap.
    Bwrap(Bwrap),
    /// By none: nothing is confined.
    None,
}

impl Means {
    /// A word for notes.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Bwrap(_) => "bwrap",
            Self::None => "none",
        }
    }
}

/// The bubblewrap that works here, or why none does.
pub(crate) fn found() -> &'static Result<Bwrap, String> {
    static FOUND: OnceLock<Result<Bwrap, String>> = OnceLock::new();
    FOUND.get_or_init(probe)
}

/// The means that the configuration asks for. One that is named and does not work is an error.
pub(crate) fn means(config: &Config) -> Result<Means, String> {
    match config.sandbox {
        Sandbox::Off => Ok(Means::None),
        Sandbox::Bwrap => match found() {
            Ok(bwrap) => Ok(Means::Bwrap(bwrap.clone())),
            Err(why) => Err(format!("sandbox = \"bwrap\" does not work here: {why}")),
        },
        Sandbox::Auto => Ok(found().clone().map_or(Means::None, Means::Bwrap)),
    }
}

/// Why the means that the configuration names does not work here, if it does not. One that it does not name is not tried.
pub(crate) fn check(config: &Config) -> Result<(), String> {
    match config.sandbox {
        Sandbox::Bwrap => means(config).map(drop),
        Sandbox::Auto | Sandbox::Off => Ok(()),
    }
}

/// Runs `true` in each of the ways, and takes the first that works.
fn probe() -> Result<Bwrap, String> {
    let program = on_path("bwrap").ok_or("bwrap is not on the PATH")?;
    let mut said = None;
    for sized in [true, false] {
        let bwrap = Bwrap { program: program.clone(), sized };
        match works(&bwrap) {
            Ok(()) => return Ok(bwrap),
            Err(why) => said = said.or(Some(why)),
        }
    }
    Err(said.unwrap_or_default())
}

fn works(bwrap: &Bwrap) -> Result<(), String> {
    let view = View { paths: [(PathBuf::from("/tmp"), Sight::Private(1 << 20))].into(), ..View::default() };
    let mut argv = words(bwrap, &view);
    argv.push("true".into());
    let job = Job {
        argv,
        cwd: PathBuf::from("/"),
        timeout: Some(DEADLINE),
        stdout_cap: Some(0),
        stderr_cap: Some(WORDS),
        ..Job::default()
    };
    let mut result = None;
    Batch::run(&environ::image(), &["_batch"], &Order::new(vec![job], 1), &mut |_, done| result = Some(done))
        .map_err(|error| format!("bwrap could not be tried: {error}"))?;
    let done = result.ok_or("bwrap gave no result")?;
    if done.ended == Ended::Exited(0) {
        return Ok(());
    }
    let said = one_line(&String::from_utf8_lossy(&done.stderr), 200);
    Err(if said.is_empty() { "bwrap fails".to_owned() } else { said })
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|file: &PathBuf| Path::is_file(file))
}
