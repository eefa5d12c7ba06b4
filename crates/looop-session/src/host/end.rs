//! Ending a session from outside.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::door::{self, Reply, Request, Verb};
use super::folder::{self, Folder};
use super::standing::{self, Fence, Loaded, Standing, fence, standing};
use crate::cgroup::Cgroup;
use crate::proc::{self, Process, Table};
use crate::tree::{self, Marked};

/// How long a host may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a host may take to end its tree, the wait for what does not die included.
const END: Duration = Duration::from_secs(15);

/// Why a session could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// A file of the session, or its socket, cannot be used.
    #[error("cannot end the session in {folder}")]
    Io {
        /// The session's folder.
        folder: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The host does not go away.
    #[error("the host of {0} does not end")]
    Host(String),
    /// These processes do not die of SIGKILL, or are another user's.
    #[error("processes {1:?} of {0} do not end")]
    Left(String, Vec<i32>),
}

/// Ends a session with all that it ever started, and says how it stands then. Returns when its host is gone.
///
/// One that has not started is fenced, so that it never does. If its host does not answer it is ended itself; if it is
/// dead, what carries the session's mark, and what is in its control group, is ended.
pub fn end(folder: &Path) -> Result<Standing, EndError> {
    let failed = |source| EndError::Io { folder: folder.display().to_string(), source };
    let Some(inside) = Folder::open(folder).map_err(failed)? else { return Ok(Standing::Absent) };
    if fence(folder).map_err(failed)? == Fence::Mine {
        return Ok(Standing::NeverRan);
    }
    if standing(folder).map_err(failed)? == Standing::Live && !end_live(folder, &inside).map_err(failed)? {
        return Err(EndError::Host(folder.display().to_string()));
    }
    let now = standing(folder).map_err(failed)?;
    if matches!(now, Standing::Lost | Standing::Corrupt(_)) {
        let left = end_lost(&inside).map_err(failed)?;
        if !left.is_empty() {
            return Err(EndError::Left(folder.display().to_string(), left));
        }
    }
    Ok(now)
}

/// Asks the host; if it does not do it, signals it. Says whether it is gone.
fn end_live(folder: &Path, inside: &Folder) -> io::Result<bool> {
    // A host that ends while we ask is what we want; one that cannot be asked is signalled.
    if ask(inside).is_ok() && gone_within(folder, ANSWER)? {
        return Ok(true);
    }
    for (signal, patience) in [(Signal::TERM, END), (Signal::KILL, ANSWER)] {
        signal_holder(inside, signal)?;
        if gone_within(folder, patience)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says "kill" and waits for the end of the call, which is the end of the host.
fn ask(folder: &Folder) -> io::Result<()> {
    let mut stream = UnixStream::connect(folder.path_of(folder::SOCK))?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut line = serde_json::to_vec(&Request { v: Some(door::VERSION), verb: Verb::Kill })?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut from = BufReader::new(stream);
    let mut answer = String::new();
    from.read_line(&mut answer)?;
    let reply: Reply = serde_json::from_str(&answer)?;
    if reply.ok != Some(true) {
        return Err(io::Error::other(reply.error.unwrap_or_default()));
    }
    from.get_ref().set_read_timeout(Some(END))?;
    from.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Whether the lock is free within this time.
fn gone_within(folder: &Path, patience: Duration) -> io::Result<bool> {
    let until = Instant::now() + patience;
    let mut gap = Duration::from_millis(1);
    while standing(folder)? == Standing::Live {
        if Instant::now() >= until {
            return Ok(false);
        }
        std::thread::sleep(gap);
        gap = (gap * 2).min(Duration::from_millis(50));
    }
    Ok(true)
}

/// Signals whoever has the lock open and leads a session of its own, as a host does.
fn signal_holder(folder: &Folder, signal: Signal) -> io::Result<()> {
    let lock = folder.identity(folder::LOCK)?;
    let table = Table::scan()?;
    for process in table.all().filter(|process| process.session == process.pid && !process.dead) {
        if process.pid != proc::our_pid() && holds(process, lock) {
            tree::signal(process, &[signal]);
        }
    }
    Ok(())
}

fn holds(process: &Process, lock: (u64, u64)) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
    let mut files = entries.filter_map(|entry| std::fs::metadata(entry.path()).ok());
    files.any(|meta| (meta.dev(), meta.ino()) == lock)
}

/// Ends what a dead host left; returns what does not die.
fn end_lost(folder: &Folder) -> io::Result<Vec<i32>> {
    let Loaded::Value(stored) = standing::load_spec(folder)? else { return Ok(Vec::new()) };
    let group = folder.read(folder::CGROUP)?.and_then(|path| {
        let path = Path::new(OsStr::from_bytes(&path)).to_owned();
        Cgroup::left_at(&path, &stored.mark)
    });
    let left = Marked { carries: &|mark| mark == stored.mark, cgroup: group.as_ref() }.end();
    if let Some(group) = group {
        group.remove();
    }
    Ok(left)
}
