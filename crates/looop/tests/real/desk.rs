//! One worker in a profile of its own, and the verbs by which it is driven.

use std::rc::Rc;

use looop_sim::profile::{Profile, Ran};
use serde_json::Value;

use crate::needs;

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// After this long what is waited for does not come.
const NEVER: &str = "180s";

/// A worker, or the place for one.
pub(crate) struct Desk {
    profile: Rc<Profile>,
    id: &'static str,
}

/// What stands on a worker's screen.
pub(crate) struct Shot {
    /// Its lines, without blanks at their ends.
    pub(crate) lines: Vec<String>,
    /// All of `looop shot --json`.
    pub(crate) value: Value,
}

impl Shot {
    /// All lines.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Whether any line has this text.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.lines.iter().any(|line| line.contains(text))
    }
}

impl Desk {
    /// A place for this worker.
    pub(crate) fn new(id: &'static str) -> Self {
        Self::with(id, |profile| profile)
    }

    /// The same in a profile that is made further, for example with more variables.
    pub(crate) fn with(id: &'static str, more: impl FnOnce(Profile) -> Profile) -> Self {
        let profile = more(Profile::bare(LOOOP).env("PATH", needs::path()));
        Self { profile: Rc::new(profile), id }
    }

    /// Its profile.
    pub(crate) fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Its name.
    pub(crate) fn id(&self) -> &str {
        self.id
    }

    /// Another worker in the same profile.
    pub(crate) fn beside(&self, id: &'static str) -> Self {
        Self { profile: Rc::clone(&self.profile), id }
    }

    /// The verb, for this worker.
    pub(crate) fn verb(&self, verb: &str, args: &[&str]) -> Ran {
        self.profile.run(&[&[verb, self.id], args].concat())
    }

    /// Starts the worker with a command.
    #[track_caller]
    pub(crate) fn start(&self, command: &str) {
        let command = format!(": {{{{prompt_file}}}}; exec {command}");
        self.profile.run(&["worker", "start", self.id, "Do it.", "--command", &command]).ok();
    }

    /// Sets the profile up for an agent and starts the worker with it.
    #[track_caller]
    pub(crate) fn start_agent(&self, agent: &str, prompt: &str) {
        self.profile.run(&["init", "--runner", agent]).ok();
        self.profile.run(&["worker", "start", self.id, prompt]).ok();
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn expect(&self, pattern: &str) {
        let seen = self.verb("expect", &["--screen", "--timeout", NEVER, "--", pattern]);
        assert_eq!(seen.code, 0, "no {pattern:?}: {seen:?}\n{}", self.shot().text());
    }

    /// Waits until this has been printed after the place `since` in the stream.
    #[track_caller]
    pub(crate) fn expect_since(&self, pattern: &str, since: u64) {
        let seen = self.verb("expect", &["--since", &since.to_string(), "--timeout", NEVER, "--", pattern]);
        assert_eq!(seen.code, 0, "no {pattern:?} since {since}: {seen:?}\n{}", self.shot().text());
    }

    /// Sends a text, sees that it was taken, and gives the place in the stream from where on what follows it stands.
    #[track_caller]
    pub(crate) fn send(&self, text: &str) -> u64 {
        let sent = self.verb("send", &["--json", "--", text]).json();
        // An agent on a busy machine may react late. Whoever sends something waits for what the agent makes of it.
        let submitted = sent["delivery"] == "taken" || sent["delivery"] == "unseen";
        assert!(submitted, "{text:?}: {sent}\n{}", self.shot().text());
        sent["at"].as_u64().unwrap_or_else(|| panic!("{sent}"))
    }

    /// Types a text without submitting it.
    #[track_caller]
    pub(crate) fn types(&self, text: &str) {
        let sent = self.verb("send", &["-n", "--json", "--", text]).ok().json();
        assert_eq!(sent["delivery"], "typed", "{text:?}: {sent}");
    }

    /// Presses keys.
    #[track_caller]
    pub(crate) fn press(&self, keys: &[&str]) {
        self.verb("key", keys).ok();
    }

    /// What is on the screen.
    #[track_caller]
    pub(crate) fn shot(&self) -> Shot {
        let value = self.verb("shot", &["--json"]).ok().json();
        let lines = value["lines"].as_array().unwrap_or_else(|| panic!("{value}"));
        let line = |line: &Value| line.as_str().expect("a line").trim_end().to_owned();
        Shot { lines: lines.iter().map(line).collect(), value }
    }

    /// Waits until the worker has ended by itself, and gives its code.
    pub(crate) fn wait(&self) -> i32 {
        self.verb("wait", &["--timeout", NEVER]).code
    }

    /// Kills the worker and sees that nothing of it is left but its last screen.
    #[track_caller]
    pub(crate) fn kill(self) {
        self.verb("kill", &[]).ok();
        assert_eq!(self.profile.survivors(), Vec::<String>::new());
        assert_ne!(self.verb("kill", &[]).code, 0, "what is dead cannot be killed");
        self.shot();
    }

    /// Sees that the worker, which has ended by itself, left nothing.
    #[track_caller]
    pub(crate) fn left_nothing(self) {
        assert_eq!(self.profile.survivors(), Vec::<String>::new());
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // A failed test leaves no worker behind, also none beside this one.
        if std::thread::panicking() {
            drop(self.profile.run(&["kill", "--all", "--force"]));
        }
    }
}
