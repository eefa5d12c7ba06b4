//! What a worker was asked to do, as it lies in its session's folder.

use looop_core::model::plan::Author;
use looop_core::model::rights::Rights;
use looop_core::model::work::Last;
use looop_core::world::fleet::worker_of;
use looop_store::Reader;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// The file in the session's folder.
pub(crate) const FILE: &str = "task.json";
/// The version of its form.
const VERSION: u32 = 1;

/// What a worker was asked to do. A restart begins with the same task under the next session's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The version of this form: 1.
    pub(crate) v: u32,
    /// The worker's id.
    pub(crate) worker: String,
    /// The session, `<id>~<n>`.
    pub(crate) session: String,
    /// What it shall do; empty where its command says all.
    #[serde(default)]
    pub(crate) prompt: String,
    /// The goal that it serves.
    #[serde(default)]
    pub(crate) goal: Option<String>,
    /// The runner that it was asked to use.
    #[serde(default)]
    pub(crate) runner: Option<String>,
    /// The model that its goal names.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// A command instead of a runner's, as it was given.
    #[serde(default)]
    pub(crate) command: Option<String>,
    /// The command that proves its work done.
    #[serde(default)]
    pub(crate) verify: Option<String>,
    /// The repository that it gets a worktree of.
    #[serde(default)]
    pub(crate) repo: Option<String>,
    /// The folder that it works in: of the worktree where it has one, else any.
    #[serde(default)]
    pub(crate) cwd: Option<String>,
    /// Whether a decider named that repository.
    #[serde(default)]
    pub(crate) foreign: bool,
    /// Whether it is confined whatever its runner says.
    #[serde(default)]
    pub(crate) sandbox: bool,
    /// With whose rights its own command runs.
    #[serde(default)]
    pub(crate) rights: Rights,
    /// Who wanted it.
    pub(crate) author: Author,
    /// Answers that an earlier session of it did not live to see.
    #[serde(default)]
    pub(crate) answers: Vec<Told>,
    /// What it is told of the last worker that served its goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<Box<Last>>,
}

/// A question of an earlier session, and what the person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The ask's id.
    pub(crate) ask: String,
    /// What was asked.
    pub(crate) question: String,
    /// What was answered.
    pub(crate) answer: String,
}

impl Task {
    /// A bare task of a session.
    pub(crate) fn new(session: &str, prompt: &str, author: Author) -> Self {
        Self {
            v: VERSION,
            worker: worker_of(session).to_owned(),
            session: session.to_owned(),
            prompt: prompt.to_owned(),
            goal: None,
            runner: None,
            model: None,
            command: None,
            verify: None,
            repo: None,
            cwd: None,
            foreign: false,
            sandbox: false,
            rights: Rights::Person,
            author,
            answers: Vec::new(),
            last: None,
        }
    }

    /// The same task for another session of the worker.
    pub(crate) fn again(&self, session: &str) -> Self {
        Self { session: session.to_owned(), ..self.clone() }
    }
}

/// The task of a session that was started once.
pub(crate) fn task_of(reader: &Reader, session: &str) -> Result<Task> {
    let path = format!("sessions/{session}/{FILE}");
    let bytes = reader.read(&path).known(&path).map_err(Failure::new)?;
    let bytes =
        bytes.ok_or_else(|| Failure::new(format!("{path} is not there, so its task is not known")))?;
    let task: Task = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::new(format!("{path} is no task: {error}")))?;
    if task.v == VERSION { Ok(task) } else { Err(Failure::new(format!("{path} has version {}", task.v))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_survives_its_file() {
        let mut task = Task::new("ship~1", "do it", Author::Decider("claude".to_owned()));
        let (ask, question, answer) = ("ship-1".to_owned(), "really?".to_owned(), "yes".to_owned());
        task.answers.push(Told { ask, question, answer });
        let stored = serde_json::to_vec(&task).unwrap();
        assert_eq!(serde_json::from_slice::<Task>(&stored).unwrap(), task);
    }

    #[test]
    fn a_restart_changes_the_session_alone() {
        let task = Task { verify: Some("true".to_owned()), ..Task::new("a-b~9", "do it", Author::Person) };
        let again = task.again("a-b~10");
        assert_eq!((again.worker.as_str(), again.session.as_str()), ("a-b", "a-b~10"));
        assert_eq!(again.again("a-b~9"), task);
    }
}
