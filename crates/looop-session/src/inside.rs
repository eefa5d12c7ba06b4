//! Whether a process runs below a session: whoever does is no person. What cannot be looked at is an error, never a no.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
use crate::host::Standing;
#[cfg(target_os = "linux")]
use crate::proc::{self, Process};

/// No line of parents is longer; a reused number could make it a circle.
#[cfg(target_os = "linux")]
const DEEPEST: usize = 1000;

/// The session in the folder `root` that a process runs in, if it runs in one. It is known by its parents, one of which
/// is the session's host as long as that lives, and by the marks and control groups that it and they inherited.
///
/// Among several hosts above it the outermost counts: what runs in a session can pretend to be the host of another, but
/// can put nothing above its own. A process that is gone, or cannot be looked at, is an error: nobody can tell what it was.
#[cfg(target_os = "linux")]
pub fn inside(pid: i32, root: &Path) -> io::Result<Option<String>> {
    let root = root.canonicalize()?;
    let line = match line(pid, &proc::one) {
        // Whoever is above it cannot be seen, but there is no session in which it could run.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !runs_any(&root)? => {
            return Ok(None);
        }
        line => line?,
    };
    for process in line.iter().rev() {
        if let Some(session) = hosts(process.pid, &root)? {
            return Ok(Some(session));
        }
    }
    for process in &line {
        if let Some(session) = by_inheritance(process.pid, process.pid == pid, &root)? {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

/// Without a process table only the process itself can say, by its mark.
#[cfg(not(target_os = "linux"))]
pub fn inside(_pid: i32, _root: &Path) -> io::Result<Option<String>> {
    Ok(None)
}

/// The process at the other end of a connection. `None` where no kernel tells that.
#[cfg(target_os = "linux")]
pub fn peer(stream: &std::os::unix::net::UnixStream) -> io::Result<Option<i32>> {
    Ok(Some(rustix::net::sockopt::socket_peercred(stream)?.pid.as_raw_pid()))
}

/// The process at the other end of a connection, which the kernel does not tell here.
#[cfg(not(target_os = "linux"))]
pub fn peer(_stream: &std::os::unix::net::UnixStream) -> io::Result<Option<i32>> {
    Ok(None)
}

/// Whether a process runs below another one.
#[cfg(target_os = "linux")]
pub fn is_below(pid: i32, above: i32) -> io::Result<bool> {
    Ok(line(pid, &proc::one)?.iter().any(|process| process.parent == above))
}

/// Without a process table that cannot be known.
#[cfg(not(target_os = "linux"))]
pub fn is_below(_pid: i32, _above: i32) -> io::Result<bool> {
    Ok(false)
}

/// A process and all above it, up to the first of all, as `one` shows them.
#[cfg(target_os = "linux")]
fn line(pid: i32, one: &dyn Fn(i32) -> Option<Process>) -> io::Result<Vec<Process>> {
    let mut line = vec![one(pid).ok_or(io::ErrorKind::NotFound)?];
    for _ in 0..DEEPEST {
        let Some(at) = line.last() else { break };
        if at.parent <= 1 {
            return Ok(line);
        }
        if let Some(parent) = one(at.parent) {
            line.push(parent);
            continue;
        }
        // A parent that ended meanwhile has handed its children on.
        let now = one(at.pid).ok_or(io::ErrorKind::NotFound)?;
        if now.parent == at.parent {
            let why = format!("process {}, above process {pid}, cannot be looked at in /proc", at.parent);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        line.pop();
        line.push(now);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("the processes above {pid} do not end")))
}

/// Whether a session lives, or may have left something running.
#[cfg(target_os = "linux")]
fn runs_any(root: &Path) -> io::Result<bool> {
    for session in crate::roll::folders(root)? {
        let folder = root.join(session);
        if crate::host::standing(&folder)? == Standing::Live || crate::host::is_unswept(&folder)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The session that a process names by its last argument and whose lock it holds open: it is that session's host. One that
/// shows its files to nobody is taken at its word.
#[cfg(target_os = "linux")]
fn hosts(pid: i32, root: &Path) -> io::Result<Option<String>> {
    let Some(session) = argument(pid)?.filter(|name| name.contains('~')) else { return Ok(None) };
    let lock = root.join(&session).join("lock");
    if !lock.try_exists()? {
        return Ok(None);
    }
    let fds = match std::fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(fds) => fds,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Some(session)),
        Err(error) => return Err(error),
    };
    // One that was closed meanwhile is no lock.
    let mut targets = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    Ok(targets.any(|target| target == lock).then_some(session))
}

/// The last part of the last argument of a process. That of a host is the name of its session, and not that of one who
/// looks whether it lives.
#[cfg(target_os = "linux")]
fn argument(pid: i32) -> io::Result<Option<String>> {
    let args = match proc::file(pid, "cmdline") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        args => args?,
    };
    let last = args.split(|byte| *byte == 0).rfind(|arg| !arg.is_empty());
    let name = last.and_then(|last| last.rsplit(|byte| *byte == b'/').next());
    Ok(name.map(|name| String::from_utf8_lossy(name).into_owned()))
}

/// The session whose mark, or whose control group, a process inherited. Whose environment cannot be read is another
/// user's; `own` says that it must be readable, for it is the process that is asked about.
#[cfg(target_os = "linux")]
fn by_inheritance(pid: i32, own: bool, root: &Path) -> io::Result<Option<String>> {
    let read = |file: &str| match proc::file(pid, file) {
        Err(error)
            if !own && matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) =>
        {
            Ok(Vec::new())
        }
        bytes => bytes,
    };
    let environ = read("environ")?;
    // Who was started in a group is in it, as long as nobody moved it; of those above it nothing more is learnt.
    let groups = if own { read("cgroup")? } else { Vec::new() };
    let groups = String::from_utf8_lossy(&groups);
    let group = groups.split(['/', '\n']).find_map(|part| part.strip_prefix("looop-"));
    let mark = crate::mark::within(&environ);
    for mark in mark.into_iter().chain(group) {
        if let Some(session) = by_mark(mark, root)? {
            return Ok(Some(session));
        }
    }
    // What is left of a session that was removed still carries its mark and names its profile.
    let entry = |name: &[u8]| {
        let mut entries = environ.split(|byte| *byte == 0);
        entries
            .find_map(|entry| entry.strip_prefix(name))
            .map(|text| String::from_utf8_lossy(text).into_owned())
    };
    let Some(data) = mark.and_then(|_| entry(b"LOOOP_DATA_DIR=")) else { return Ok(None) };
    let same = Path::new(&data).canonicalize().is_ok_and(|data| root.parent() == Some(&data));
    Ok(same.then(|| entry(b"LOOOP_SESSION_ID=").unwrap_or_else(|| "of an unknown name".to_owned())))
}

/// The session that has this mark.
#[cfg(target_os = "linux")]
fn by_mark(mark: &str, root: &Path) -> io::Result<Option<String>> {
    for session in crate::roll::folders(root)? {
        if crate::host::mark_of(&root.join(&session))?.as_deref() == Some(mark) {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, ..proc::one(proc::our_pid()).expect("our own process") }
    }

    #[test]
    fn a_line_ends_at_the_first_of_all() {
        let one =
            |pid| [(7, 5), (5, 1)].into_iter().find(|(at, _)| *at == pid).map(|(pid, up)| process(pid, up));
        let pids: Vec<i32> = line(7, &one).unwrap().iter().map(|process| process.pid).collect();
        assert_eq!(pids, [7, 5]);
        assert_eq!(line(8, &one).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_parent_that_cannot_be_seen_is_an_error_and_no_end() {
        let one = |pid| (pid == 7).then(|| process(7, 5));
        assert_eq!(line(7, &one).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_parent_that_ended_meanwhile_has_handed_its_children_on() {
        let looks = Cell::new(0);
        let one = |pid| {
            looks.set(looks.get() + 1);
            match pid {
                7 => Some(process(7, if looks.get() == 1 { 5 } else { 4 })),
                4 => Some(process(4, 1)),
                _ => None,
            }
        };
        let pids: Vec<i32> = line(7, &one).unwrap().iter().map(|process| process.pid).collect();
        assert_eq!(pids, [7, 4]);
    }

    #[test]
    fn a_circle_is_an_error() {
        let one = |pid| Some(process(pid, if pid == 7 { 8 } else { 7 }));
        assert_eq!(line(7, &one).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
