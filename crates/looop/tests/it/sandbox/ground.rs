//! What the tests have in common: a profile with a decider, a planted secret, and a sandbox.

use std::fs;
use std::path::PathBuf;

use looop_core::ledger::entry::Entry;
use looop_core::model::outcome::Outcome;
use looop_sim::profile::{Profile, Ran};
use looop_sim::waiting::finish;
use serde_json::{Value, json};

pub(crate) const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// What nobody confined may see.
pub(crate) const SECRET: &str = "hunter2-correct-horse";

/// A profile whose home holds a secret and whose decider does what it is told.
pub(crate) struct Ground {
    pub(crate) profile: Profile,
}

impl Ground {
    /// One with this value of `sandbox` and more lines of configuration.
    pub(crate) fn new(sandbox: &str, config: &str) -> Self {
        let profile = Profile::bare(LOOOP).goal("g", "A goal of the person's.\n").env("PLANTED", SECRET);
        let home = profile.outside().join("home");
        let path = format!("{}:{}", home.join("bin").display(), std::env::var("PATH").unwrap());
        let profile = profile.env("PATH", path);
        fs::create_dir(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id"), SECRET).unwrap();
        fs::write(home.join("plain"), "plain\n").unwrap();
        profile.write("policy.toml", "");
        let told = profile.outside().join("decision.json");
        let tick = Value::from(format!("cat '{}' > \"$LOOOP_DECISION_FILE\"", told.display()));
        let config = format!(
            "sandbox = \"{sandbox}\"\ndefault = \"fake\"\n{config}\n[runners.fake]\ntick = {tick}\ncost = \"free\"\n"
        );
        Self { profile: profile.config(&config) }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.profile.outside().join("home")
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        finish(self.profile.start(args))
    }

    /// One beat in which the decider wants this.
    pub(crate) fn decide(&self, decision: &Value) -> Ran {
        self.profile.decide_next(decision);
        self.run(&["beat"])
    }

    /// Has the decider run a command; how it ended and what it printed.
    pub(crate) fn shell(&self, cmd: &str) -> (Outcome, String) {
        let ran = self.decide(&json!({"action": "run_shell", "cmd": cmd}));
        let outcome = self.last_outcome();
        let session = self.profile.entries().into_iter().rev().find_map(|entry| {
            if let Entry::Intended { plan, .. } = entry { plan.act.starts().map(str::to_owned) } else { None }
        });
        let session = session.unwrap_or_else(|| panic!("no command was run: {ran:#?}"));
        let output = self.profile.file(&format!("sessions/{session}/output.log")).unwrap_or_default();
        (outcome, output)
    }

    pub(crate) fn last_outcome(&self) -> Outcome {
        let outcomes =
            self.profile.entries().into_iter().rev().find_map(|entry| {
                if let Entry::Finished { outcome, .. } = entry { Some(outcome) } else { None }
            });
        outcomes.expect("a move was made")
    }

    /// Which of these attempts succeed in the shell of a decider.
    pub(crate) fn reached(&self, attempts: &[(&str, String)]) -> Vec<String> {
        let tried = attempts.iter().map(|(name, attempt)| {
            format!("if ( {attempt}\n) >/dev/null 2>&1; then echo 'reached {name}'; fi\n")
        });
        let (outcome, output) = self.shell(&format!("{}echo over", tried.collect::<String>()));
        assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}: {output}");
        assert!(output.ends_with("over\n"), "{output}");
        output.lines().filter_map(|line| Some(line.strip_prefix("reached ")?.to_owned())).collect()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        drop(self.profile.run(&["kill", "--all", "--force"]));
        if !std::thread::panicking() {
            assert_eq!(self.profile.survivors(), Vec::<String>::new());
        }
    }
}

/// A ground that confines, with more lines of configuration.
pub(crate) fn ground(config: &str) -> Ground {
    Ground::new("bwrap", config)
}
