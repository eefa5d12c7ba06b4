//! Launching a host.

use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::OFlags;

use super::folder::{self, Folder};
use super::spec::{Spec, Stored};
use super::standing::{self, Standing};
use crate::{mark, point};

/// Why a host could not be launched.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is a session in the folder, or something else.
    #[error("{} is in use", .0.display())]
    InUse(PathBuf),
    /// The folder or a file in it could not be written.
    #[error("cannot prepare {}", folder.display())]
    Folder {
        /// The session's folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The spec cannot be run by anybody.
    #[error("the spec is not valid: {0}")]
    Spec(&'static str),
    /// The host process could not be started.
    #[error("cannot start the host of {}", folder.display())]
    Launch {
        /// The session's folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What a host is told once all that it was launched with is durable.
pub(super) const GO: &[u8] = b"go\n";
/// What it is told where that cannot be made durable.
const STOP: &[u8] = b"stop\n";

/// A session that is written down, locked by us, and not running yet. Dropping it leaves a session that never ran.
#[derive(Debug)]
pub struct Prepared {
    folder: PathBuf,
    lock: File,
    env: Vec<(String, String)>,
    unsynced: Unsynced,
}

/// What is written and not durable yet.
#[derive(Debug)]
struct Unsynced {
    files: Vec<File>,
    folder: Folder,
}

impl Unsynced {
    fn sync(&self) -> io::Result<()> {
        self.files.iter().try_for_each(File::sync_all)?;
        self.folder.sync()?;
        // After the files: a file system that keeps a journal has written the folder with them.
        self.folder.sync_name()
    }
}

/// Makes the folder of a session, locks it and writes its spec, which is durable with its folder once it is launched. Until
/// then a loss of power may leave it empty. The folder must be absent or empty.
pub fn prepare(folder: &Path, spec: &Spec) -> Result<Prepared, HostError> {
    prepare_with(folder, spec, &[])
}

/// The same, with files of the caller's beside the spec.
pub(crate) fn prepare_with(
    folder: &Path,
    spec: &Spec,
    files: &[(&str, &[u8])],
) -> Result<Prepared, HostError> {
    check(spec)?;
    let failed = |source| HostError::Folder { folder: folder.to_owned(), source };
    let inside = Folder::make_lazily(folder).map_err(failed)?;
    if !inside.is_empty().map_err(failed)? {
        return Err(HostError::InUse(folder.to_owned()));
    }
    let lock = make_lock(&inside).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            HostError::InUse(folder.to_owned())
        } else {
            failed(error)
        }
    })?;
    let written = files.iter().map(|(name, bytes)| write_file(&inside, name, bytes));
    let mut files = written.collect::<io::Result<Vec<File>>>().map_err(failed)?;
    files.push(write_spec(&inside, spec).map_err(failed)?);
    point("host.prepared");
    let unsynced = Unsynced { files, folder: inside };
    Ok(Prepared { folder: folder.to_owned(), lock, env: spec.env.clone(), unsynced })
}

fn check(spec: &Spec) -> Result<(), HostError> {
    let holds_nul = |text: &[u8]| text.contains(&0);
    let bad_name = |name: &str| name.is_empty() || name.contains('=') || holds_nul(name.as_bytes());
    if !spec.is_known() {
        return Err(HostError::Spec("its version is unknown"));
    }
    if spec.argv.is_empty() || spec.argv.iter().any(|word| holds_nul(word.as_encoded_bytes())) {
        return Err(HostError::Spec("its command is empty or holds a NUL byte"));
    }
    if !spec.cwd.is_absolute() || holds_nul(spec.cwd.as_os_str().as_encoded_bytes()) {
        return Err(HostError::Spec("its working directory is not an absolute path"));
    }
    if spec.env.iter().any(|(name, value)| bad_name(name) || holds_nul(value.as_bytes())) {
        return Err(HostError::Spec("its environment holds an impossible name or value"));
    }
    if spec.terminal.is_some_and(|size| !size.is_possible()) {
        return Err(HostError::Spec("its terminal is not 2 to 1000 columns and rows in size"));
    }
    Ok(())
}

/// The lock gets its name when it is held, so that nobody ever sees it free before the session is over.
fn make_lock(folder: &Folder) -> io::Result<File> {
    let temporary = folder::temporary(folder::LOCK);
    let lock = folder.create(&temporary, OFlags::EXCL)?;
    lock.try_lock()?;
    folder.rename(&temporary, folder::LOCK)?;
    Ok(lock)
}

fn write_file(folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = folder.create(name, OFlags::EXCL)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// The spec gets its name when it is whole. It is synced with the other files, while the host gets ready.
fn write_spec(folder: &Folder, spec: &Spec) -> io::Result<File> {
    let stored = Stored { mark: mark::fresh()?, spec: spec.clone() };
    folder.replace(folder::SPEC, &serde_json::to_vec(&stored)?)
}

/// A host on its way. It does not end with us; it should be reaped when it ends while we live.
#[derive(Debug)]
pub struct Launched {
    folder: PathBuf,
    child: Child,
}

/// Starts the host: `image` with `image_args` and the folder, which must lead to [`super::main`]. Returns once all that was
/// prepared is durable, which is done while the host gets ready.
///
/// The lock is handed over as the standard input of the host, and a pipe as its standard output, in which it is told that
/// it may start the child. It moves both out of the way first of all.
pub fn launch(prepared: Prepared, image: &Path, image_args: &[&str]) -> Result<Launched, HostError> {
    let Prepared { folder, lock, env, unsynced } = prepared;
    let (held, go) = match io::pipe() {
        Ok(pipe) => pipe,
        Err(source) => return Err(HostError::Launch { folder, source }),
    };
    let mut command = Command::new(image);
    // The child inherits the host's environment. A crash point is for the host, which does not pass it on.
    command
        .env_clear()
        .envs(env)
        .envs(std::env::var_os(point::VARIABLE).map(|value| (point::VARIABLE, value)));
    command.args(image_args).arg(&folder).stdin(lock).stdout(held).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(source) => return Err(HostError::Launch { folder, source }),
    };
    // The lock and the other end of the pipe are the host's alone from here.
    drop(command);
    point("host.spawned");
    let synced = unsynced.sync();
    let told = tell(go, if synced.is_ok() { GO } else { STOP });
    if let Err(source) = synced.and(told) {
        // It ends without having started anything.
        child.wait().map_err(|source| HostError::Launch { folder: folder.clone(), source })?;
        return Err(HostError::Folder { folder, source });
    }
    point("host.launched");
    Ok(Launched { folder, child })
}

/// Tells the host something. One that has died meanwhile is found dead by whoever looks at it.
fn tell(mut go: PipeWriter, what: &[u8]) -> io::Result<()> {
    match go.write_all(what) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        told => told,
    }
}

impl Launched {
    /// The host's process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Blocks until the host is gone, reaps it, and says how the session stands.
    pub fn wait(mut self) -> io::Result<Standing> {
        self.child.wait()?;
        // A host that dies in the middle of a start leaves the lock with its child until that has exec'd.
        standing::wait(&self.folder)
    }

    /// Reaps the host if it is gone; says whether it is.
    pub fn try_reap(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }
}
