//! The work of a worker as a pull request: its branch is pushed, and gh opens the request.

use looop_core::model::rights::Granted;
use looop_core::policy::{Grant, Policy};
use looop_core::world::fleet::worker_of;

use super::git::program;
use super::works::{Desk, LEFT_OVER, current, head};
use super::worktree::{Origin, note};

/// What is granted to gh, if it may be called.
fn granted(policy: &Policy) -> Option<Granted> {
    let gives = |grant: &Grant| match grant {
        Grant::Path(_) => None,
        Grant::Command(command) => Some(command.gives.env.clone()),
        Grant::Program(program) => Some(program.gives.env.clone()),
    };
    let grants = policy.grants.iter().filter(|grant| grant.program() == Some("gh"));
    let env: Vec<Vec<String>> = grants.filter_map(gives).collect();
    (!env.is_empty()).then(|| Granted { env: env.concat(), ..Granted::default() })
}

impl Desk<'_> {
    /// Pushes the branch, and opens a pull request if there is a program that may.
    pub(super) fn publish(&self) -> Result<String, String> {
        let onto = current(&self.git)?;
        self.gather()?;
        let remote = self.remote(&onto)?;
        let refs = format!("{0}:{0}", head(self.origin));
        self.git
            .remote(&["push", "--quiet", &remote, &refs])
            .map_err(|words| format!("{} could not be pushed to {remote}: {words}", self.branch()))?;
        looop_session::point("works.pushed");
        let pushed = format!("{} is pushed to {remote}", self.branch());
        if let Some(url) = &self.origin.pr {
            return Ok(format!("{pushed}; its pull request is {url}"));
        }
        let by_hand = format!("gh pr create --head {} --base {onto}", self.branch());
        let Some(granted) = granted(&self.git.config.policy) else {
            return Ok(format!(
                "{pushed}; looop may not call gh (looop init --grant gh), so open it by: {by_hand}"
            ));
        };
        let words = self.request(&onto)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let url = match program(&self.git, &words, &granted) {
            Ok(printed) => printed.lines().next_back().unwrap_or_default().trim().to_owned(),
            Err(words) => {
                return Err(format!("{pushed}, and gh opened no pull request: {words}; try {by_hand}"));
            }
        };
        let known = Origin { pr: Some(url.clone()), ..self.origin.clone() };
        note(self.git.reader, self.session, &known).map_err(|error| format!("{url} was opened: {error}"))?;
        Ok(format!("{pushed}; pull request {url}"))
    }

    fn request(&self, onto: &str) -> Result<Vec<String>, String> {
        let subject = self.git.plain(&["log", "-1", "--format=%s", &head(self.origin)])?;
        let id = worker_of(self.session);
        let goal = if self.goal.is_empty() { String::new() } else { format!(" for goal {}", self.goal) };
        let title = match subject.trim() {
            subject if subject.is_empty() || subject.starts_with(LEFT_OVER) => format!("Work of {id}{goal}"),
            subject => subject.to_owned(),
        };
        let body = format!("Work of worker {id}{goal}.");
        let words = [
            "gh",
            "pr",
            "create",
            "--head",
            self.branch(),
            "--base",
            onto,
            "--title",
            &title,
            "--body",
            &body,
        ];
        Ok(words.map(str::to_owned).to_vec())
    }

    /// The remote that the branch is pushed to: that of the branch which is checked out, else the only one, else `origin`.
    fn remote(&self, onto: &str) -> Result<String, String> {
        if let Ok(remote) = self.git.plain(&["config", &format!("branch.{onto}.remote")]) {
            return Ok(remote.trim().to_owned());
        }
        let all = self.git.plain(&["remote"])?;
        let all: Vec<&str> = all.lines().collect();
        match all.as_slice() {
            [] => {
                Err(format!("{} has no remote to push to (git remote add origin …)", self.git.repo.display()))
            }
            [only] => Ok((*only).to_owned()),
            _ => Ok("origin".to_owned()),
        }
    }
}
