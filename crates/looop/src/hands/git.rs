//! git, as looop calls it: in a repository, or in the copy of one that a worker has. Nobody else calls git.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use looop_core::model::moves::one_line;
use looop_core::model::rights::Granted;
use looop_core::policy::Level;
use looop_session::{Batch, Done, Ended, Job, Order};
use looop_store::Reader;

use super::{environ, sandbox};
use crate::config::Config;

/// How long git may take.
const DEADLINE: Duration = Duration::from_mins(2);
/// How long git may take that talks to another machine.
const REMOTE_DEADLINE: Duration = Duration::from_mins(8);
/// What is kept of git's errors.
const WORDS: u64 = 4 << 10;
/// What is kept of what git prints.
const OUTPUT: u64 = 1 << 20;
/// Variables that would lead git to another repository than the one it is given.
const ELSEWHERE: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"];
/// git asks nobody, and says what it says in one language.
const QUIET: [(&str, &str); 3] = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("LC_ALL", "C")];
/// What a worker may have put into a repository, and what would ask for a key, is not run.
const PLAIN: [&str; 12] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "core.quotePath=false",
];

/// git in one repository.
pub(super) struct Git<'a> {
    pub(super) reader: &'a Reader,
    pub(super) config: &'a Config,
    pub(super) repo: &'a Path,
    /// Whether a decider named the repository.
    pub(super) foreign: bool,
}

/// A worker's copy of a repository.
pub(super) struct Copy<'a> {
    pub(super) path: &'a Path,
    /// Whether its settings may be the worker's own.
    pub(super) apart: bool,
    /// What git writes when something is committed there.
    pub(super) writes: Vec<PathBuf>,
}

impl Git<'_> {
    /// Runs it to its end on a worktree; what it says if it fails. Hooks and settings of the repository count.
    pub(super) fn at(&self, words: &[&str], path: &Path) -> Result<(), String> {
        let words = words.iter().map(OsString::from).chain([path.into()]).collect();
        judged(self.call(words, Some(path), DEADLINE)?).map(drop)
    }

    /// The same without a worktree.
    pub(super) fn run(&self, words: &[&str]) -> Result<(), String> {
        judged(self.call(words.iter().map(OsString::from).collect(), None, DEADLINE)?).map(drop)
    }

    /// What it prints, without running anything that the repository names.
    pub(super) fn plain(&self, words: &[&str]) -> Result<String, String> {
        judged(self.done(words)?)
    }

    /// The same, with how it ended.
    pub(super) fn done(&self, words: &[&str]) -> Result<Done, String> {
        let words = PLAIN.iter().chain(words).map(OsString::from).collect();
        self.call(words, None, DEADLINE)
    }

    /// What it prints when it changes what is checked out.
    pub(super) fn checkout(&self, words: &[&str]) -> Result<String, String> {
        let words = PLAIN.iter().chain(words).map(OsString::from).collect();
        judged(self.call(words, Some(self.repo), DEADLINE)?)
    }

    /// What it prints when it talks to another machine.
    pub(super) fn remote(&self, words: &[&str]) -> Result<String, String> {
        let words = PLAIN.iter().chain(words).map(OsString::from).collect();
        judged(self.call(words, None, REMOTE_DEADLINE)?)
    }

    /// Whether it exits with 0, or with 1; else what it says.
    pub(super) fn tells(&self, words: &[&str]) -> Result<bool, String> {
        let done = self.done(words)?;
        if done.ended == Ended::Exited(1) { Ok(false) } else { judged(done).map(|_| true) }
    }

    /// What it prints in a worker's copy.
    pub(super) fn copy(&self, copy: &Copy<'_>, words: &[&str]) -> Result<String, String> {
        let at = [OsString::from("-C"), copy.path.into()];
        let words: Vec<OsString> =
            at.into_iter().chain(PLAIN.iter().chain(words).map(OsString::from)).collect();
        if copy.apart {
            return self.confined(words, copy.writes.clone());
        }
        judged(self.as_person(words, DEADLINE)?)
    }

    fn call(&self, words: Vec<OsString>, target: Option<&Path>, deadline: Duration) -> Result<Done, String> {
        let words: Vec<OsString> = ["-C".into(), self.repo.into()].into_iter().chain(words).collect();
        if self.foreign {
            let written = std::iter::once(folder(self.repo)?).chain(target.map(Path::to_owned)).collect();
            return self.within(words, written);
        }
        self.as_person(words, deadline)
    }

    fn as_person(&self, words: Vec<OsString>, deadline: Duration) -> Result<Done, String> {
        let env = environ::of_person(self.reader.root(), self.config, &QUIET);
        let argv = std::iter::once("git".into()).chain(words).collect();
        let env = env.map_err(|failure| failure.error)?;
        run_to_end(self.config, Job { argv, env: Some(env), timeout: Some(deadline), ..self.job() })
    }

    /// What git prints where it can write these folders alone.
    pub(super) fn confined(&self, words: Vec<OsString>, write: Vec<PathBuf>) -> Result<String, String> {
        judged(self.within(words, write)?)
    }

    fn within(&self, words: Vec<OsString>, write: Vec<PathBuf>) -> Result<Done, String> {
        let (data, config) = (self.reader.root(), self.config);
        let means = sandbox::means(config)?;
        if means == sandbox::Means::None && config.policy.level != Level::Open {
            return Err("what git runs there is not the person's, and nothing here can confine it".to_owned());
        }
        let none = Granted::default();
        let env = environ::of_decider(data, config, &none, &QUIET).map_err(|failure| failure.error)?;
        let read = vec![self.repo.to_owned()];
        let confine = sandbox::Confine { write, read, ..sandbox::of_granted(config, &none, "") };
        let argv = std::iter::once("git".into()).chain(words).collect();
        let argv = sandbox::wrap(&means, &confine, data, argv)?;
        run_to_end(config, Job { argv, env: Some(env), timeout: Some(DEADLINE), ..self.job() })
    }

    fn job(&self) -> Job {
        Job {
            cwd: self.reader.root().to_owned(),
            stdout_cap: Some(OUTPUT),
            stderr_cap: Some(WORDS),
            ..Job::default()
        }
    }
}

/// The folder in which git keeps a repository, which lies in the repository itself: a link elsewhere would open another.
pub(super) fn folder(repo: &Path) -> Result<PathBuf, String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let (repo, git) = (real(repo)?, real(&repo.join(".git"))?);
    if git.parent() == Some(&repo) && git.is_dir() && !git.join("commondir").exists() {
        return Ok(git);
    }
    Err(format!("{} is not the top folder of a repository", repo.display()))
}

/// As whom the person commits, as variables: their own settings of git are not shown in the sandbox.
pub(super) fn identity(reader: &Reader, config: &Config) -> Result<Vec<(String, String)>, String> {
    let git = Git { reader, config, repo: reader.root(), foreign: false };
    let words = ["config", "--null", "--get-regexp", r"^user\.(name|email)$"].map(OsString::from).to_vec();
    let done = git.as_person(words, DEADLINE)?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut found = Vec::new();
    for (key, value) in said.split('\0').filter_map(|setting| setting.split_once('\n')) {
        let what = if key == "user.name" { "NAME" } else { "EMAIL" };
        found.extend(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_{what}"), value.to_owned())));
    }
    Ok(found)
}

/// Runs another program in the repository, with the variables that are granted to it, and gives what it prints.
pub(super) fn program(git: &Git<'_>, argv: &[&str], granted: &Granted) -> Result<String, String> {
    let env = environ::of_decider(git.reader.root(), git.config, granted, &QUIET);
    let env = env.map_err(|failure| failure.error)?;
    let argv = argv.iter().map(OsString::from).collect();
    let (cwd, timeout) = (git.repo.to_owned(), Some(REMOTE_DEADLINE));
    judged(run_to_end(git.config, Job { argv, env: Some(env), cwd, timeout, ..git.job() })?)
}

fn run_to_end(config: &Config, mut job: Job) -> Result<Done, String> {
    job.env.iter_mut().for_each(|env| env.retain(|(name, _)| !ELSEWHERE.contains(&name.as_str())));
    let mut order = Order::new(vec![job], 1);
    order.spare.clone_from(&config.spare);
    let mut result = None;
    let ran = Batch::run(&environ::image(), &["_batch"], &order, &mut |_, done| result = Some(done));
    ran.map_err(|error| format!("git could not be run: {error}"))?;
    result.ok_or_else(|| "git gave no result".to_owned())
}

/// What was printed, or what was said against it.
fn judged(done: Done) -> Result<String, String> {
    let said = if done.stderr.is_empty() { &done.stdout } else { &done.stderr };
    let said = one_line(&String::from_utf8_lossy(said), 500);
    match done.ended {
        Ended::Exited(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ended::Exited(code) if said.is_empty() => Err(format!("exit {code}")),
        Ended::Exited(_) => Err(said),
        Ended::Signalled(signal) => Err(format!("signal {signal}")),
        Ended::TimedOut => Err("it did not end in time".to_owned()),
        Ended::Killed => Err("it was ended with the loop".to_owned()),
        Ended::Spawn(error) => Err(format!("it could not be started: {error}")),
    }
}
