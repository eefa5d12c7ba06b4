//! `looop worker start | list | kill | restart | prune`, and `looop start-session`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use looop_core::model::moves::Move;
use serde_json::json;

use super::args::Json;
use super::{body, kill, list, print, prune, restart};
use crate::failure::Result;
use crate::ops::workers::{self, Started};
use crate::ops::{Place, named};

/// Workers: agents and commands at work, each in a terminal of its own
#[derive(Args, Debug)]
pub(super) struct Worker {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    Start(Start),
    #[command(alias = "ls")]
    List(list::List),
    Kill(kill::Kill),
    Restart(restart::Restart),
    Prune(prune::Prune),
}

impl Worker {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        match &self.verb {
            Verb::Start(verb) => verb.run(place),
            Verb::List(verb) => verb.run(place),
            Verb::Kill(verb) => verb.run(place),
            Verb::Restart(verb) => verb.run(place),
            Verb::Prune(verb) => verb.run(place),
        }
    }
}

/// Start a worker; it goes on when this returns
#[derive(Args, Debug)]
struct Start {
    #[command(flatten)]
    json: Json,
    /// What it is called
    id: String,
    /// What it shall do; read from stdin if absent or -, unless --command says all; after -- it may begin with a dash
    prompt: Vec<String>,
    /// The configured runner that does it
    #[arg(long, value_name = "NAME")]
    runner: Option<String>,
    /// A shell command instead of a runner's; `{{prompt_file}}` is where the prompt comes in
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// A git repository: it works in a worktree of its own, on a branch of its own
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// The folder that it works in; with --repo (or a goal's repo) a folder of the worktree, such as services/api
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The goal that it serves
    #[arg(long, value_name = "GOAL")]
    goal: Option<String>,
    /// A command that proves its work done, run after its end
    #[arg(long, value_name = "COMMAND")]
    verify: Option<String>,
    /// Confine it, whatever its runner says
    #[arg(long)]
    sandbox: bool,
}

impl Start {
    fn run(&self, place: &Place) -> Result<ExitCode> {
        let id = workers::worker_id(&self.id)?;
        let prompt = match &self.command {
            Some(_) if self.prompt.is_empty() => String::new(),
            _ => body::body(&self.prompt, "prompt")?,
        };
        let goal = self.goal.as_deref().map(named).transpose()?;
        let (runner, command, verify) = (self.runner.clone(), self.command.clone(), self.verify.clone());
        let (repo, cwd) = workers::folders(place, goal.as_ref(), self.repo.as_deref(), self.cwd.as_deref())?;
        let sandbox = self.sandbox;
        let action = Move::StartWorker { id, prompt, goal, runner, command, verify, sandbox, repo, cwd };
        say_started(&workers::start(place, action)?, self.json.json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Start a worker, as older versions called it
#[derive(Args, Debug)]
#[command(hide = true)]
pub(super) struct StartSession {
    /// What it is called
    id: String,
    /// What it shall do
    prompt: String,
    /// The configured runner that does it
    runner: Option<String>,
}

impl StartSession {
    pub(super) fn run(&self, place: &Place) -> Result<ExitCode> {
        let prompt = body::body(std::slice::from_ref(&self.prompt), "prompt")?;
        let action = Move::StartWorker {
            id: workers::worker_id(&self.id)?,
            prompt,
            goal: None,
            runner: self.runner.clone(),
            command: None,
            verify: None,
            sandbox: false,
            repo: None,
            cwd: None,
        };
        say_started(&workers::start(place, action)?, false)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what was started.
pub(super) fn say_started(started: &Started, json: bool) -> Result<()> {
    let Started { session, summary, note } = started;
    if json {
        return print::json(&json!({"v": 1, "session": session, "summary": summary, "note": note}));
    }
    let session = session.as_ref().map_or_else(String::new, |session| format!(" ({session})"));
    print::out(&format!("{summary}{session}"));
    if let Some(note) = note {
        print::say(&format!("note: {note}"));
    }
    Ok(())
}
