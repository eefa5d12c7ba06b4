//! A profile whose workers end with the test.

use std::fs;

use looop_session::{Client, Standing, host};
use looop_sim::profile::{Profile, Ran};
use rustix::process::{Pid, Signal, kill_process};

/// Tells its size when that changes.
pub(crate) const MEASURES: &str = "echo ready; while :; do new=$(stty size); [ \"$new\" = \"$old\" ] || echo \"$new\"; old=$new; sleep 0.02; done";

/// A profile with workers.
pub(crate) struct Ground {
    pub(crate) profile: Profile,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self { profile: Profile::bare(env!("CARGO_BIN_EXE_looop")) }
    }

    /// Starts a worker that runs this shell text.
    pub(crate) fn worker(&self, id: &str, script: &str) -> &Self {
        let command = format!("{script}\n: {{{{prompt_file}}}}");
        self.profile.run(&["worker", "start", id, "work", "--command", &command]).ok();
        self
    }

    /// Calls the binary.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.profile.run(args)
    }

    /// Waits until the worker has printed this.
    pub(crate) fn expect(&self, id: &str, pattern: &str) {
        self.run(&["expect", id, pattern, "--timeout", "300s"]).ok();
    }

    /// Ends the host of a session as a crash would.
    pub(crate) fn crash_host(&self, session: &str) {
        let folder = self.profile.data().join("sessions").join(session);
        let pid = Client::connect(&folder).unwrap().hello().pid.and_then(Pid::from_raw).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }

    /// Whether the session's host lives.
    pub(crate) fn lives(&self, session: &str) -> bool {
        host::standing(&self.profile.data().join("sessions").join(session)).unwrap() == Standing::Live
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for entry in fs::read_dir(self.profile.data().join("sessions")).into_iter().flatten().flatten() {
            let folder = entry.path();
            if folder.join("spec.json").exists()
                && let Err(error) = host::end(&folder)
                && !std::thread::panicking()
            {
                panic!("{}: {error}", folder.display());
            }
        }
    }
}
