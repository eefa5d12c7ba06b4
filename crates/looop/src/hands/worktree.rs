//! A git worktree for each worker whose task names a repository: its own folder and its own branch.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use looop_core::model::work::Settle;
use looop_store::Reader;
use looop_store::disk::{Listed, durable_write};
use serde::{Deserialize, Serialize};

use super::git::{self, Copy, Git};
use super::task::Task;
use super::works;
use crate::config::Config;

/// The version of the file that says where a worktree comes from.
const VERSION: u32 = 1;
/// How many branches of one name are tried.
const MANY: u32 = 9;

/// Where the worktree of a session is.
pub(crate) fn path(reader: &Reader, session: &str) -> PathBuf {
    reader.path("work").join(session)
}

/// Where a worktree comes from. It lies beside the worktree, is there before it and goes after it, so that what a crash
/// left can be taken back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) v: u32,
    pub(super) repo: PathBuf,
    pub(super) branch: String,
    /// Whether a decider named the repository.
    #[serde(default)]
    pub(super) foreign: bool,
    /// Whether what lies in the worktree may not run with the person's rights: its settings may be the worker's own.
    #[serde(default)]
    pub(super) apart: bool,
    /// The commit that its branch was started from.
    #[serde(default)]
    pub(super) base: Option<String>,
    /// The pull request that was opened for it.
    #[serde(default)]
    pub(super) pr: Option<String>,
    /// What was done with it, where only the removal of copy and branch is left to be done.
    #[serde(default)]
    pub(super) done: Option<Settle>,
}

impl Origin {
    /// git in the repository.
    pub(super) fn git<'a>(&'a self, reader: &'a Reader, config: &'a Config) -> Git<'a> {
        Git { reader, config, repo: &self.repo, foreign: self.foreign }
    }

    /// The worktree. Where its link leads elsewhere than into its repository, nothing but itself is written.
    pub(super) fn copy<'a>(&self, path: &'a Path) -> Copy<'a> {
        let own = leads_into(path, &self.repo).and_then(|()| writes(path)).unwrap_or_default().into_iter();
        Copy { path, apart: self.apart, writes: own.chain([path.to_owned()]).collect() }
    }
}

fn origin_file(session: &str) -> String {
    format!("work/{session}.json")
}

/// Makes the worktree of a session, or says why that is not possible; then nothing of it is left. git runs what the
/// repository's settings and hooks say: in one that a decider named, confined.
pub(crate) fn make(
    reader: &Reader,
    config: &Config,
    task: &Task,
    (repo, confined): (&str, bool),
) -> Result<PathBuf, String> {
    let (repo, session, foreign) = (located(repo)?, task.session.as_str(), task.foreign);
    let git = Git { reader, config, repo: &repo, foreign };
    let refused = |words: String| format!("git made no worktree of {}: {words}", repo.display());
    let branch = free_branch(&git, session).map_err(refused)?;
    let base = git.plain(&["rev-parse", "HEAD"]).map_err(refused)?.trim().to_owned();
    let target = path(reader, session);
    let origin = Origin {
        v: VERSION,
        repo: repo.clone(),
        branch: branch.clone(),
        foreign,
        apart: foreign || confined,
        base: Some(base),
        pr: None,
        done: None,
    };
    note(reader, session, &origin)
        .and_then(|()| Ok(folder(&target)?))
        .map_err(|error| format!("{} could not be made: {error}", target.display()))?;
    let words = ["worktree", "add", "--quiet", "-b", &branch];
    let made =
        git.at(&words, &target).and_then(|()| if foreign { leads_into(&target, &repo) } else { Ok(()) });
    if let Err(words) = made {
        undo(reader, config, session)?;
        return Err(refused(words));
    }
    looop_session::point("worker.worktree");
    Ok(target)
}

/// Whether a worktree belongs to the repository that it is said to be of: what its link leads to can be written by a
/// confined worker.
fn leads_into(target: &Path, repo: &Path) -> Result<(), String> {
    let (own, git) = (own_folder(target)?, git::folder(repo)?);
    let own = own.canonicalize().map_err(|error| format!("{}: {error}", own.display()))?;
    if own.parent() == Some(&git.join("worktrees")) {
        return Ok(());
    }
    Err(format!("{} is not in {}", own.display(), git.display()))
}

/// A branch of this session's name that is not there yet. One may be, from an earlier profile.
fn free_branch(git: &Git<'_>, session: &str) -> Result<String, String> {
    // git allows no `~` in a name.
    let name = format!("looop/{}", session.replace('~', "-"));
    git.run(&["rev-parse", "--show-toplevel"])?;
    let more = (2..=MANY).map(|number| format!("{name}-{number}"));
    let is_free = |name: &String| {
        git.run(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{name}")]).is_err()
    };
    let mut names = std::iter::once(name.clone()).chain(more);
    names.find(is_free).ok_or_else(|| format!("there are {MANY} branches {name} already"))
}

pub(super) fn note(
    reader: &Reader,
    session: &str,
    origin: &Origin,
) -> Result<(), Box<dyn std::error::Error>> {
    folder(&reader.path("work"))?;
    Ok(durable_write(reader.disk(), &origin_file(session), &serde_json::to_vec(origin)?, 0o600)?)
}

/// The repository's folder. A path that depends on where looop was called from would be another one each time.
pub(super) fn located(repo: &str) -> Result<PathBuf, String> {
    let path = match repo.strip_prefix("~/") {
        Some(below) => std::env::home_dir().ok_or("repo begins with ~/ and HOME is not set")?.join(below),
        None => PathBuf::from(repo),
    };
    if !path.is_absolute() {
        return Err(format!("repo \"{repo}\" is not an absolute path, nor one below ~/"));
    }
    if path.is_dir() { Ok(path) } else { Err(format!("repo {} is not a folder", path.display())) }
}

fn folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// What git writes outside of a worktree when something is committed there: its own folder in the repository, objects,
/// and branches of workers. Hooks, settings and the person's branches are not among it.
pub(crate) fn writes(workspace: &Path) -> Result<Vec<PathBuf>, String> {
    let (own, common) = (own_folder(workspace)?, repository(workspace)?);
    let shared = ["objects", "refs/heads/looop", "logs/refs/heads/looop"].map(|folder| common.join(folder));
    Ok(std::iter::once(own.clone()).chain(shared).filter(|path| path.exists()).collect())
}

/// The folder in which git keeps the repository of a worktree.
pub(crate) fn repository(workspace: &Path) -> Result<PathBuf, String> {
    let own = own_folder(workspace)?;
    let common = own.ancestors().nth(2).map(Path::to_owned);
    common.ok_or_else(|| format!("{} is no worktree", workspace.display()))
}

/// A worktree's own folder in the repository.
fn own_folder(workspace: &Path) -> Result<PathBuf, String> {
    let link = workspace.join(".git");
    let text = std::fs::read_to_string(&link).map_err(|error| format!("{}: {error}", link.display()))?;
    let own = text.trim().strip_prefix("gitdir: ").map(PathBuf::from);
    own.ok_or_else(|| format!("{} does not say where its repository is", link.display()))
}

/// Takes back the worktree and the branch of a session that never ran.
pub(crate) fn undo(reader: &Reader, config: &Config, session: &str) -> Result<(), String> {
    let Some(origin) = origin(reader, session)? else { return Ok(()) };
    take_down(reader, config, (session, &origin))?;
    // The small `d` refuses to delete what is in no other branch. There may be none, depending on how far it came.
    drop(origin.git(reader, config).run(&["branch", "-d", &origin.branch]));
    forget(reader, session)
}

/// Removes the folder of a worktree, with what is in it, and has git forget it. Its branch stays.
pub(super) fn take_down(
    reader: &Reader,
    config: &Config,
    (session, origin): (&str, &Origin),
) -> Result<(), String> {
    let (git, target) = (origin.git(reader, config), path(reader, session));
    // Each of these may have nothing to do, depending on how far it came.
    if !origin.apart {
        drop(git.at(&["worktree", "remove", "--force"], &target));
    }
    absent(std::fs::remove_dir_all(&target)).map_err(|error| left(&target, &error))?;
    drop(git.plain(&["worktree", "prune"]));
    Ok(())
}

/// Removes the worktree and the branch of an ended session if nothing would be lost by that. Else says what would be.
pub(crate) fn remove(reader: &Reader, config: &Config, session: &str) -> Result<(), String> {
    let Some(origin) = origin(reader, session)? else { return Ok(()) };
    works::lost_with(reader, config, (session, &origin))?;
    take_down(reader, config, (session, &origin))?;
    works::drop_branch(reader, config, &origin)?;
    forget(reader, session)
}

/// The sessions of which it is noted where their worktree comes from. `None`: the folder cannot be looked at.
pub(super) fn noted(reader: &Reader) -> Option<BTreeSet<String>> {
    let listed = reader.disk().list("work").known("work").ok()?.unwrap_or_default();
    let session = |entry: &Listed| Some(entry.name.to_str()?.strip_suffix(".json")?.to_owned());
    Some(listed.iter().filter_map(session).collect())
}

pub(super) fn origin(reader: &Reader, session: &str) -> Result<Option<Origin>, String> {
    let file = origin_file(session);
    let Some(bytes) = reader.read(&file).known(&file)? else { return Ok(None) };
    let origin: Origin =
        serde_json::from_slice(&bytes).map_err(|error| format!("{file} cannot be used: {error}"))?;
    if origin.v == VERSION { Ok(Some(origin)) } else { Err(format!("{file} has version {}", origin.v)) }
}

pub(super) fn forget(reader: &Reader, session: &str) -> Result<(), String> {
    let file = reader.path(&origin_file(session));
    absent(std::fs::remove_file(&file)).map_err(|error| left(&file, &error))
}

fn left(path: &Path, error: &io::Error) -> String {
    format!("{} could not be removed: {error}", path.display())
}

/// What is not there need not be removed.
fn absent(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
