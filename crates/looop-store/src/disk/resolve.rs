//! Opening a path below the profile without ever leaving it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Opens `path` below `root`. With `follow`, links inside the profile are followed; a link that leads out of it is
/// refused in any case.
pub(super) fn open_below(
    root: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    follow: bool,
) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    let flags = if follow { flags } else { flags | OFlags::NOFOLLOW };
    let path = if path.is_empty() { "." } else { path };
    #[cfg(target_os = "linux")]
    match beneath(root, path, flags) {
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return opened.map_err(|errno| explain(errno, follow)),
    }
    walk(root, path, flags | OFlags::NOFOLLOW).map_err(|errno| explain(errno, false))
}

/// The kernel resolves the path and guarantees that it stays below the root.
#[cfg(target_os = "linux")]
fn beneath(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let mode = if flags.contains(OFlags::CREATE) { Mode::RUSR | Mode::WUSR } else { Mode::empty() };
    openat2(root, path, flags, mode, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
}

/// Where the kernel cannot, every component is opened by itself and no link is followed at all.
fn walk(root: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let here = at.as_ref().map_or(root, AsFd::as_fd);
        if parts.peek().is_none() {
            return rustix::fs::openat(here, part, flags, Mode::RUSR | Mode::WUSR);
        }
        at = Some(rustix::fs::openat(here, part, folder, Mode::empty())?);
    }
    Err(Errno::NOENT)
}

fn explain(errno: Errno, follow: bool) -> io::Error {
    match errno {
        Errno::XDEV => io::Error::other("it is a link that leads out of the profile, or an absolute one"),
        Errno::LOOP if follow => io::Error::other("it is a link that leads to itself"),
        Errno::LOOP => io::Error::other("it is a link, and no link is followed here"),
        Errno::NXIO => io::Error::other("it is a socket or a named pipe, not a regular file"),
        _ => errno.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_what_the_kernel_finds_and_follows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("goals")).unwrap();
        std::fs::write(dir.path().join("goals/a.md"), "a").unwrap();
        std::os::unix::fs::symlink("a.md", dir.path().join("goals/b.md")).unwrap();
        std::os::unix::fs::symlink("goals", dir.path().join("link")).unwrap();
        let root = OwnedFd::from(std::fs::File::open(dir.path()).unwrap());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        assert!(walk(root.as_fd(), "goals/a.md", flags).is_ok());
        assert_eq!(walk(root.as_fd(), "goals/b.md", flags).err(), Some(Errno::LOOP));
        assert_eq!(walk(root.as_fd(), "goals/c.md", flags).err(), Some(Errno::NOENT));
        assert!(matches!(walk(root.as_fd(), "link/a.md", flags).err(), Some(Errno::LOOP | Errno::NOTDIR)));
    }
}
