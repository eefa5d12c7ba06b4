//! From rights to what is wanted of a confinement.

use std::path::{Path, PathBuf};

use looop_core::model::rights::Granted;

use super::confine::Confine;
use super::system;
use crate::config::{Config, Runner};
use crate::hands::worktree;

/// Letters that a confined worker writes.
const LETTERS: [&str; 4] = ["asks", "tells", "claims", "spend"];
/// Where agents keep their sessions and sign-ins, by program.
const STATES: [(&str, &[&str]); 5] = [
    ("claude", &["~/.claude", "~/.claude.json"]),
    ("codex", &["~/.codex"]),
    (
        "opencode",
        &["~/.local/share/opencode", "~/.local/state/opencode", "~/.config/opencode", "~/.cache/opencode"],
    ),
    ("pi", &["~/.pi"]),
    ("gemini", &["~/.gemini"]),
];
/// Variables that name such a folder instead.
const STATE_VARIABLES: [&str; 2] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME"];

/// What a decider's command gets that serves this goal, or none.
pub(crate) fn of_granted(config: &Config, granted: &Granted, goal: &str) -> Confine {
    let write: Vec<PathBuf> = granted.write.iter().filter_map(|path| located(path)).collect();
    Confine {
        tools: tools(config),
        // Commits are made by workers; what git runs or reads there is the person's.
        keep: write.iter().map(|path| path.join(".git")).collect(),
        write,
        goal: Some(goal.to_owned()).filter(|goal| !goal.is_empty()),
        read: granted.read.iter().filter_map(|path| located(path)).collect(),
        hide: config.env_file.iter().cloned().collect(),
        net: granted.net && granted.hosts.is_empty(),
        hosts: granted.hosts.clone(),
        ..Confine::default()
    }
}

/// A worker to be confined.
#[derive(Debug)]
pub(crate) struct Agent<'a> {
    /// Its session.
    pub(crate) session: &'a str,
    /// Its worktree, where it has one.
    pub(crate) workspace: Option<&'a Path>,
    /// The folder that a person has it work in, where it has no worktree.
    pub(crate) folder: Option<&'a Path>,
    /// The program that it runs, by base name.
    pub(crate) program: Option<&'a str>,
    /// Its runner, if that is configured.
    pub(crate) runner: Option<&'a Runner>,
    /// The goal that it serves, or nothing.
    pub(crate) goal: &'a str,
    /// What is granted to the command of a decider; a configured runner's agent needs its model and its own state.
    pub(crate) granted: Option<&'a Granted>,
}

/// What a worker gets.
pub(crate) fn of_worker(config: &Config, data: &Path, agent: &Agent<'_>) -> Result<Confine, String> {
    let mut confine = match agent.granted {
        Some(granted) => of_granted(config, granted, agent.goal),
        None => Confine { net: true, ..of_granted(config, &Granted::default(), agent.goal) },
    };
    confine.session = Some(agent.session.to_owned());
    confine.write.extend(LETTERS.map(|folder| data.join(folder)));
    if let Some(workspace) = agent.workspace {
        let git = worktree::writes(workspace)?;
        confine.read.push(worktree::repository(workspace)?);
        confine.write.extend(std::iter::once(workspace.to_owned()).chain(git));
        confine.keep.push(workspace.join(".git"));
    }
    confine.write.extend(agent.folder.map(Path::to_owned));
    // Its own calls of looop read the same configuration.
    confine.read.extend(std::env::var_os("LOOOP_CONFIG").map(PathBuf::from));
    if agent.granted.is_none() {
        confine.write.extend(states(agent.program));
    }
    for path in agent.runner.iter().flat_map(|runner| &runner.write) {
        let text = path.to_string_lossy();
        let path = located(&text)
            .ok_or_else(|| format!("write: \"{text}\" is no absolute path, nor one below ~/"))?;
        confine.write.push(path);
    }
    Ok(confine)
}

/// The state of an agent, made where it is not there yet, since its parent cannot be written.
fn states(program: Option<&str>) -> Vec<PathBuf> {
    let known = STATES.iter().find(|(name, _)| Some(*name) == program).map_or(&[][..], |(_, paths)| paths);
    let mut found: Vec<PathBuf> = known.iter().filter_map(|path| located(path)).collect();
    for folder in found.iter().filter(|path| path.extension().is_none()) {
        // One that cannot be made is missed by the agent, which says so better.
        drop(std::fs::create_dir_all(folder));
    }
    let named = STATE_VARIABLES.iter().filter_map(std::env::var_os).map(PathBuf::from);
    found.extend(named.filter(|path| path.is_absolute()));
    found.retain(|path| path.exists());
    found
}

/// Folders of the PATH that are not shown in the sandbox.
pub(crate) fn unseen_programs(config: &Config) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut unseen: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute() && is_unseen(config, folder))
        .collect();
    unseen.sort_unstable();
    unseen.dedup();
    unseen
}

/// Whether something is there and is not shown in the sandbox as a program or a part of one.
pub(crate) fn is_unseen(config: &Config, path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let is_tool = |tool: &PathBuf| tool.canonicalize().is_ok_and(|tool| real.starts_with(tool));
    !system::is_shown(&real) && !tools(config).iter().any(is_tool)
}

fn tools(config: &Config) -> Vec<PathBuf> {
    config.sandbox_tools.iter().filter_map(|path| located(&path.to_string_lossy())).collect()
}

/// An absolute path, or one below the home.
fn located(path: &str) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(below) => Some(std::env::home_dir()?.join(below)),
        None if path == "~" => std::env::home_dir(),
        None => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
    }
}
