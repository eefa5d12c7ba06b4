//! Whether a process runs below a session: whoever does is no person.

use std::io;
use std::path::Path;

/// No line of parents is longer; a reused number could make it a circle.
#[cfg(target_os = "linux")]
const DEEPEST: usize = 1000;

/// The session in the folder `root` that a process runs in, if it runs in one. It is known by its parents, one of which
/// is the session's host as long as that lives, and by the mark that it inherited. A process that is gone, or cannot be
/// looked at, is an error: nobody can tell what it was.
#[cfg(target_os = "linux")]
pub fn inside(pid: i32, root: &Path) -> io::Result<Option<String>> {
    let root = root.canonicalize()?;
    let mut at = pid;
    for _ in 0..DEEPEST {
        let Some(process) = crate::proc::one(at) else {
            // A parent that ended meanwhile has handed its children on; the process itself is asked about.
            return if at == pid { Err(io::ErrorKind::NotFound.into()) } else { by_mark(pid, &root) };
        };
        if let Some(session) = hosts(at, &root)? {
            return Ok(Some(session));
        }
        if process.parent <= 1 {
            return by_mark(pid, &root);
        }
        at = process.parent;
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Without a process table only the process itself can say, by its mark.
#[cfg(not(target_os = "linux"))]
pub fn inside(_pid: i32, _root: &Path) -> io::Result<Option<String>> {
    Ok(None)
}

/// The process at the other end of a connection, as far as the kernel tells.
#[cfg(target_os = "linux")]
pub fn peer(stream: &std::os::unix::net::UnixStream) -> Option<i32> {
    let credentials = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(credentials.pid.as_raw_pid())
}

/// The process at the other end of a connection, which the kernel does not tell here.
#[cfg(not(target_os = "linux"))]
pub fn peer(_stream: &std::os::unix::net::UnixStream) -> Option<i32> {
    None
}

/// Whether a process runs below another one.
pub fn is_below(pid: i32, above: i32) -> bool {
    let up = |pid: &i32| crate::proc::one(*pid).map(|process| process.parent).filter(|parent| *parent > 1);
    std::iter::successors(up(&pid), up).take(1000).any(|parent| parent == above)
}

/// The session whose lock a process holds open: it is that session's host.
#[cfg(target_os = "linux")]
fn hosts(pid: i32, root: &Path) -> io::Result<Option<String>> {
    let fds = match std::fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(fds) => fds,
        // One that is another user's is no host of ours.
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    for fd in fds {
        let Ok(target) = fd.and_then(|fd| std::fs::read_link(fd.path())) else { continue };
        let Ok(below) = target.strip_prefix(root) else { continue };
        let mut parts = below.iter();
        if let (Some(session), Some(file), None) = (parts.next(), parts.next(), parts.next())
            && file == "lock"
            && is_host(pid, session)
        {
            return Ok(session.to_str().map(str::to_owned));
        }
    }
    Ok(None)
}

/// Whether a process is the host of a session, whose folder is its last argument, and not one that looks whether it lives.
#[cfg(target_os = "linux")]
fn is_host(pid: i32, session: &std::ffi::OsStr) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let args = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let last = args.split(|byte| *byte == 0).rfind(|arg| !arg.is_empty());
    last.is_some_and(|last| last.rsplit(|byte| *byte == b'/').next() == Some(session.as_bytes()))
}

/// The session whose mark a process carries.
#[cfg(target_os = "linux")]
fn by_mark(pid: i32, root: &Path) -> io::Result<Option<String>> {
    let environ = std::fs::read(format!("/proc/{pid}/environ"))?;
    let Some(mark) = crate::mark::within(&environ) else { return Ok(None) };
    for entry in std::fs::read_dir(root)? {
        let folder = entry?;
        if crate::host::mark_of(&folder.path()).as_deref() == Some(mark) {
            return Ok(folder.file_name().to_str().map(str::to_owned));
        }
    }
    Ok(None)
}
