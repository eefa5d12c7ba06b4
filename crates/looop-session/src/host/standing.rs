//! How a session stands, seen from outside.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::folder::{self, Folder};
use super::spec::{RECEIPT_VERSION, Receipt, Stored};
use crate::kernel::State;
use crate::proc;
use crate::status::Status;
use crate::strays::{self, Sought};

/// What a fence writes into `started`.
const FENCED: &str = "fenced\n";

/// How a session stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// There is no folder.
    Absent,
    /// Its lock is held.
    Live,
    /// It ended, and this is its receipt.
    Ended(Receipt),
    /// No host lives and none came as far as the start. Before it is started anew it must be fenced.
    NeverRan,
    /// It was started, it left no receipt, and no host lives: it may have run, in part or whole.
    Lost,
    /// A file in the folder is not what it should be; the text names it.
    Corrupt(String),
}

/// Whose `started` it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    /// A fence's: it never ran and now never will.
    Mine,
    /// A host's: it runs, it ran, or it may have run.
    Already,
}

/// Who holds the lock.
enum Lock {
    Absent,
    Held,
    Free,
}

/// Says how a session stands. Never blocks.
///
/// Right after the death of a host, or of whoever prepared it, a child it was just starting may hold a copy of the lock
/// until its exec: [`wait`] waits for that too.
pub fn standing(folder: &Path) -> io::Result<Standing> {
    let Some(inside) = Folder::open(folder)? else { return Ok(Standing::Absent) };
    loop {
        let lock = look_at_lock(&inside)?;
        let verdict = match lock {
            Lock::Held => return Ok(Standing::Live),
            Lock::Free | Lock::Absent => verdict(&inside)?,
        };
        // A lock is free only after its host is gone, for ever. Where there was none a start may have overtaken us.
        let settled = matches!(lock, Lock::Free) || matches!(look_at_lock(&inside)?, Lock::Absent);
        if settled {
            return Ok(verdict);
        }
    }
}

/// What the files say when no host lives.
fn verdict(folder: &Folder) -> io::Result<Standing> {
    Ok(match load::<Receipt>(folder, folder::RECEIPT)? {
        Loaded::Value(receipt) if receipt.v == RECEIPT_VERSION => Standing::Ended(receipt),
        Loaded::Value(receipt) => Standing::Corrupt(format!("{}: version {}", folder::RECEIPT, receipt.v)),
        Loaded::Corrupt(why) => Standing::Corrupt(why),
        Loaded::Absent => match read_started(folder)? {
            Loaded::Absent => Standing::NeverRan,
            Loaded::Value(text) if text == FENCED.as_bytes() => Standing::NeverRan,
            Loaded::Value(_) => Standing::Lost,
            Loaded::Corrupt(why) => Standing::Corrupt(why),
        },
    })
}

/// Whether the lock is held.
pub(crate) fn is_held(folder: &Folder) -> io::Result<bool> {
    Ok(matches!(look_at_lock(folder)?, Lock::Held))
}

/// What a session left that is not alive: how it stands by its files alone.
pub(crate) fn remains(folder: &Folder) -> io::Result<Standing> {
    verdict(folder)
}

/// The status of a session, as far as its folder tells, for one that is published nowhere. `None` if nothing was started
/// here whose status is to be published.
pub(crate) fn rebuilt(folder: &Folder, session: &str) -> io::Result<Option<Status>> {
    let blank = Status::blank(session);
    let known = match load_spec(folder)? {
        Loaded::Absent => return Ok(None),
        Loaded::Value(stored) if !stored.spec.publish => return Ok(None),
        Loaded::Value(Stored { spec, .. }) => Status { size: spec.terminal, notes: spec.notes, ..blank },
        Loaded::Corrupt(_) => blank,
    };
    let Some(started) = folder.meta(folder::STARTED)? else { return Ok(Some(known)) };
    let started_ms = i128::from(started.st_mtime) * 1_000 + i128::from(started.st_mtime_nsec) / 1_000_000;
    let child = number(folder, folder::LOCK, "child");
    let stopped = child.and_then(proc::one).is_some_and(|process| process.stopped);
    Ok(Some(Status {
        state: if stopped { State::Paused } else { State::Live },
        host: number(folder, folder::STARTED, "host"),
        child,
        started_ms: u64::try_from(started_ms).unwrap_or(0),
        ..known
    }))
}

/// The number of the child of a session, once it was started.
pub fn child(folder: &Path) -> io::Result<Option<i32>> {
    Ok(Folder::open(folder)?.and_then(|inside| number(&inside, folder::LOCK, "child")))
}

/// The number of a process that a file names in a line of its own. What cannot be read names nobody.
pub(super) fn number(folder: &Folder, file: &str, word: &str) -> Option<i32> {
    let text = folder.read(file).ok().flatten()?;
    let mut lines = std::str::from_utf8(&text).ok()?.lines();
    lines.find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

fn look_at_lock(folder: &Folder) -> io::Result<Lock> {
    let Some(lock) = folder.read_only(folder::LOCK)? else { return Ok(Lock::Absent) };
    loop {
        return match lock.try_lock_shared() {
            Ok(()) => Ok(Lock::Free),
            Err(TryLockError::WouldBlock) => Ok(Lock::Held),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(TryLockError::Error(error)) => Err(error),
        };
    }
}

/// Sees to it that a session which never ran never will, durably. Makes the folder if it is absent.
///
/// A fence that was put up before, by anybody, is found again.
pub fn fence(folder: &Path) -> io::Result<Fence> {
    let inside = Folder::make(folder)?;
    if inside.claim_start(FENCED)? {
        return Ok(Fence::Mine);
    }
    match read_started(&inside)? {
        Loaded::Value(text) if text == FENCED.as_bytes() => Ok(Fence::Mine),
        Loaded::Value(_) | Loaded::Corrupt(_) | Loaded::Absent => Ok(Fence::Already),
    }
}

/// Blocks until no host lives, then says how the session stands. For a thread of its own.
pub fn wait(folder: &Path) -> io::Result<Standing> {
    let Some(inside) = Folder::open(folder)? else { return Ok(Standing::Absent) };
    if let Some(lock) = inside.read_only(folder::LOCK)? {
        wait_for(&lock)?;
    }
    standing(folder)
}

fn wait_for(lock: &File) -> io::Result<()> {
    loop {
        match lock.lock_shared() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            locked => return locked,
        }
    }
}

/// The last `most` bytes of what is kept of the output.
pub fn output_tail(folder: &Path, most: u64) -> io::Result<Vec<u8>> {
    let Some(inside) = Folder::open(folder)? else { return Ok(Vec::new()) };
    let Some(mut file) = inside.read_only(folder::OUTPUT)? else { return Ok(Vec::new()) };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What reading a file gave: absent, corrupt and a value are three things; unreadable is the error.
pub(super) enum Loaded<T> {
    Absent,
    Value(T),
    Corrupt(String),
}

/// The stored spec.
pub(super) fn load_spec(folder: &Folder) -> io::Result<Loaded<Stored>> {
    load(folder, folder::SPEC)
}

/// The mark of the session in a folder, if there is one. A loss of power may leave the spec of one that never ran empty;
/// nobody carries its mark.
pub(crate) fn mark_of(folder: &Path) -> io::Result<Option<String>> {
    let Some(inside) = Folder::open(folder)? else { return Ok(None) };
    Ok(match load_spec(&inside)? {
        Loaded::Value(stored) => Some(stored.mark),
        Loaded::Absent => None,
        Loaded::Corrupt(_) if matches!(verdict(&inside)?, Standing::NeverRan) => None,
        Loaded::Corrupt(why) => {
            let why = format!("{}: {why}", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
    })
}

/// What is known of a session that has ended and whose processes outside its tree are looked for. `None`: nothing is.
pub(crate) fn sought(folder: &Path, started_ms: u64) -> io::Result<Option<Sought>> {
    let Some(inside) = Folder::open(folder)? else { return Ok(None) };
    Ok(match load_spec(&inside)? {
        Loaded::Value(stored) => {
            Some(sought_by(&inside, &stored, number(&inside, folder::LOCK, "child"), started_ms))
        }
        Loaded::Absent | Loaded::Corrupt(_) => None,
    })
}

/// The same, by the parts.
pub(super) fn sought_by(folder: &Folder, stored: &Stored, child: Option<i32>, started_ms: u64) -> Sought {
    let (mark, spare) = (stored.mark.clone(), stored.spec.spare.clone());
    let own = strays::real(&stored.spec.own).into_iter().chain(folder.place()).collect();
    Sought { mark, spare, host: None, home: child.unwrap_or(0), own, started_ms }
}

fn read_started(folder: &Folder) -> io::Result<Loaded<Vec<u8>>> {
    Ok(match folder.read(folder::STARTED) {
        Ok(Some(bytes)) => Loaded::Value(bytes),
        Ok(None) => Loaded::Absent,
        Err(error) => Loaded::Corrupt(odd(error, folder::STARTED)?),
    })
}

fn load<T: DeserializeOwned>(folder: &Folder, name: &str) -> io::Result<Loaded<T>> {
    let bytes = match folder.read(name) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Loaded::Absent),
        Err(error) => return Ok(Loaded::Corrupt(odd(error, name)?)),
    };
    Ok(serde_json::from_slice(&bytes)
        .map_or_else(|error| Loaded::Corrupt(format!("{name}: {error}")), Loaded::Value))
}

/// The text for a thing that is no proper file; other errors stay errors.
fn odd(error: io::Error, name: &str) -> io::Result<String> {
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Ok(format!("{name} is a symbolic link"));
    }
    if error.kind() == io::ErrorKind::InvalidData { Ok(error.to_string()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_empty_spec_has_no_mark_where_nothing_ran_and_is_an_error_where_something_may_have() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put(folder::SPEC, "");
        assert_eq!(mark_of(folder.path()).unwrap(), None, "power was lost before it was synced");
        put(folder::STARTED, FENCED);
        assert_eq!(mark_of(folder.path()).unwrap(), None, "and then it was fenced");
        for text in ["host 7\n", ""] {
            put(folder::STARTED, text);
            assert_eq!(mark_of(folder.path()).unwrap_err().kind(), io::ErrorKind::InvalidData, "{text:?}");
            assert_eq!(standing(folder.path()).unwrap(), Standing::Lost, "{text:?}");
        }
    }
}
