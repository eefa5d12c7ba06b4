//! A git worktree for each worker whose task names a repository: its own folder and its own branch.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use looop_core::model::moves::one_line;
use looop_core::model::rights::Granted;
use looop_core::policy::Level;
use looop_session::{Batch, Done, Ended, Job, Order};
use looop_store::Reader;
use looop_store::disk::durable_write;
use serde::{Deserialize, Serialize};

use super::task::Task;
use super::{environ, sandbox};
use crate::config::Config;

/// The version of the file that says where a worktree comes from.
const VERSION: u32 = 1;
/// How many branches of one name are tried.
const MANY: u32 = 9;
/// How long git may take.
const DEADLINE: Duration = Duration::from_mins(2);
/// What is kept of git's words.
const WORDS: u64 = 4 << 10;
/// Variables that would lead git to another repository than the one it is given.
const ELSEWHERE: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"];

/// git asks nobody.
const NO_PROMPT: [(&str, &str); 1] = [("GIT_TERMINAL_PROMPT", "0")];

/// Where the worktree of a session is.
pub(crate) fn path(reader: &Reader, session: &str) -> PathBuf {
    reader.path("work").join(session)
}

/// Where a worktree comes from. It lies beside the worktree, is there before it and goes after it, so that what a crash
/// left can be taken back.
#[derive(Debug, Serialize, Deserialize)]
struct Origin {
    v: u32,
    repo: PathBuf,
    branch: String,
    /// Whether a decider named the repository.
    #[serde(default)]
    foreign: bool,
    /// Whether what lies in the worktree may not run with the person's rights: its settings may be the worker's own.
    #[serde(default)]
    apart: bool,
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
    let target = path(reader, session);
    let origin = Origin {
        v: VERSION,
        repo: repo.clone(),
        branch: branch.clone(),
        foreign,
        apart: foreign || confined,
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
    let (own, git) = (own_folder(target)?, git_folder(repo)?);
    let own = own.canonicalize().map_err(|error| format!("{}: {error}", own.display()))?;
    if own.parent() == Some(&git.join("worktrees")) {
        return Ok(());
    }
    Err(format!("{} is not in {}", own.display(), git.display()))
}

/// The folder in which git keeps a repository, which lies in the repository itself: a link elsewhere would open another.
fn git_folder(repo: &Path) -> Result<PathBuf, String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let (repo, git) = (real(repo)?, real(&repo.join(".git"))?);
    if git.parent() == Some(&repo) && git.is_dir() && !git.join("commondir").exists() {
        return Ok(git);
    }
    Err(format!("{} is not the top folder of a repository", repo.display()))
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

fn note(reader: &Reader, session: &str, origin: &Origin) -> Result<(), Box<dyn std::error::Error>> {
    folder(&reader.path("work"))?;
    Ok(durable_write(reader.disk(), &origin_file(session), &serde_json::to_vec(origin)?, 0o600)?)
}

/// The repository's folder. A path that depends on where looop was called from would be another one each time.
fn located(repo: &str) -> Result<PathBuf, String> {
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
    let own = own_folder(workspace)?;
    let common = own.ancestors().nth(2).ok_or_else(|| format!("{} is no worktree", workspace.display()))?;
    let shared = ["objects", "refs/heads/looop", "logs/refs/heads/looop"].map(|folder| common.join(folder));
    Ok(std::iter::once(own.clone()).chain(shared).filter(|path| path.exists()).collect())
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
    let git = Git { reader, config, repo: &origin.repo, foreign: origin.foreign };
    let target = path(reader, session);
    // Each of these may have nothing to do, depending on how far it came.
    if !origin.apart {
        drop(git.at(&["worktree", "remove", "--force"], &target));
    }
    absent(std::fs::remove_dir_all(&target)).map_err(|error| left(&target, &error))?;
    drop(git.run(&["worktree", "prune"]));
    // The small `d` refuses to delete what is in no other branch.
    drop(git.run(&["branch", "-d", &origin.branch]));
    forget(reader, session)
}

/// Removes the worktree of an ended session if git finds nothing in it that would be lost; its branch stays. Else says
/// where it stays and why.
pub(crate) fn remove(reader: &Reader, config: &Config, session: &str) -> Result<Option<String>, String> {
    let Some(origin) = origin(reader, session)? else { return Ok(None) };
    let target = path(reader, session);
    let git = Git { reader, config, repo: &origin.repo, foreign: origin.foreign };
    let removed =
        if origin.apart { remove_apart(&git, &target) } else { git.at(&["worktree", "remove"], &target) };
    match removed {
        Err(words) if target.exists() => {
            Ok(Some(format!("its worktree {} stays: {words}", target.display())))
        }
        Ok(()) | Err(_) => forget(reader, session).map(|()| None),
    }
}

/// Removes a worktree whose settings may be its worker's own: git looks at it confined, and the folder goes by our hand.
fn remove_apart(git: &Git<'_>, target: &Path) -> Result<(), String> {
    let words =
        ["-C".into(), target.into(), "--no-optional-locks".into(), "status".into(), "--porcelain".into()];
    let left = git.confined(words.to_vec(), Vec::new())?;
    if !left.is_empty() {
        return Err(format!("it holds {}", one_line(&left, 200)));
    }
    absent(std::fs::remove_dir_all(target)).map_err(|error| self::left(target, &error))?;
    git.run(&["worktree", "prune"])
}

fn origin(reader: &Reader, session: &str) -> Result<Option<Origin>, String> {
    let file = origin_file(session);
    let Some(bytes) = reader.read(&file).known(&file)? else { return Ok(None) };
    let origin: Origin =
        serde_json::from_slice(&bytes).map_err(|error| format!("{file} cannot be used: {error}"))?;
    if origin.v == VERSION { Ok(Some(origin)) } else { Err(format!("{file} has version {}", origin.v)) }
}

fn forget(reader: &Reader, session: &str) -> Result<(), String> {
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

/// git in one repository.
struct Git<'a> {
    reader: &'a Reader,
    config: &'a Config,
    repo: &'a Path,
    /// Whether a decider named the repository.
    foreign: bool,
}

impl Git<'_> {
    /// Runs it to its end on a worktree; what it says if it fails.
    fn at(&self, words: &[&str], path: &Path) -> Result<(), String> {
        self.call(words.iter().map(OsString::from).chain([path.into()]).collect(), Some(path))
    }

    fn run(&self, words: &[&str]) -> Result<(), String> {
        self.call(words.iter().map(OsString::from).collect(), None)
    }

    fn call(&self, words: Vec<OsString>, target: Option<&Path>) -> Result<(), String> {
        let words: Vec<OsString> = ["-C".into(), self.repo.into()].into_iter().chain(words).collect();
        if self.foreign {
            let written = std::iter::once(git_folder(self.repo)?).chain(target.map(Path::to_owned)).collect();
            return self.confined(words, written).map(drop);
        }
        let env = environ::of_person(self.reader.root(), self.config, &NO_PROMPT);
        let argv = std::iter::once("git".into()).chain(words).collect();
        self.run_to_end(argv, env.map_err(|failure| failure.error)?).map(drop)
    }

    /// What git prints where it can write these folders alone.
    fn confined(&self, words: Vec<OsString>, write: Vec<PathBuf>) -> Result<String, String> {
        let (data, config) = (self.reader.root(), self.config);
        let means = sandbox::means(config)?;
        if means == sandbox::Means::None && config.policy.level != Level::Open {
            return Err("what git runs there is not the person's, and nothing here can confine it".to_owned());
        }
        let none = Granted::default();
        let env = environ::of_decider(data, config, &none, &NO_PROMPT).map_err(|failure| failure.error)?;
        let confine = sandbox::Confine { write, ..sandbox::of_granted(config, &none) };
        let argv = std::iter::once("git".into()).chain(words).collect();
        self.run_to_end(sandbox::wrap(&means, &confine, data, argv)?, env)
    }

    fn run_to_end(&self, argv: Vec<OsString>, mut env: Vec<(String, String)>) -> Result<String, String> {
        env.retain(|(name, _)| !ELSEWHERE.contains(&name.as_str()));
        let job = Job {
            argv,
            cwd: self.reader.root().to_owned(),
            env: Some(env),
            timeout: Some(DEADLINE),
            stdout_cap: Some(WORDS),
            stderr_cap: Some(WORDS),
            ..Job::default()
        };
        let mut order = Order::new(vec![job], 1);
        order.spare.clone_from(&self.config.spare);
        let mut result = None;
        let ran = Batch::run(&environ::image(), &["_batch"], &order, &mut |_, done| result = Some(done));
        ran.map_err(|error| format!("git could not be run: {error}"))?;
        judged(result)
    }
}

fn judged(result: Option<Done>) -> Result<String, String> {
    let Some(done) = result else { return Err("git gave no result".to_owned()) };
    let said = if done.stderr.is_empty() { &done.stdout } else { &done.stderr };
    let said = one_line(&String::from_utf8_lossy(said), 500);
    match done.ended {
        Ended::Exited(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ended::Exited(code) if said.is_empty() => Err(format!("exit {code}")),
        Ended::Exited(_) => Err(said),
        Ended::Signalled(signal) => Err(format!("signal {signal}")),
        Ended::TimedOut => Err(format!("it did not end within {} s", DEADLINE.as_secs())),
        Ended::Killed => Err("it was ended with the loop".to_owned()),
        Ended::Spawn(error) => Err(format!("it could not be started: {error}")),
    }
}
