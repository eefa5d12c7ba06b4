//! What confined code leaves: it writes to `box/`, which nothing unconfined works in, and regular files of `box/reports/`
//! are copied to `reports/`, without following a link on either side.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use looop_core::shown::Shown;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};

/// Where confined code works and leaves what it made, below the profile.
pub(crate) const SCRATCH: &str = "box/scratch";
pub(crate) const REPORTS: &str = "box/reports";
/// Where it keeps its caches, a folder for each goal.
pub(crate) const HOMES: &str = "box/home";
/// What was copied, and what was not and why. Confined code cannot write either.
const COPIED: &str = "box/copied.json";
const REFUSED: &str = "box/refused.txt";
/// Most files, bytes of one, bytes of all, and folders in each other.
const MOST_FILES: usize = 1000;
const MOST_BYTES: u64 = 16 << 20;
const MOST_IN_ALL: u64 = 64 << 20;
const DEEPEST: usize = 8;

/// A folder of which no part is followed if it is a link.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Which file it is and in which state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Mark(u64, u64, i64, i64);

/// A file that was copied: what it was then, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Copied {
    from: Mark,
    to: Mark,
}

type Index = BTreeMap<String, Copied>;

/// What a command finds beside its scratch folder where nothing can be mounted: links of our own to what it may read.
const BESIDE: [&str; 18] = [
    "PLAYBOOK.md",
    "answers",
    "asks",
    "claims",
    "config.toml",
    "goals",
    "journal.md",
    "log",
    "mail.d",
    "policy.toml",
    "runs",
    "schedules",
    "sensors",
    "sessions",
    "snapshots",
    "spend",
    "tells",
    "work",
];

/// Makes the folders of confined code where they are not there yet, 0700 whatever the umask.
pub(crate) fn make(data: &Path) -> io::Result<()> {
    for folder in ["box", SCRATCH, REPORTS].map(|folder| data.join(folder)) {
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                made?;
                std::fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
            }
        }
    }
    Ok(())
}

/// Puts the links in place for what a command may look for beside its scratch folder.
pub(crate) fn link_beside(data: &Path) -> io::Result<()> {
    make(data)?;
    for name in BESIDE {
        match std::os::unix::fs::symlink(Path::new("..").join(name), data.join("box").join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Whether confined code has left something that was not copied yet.
pub(crate) fn is_pending(data: &Path) -> bool {
    let Ok(source) = open_folder(data, REPORTS) else { return false };
    let mut walk = Walk::new(Index::new());
    if walk.folder(source.as_fd(), "", 0).is_err() {
        // What cannot be looked at is said by the copying.
        return true;
    }
    // Most often there is nothing, and no need to know what was copied.
    if walk.fresh.is_empty() {
        return false;
    }
    let copied = index(data);
    walk.fresh.iter().any(|(path, mark)| copied.get(path).is_none_or(|copied| copied.from != *mark))
}

/// Copies what is new, and says what was not copied. A file in `reports/` that is not a copy, or was changed since, stays.
pub(crate) fn copy(data: &Path) -> Vec<String> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let source = match open_folder(data, REPORTS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![format!("{REPORTS}: {error}")],
        Ok(source) => source,
    };
    let before = index(data);
    let mut walk = Walk::new(before.clone());
    if let Err(error) = walk.folder(source.as_fd(), "", 0) {
        walk.refused.push(format!("{REPORTS}: {error}"));
    }
    for (path, mark) in std::mem::take(&mut walk.fresh) {
        let known = walk.index.get(&path).map(|copied| &copied.to);
        match copy_one(data, &source, &path, known) {
            Ok(to) => drop(walk.index.insert(path, Copied { from: mark, to })),
            Err(error) => {
                walk.refused.push(format!("{}: {error}", Shown::line(&path)));
                // It is tried again once it changes.
                walk.index.insert(path, Copied { from: mark, to: Mark::default() });
            }
        }
    }
    walk.kept(data, &before);
    walk.refused
}

/// A walk over what confined code left.
struct Walk {
    index: Index,
    /// Files that are new or changed.
    fresh: Vec<(String, Mark)>,
    refused: Vec<String>,
    files: usize,
    bytes: u64,
}

impl Walk {
    fn new(index: Index) -> Self {
        Self { index, fresh: Vec::new(), refused: Vec::new(), files: 0, bytes: 0 }
    }

    fn folder(&mut self, folder: BorrowedFd<'_>, below: &str, depth: usize) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name == "." || name == ".." {
                continue;
            }
            let path = if below.is_empty() { name.to_string() } else { format!("{below}/{name}") };
            self.files += 1;
            if self.files > MOST_FILES {
                self.refused.push(format!("more than {MOST_FILES} files: the rest"));
                return Ok(());
            }
            let stat = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if name.contains('\u{fffd}') || Shown::line(&name).as_str() != name {
                self.refused.push(format!("{}: its name cannot be used", Shown::line(&path)));
            } else if kind == FileType::Directory && depth < DEEPEST {
                let inner = rustix::fs::openat(folder, entry.file_name(), FOLDER, Mode::empty())?;
                self.folder(inner.as_fd(), &path, depth + 1)?;
            } else if kind == FileType::RegularFile && stat.st_nlink == 1 {
                self.file(path, &stat);
            } else {
                self.refused.push(format!("{path}: it is no regular file of its own"));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: String, stat: &Stat) {
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(size);
        let mark = mark(stat);
        if self.index.get(&path).is_some_and(|copied| copied.from == mark) {
            return;
        }
        if size > MOST_BYTES || self.bytes > MOST_IN_ALL {
            self.refused.push(format!("{path}: it has {size} bytes, which is too much"));
        } else {
            self.fresh.push((path, mark));
        }
    }

    /// Keeps what was copied and what was not. Both can be lost: then files in `reports/` count as the person's.
    fn kept(&self, data: &Path, before: &Index) {
        if self.index != *before {
            let text = serde_json::to_vec(&self.index).unwrap_or_default();
            drop(write_own(&data.join(COPIED), &text));
        }
        let refused = data.join(REFUSED);
        drop(if self.refused.is_empty() {
            std::fs::remove_file(refused)
        } else {
            write_own(&refused, (self.refused.join("\n") + "\n").as_bytes())
        });
    }
}

/// Writes a file that confined code can neither write nor replace.
fn write_own(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)
}

fn index(data: &Path) -> Index {
    let text = std::fs::read(data.join(COPIED)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn mark(stat: &Stat) -> Mark {
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    Mark(stat.st_ino, size, stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

/// Opens a folder of the profile, name by name, so that none on the way is a link.
fn open_folder(data: &Path, path: &str) -> io::Result<OwnedFd> {
    let mut folder = rustix::fs::open(data, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for name in path.split('/') {
        folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

/// Copies one file, whole or not at all.
fn copy_one(data: &Path, source: &OwnedFd, path: &str, known: Option<&Mark>) -> io::Result<Mark> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (mut from, mut to) = (source.try_clone()?, open_folder(data, "reports")?);
    for part in folder.split('/').filter(|part| !part.is_empty()) {
        from = rustix::fs::openat(&from, part, FOLDER, Mode::empty())?;
        match rustix::fs::mkdirat(&to, part, Mode::RWXU) {
            Err(rustix::io::Errno::EXIST) | Ok(()) => {}
            Err(error) => return Err(error.into()),
        }
        to = rustix::fs::openat(&to, part, FOLDER, Mode::empty())?;
    }
    let there = match rustix::fs::statat(&to, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => None,
        stat => Some(mark(&stat?)),
    };
    if there.is_some() && there.as_ref() != known {
        return Err(io::Error::other(format!("reports/{path} is another's, and stays")));
    }
    let read = File::from(rustix::fs::openat(&from, name, FILE | OFlags::RDONLY, Mode::empty())?);
    if !read.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let temp = PathBuf::from(format!(".looop-tmp-{}-{name}", std::process::id()));
    // What a crash left there is in the way; anything else says so when the file is made.
    if rustix::fs::unlinkat(&to, &temp, AtFlags::empty()).is_ok() {
        rustix::fs::fsync(&to)?;
    }
    let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mut written = File::from(rustix::fs::openat(&to, &temp, flags, Mode::RUSR | Mode::WUSR)?);
    written.set_permissions(Permissions::from_mode(0o600))?;
    let copied = io::copy(&mut read.take(MOST_BYTES), &mut written).and_then(|_| {
        rustix::fs::renameat(&to, &temp, &to, name)?;
        Ok(mark(&rustix::fs::fstat(&written)?))
    });
    match copied {
        Ok(mark) => Ok(mark),
        Err(error) => {
            rustix::fs::unlinkat(&to, &temp, AtFlags::empty())?;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn profile() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path()).unwrap();
        fs::create_dir(folder.path().join("reports")).unwrap();
        folder
    }

    fn text(folder: &tempfile::TempDir, path: &str) -> Option<String> {
        fs::read_to_string(folder.path().join(path)).ok()
    }

    #[test]
    fn regular_files_are_copied_once_they_change() {
        let folder = profile();
        let from = folder.path().join(REPORTS);
        fs::create_dir(from.join("deep")).unwrap();
        fs::write(from.join("a.md"), "one").unwrap();
        fs::write(from.join("deep/b.md"), "two").unwrap();
        assert!(is_pending(folder.path()));
        assert_eq!(copy(folder.path()), Vec::<String>::new());
        assert!(!is_pending(folder.path()));
        assert_eq!(text(&folder, "reports/a.md").as_deref(), Some("one"));
        assert_eq!(text(&folder, "reports/deep/b.md").as_deref(), Some("two"));
        fs::write(from.join("a.md"), "longer").unwrap();
        assert_eq!(copy(folder.path()), Vec::<String>::new());
        assert_eq!(text(&folder, "reports/a.md").as_deref(), Some("longer"));
        assert_eq!(fs::read_dir(folder.path().join("reports")).unwrap().count(), 2, "nothing is left over");
    }

    #[test]
    fn no_link_is_followed_and_no_file_of_the_person_is_replaced() {
        let folder = profile();
        let (from, to) = (folder.path().join(REPORTS), folder.path().join("reports"));
        let precious = folder.path().join("precious");
        fs::write(&precious, "mine").unwrap();
        symlink(&precious, from.join("stolen")).unwrap();
        fs::hard_link(&precious, from.join("hard")).unwrap();
        symlink("/", from.join("root")).unwrap();
        fs::write(from.join("through"), "evil").unwrap();
        symlink(&precious, to.join("through")).unwrap();
        fs::write(from.join("own"), "evil").unwrap();
        fs::write(to.join("own"), "mine").unwrap();
        fs::create_dir(from.join("dir")).unwrap();
        fs::write(from.join("dir/x"), "evil").unwrap();
        symlink(folder.path(), to.join("dir")).unwrap();
        fs::write(from.join("a\u{1b}b"), "").unwrap();
        let refused = copy(folder.path());
        assert_eq!(refused.len(), 7, "{refused:?}");
        assert_eq!(text(&folder, "precious").as_deref(), Some("mine"));
        assert_eq!(text(&folder, "reports/own").as_deref(), Some("mine"));
        assert!(
            !to.join("stolen").exists() && !to.join("hard").exists() && !folder.path().join("x").exists()
        );
        assert_eq!(text(&folder, REFUSED).unwrap().lines().count(), 7);
    }

    #[test]
    fn too_much_is_refused() {
        let folder = profile();
        let from = folder.path().join(REPORTS);
        File::create(from.join("large")).unwrap().set_len(MOST_BYTES + 1).unwrap();
        fs::write(from.join("small"), "x").unwrap();
        let refused = copy(folder.path());
        assert!(refused.len() == 1 && refused[0].starts_with("large: "), "{refused:?}");
        assert!(text(&folder, "reports/small").is_some());
    }
}
