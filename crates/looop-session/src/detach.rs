//! A process that goes on without us: no terminal, no descriptor of ours, no signal that is meant for us.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::ended::Ended;
use crate::sys;
use crate::watched::Watched;

/// A process in a session of its own. It does not end with us.
#[derive(Debug)]
pub struct Detached {
    child: Child,
    watched: Option<Watched>,
}

/// Starts `image` in a session of its own. Its standard input is empty, its output and its errors go to `output`, and it
/// has nothing else of ours: no terminal, no descriptor, no ignored or blocked signal. The file mode mask stays.
///
/// `env` is its whole environment; ours if there is none.
pub fn detach<S: AsRef<OsStr>>(
    image: &Path,
    args: &[S],
    env: Option<&[(OsString, OsString)]>,
    cwd: &Path,
    output: File,
) -> io::Result<Detached> {
    let mut command = Command::new(image);
    command.args(args).current_dir(cwd);
    if let Some(env) = env {
        command.env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    }
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    sys::lead_bare_session(&mut command);
    let child = command.spawn()?;
    // Nobody but us takes its number away before we have waited for it.
    let watched = Watched::of(child.id())?;
    Ok(Detached { child, watched })
}

impl Detached {
    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Blocks until it has ended, at most so long. `None`: it goes on.
    pub fn wait(&mut self, most: Duration) -> io::Result<Option<Ended>> {
        if let Some(watched) = &self.watched
            && !watched.wait(most)?
        {
            return Ok(None);
        }
        Ok(self.child.try_wait()?.map(ended))
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Signalled(signal.unwrap_or(0)),
    }
}
