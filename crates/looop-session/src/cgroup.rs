//! A control group of our own, where the kernel lets us make one.
//!
//! It adds three things to parentage and mark: it lists all members without a look at every process there is, it ends
//! them in one instant, and it still knows them when their host is dead and they have cleared their environment. Where
//! it cannot be had nothing is said, for parentage and mark do without.
//!
//! To move a process makes the kernel wait some ten milliseconds, and what it forked before stays outside. So a child
//! is born inside.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where version 2 is mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Members that were just killed may keep the folder busy for a moment.
const REMOVE_TRIES: u32 = 50;

/// One group, to be removed by [`Cgroup::remove`].
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Makes a group below our own. First of all `note` is told where, for whoever finds it without us.
    pub(crate) fn make(name: &str, note: impl FnOnce(&Path) -> io::Result<()>) -> Option<Self> {
        let made = Self { path: home()?.join(format!("looop-{name}")) };
        note(&made.path).ok()?;
        fs::create_dir(&made.path).ok()?;
        if made.path.join("cgroup.kill").exists() {
            return Some(made);
        }
        made.remove();
        None
    }

    /// The group of this name that a dead host left behind.
    pub(crate) fn left_at(path: &Path, name: &str) -> Option<Self> {
        let ours = path.file_name()? == OsStr::new(&format!("looop-{name}"));
        let known = MOUNTS.iter().any(|mount| path.starts_with(mount));
        let there = path.join("cgroup.kill").exists();
        (ours && known && there).then(|| Self { path: path.to_owned() })
    }

    /// Ends every member in one instant.
    pub(crate) fn kill(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.kill"), "1")
    }

    /// The members, those of groups below included.
    pub(crate) fn members(&self) -> Vec<i32> {
        let mut members = Vec::new();
        for group in folders(&self.path) {
            let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            members.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        }
        members
    }

    /// Lets all members out, to where the group itself is, and removes it.
    pub(crate) fn dissolve(self) {
        for pid in self.members() {
            if let Some(outside) = self.path.parent() {
                // One that has ended needs no way out.
                fs::write(outside.join("cgroup.procs"), pid.to_string()).ok();
            }
        }
        self.remove();
    }

    /// Removes the folder and what its members made below it.
    pub(crate) fn remove(self) {
        for _ in 0..REMOVE_TRIES {
            for group in folders(&self.path).iter().rev() {
                // What is still busy is tried again.
                fs::remove_dir(group).ok();
            }
            if !self.path.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

/// Starts a child, inside the group if there is one and the kernel can do that. Returns its number, and whether it is
/// inside.
///
/// Call it in a process with one thread.
pub(crate) fn spawn(command: &mut Command, group: Option<&Cgroup>) -> io::Result<(i32, bool)> {
    match group.map_or(Born::Unable, |group| born_inside(command, group)) {
        Born::Child(pid) => Ok((pid, true)),
        Born::Failed(error) => Err(error),
        Born::Unable => {
            let child = command.spawn()?;
            Ok((rustix::process::Pid::from_child(&child).as_raw_pid(), false))
        }
    }
}

/// What came of a birth inside a group.
enum Born {
    /// It runs.
    Child(i32),
    /// The program could not be started.
    Failed(io::Error),
    /// The kernel, or a filter before it, cannot do this here.
    Unable,
}

/// A copy of ourselves is made inside the group and becomes the program. If it cannot, it says why through a pipe that
/// a program never sees.
#[cfg(target_os = "linux")]
fn born_inside(command: &mut Command, group: &Cgroup) -> Born {
    use std::io::{Read, Write};
    use std::os::unix::process::CommandExt;

    use crate::sys::{self, Fork};

    let (Ok(folder), Ok((mut why, mut tell))) = (fs::File::open(&group.path), io::pipe()) else {
        return Born::Unable;
    };
    let pid = match sys::fork_into(&folder) {
        Ok(Fork::Parent(pid)) => pid,
        Ok(Fork::Child) => {
            let code = command.exec().raw_os_error().unwrap_or(0);
            // Nobody is there to hear it if this fails.
            tell.write_all(&code.to_ne_bytes()).ok();
            sys::leave();
        }
        Err(_) => return Born::Unable,
    };
    drop(tell);
    let mut code = [0_u8; 4];
    if why.read_exact(&mut code).is_err() {
        // The pipe was closed by the exec.
        return Born::Child(pid.as_raw_pid());
    }
    // It is as good as gone; if it cannot be reaped here, the host does it later.
    rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).ok();
    Born::Failed(match i32::from_ne_bytes(code) {
        0 => io::ErrorKind::InvalidInput.into(),
        code => io::Error::from_raw_os_error(code),
    })
}

/// There are no control groups here.
#[cfg(not(target_os = "linux"))]
fn born_inside(_: &mut Command, _: &Cgroup) -> Born {
    Born::Unable
}

/// A group and all below it, the upper ones first.
fn folders(top: &Path) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    let mut at = 0;
    while at < found.len() {
        let entries = fs::read_dir(&found[at]).into_iter().flatten().flatten();
        let inner: Vec<_> =
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).collect();
        found.extend(inner.iter().map(fs::DirEntry::path));
        at += 1;
    }
    found
}

/// The group we are in.
fn home() -> Option<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let inner = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    if inner.split('/').any(|part| part == "..") {
        return None;
    }
    let mounts = MOUNTS.iter().map(Path::new).filter(|mount| mount.join("cgroup.controllers").exists());
    mounts.map(|mount| mount.join(inner)).find(|home| home.join("cgroup.procs").exists())
}
