//! A session's folder, reached through one descriptor: it may be moved or deleted meanwhile, and no path is too long.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

pub(crate) const LOCK: &str = "lock";
pub(crate) const SPEC: &str = "spec.json";
pub(crate) const STARTED: &str = "started";
pub(crate) const RECEIPT: &str = "receipt.json";
pub(crate) const OUTPUT: &str = "output.log";
pub(crate) const SCREEN: &str = "screen.json";
pub(crate) const SOCK: &str = "sock";
pub(crate) const CGROUP: &str = "cgroup";
pub(crate) const SWEPT: &str = "swept";

/// No file that we read whole is larger.
const LARGEST: u64 = 64 << 20;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens it; `None` if it is absent.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, path: path.to_owned() })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Where it is now, also if it was moved since it was opened.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        let now = std::fs::read_link(format!("/proc/self/fd/{}", self.fd.as_raw_fd()));
        now.or_else(|_| self.path.canonicalize()).ok()
    }

    /// Opens a folder in it; `None` if it is absent.
    pub(crate) fn inner(&self, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, path: self.path.join(name) })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What the file system says about an entry; `None` if it is absent.
    pub(crate) fn meta(&self, name: &str) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(meta) => Ok(Some(meta)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes it with mode 0700, durably, or opens it if it is there.
    pub(crate) fn make(path: &Path) -> io::Result<Self> {
        let made = Self::make_lazily(path)?;
        made.sync_name()?;
        Ok(made)
    }

    /// The same; its name is durable only after [`Folder::sync_name`].
    pub(crate) fn make_lazily(path: &Path) -> io::Result<Self> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            // The file mode mask may have taken something away.
            Ok(()) => rustix::fs::chmod(path, Mode::RWXU)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Self::open(path)?.ok_or_else(|| Errno::NOENT.into())
    }

    /// Makes its name durable.
    pub(crate) fn sync_name(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::fsync(rustix::fs::openat(&self.fd, "..", flags, Mode::empty())?)?)
    }

    /// Makes all regular files in it durable, with their names and its own.
    pub(crate) fn sync_all(&self) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            // What is not ours is none of our files.
            let Ok(name) = entry.file_name().to_str() else { continue };
            let is_file = |meta: Stat| FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile;
            if self.meta(name)?.is_some_and(is_file)
                && let Some(file) = self.read_only(name)?
            {
                file.sync_all()?;
            }
        }
        self.sync()?;
        self.sync_name()
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> io::Result<bool> {
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a file with mode 0600, whatever the mask. `extra` says what else: `EXCL`, `TRUNC`.
    pub(crate) fn create(&self, name: &str, extra: OFlags) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | extra;
        let fd = rustix::fs::openat(&self.fd, name, flags, private())?;
        rustix::fs::fchmod(&fd, private())?;
        Ok(fd.into())
    }

    /// Opens a regular file for reading; `None` if it is absent. Never waits for a writer of a FIFO.
    pub(crate) fn read_only(&self, name: &str) -> io::Result<Option<File>> {
        Ok(self.open_file(name)?.map(|(file, _)| file))
    }

    /// The same, with what the file system says about it.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<Option<(File, Stat)>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let meta = rustix::fs::fstat(&fd)?;
        if FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile {
            return Ok(Some((fd.into(), meta)));
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} is not a regular file")))
    }

    /// The bytes of a regular file of bounded size; `None` if it is absent.
    pub(crate) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let Some((file, meta)) = self.open_file(name)? else { return Ok(None) };
        let bytes = read_whole(&file, &meta, LARGEST)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} is too large")));
        }
        Ok(Some(bytes))
    }

    /// Puts a whole file in place and gives it open; after a crash of the machine it may be missing or empty, unless it is
    /// synced.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        let temporary = temporary(name);
        let mut file = self.create(&temporary, OFlags::TRUNC)?;
        file.write_all(bytes)?;
        self.rename(&temporary, name)?;
        Ok(file)
    }

    /// Syncs a temporary file, gives it its name, and syncs the folder.
    pub(crate) fn settle(&self, file: &File, temporary: &str, name: &str) -> io::Result<()> {
        file.sync_all()?;
        self.rename(temporary, name)?;
        self.sync()
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Decides who starts it: makes `started` with this text, durably, if nobody has. Says whether it was us.
    pub(crate) fn claim_start(&self, text: &str) -> io::Result<bool> {
        let Some(file) = self.make_started(text)? else { return Ok(false) };
        file.sync_all()?;
        self.sync()?;
        Ok(true)
    }

    /// The same for a host. That the file is there is durable; its text is needed only while the host lives.
    pub(crate) fn claim_start_of_host(&self, pid: i32) -> io::Result<bool> {
        let made = self.make_started(&format!("host {pid}\n"))?.is_some();
        if made {
            self.sync()?;
        }
        Ok(made)
    }

    fn make_started(&self, text: &str) -> io::Result<Option<File>> {
        let mut file = match self.create(STARTED, OFlags::EXCL) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            file => file?,
        };
        file.write_all(text.as_bytes())?;
        Ok(Some(file))
    }

    /// A path for calls that take nothing else. On Linux it does not depend on the length of the real one.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        if cfg!(target_os = "linux") {
            PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
        } else {
            self.path.join(name)
        }
    }

    /// Gives an existing entry mode 0600.
    pub(crate) fn make_private(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::chmodat(&self.fd, name, private(), AtFlags::empty())?)
    }

    /// Device and number of a file.
    pub(crate) fn identity(&self, name: &str) -> io::Result<(u64, u64)> {
        let meta = self.read_only(name)?.ok_or(io::ErrorKind::NotFound)?.metadata()?;
        Ok((meta.dev(), meta.ino()))
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The name under which a file is written before it gets its own.
pub(crate) fn temporary(name: &str) -> String {
    format!(".{name}.tmp")
}

fn private() -> Mode {
    Mode::RUSR | Mode::WUSR
}

/// Reads a file in one call where it holds still, and never more than one byte over the limit.
pub(crate) fn read_whole(file: &File, meta: &Stat, limit: u64) -> io::Result<Vec<u8>> {
    let most = usize::try_from(limit.saturating_add(1)).unwrap_or(usize::MAX);
    let size = usize::try_from(meta.st_size).unwrap_or(0);
    let mut bytes = Vec::with_capacity(size.saturating_add(1).min(most));
    loop {
        let room = bytes.capacity() - bytes.len();
        let spare = || rustix::io::read(file, rustix::buffer::spare_capacity(&mut bytes));
        let got = rustix::io::retry_on_intr(spare)?;
        if got < room || bytes.len() >= most {
            return Ok(bytes);
        }
        bytes.reserve_exact(bytes.len().min(most - bytes.len()));
    }
}
