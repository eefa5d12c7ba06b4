//! Ending a session from outside.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::retry_on_intr;
use rustix::process::Signal;

use super::folder::{self, Folder};
use super::spec::Receipt;
use super::standing::{self, Fence, Loaded, Standing, fence, number, standing};
use crate::Ended;
use crate::cgroup::Cgroup;
use crate::proc::{self, Process, Table};
use crate::tree::{self, Marked, Remains};

/// What is said to a host. Without a version every host understands it.
const KILL: &[u8] = b"{\"do\":\"kill\"}\n";
/// The same by the session itself, which is done. A host of an older version takes it for the other.
const DONE: &[u8] = b"{\"do\":\"kill\",\"done\":true}\n";
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

/// What came of a [`kill`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kill {
    /// It lived, and was ended because we asked.
    Killed(Receipt),
    /// It lived when we came, and ended for another reason before it was asked.
    Itself(Receipt),
    /// Its host was dead, or had to be ended by force, and left no receipt. So many of its processes lived and were
    /// ended, the host included; none if it was all over before.
    Remains {
        /// `Lost` or `Corrupt`.
        standing: Standing,
        /// How many lived.
        ended: usize,
    },
    /// It had not started, and now never will.
    NeverRan,
    /// It was over before we came, or there is no such session.
    Before(Standing),
}

impl Kill {
    /// Whether something lived and was ended by us.
    pub fn killed(&self) -> bool {
        match self {
            Self::Killed(_) => true,
            Self::Remains { ended, .. } => *ended > 0,
            Self::Itself(_) | Self::NeverRan | Self::Before(_) => false,
        }
    }

    /// How the session stands now.
    pub fn standing(self) -> Standing {
        match self {
            Self::Killed(receipt) | Self::Itself(receipt) => Standing::Ended(receipt),
            Self::Remains { standing, .. } | Self::Before(standing) => standing,
            Self::NeverRan => Standing::NeverRan,
        }
    }
}

/// Ends a session with all that it ever started, and says how it stands then. See [`kill`].
pub fn end(folder: &Path) -> Result<Standing, EndError> {
    kill(folder).map(Kill::standing)
}

/// Ends a session with all that it ever started, and says what came of it. Returns when its host is gone.
///
/// One that has not started is fenced, so that it never does. A host that is stopped is continued; if it does not answer
/// it is ended itself; if it is dead, what carries the session's mark, and what is in its control group, is ended.
pub fn kill(folder: &Path) -> Result<Kill, EndError> {
    kill_by(folder, KILL)
}

/// The same by the session itself, which is done: it counts as exited with 0. See [`kill`].
pub fn finish(folder: &Path) -> Result<Kill, EndError> {
    kill_by(folder, DONE)
}

fn kill_by(folder: &Path, word: &[u8]) -> Result<Kill, EndError> {
    let failed = |source| EndError::Io { folder: folder.display().to_string(), source };
    let Some(inside) = Folder::open(folder).map_err(failed)? else {
        return Ok(Kill::Before(Standing::Absent));
    };
    let host = number(&inside, folder::STARTED, "host");
    if host.is_none() && fence(folder).map_err(failed)? == Fence::Mine {
        return Ok(Kill::NeverRan);
    }
    let lived = standing(folder).map_err(failed)? == Standing::Live;
    let forced = lived && end_live(folder, &inside, host, word).map_err(failed)? == Way::Forced;
    let now = standing(folder).map_err(failed)?;
    let name = || folder.display().to_string();
    match now {
        Standing::Live => Err(EndError::Host(name())),
        Standing::Ended(receipt) if lived && !receipt.left.is_empty() => {
            Err(EndError::Left(name(), receipt.left))
        }
        Standing::Ended(receipt) if lived && receipt.ended == Ended::Killed => Ok(Kill::Killed(receipt)),
        Standing::Ended(receipt) if lived => Ok(Kill::Itself(receipt)),
        Standing::Ended(_) | Standing::NeverRan | Standing::Absent => Ok(Kill::Before(now)),
        Standing::Lost | Standing::Corrupt(_) => {
            let Remains { found, left } = end_lost(&inside, host).map_err(failed)?;
            if left.is_empty() {
                Ok(Kill::Remains { standing: now, ended: found + usize::from(forced) })
            } else {
                Err(EndError::Left(name(), left))
            }
        }
    }
}

/// Ends what a dead host left running, and notes that nothing of it runs, so that it is not looked for again. Says how
/// many processes were ended; none if the session is alive, ended in order, or was swept before. Blocks.
pub fn sweep(folder: &Path) -> Result<usize, EndError> {
    let failed = |source| EndError::Io { folder: folder.display().to_string(), source };
    if !is_unswept(folder).map_err(failed)? {
        return Ok(0);
    }
    let ended = match kill(folder)? {
        Kill::Remains { ended, .. } => ended,
        Kill::Killed(_) | Kill::Itself(_) | Kill::NeverRan | Kill::Before(_) => return Ok(0),
    };
    match Folder::open(folder).map_err(failed)?.map(|inside| inside.create(folder::SWEPT, OFlags::EXCL)) {
        // Somebody else swept it, or removed it, meanwhile.
        Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(error)),
        Some(Ok(_) | Err(_)) | None => Ok(ended),
    }
}

/// Whether the host of a session died without a receipt, and nobody has ended yet what it left.
pub fn is_unswept(folder: &Path) -> io::Result<bool> {
    if !matches!(standing(folder)?, Standing::Lost | Standing::Corrupt(_)) {
        return Ok(false);
    }
    Folder::open(folder)?.map_or(Ok(false), |inside| Ok(inside.meta(folder::SWEPT)?.is_none()))
}

/// How a host went.
#[derive(PartialEq, Eq)]
enum Way {
    /// It ended its tree, and itself.
    Orderly,
    /// It had to be killed, or does not even die of that.
    Forced,
}

/// Asks the host; if it does not do it, signals it.
fn end_live(folder: &Path, inside: &Folder, host: Option<i32>, word: &[u8]) -> io::Result<Way> {
    // A host that ends while we ask is what we want; one that cannot be asked is signalled.
    let asked = ask(inside, host, word).is_ok();
    if gone_within(folder, if asked { ANSWER } else { Duration::ZERO })? {
        return Ok(Way::Orderly);
    }
    // A stopped one acts on the first only when it is continued.
    signal_holder(inside, host, &[Signal::TERM, Signal::CONT])?;
    if gone_within(folder, END)? {
        return Ok(Way::Orderly);
    }
    signal_holder(inside, host, &[Signal::KILL])?;
    gone_within(folder, ANSWER)?;
    Ok(Way::Forced)
}

/// Continues a host that is stopped.
fn wake(folder: &Folder, host: Option<i32>) -> io::Result<()> {
    if host.and_then(proc::one).is_some_and(|process| process.stopped) {
        signal_holder(folder, host, &[Signal::CONT])?;
    }
    Ok(())
}

/// Says the word and waits for the end of the call, which is the end of the host.
fn ask(folder: &Folder, host: Option<i32>, word: &[u8]) -> io::Result<()> {
    let mut stream = UnixStream::connect(folder.path_of(folder::SOCK))?;
    stream.write_all(word)?;
    let mut from = BufReader::new(stream);
    let mut answer = String::new();
    await_word(from.get_ref(), ANSWER, &mut || wake(folder, host))?;
    from.read_line(&mut answer)?;
    let answer: serde_json::Value = serde_json::from_str(&answer)?;
    if answer["ok"] != true {
        return Err(io::Error::other(answer["error"].as_str().unwrap_or("refused").to_owned()));
    }
    loop {
        await_word(from.get_ref(), END, &mut || wake(folder, host))?;
        if from.read(&mut [0; 512])? == 0 {
            return Ok(());
        }
    }
}

/// Waits until there is something to read, and does `meanwhile` from time to time.
fn await_word(
    stream: &UnixStream,
    patience: Duration,
    meanwhile: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let until = Instant::now() + patience;
    let step = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    loop {
        meanwhile()?;
        let ready = retry_on_intr(|| poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&step)))?;
        if ready > 0 {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
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

/// Signals whoever has the lock open and leads a session of its own, as a host does. Whom the files name is looked at
/// first, and everybody only if it is not that one.
fn signal_holder(folder: &Folder, host: Option<i32>, signals: &[Signal]) -> io::Result<()> {
    let lock = folder.identity(folder::LOCK)?;
    if let Some(process) = host.and_then(proc::one).filter(|process| is_holder(process, lock)) {
        tree::signal(&process, signals);
        return Ok(());
    }
    for process in Table::scan()?.all().filter(|process| is_holder(process, lock)) {
        tree::signal(process, signals);
    }
    Ok(())
}

fn is_holder(process: &Process, lock: (u64, u64)) -> bool {
    if process.session != process.pid || process.dead || process.pid == proc::our_pid() {
        return false;
    }
    let entries = std::fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
    let mut files = entries.filter_map(|entry| std::fs::metadata(entry.path()).ok());
    files.any(|meta| (meta.dev(), meta.ino()) == lock)
}

/// Ends what a dead host left.
fn end_lost(folder: &Folder, host: Option<i32>) -> io::Result<Remains> {
    let Loaded::Value(stored) = standing::load_spec(folder)? else { return Ok(Remains::default()) };
    let group = folder.read(folder::CGROUP)?.and_then(|path| {
        let path = Path::new(OsStr::from_bytes(&path)).to_owned();
        Cgroup::left_at(&path, &stored.mark)
    });
    let child = number(folder, folder::LOCK, "child");
    let sessions: Vec<i32> = host.into_iter().chain(child).collect();
    let remains = Marked {
        carries: &|mark| mark == stored.mark,
        cgroup: group.as_ref(),
        home: child.unwrap_or(0),
        spare: &stored.spec.spare,
        sessions: &sessions,
    }
    .end()?;
    if let Some(group) = group {
        group.dissolve();
    }
    Ok(remains)
}
