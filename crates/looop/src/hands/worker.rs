//! Workers: started once, found again after a crash, ended, removed.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use looop_core::model::outcome::{Ended, Outcome};
use looop_core::model::plan::Author;
use looop_core::world::fleet::Stray;
use looop_session::{HostError, Kill, Launched, Receipt, Size, Spec, Standing, Start, StartError, host};
use looop_store::Reader;

use super::act::{causes, folder, stands};
use super::locked::{Confined, confined};
use super::runner::{Agent, agent, missing};
pub(crate) use super::task::task_of;
use super::task::{self, Task};
use super::{adapt, contract, environ, fleet, sense, settled, temp, workplace, worktree};
use crate::config::Config;
use crate::failure::{Failure, Result};

/// How the folder of a session is called while it is being removed.
const GONE: &str = ".gone-";

/// What became of a start that an earlier lock holder intended.
pub(crate) enum Found {
    /// It happened, or may have happened.
    Done(Outcome),
    /// It did not happen and now never will: it is to be done under another name.
    NeverRan,
}

/// Why a task cannot be started, as far as the configuration tells.
pub(crate) fn refusal(config: &Config, task: &Task) -> Option<String> {
    agent(config, task).err()
}

/// Starts a worker and sees whether it lives. The caller keeps what was launched, to reap it.
pub(crate) fn start(reader: &Reader, config: &Config, task: &Task) -> (Outcome, Option<Launched>) {
    match launch(reader, config, task) {
        Ok(launched) => {
            let outcome = settled::outcome(&reader.path("sessions"), &task.session, &launched);
            if matches!(outcome, Outcome::Interrupted { .. })
                && let Err(failure) = stands(&folder(reader, &task.session), &task.session)
            {
                // What a dead host left could not be ended.
                return (Outcome::Interrupted { reason: failure.error }, Some(launched));
            }
            (outcome, Some(launched))
        }
        Err(reason) => (Outcome::failed(reason), None),
    }
}

/// All is checked before anything is made.
fn launch(reader: &Reader, config: &Config, task: &Task) -> std::result::Result<Launched, String> {
    let agent = agent(config, task)?;
    let confined = confined(config, task, &agent)?;
    let mut env = env(reader, config, task, confined.as_ref()).map_err(|failure| failure.error)?;
    if let Some(reason) = missing(&agent, &env) {
        return Err(reason);
    }
    let command = adapt::command(&agent, &env, reader.root())?;
    let cwd = workplace::make(reader, config, task, confined.is_some())?;
    let prompt = folder(reader, &task.session).join(contract::FILE);
    let wait = contract::wait_of(agent.command.as_str());
    env.extend(wait.map(|seconds| (contract::WAIT.to_owned(), seconds.to_string())));
    let mut spec = spec(config, task, &agent, (command.fill(&prompt), cwd, env));
    spec.own.extend(task.repo.as_ref().map(|_| worktree::path(reader, &task.session).into()));
    if let Some(confined) = &confined {
        spec.argv = confined.wrap(reader, config, (task, &agent), &spec)?;
        spec.spare.clear();
        spec.notes.insert("confined".to_owned(), confined.means.word().to_owned());
    }
    host_it(reader, config, task, (&spec, wait)).map_err(|error| {
        let reason = refused(&task.worker, &error);
        match take_back(reader, config, &task.session, &error) {
            Ok(()) => reason,
            Err(left) => format!("{reason}; {}", left.error),
        }
    })
}

fn host_it(
    reader: &Reader,
    config: &Config,
    task: &Task,
    (spec, wait): (&Spec, Option<u64>),
) -> std::result::Result<Launched, StartError> {
    let bytes = serde_json::to_vec_pretty(task)
        .map_err(|error| StartError::Io { path: task::FILE.into(), source: error.into() })?;
    let prompt = contract::prompt(task, wait);
    looop_session::start(&Start {
        root: &reader.path("sessions"),
        id: &task.worker,
        session: &task.session,
        cap: config.max_workers.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
        spec,
        image: &environ::image(),
        image_args: &["_host"],
        files: &[(task::FILE, &bytes), (contract::FILE, prompt.as_bytes())],
    })
}

/// A refusal of the yard, for the person.
fn refused(worker: &str, error: &StartError) -> String {
    match error {
        StartError::Lives { session } => format!("worker {worker} lives already, as {session}"),
        StartError::Full { live, cap } => {
            format!("{live} workers live and max_workers is {cap}; end one, or raise max_workers")
        }
        StartError::Left(_) | StartError::Busy(_) | StartError::Io { .. } | StartError::Host(_) => {
            format!("worker {worker} could not be started: {}", causes(error))
        }
    }
}

/// Takes back what a start that failed had made.
fn take_back(reader: &Reader, config: &Config, session: &str, error: &StartError) -> Result<()> {
    let made = match error {
        StartError::Lives { .. }
        | StartError::Full { .. }
        | StartError::Left(_)
        | StartError::Busy(_)
        | StartError::Host(HostError::InUse(_) | HostError::Spec(_)) => false,
        StartError::Io { .. } | StartError::Host(HostError::Folder { .. } | HostError::Launch { .. }) => true,
    };
    worktree::undo(reader, config, session).map_err(Failure::new)?;
    if made && matches!(stands(&folder(reader, session), session)?, Standing::NeverRan) {
        clear(reader, session)?;
    }
    Ok(())
}

/// The person's environment, with what a worker and a terminal add. The command of a decider gets what is listed alone.
fn env(
    reader: &Reader,
    config: &Config,
    task: &Task,
    confined: Option<&Confined>,
) -> Result<Vec<(String, String)>> {
    let session = task.session.as_str();
    let more = [
        ("LOOOP_SESSION_ID", session),
        ("BABYSIT_SESSION_ID", session),
        ("LOOOP_GOAL", task.goal.as_deref().unwrap_or("")),
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
    ];
    let mut env = match task.rights.of_command().filter(|_| task.command.is_some()) {
        Some(granted) => environ::of_decider(reader.root(), config, &granted, &more)?,
        None => environ::of_person(reader.root(), config, &more)?,
    };
    match confined {
        Some(confined) => confined.adapt(reader, config, &mut env)?,
        None => own_temp(reader, session, &mut env)?,
    }
    // Of the terminal that looop was called in; the worker has one of its own.
    env.retain(|(name, _)| {
        !matches!(name.as_str(), "LINES" | "COLUMNS" | "LOOOP_RUN_ID" | "LOOOP_DECISION_FILE")
    });
    Ok(env)
}

/// A folder for temporary files that goes with the worker. Confined ones have one already.
fn own_temp(reader: &Reader, session: &str, env: &mut Vec<(String, String)>) -> Result<()> {
    let made = temp::make(reader.root(), session);
    let made = made.map_err(|error| Failure::new(format!("tmp/{session} could not be made: {error}")))?;
    if let Some(folder) = made {
        env.retain(|(name, _)| name != "TMPDIR");
        env.push(("TMPDIR".to_owned(), folder.to_string_lossy().into_owned()));
    }
    Ok(())
}

fn spec(
    config: &Config,
    task: &Task,
    agent: &Agent,
    (command, cwd, env): (OsString, PathBuf, Vec<(String, String)>),
) -> Spec {
    let argv = vec!["bash".into(), "-c".into(), command];
    let mut spec = Spec::new(argv, cwd, env).in_terminal(Size::default());
    spec.spare.clone_from(&config.spare);
    let author = match &task.author {
        Author::Builtin => "builtin".to_owned(),
        Author::Decider(name) => format!("decider:{name}"),
        Author::Person => "person".to_owned(),
        Author::Approved(name) => format!("approved:{name}"),
    };
    let notes = [
        ("worker", Some(&task.worker)),
        ("goal", task.goal.as_ref()),
        ("runner", agent.runner.as_ref()),
        ("author", Some(&author)),
        ("verify", task.verify.as_ref()),
    ];
    let known = notes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
    spec.notes.extend(known);
    spec
}

/// Finds out what became of a start that an earlier lock holder intended. What never ran leaves nothing.
pub(crate) fn recover(reader: &Reader, config: &Config, session: &str) -> Result<Found> {
    let folder = folder(reader, session);
    Ok(match stands(&folder, session)? {
        Standing::Live => Found::Done(Outcome::done()),
        Standing::Ended(receipt) => Found::Done(begun(&receipt)),
        Standing::NeverRan | Standing::Absent => {
            worktree::undo(reader, config, session).map_err(Failure::new)?;
            clear(reader, session)?;
            Found::NeverRan
        }
        Standing::Lost => Found::Done(Outcome::Interrupted {
            reason: format!("its host died; it may have worked; looop log {session} shows what it printed"),
        }),
        Standing::Corrupt(what) => {
            Found::Done(Outcome::Interrupted { reason: format!("its start is not known ({what})") })
        }
    })
}

/// A start that happened, seen after its end.
fn begun(receipt: &Receipt) -> Outcome {
    if let spawn @ Ended::Spawn(_) = sense::ended(receipt.ended.clone()) {
        return Outcome::failed(spawn.text());
    }
    Outcome::done()
}

/// Ends what workers that have ended left running outside their sessions. Says what that was.
pub(crate) fn end_strays(reader: &Reader, sessions: &[&str]) -> std::result::Result<Option<String>, String> {
    let found = looop_session::end_strays(&reader.path("sessions"), sessions)
        .map_err(|error| format!("what runs outside their sessions cannot be looked for: {error}"))?;
    let said =
        found.iter().map(|(session, found)| format!("{session}: {}", Stray::texts(&fleet::strays(found))));
    let said: Vec<String> = said.collect();
    Ok((!said.is_empty()).then(|| said.join("; ")))
}

/// Ends a worker. It is done exactly when this ended it. What it has running outside its session is left to
/// [`end_strays`].
pub(crate) fn end(reader: &Reader, session: &str) -> Outcome {
    match host::kill(&folder(reader, session)) {
        Ok(Kill::Killed(_)) => Outcome::done(),
        Ok(Kill::Remains { ended, .. }) if ended > 0 => {
            let note = format!("its host was dead; {ended} of its processes lived");
            Outcome::Done { note: Some(note), shell: None }
        }
        Ok(Kill::Remains { standing, .. } | Kill::Before(standing)) => Outcome::failed(before(&standing)),
        Ok(Kill::Itself(receipt)) => Outcome::failed(before(&Standing::Ended(receipt))),
        Ok(Kill::NeverRan) => Outcome::failed("it had not started yet, and now it never will"),
        Err(error) => Outcome::failed(format!("it could not be ended: {}", causes(&error))),
    }
}

/// Ends a worker that says itself that it is done. Its end counts as a good one.
pub(crate) fn finish(reader: &Reader, session: &str) -> Result<()> {
    match host::finish(&folder(reader, session)) {
        Ok(Kill::Itself(_) | Kill::Killed(_)) => Ok(()),
        Ok(Kill::Remains { standing, .. } | Kill::Before(standing)) => Err(Failure::new(before(&standing))),
        Ok(Kill::NeverRan) => Err(Failure::new("it had not started yet, and now it never will")),
        Err(error) => Err(Failure::new(format!("it could not be ended: {}", causes(&error)))),
    }
}

/// Why there was nothing to end.
fn before(standing: &Standing) -> String {
    match standing {
        Standing::Ended(receipt) => {
            format!("it had ended by itself ({})", sense::ended(receipt.ended.clone()).text())
        }
        Standing::Lost => "it was lost before: its host had died and nothing of it lived".to_owned(),
        Standing::Absent | Standing::NeverRan => "it never ran".to_owned(),
        Standing::Corrupt(what) => format!("nothing of it lived, and its end is not known ({what})"),
        Standing::Live => "it still lives".to_owned(),
    }
}

/// Removes an ended session with all that is kept of it, unless work would be lost with its worktree.
pub(crate) fn remove(reader: &Reader, config: &Config, session: &str) -> Result<()> {
    if matches!(stands(&folder(reader, session), session)?, Standing::Live) {
        return Err(Failure::new(format!("{session} lives")));
    }
    worktree::remove(reader, config, session).map_err(Failure::new)?;
    clear(reader, session)
}

/// Removes the folder of a session and its statuses. The folder goes in one step, so that no crash leaves half of it to
/// be taken for a session.
fn clear(reader: &Reader, session: &str) -> Result<()> {
    let root = reader.path("sessions");
    let gone = root.join(format!("{GONE}{session}"));
    let failed = |error: io::Error| Failure::new(format!("session {session} could not be removed: {error}"));
    present(std::fs::rename(root.join(session), &gone)).map_err(failed)?;
    looop_session::forget(&root, session).map_err(failed)?;
    temp::remove(reader.root(), session).map_err(failed)?;
    present(std::fs::remove_dir_all(&gone)).map_err(failed)
}

/// What is not there is as good as removed.
fn present(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Finishes removals that a crash cut short.
pub(crate) fn sweep(reader: &Reader) -> io::Result<()> {
    let root: &Path = &reader.path("sessions");
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(GONE.as_bytes()) {
            // Whoever began a removal may finish it at the same time.
            present(std::fs::remove_dir_all(entry.path()))?;
        }
    }
    Ok(())
}
