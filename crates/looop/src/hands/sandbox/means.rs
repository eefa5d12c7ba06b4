//! By what means things are confined here: found out by trying, once a process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use looop_core::model::moves::one_line;
use looop_session::{Batch, Done, Ended, Job, Order};

use super::bwrap::{Bwrap, Users, words};
use super::plan::{Plan, Sight};
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
    /// Landlock, and the version that the kernel enforces.
    Landlock(u32),
    /// By none: nothing is confined.
    None,
}

impl Means {
    /// A word for notes.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Bwrap(_) => "bwrap",
            Self::Landlock(_) => "landlock",
            Self::None => "none",
        }
    }
}

/// What was found out about one machine.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The bubblewrap that works, or why none does.
    pub(crate) bwrap: Result<Bwrap, String>,
    /// The version of Landlock, or why it does not work.
    pub(crate) landlock: Result<u32, String>,
}

/// What works here.
pub(crate) fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| Found { bwrap: probe_bwrap(), landlock: probe_landlock() })
}

/// The means that the configuration asks for. One that is named and does not work is an error.
pub(crate) fn means(config: &Config) -> Result<Means, String> {
    let hint = |name: &str, why: &String| format!("sandbox = \"{name}\" does not work here: {why}");
    match config.sandbox {
        Sandbox::Off => Ok(Means::None),
        Sandbox::Bwrap => found().bwrap.clone().map(Means::Bwrap).map_err(|why| hint("bwrap", &why)),
        Sandbox::Landlock => {
            found().landlock.clone().map(Means::Landlock).map_err(|why| hint("landlock", &why))
        }
        Sandbox::Auto => Ok(match (&found().bwrap, &found().landlock) {
            (Ok(bwrap), _) => Means::Bwrap(bwrap.clone()),
            (Err(_), Ok(version)) => Means::Landlock(*version),
            (Err(_), Err(_)) => Means::None,
        }),
    }
}

/// Why the means that the configuration names does not work here, if it does not. One that it does not name is not tried.
pub(crate) fn check(config: &Config) -> Result<(), String> {
    match config.sandbox {
        Sandbox::Bwrap | Sandbox::Landlock => means(config).map(drop),
        Sandbox::Auto | Sandbox::Off => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn probe_landlock() -> Result<u32, String> {
    super::landlock::probe()
}

#[cfg(not(target_os = "linux"))]
fn probe_landlock() -> Result<u32, String> {
    Err("it is a part of Linux".to_owned())
}

/// Runs `true` in each of the ways, and takes the strictest that works.
fn probe_bwrap() -> Result<Bwrap, String> {
    let program = on_path("bwrap").ok_or("bwrap is not on the PATH")?;
    let plan = Plan { paths: [(PathBuf::from("/tmp"), Sight::Private)].into(), ..Plan::default() };
    let ways = Users::ALL.map(|users| Bwrap { program: program.clone(), users });
    let argv = |bwrap: &Bwrap| -> Vec<OsString> {
        words(bwrap, &plan).into_iter().chain(["--".into(), "true".into()]).collect()
    };
    let job = |bwrap: &Bwrap| Job {
        argv: argv(bwrap),
        cwd: PathBuf::from("/"),
        timeout: Some(DEADLINE),
        stdout_cap: Some(0),
        stderr_cap: Some(WORDS),
        ..Job::default()
    };
    let order = Order::new(ways.iter().map(job).collect(), ways.len());
    let mut results: [Option<Done>; 3] = [None, None, None];
    Batch::run(&environ::image(), &["_batch"], &order, &mut |at, done| results[at] = Some(done))
        .map_err(|error| format!("bwrap could not be tried: {error}"))?;
    let works = |done: &Option<Done>| done.as_ref().is_some_and(|done| done.ended == Ended::Exited(0));
    let said =
        results.iter().flatten().map(|done| one_line(&String::from_utf8_lossy(&done.stderr), 200)).next();
    match ways.into_iter().zip(&results).find(|(_, done)| works(done)) {
        Some((bwrap, _)) => Ok(bwrap),
        None => Err(said.filter(|said| !said.is_empty()).unwrap_or_else(|| "bwrap fails".to_owned())),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|file: &PathBuf| Path::is_file(file))
}
