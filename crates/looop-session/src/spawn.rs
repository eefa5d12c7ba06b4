//! Starting one child.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cgroup::{self, Cgroup};
use crate::{mark, point, sys};

/// A script that was written a moment ago may be held open for an instant by a fork elsewhere in its writer.
const BUSY_WAITS_MS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Becomes another program, with this one's environment and files. It returns only if that fails.
pub fn turn_into(argv: &[OsString]) -> io::Error {
    match argv.split_first() {
        Some((program, arguments)) => Command::new(program).args(arguments).exec(),
        None => io::ErrorKind::InvalidInput.into(),
    }
}

/// What to start.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) argv: &'a [OsString],
    pub(crate) cwd: &'a Path,
    /// The complete environment; ours if there is none.
    pub(crate) env: Option<&'a [(String, String)]>,
    pub(crate) mark: &'a str,
}

impl Plan<'_> {
    /// Starts it in a process group of its own. The error is the system's text.
    pub(crate) fn start(&self, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Result<Child, String> {
        let mut command = self.command()?;
        command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        self.patiently(|| command.spawn())
    }

    /// Starts it in a process group of its own, or in a session of its own whose terminal is its standard input, and in
    /// a control group if that can be: returns its number, and whether it is in there. The error is the system's text.
    pub(crate) fn start_in(
        &self,
        [stdin, stdout, stderr]: [Stdio; 3],
        terminal: bool,
        group: Option<&Cgroup>,
    ) -> Result<(i32, bool), String> {
        let mut command = self.command()?;
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        if terminal {
            sys::lead_terminal_session(&mut command);
        } else {
            command.process_group(0);
        }
        self.patiently(|| cgroup::spawn(&mut command, group))
    }

    /// Does what starts it, again while the program is held open by somebody who writes it.
    fn patiently<T>(&self, mut spawn: impl FnMut() -> io::Result<T>) -> Result<T, String> {
        let mut waits = BUSY_WAITS_MS.iter();
        loop {
            match spawn() {
                Ok(child) => return Ok(child),
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => match waits.next() {
                    Some(wait) => std::thread::sleep(Duration::from_millis(*wait)),
                    None => return Err(error.to_string()),
                },
                Err(error) => return Err(self.explain(&error)),
            }
        }
    }

    fn command(&self) -> Result<Command, String> {
        let (program, arguments) = self.argv.split_first().ok_or("the command is empty")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.cwd);
        if let Some(env) = self.env {
            command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
        }
        command.env(mark::NAME, self.mark).env_remove(point::VARIABLE);
        Ok(command)
    }

    /// A missing folder and a missing program fail with the same number; say which it is.
    fn explain(&self, error: &io::Error) -> String {
        match std::fs::metadata(self.cwd) {
            Ok(meta) if meta.is_dir() => error.to_string(),
            Ok(_) => format!("working directory {}: not a directory", self.cwd.display()),
            Err(error) => format!("working directory {}: {error}", self.cwd.display()),
        }
    }
}
