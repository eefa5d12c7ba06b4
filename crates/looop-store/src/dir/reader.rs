//! A profile as everybody may see it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::guard::{Unsafe, problems};
use super::layout::FOLDERS;
use crate::disk::{Disk, Files, Kind, Links, Stored};
use crate::mail::LetterCache;

/// Most bytes that are read of a state file.
pub(crate) const STATE_LIMIT: u64 = 4 << 20;
/// Most bytes that are read of PLAYBOOK, a goal or a letter.
pub(crate) const TEXT_LIMIT: u64 = looop_core::bounds::LETTER;

/// Why a profile did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none. Read verbs create nothing.
    #[error("there is no profile at {}", .0.display())]
    Absent(PathBuf),
    /// Something else is at its place.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The folder holds other things, and no profile.
    #[error("{} is not empty and is no profile", .0.display())]
    Foreign(PathBuf),
    /// It cannot be opened or made.
    #[error("the profile {} cannot be opened", path.display())]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else could have changed it.
    #[error("{0}")]
    Unsafe(Unsafe),
}

impl OpenError {
    /// The command that mends it, where there is one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unsafe(found) => Some(&found.fix),
            Self::Absent(_) | Self::NotAFolder(_) | Self::Foreign(_) | Self::Unreadable { .. } => None,
        }
    }
}

/// A profile, opened by anybody. It appends nothing to the log and carries out no move; what it writes are letters,
/// reports, and files that have a lock of their own.
#[derive(Clone)]
pub struct Reader {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    letters: Arc<LetterCache>,
}

impl Reader {
    /// Opens the profile at an absolute path.
    pub fn open(root: &Path) -> Result<Self, OpenError> {
        let files = Files::open(root).map_err(|source| open_error(root, source))?;
        Self::on(Arc::new(files), root)
    }

    /// Makes the profile's folder if it is absent, and opens it. A folder that holds other things and no profile is
    /// refused: it would become one by a slip.
    pub fn create(root: &Path) -> Result<Self, OpenError> {
        let reader = Self::adopt(root)?;
        if is_foreign(reader.disk()) {
            return Err(OpenError::Foreign(root.to_owned()));
        }
        Ok(reader)
    }

    /// Makes the profile's folder if it is absent, and opens it, whatever the folder holds.
    pub fn adopt(root: &Path) -> Result<Self, OpenError> {
        let files = Files::create(root).map_err(|source| open_error(root, source))?;
        Self::on(Arc::new(files), root)
    }

    /// Opens a profile on any disk; `root` is what its paths are shown as.
    pub fn on(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, OpenError> {
        if let Some(found) = problems(&*disk, root).into_iter().next() {
            return Err(OpenError::Unsafe(found));
        }
        Ok(Self { disk, root: root.to_owned(), letters: Arc::default() })
    }

    /// The profile's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a path of the profile is.
    pub fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// The disk that it is on.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Letters that were read before.
    pub(crate) fn letter_cache(&self) -> &LetterCache {
        &self.letters
    }

    pub(crate) fn shared_disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk)
    }

    /// Reads a file of the profile: at most 4 MiB, regular, through links inside the profile only.
    pub fn read(&self, path: &str) -> Stored<Vec<u8>> {
        self.disk.read(path, STATE_LIMIT, Links::Inside).map(|content| content.bytes)
    }

    /// Whether a name of the profile stands for a folder.
    pub fn has_folder(&self, path: &str) -> bool {
        matches!(self.disk.stat(path), Stored::Value(meta) if meta.kind == Kind::Dir)
    }

    /// All fixed names that others could have changed; an open profile has none, `doctor` looks again.
    pub fn unsafe_paths(&self) -> Vec<Unsafe> {
        problems(&*self.disk, &self.root)
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Names each of which makes a folder a profile.
const MARKS: [&str; 7] =
    ["goals", "PLAYBOOK.md", "sensors", "config.toml", "config.json", "looop.json", "policy.toml"];
/// Names besides the folders of a profile that are no reason to refuse a folder.
const HARMLESS: [&str; 5] = ["lock", "sock", "work", "pulse.log", "lost+found"];

/// Whether a folder holds other things and no profile. Hidden files are no things, a repository is.
fn is_foreign(disk: &dyn Disk) -> bool {
    if MARKS.iter().any(|mark| !disk.stat(mark).is_absent()) {
        return false;
    }
    let strange = |name: &str| {
        let known = FOLDERS.contains(&name) || HARMLESS.contains(&name);
        !known && (name == ".git" || !name.starts_with('.'))
    };
    let listed = disk.list("").value().unwrap_or_default();
    listed.iter().any(|entry| entry.name.to_str().is_none_or(strange))
}

fn open_error(root: &Path, source: io::Error) -> OpenError {
    let (path, kind) = (root.to_owned(), source.kind());
    if kind == io::ErrorKind::NotFound {
        return OpenError::Absent(path);
    }
    if matches!(kind, io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists) {
        return OpenError::NotAFolder(path);
    }
    OpenError::Unreadable { path, source }
}
