//! Starting a session among others: one of an id, and never more than allowed.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::host::folder::Folder;
use crate::host::launch::prepare_with;
use crate::host::standing::is_held;
use crate::host::{self, EndError, HostError, Launched, Spec};
use crate::status::{self, Status};
use crate::{clock, point, roll};

/// Held while a start counts and makes what it counts.
const GATE: &str = ".start";
/// How long other starts may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The gaps between two tries grow from the first to the second.
const GAPS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(8));

/// What to start, and where.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The folder of all sessions; it is made if it is absent, its parent is not.
    pub root: &'a Path,
    /// Who it is: of all sessions `<id>~<n>` one lives at a time.
    pub id: &'a str,
    /// Its name and that of its folder: `<id>~<n>`, never used before.
    pub session: &'a str,
    /// How many sessions may live, this one included.
    pub cap: Option<usize>,
    /// What to run.
    pub spec: &'a Spec,
    /// The program that leads to [`host::main`], and its arguments before the folder.
    pub image: &'a Path,
    /// See there.
    pub image_args: &'a [&'a str],
    /// Files to write into the folder before the launch: name and content.
    pub files: &'a [(&'a str, &'a [u8])],
}

/// Why a session was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The id lives already.
    #[error("{session} is alive")]
    Lives {
        /// Under this name.
        session: String,
    },
    /// As many live as may.
    #[error("{live} sessions live, and {cap} may")]
    Full {
        /// So many live.
        live: usize,
        /// So many may.
        cap: usize,
    },
    /// The host of an earlier session of this id died, and what it had started cannot be ended.
    #[error("an earlier session still runs")]
    Left(#[source] EndError),
    /// Another start holds the gate for too long.
    #[error("another start holds {} for more than 10 s", .0.display())]
    Busy(PathBuf),
    /// The folder of all sessions, or what is published in it, cannot be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// What cannot be used.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The session could not be prepared, or its host not launched.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Starts a session, unless its id lives or too many do. From any number of processes at once. What an earlier session of
/// the id left running because its host died is ended first.
pub fn start(start: &Start<'_>) -> Result<Launched, StartError> {
    let failed = |source| StartError::Io { path: start.root.to_owned(), source };
    make_private(start.root).and_then(|()| make_private(&start.root.join(status::FOLDER))).map_err(failed)?;
    let gate = pass_gate(start.root)?;
    count(start).map_err(failed)??;
    // What is counted is what is published.
    let spec = Spec { publish: true, ..start.spec.clone() };
    let prepared = prepare_with(&start.root.join(start.session), &spec, start.files)?;
    let statuses = File::open(start.root.join(status::FOLDER)).map_err(failed)?;
    announce(start).publish(&statuses).map_err(failed)?;
    point("start.announced");
    let launched = host::launch(prepared, start.image, start.image_args);
    if launched.is_err() {
        // It never ran; that it could not be launched is the news.
        status::withdraw(&statuses, start.session, false).map_err(failed)?;
    }
    drop(gate);
    Ok(launched?)
}

/// What is published until the host says more.
fn announce(start: &Start<'_>) -> Status {
    let (size, notes) = (start.spec.terminal, start.spec.notes.clone());
    Status { started_ms: clock::wall_ms(), size, notes, ..Status::blank(start.session) }
}

/// Whether it may start, as things stand while we hold the gate.
fn count(start: &Start<'_>) -> io::Result<Result<(), StartError>> {
    let Some(root) = Folder::open(start.root)? else { return Err(io::ErrorKind::NotFound.into()) };
    let mut live = 0;
    let is_same = |session: &str| session.rsplit_once('~').map_or(session, |(id, _)| id) == start.id;
    let mut sessions = roll::sessions(start.root)?;
    // What was published may be lost; no two sessions of one id run all the same.
    for session in roll::folders(start.root)?.into_iter().filter(|session| is_same(session)) {
        sessions.entry(session).or_insert(false);
    }
    for (session, ended) in sessions {
        if ended {
            continue;
        }
        let same = is_same(&session);
        match (lives(&root, &session)?, same) {
            (true, true) => return Ok(Err(StartError::Lives { session })),
            (true, false) => live += 1,
            (false, true) => {
                if let Err(error) = host::sweep(&start.root.join(&session)) {
                    return Ok(Err(StartError::Left(error)));
                }
            }
            (false, false) => {}
        }
    }
    Ok(match start.cap {
        Some(cap) if live >= cap => Err(StartError::Full { live, cap }),
        Some(_) | None => Ok(()),
    })
}

fn lives(root: &Folder, session: &str) -> io::Result<bool> {
    root.inner(session)?.map_or(Ok(false), |folder| is_held(&folder))
}

/// Waits for its turn. The gate opens when the file is dropped.
fn pass_gate(root: &Path) -> Result<File, StartError> {
    let path = root.join(GATE);
    let gate = open_gate(&path).map_err(|source| StartError::Io { path: path.clone(), source })?;
    let until = Instant::now() + PATIENCE;
    let mut gap = GAPS.0;
    loop {
        match gate.try_lock() {
            Ok(()) => return Ok(gate),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(gap),
            Err(TryLockError::WouldBlock) => return Err(StartError::Busy(path)),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(source)) => return Err(StartError::Io { path, source }),
        }
        gap = (gap * 2).min(GAPS.1);
    }
}

fn open_gate(path: &Path) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Makes a folder with mode 0700, whatever the mask, or leaves the one that is there.
fn make_private(path: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(path, Mode::RWXU) {
        Ok(()) => Ok(rustix::fs::chmod(path, Mode::RWXU)?),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
