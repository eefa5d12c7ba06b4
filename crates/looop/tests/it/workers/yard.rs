//! What the tests of workers have in common.

use std::path::PathBuf;

use looop_sim::profile::{Profile, Ran};
use looop_sim::waiting::{Fifo, finish, within};
use serde_json::Value;

pub(crate) const LOOOP: &str = env!("CARGO_BIN_EXE_looop");
/// A worker that waits for ever.
pub(crate) const IDLE: &str = "exec sleep 1000";

/// A profile whose workers end with the test, also with one that fails.
pub(crate) struct Yard {
    pub(crate) profile: Profile,
}

impl Yard {
    pub(crate) fn new() -> Self {
        Self::of(Profile::bare(LOOOP))
    }

    pub(crate) fn of(profile: Profile) -> Self {
        Self { profile }
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        finish(self.profile.start(args))
    }

    /// Starts a worker that runs this command.
    pub(crate) fn start(&self, id: &str, command: &str) -> Ran {
        self.run(&["worker", "start", id, "--command", command])
    }

    pub(crate) fn rows(&self, args: &[&str]) -> Vec<Value> {
        let args = [&["worker", "list", "--json"], args].concat();
        self.run(&args).ok().json().as_array().unwrap().clone()
    }

    /// The newest session of a worker, as it is listed.
    pub(crate) fn row(&self, id: &str) -> Value {
        let rows = self.rows(&[]);
        rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} is not in {rows:?}")).clone()
    }

    pub(crate) fn session(&self, session: &str) -> PathBuf {
        self.profile.data().join("sessions").join(session)
    }

    /// Waits for the end of a session.
    pub(crate) fn wait(&self, session: &str) {
        let folder = self.session(session);
        within("the end of a session", move || looop_session::host::wait(&folder).unwrap());
    }

    pub(crate) fn outside(&self, name: &str) -> String {
        self.profile.outside().join(name).to_string_lossy().into_owned()
    }

    pub(crate) fn read_outside(&self, name: &str) -> String {
        std::fs::read_to_string(self.outside(name)).unwrap_or_default()
    }

    /// A command that says on a FIFO that it is there, and then waits on another.
    pub(crate) fn gated(&self) -> (Fifo, Fifo, String) {
        let (here, gate) = (self.profile.fifo("here"), self.profile.fifo("gate"));
        let command = format!("echo there > '{}'; cat '{}'", here.path().display(), gate.path().display());
        (here, gate, command)
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        drop(self.profile.run(&["kill", "--all", "--force"]));
        if !std::thread::panicking() {
            assert_eq!(self.profile.survivors(), Vec::<String>::new());
        }
    }
}
