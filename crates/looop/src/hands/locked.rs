//! Workers that are confined: which are, and what that does to their command and their environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use looop_core::policy::Level;
use looop_session::Spec;
use looop_store::Reader;

use super::runner::{Agent, find, program};
use super::sandbox::{self, Means};
use super::task::Task;
use super::{git, worktree};
use crate::config::Config;
use crate::failure::{Failure, Result};

/// Says to those inside that they are confined.
pub(crate) const VARIABLE: &str = "LOOOP_CONFINED";
/// Variables that lead to sockets which are not there.
const DOORS: [&str; 9] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "WAYLAND_DISPLAY",
    "DISPLAY",
    "XAUTHORITY",
];

/// A worker that is confined.
#[derive(Debug)]
pub(crate) struct Confined {
    pub(crate) means: Means,
}

/// Whether a worker is confined, or why it cannot be although it shall.
pub(crate) fn confined(
    config: &Config,
    task: &Task,
    agent: &Agent,
) -> std::result::Result<Option<Confined>, String> {
    let runner = agent.runner.as_ref().and_then(|name| config.runners.get(name.as_str()));
    let locked = config.policy.level == Level::Locked;
    let wanted = task.sandbox || locked || runner.is_some_and(|runner| runner.sandbox);
    let of_decider = task.command.is_some() && !task.rights.is_person();
    if !wanted && !of_decider {
        return Ok(None);
    }
    match sandbox::means(config)? {
        Means::None if wanted => Err(format!("it shall be confined and nothing here can: {}", why())),
        Means::None => Ok(None),
        means @ Means::Bwrap(_) => Ok(Some(Confined { means })),
    }
}

fn why() -> String {
    match sandbox::found() {
        Err(why) => why.clone(),
        Ok(_) => "sandbox is \"off\"".to_owned(),
    }
}

/// The program of a runner, if it is not shown in the sandbox.
fn unseen(config: &Config, agent: &Agent, env: &[(String, String)]) -> Option<PathBuf> {
    let file = agent.runner.as_ref().and_then(|_| find(program(agent.command.as_str())?, env))?;
    (file.is_absolute() && sandbox::is_unseen(config, &file)).then_some(file)
}

/// A confined worker may write the folder that it works in, so that must not be where the profile is, nor hold it.
fn apart(folder: &Path, data: &Path) -> std::result::Result<(), String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let (inner, outer) = (real(folder)?, real(data)?);
    if inner.starts_with(&outer) || outer.starts_with(&inner) {
        return Err(format!("a confined worker cannot work in {}: the profile is there", folder.display()));
    }
    Ok(())
}

impl Confined {
    /// The command of a spec, confined.
    pub(crate) fn wrap(
        &self,
        reader: &Reader,
        config: &Config,
        (task, agent): (&Task, &Agent),
        spec: &Spec,
    ) -> std::result::Result<Vec<OsString>, String> {
        let granted = task.rights.of_command().filter(|_| task.command.is_some());
        let program =
            program(agent.command.as_str()).map(|program| program.rsplit('/').next().unwrap_or(program));
        if let Some(file) = unseen(config, agent, &spec.env) {
            let file = file.display();
            return Err(format!("{file} is not shown in the sandbox; list its folder in sandbox_tools"));
        }
        let folder = task.cwd.as_ref().filter(|_| task.repo.is_none()).map(|_| spec.cwd.as_path());
        if let Some(folder) = folder {
            apart(folder, reader.root())?;
        }
        let workspace = task.repo.as_ref().map(|_| worktree::path(reader, &task.session));
        let wanted = sandbox::Agent {
            session: &task.session,
            workspace: workspace.as_deref(),
            folder,
            program,
            goal: task.goal.as_deref().unwrap_or(""),
            runner: agent.runner.as_ref().and_then(|name| config.runners.get(name.as_str())),
            granted: granted.as_ref(),
        };
        let confine = sandbox::of_worker(config, reader.root(), &wanted)?;
        sandbox::wrap(&self.means, &confine, reader.root(), spec.argv.clone())
    }

    /// Tells a worker that it is confined and as whom it commits, and takes away what leads nowhere.
    pub(crate) fn adapt(
        &self,
        reader: &Reader,
        config: &Config,
        env: &mut Vec<(String, String)>,
    ) -> Result<()> {
        let data = reader.root();
        env.retain(|(name, _)| !DOORS.contains(&name.as_str()));
        let who = git::identity(reader, config).map_err(Failure::new)?;
        let who: Vec<_> =
            who.into_iter().filter(|(name, _)| env.iter().all(|(known, _)| known != name)).collect();
        env.extend(who);
        env.push((VARIABLE.to_owned(), "1".to_owned()));
        sandbox::own_temp(&self.means, env);
        sandbox::own_reports(data, env)
    }
}
