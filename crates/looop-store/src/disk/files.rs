//! The real file system.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RawMode, Timespec, Timestamps};
use rustix::io::Errno;

use super::call::{Disk, Held, Links, Locked};
use super::durable::{name, parent};
use super::kinds::{Content, Kind, Listed, Meta, Tail};
use super::resolve::open_below;
use super::stored::Stored;

/// Most names that a folder may hold; more is no profile.
const MOST_NAMES: usize = 200_000;

/// The profile's folder, held open: what happens to its path meanwhile does not matter.
#[derive(Debug)]
pub struct Files {
    root: OwnedFd,
    path: PathBuf,
    /// The file written last, so that its sync asks the descriptor that the bytes went through.
    last: Mutex<Option<(String, OwnedFd)>>,
}

impl Files {
    /// Opens a profile's folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Self { root: fd, path: root.to_owned(), last: Mutex::new(None) })
    }

    /// Makes a profile's folder, 0700 whatever the umask, with the folders above it, and opens it.
    pub fn create(root: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let fresh = !root.exists();
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let files = Self::open(root)?;
        if fresh {
            rustix::fs::fchmod(&files.root, Mode::RWXU)?;
        }
        Ok(files)
    }

    fn open_regular(&self, path: &str, flags: OFlags, links: Links) -> io::Result<(OwnedFd, Meta)> {
        let follow = links == Links::Inside;
        let fd = open_below(self.root.as_fd(), path, flags | OFlags::NONBLOCK, follow)?;
        let meta = Meta::of(&rustix::fs::fstat(&fd)?);
        if meta.kind == Kind::File {
            return Ok((fd, meta));
        }
        Err(io::Error::other(format!("it is {}, not a regular file", meta.kind.text())))
    }

    fn open_dir(&self, dir: &str) -> io::Result<OwnedFd> {
        open_below(self.root.as_fd(), dir, OFlags::RDONLY | OFlags::DIRECTORY, false)
    }

    /// A name that leads nowhere is not absent.
    fn absent_or_dangling<T>(&self, path: &str) -> Stored<T> {
        match self.stat(path) {
            Stored::Value(meta) if meta.kind == Kind::Link => {
                Stored::Unreadable(io::Error::other("it is a link that leads nowhere"))
            }
            Stored::Unreadable(error) => Stored::Unreadable(error),
            Stored::Absent | Stored::Value(_) | Stored::Corrupt(_) => Stored::Absent,
        }
    }

    fn remember(&self, path: &str, fd: OwnedFd) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((path.to_owned(), fd));
    }

    fn recall_or_open(&self, path: &str) -> io::Result<OwnedFd> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.take() {
            Some((of, fd)) if of == path => Ok(fd),
            _ => Ok(self.open_regular(path, OFlags::RDONLY, Links::Refuse)?.0),
        }
    }

    fn both_parents(&self, from: &str, to: &str) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok((self.open_dir(parent(from))?, self.open_dir(parent(to))?))
    }
}

impl Disk for Files {
    fn read(&self, path: &str, limit: u64, links: Links) -> Stored<Content> {
        let (fd, meta) = match self.open_regular(path, OFlags::RDONLY, links) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return if links == Links::Inside { self.absent_or_dangling(path) } else { Stored::Absent };
            }
            Err(error) => return Stored::Unreadable(error),
        };
        if meta.size > limit {
            return Stored::Corrupt(too_large(meta.size, limit));
        }
        match read_up_to(&fd, meta.size, limit) {
            Ok(bytes) if bytes.len() as u64 > limit => Stored::Corrupt(too_large(bytes.len() as u64, limit)),
            Ok(bytes) => Stored::Value(Content { bytes, meta }),
            Err(error) => Stored::Unreadable(error),
        }
    }

    fn read_tail(&self, path: &str, limit: u64) -> Stored<Tail> {
        let read = || {
            let (fd, meta) = self.open_regular(path, OFlags::RDONLY, Links::Refuse)?;
            let from = meta.size.saturating_sub(limit);
            rustix::fs::seek(&fd, rustix::fs::SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            File::from(fd).take(limit).read_to_end(&mut bytes)?;
            Ok(Tail { size: from + bytes.len() as u64, bytes })
        };
        Stored::from(read())
    }

    fn stat(&self, path: &str) -> Stored<Meta> {
        let path = if path.is_empty() { "." } else { path };
        let found = rustix::fs::statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW);
        Stored::from(found.map(|stat| Meta::of(&stat)).map_err(io::Error::from))
    }

    fn list(&self, dir: &str) -> Stored<Vec<Listed>> {
        match self.open_dir(dir).and_then(names) {
            Ok(names) if names.len() > MOST_NAMES => {
                Stored::Corrupt(format!("holds over {MOST_NAMES} names"))
            }
            other => Stored::from(other),
        }
    }

    fn make_dir(&self, path: &str) -> io::Result<()> {
        let folder = self.open_dir(parent(path))?;
        match rustix::fs::mkdirat(&folder, name(path), Mode::RWXU) {
            Err(Errno::EXIST) => self.open_dir(path).map(drop),
            Err(errno) => Err(errno.into()),
            Ok(()) => Ok(rustix::fs::fchmod(self.open_dir(path)?, Mode::RWXU)?),
        }
    }

    fn create(&self, path: &str, bytes: &[u8], mode: RawMode) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let fd = open_below(self.root.as_fd(), path, flags, false)?;
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode))?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        self.remember(path, file.into());
        Ok(())
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND;
        let fd = match self.open_regular(path, flags, Links::Refuse) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (fd, _) = self.open_regular(path, flags | OFlags::CREATE, Links::Refuse)?;
                rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
                fd
            }
            opened => opened?.0,
        };
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        self.remember(path, file.into());
        Ok(())
    }

    fn sync(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.recall_or_open(path)?)?)
    }

    fn sync_data(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(self.recall_or_open(path)?)?)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        Ok(rustix::fs::fsync(self.open_dir(dir)?)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (old, new) = self.both_parents(from, to)?;
        Ok(rustix::fs::renameat(old, name(from), new, name(to))?)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let (old, new) = self.both_parents(from, to)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            match renameat_with(&old, name(from), &new, name(to), RenameFlags::NOREPLACE) {
                Err(Errno::NOSYS | Errno::INVAL) => {}
                done => return Ok(done?),
            }
        }
        rustix::fs::linkat(&old, name(from), &new, name(to), AtFlags::empty())?;
        Ok(rustix::fs::unlinkat(&old, name(from), AtFlags::empty())?)
    }

    fn truncate(&self, path: &str, size: u64) -> io::Result<()> {
        let (fd, _) = self.open_regular(path, OFlags::WRONLY, Links::Refuse)?;
        rustix::fs::ftruncate(&fd, size)?;
        self.remember(path, fd);
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self.open_dir(parent(path))?, name(path), AtFlags::empty())?)
    }

    fn remove_tree(&self, path: &str) -> io::Result<()> {
        std::fs::remove_dir_all(self.path.join(path))
    }

    fn touch(&self, path: &str, wall: i64) -> io::Result<()> {
        let time = Timespec { tv_sec: wall.div_euclid(1000), tv_nsec: wall.rem_euclid(1000) * 1_000_000 };
        let times = Timestamps { last_access: time, last_modification: time };
        Ok(rustix::fs::utimensat(&self.root, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn try_lock(&self, path: &str) -> io::Result<Locked> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        let file = File::from(self.open_regular(path, flags, Links::Refuse)?.0);
        match file.try_lock() {
            Ok(()) => {
                // The lock of an older looop is held and otherwise left as it is.
                if !path.starts_with(".lock/") {
                    leave_pid(&file);
                }
                Ok(Locked::Ours(Held::new(file)))
            }
            Err(TryLockError::WouldBlock) => Ok(Locked::Theirs(read_pid(&file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn too_large(size: u64, limit: u64) -> String {
    format!("is too large: {size} bytes, and at most {limit} are read")
}

/// Reads a file whose size is known in one call where it holds still, and never more than one byte over the limit.
fn read_up_to(fd: &OwnedFd, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let most = usize::try_from(limit.saturating_add(1)).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or(most));
    loop {
        let room = bytes.capacity() - bytes.len();
        let got =
            rustix::io::retry_on_intr(|| rustix::io::read(fd, rustix::buffer::spare_capacity(&mut bytes)))?;
        if got < room || bytes.len() >= most {
            return Ok(bytes);
        }
        bytes.reserve_exact(bytes.len().min(most - bytes.len()));
    }
}

fn names(fd: OwnedFd) -> io::Result<Vec<Listed>> {
    let mut found = Vec::new();
    let mut dir = Dir::new(fd)?;
    while let Some(entry) = dir.read() {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if bytes == b"." || bytes == b".." {
            continue;
        }
        // Some file systems do not say the kind in the listing.
        let kind = if entry.file_type() == rustix::fs::FileType::Unknown {
            Meta::of(&rustix::fs::statat(dir.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?).kind
        } else {
            Kind::of(entry.file_type())
        };
        found.push(Listed { name: OsStr::from_bytes(bytes).to_owned(), kind });
        if found.len() > MOST_NAMES {
            break;
        }
    }
    Ok(found)
}

/// The number in a lock file is information for people. The lock itself is what counts, so a full disk may lose it.
fn leave_pid(mut file: &File) {
    let text = format!("{}\n", std::process::id());
    drop(file.set_len(0).and_then(|()| file.write_all(text.as_bytes())));
}

fn read_pid(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
