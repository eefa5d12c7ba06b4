//! A control group of our own, where the kernel lets us make one.
//!
//! It adds two things to parentage and mark: it ends all members in one instant, and it still knows them when their
//! host is dead and they have cleared their environment. Where it cannot be had nothing is said, for parentage and
//! mark do without.
//!
//! To move a process costs the kernel some ten milliseconds, so it is done beside the running child and not before its
//! start, and short commands are spared it altogether.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::proc::{self, Process, Table};

/// Where version 2 is mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Members that were just killed may keep the folder busy for a moment.
const REMOVE_TRIES: u32 = 50;
/// How many looks are taken for those that were forked while others were moved.
const GATHER_LOOKS: u32 = 10;

/// One group, to be removed by [`Cgroup::remove`].
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    /// Where we ourselves are.
    home: PathBuf,
}

impl Cgroup {
    /// The group that we could have below our own. It is made by [`Cgroup::gather`].
    pub(crate) fn planned(name: &str) -> Option<Self> {
        let home = home()?;
        Some(Self { path: home.join(format!("looop-{name}")), home })
    }

    /// The group of this name that a dead host left behind.
    pub(crate) fn left_at(path: &Path, name: &str) -> Option<Self> {
        let ours = path.file_name()? == OsStr::new(&format!("looop-{name}"));
        let known = MOUNTS.iter().any(|mount| path.starts_with(mount));
        let there = path.join("cgroup.kill").exists();
        (ours && known && there).then(|| Self { path: path.to_owned(), home: PathBuf::new() })
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the group and moves all below us in, until a look finds nobody outside: what they fork from then on is born inside.
    pub(crate) fn gather(&self) -> io::Result<()> {
        fs::create_dir(&self.path)?;
        if !self.path.join("cgroup.kill").exists() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        for _ in 0..GATHER_LOOKS {
            let table = Table::scan()?;
            let inside = self.members();
            let below = table.below(proc::our_pid()).into_iter().map(|(process, _)| process);
            let outside: Vec<&Process> = below.filter(|process| !inside.contains(&process.pid)).collect();
            if outside.is_empty() {
                return Ok(());
            }
            for process in outside {
                self.take(process)?;
            }
        }
        Ok(())
    }

    /// Moves one in. If its number has meanwhile gone to a stranger, that one goes back where we are.
    fn take(&self, process: &Process) -> io::Result<()> {
        if let Err(error) = join(&self.path, process.pid) {
            // It has ended.
            let gone = error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
            return if gone { Ok(()) } else { Err(error) };
        }
        if proc::one(process.pid).is_some_and(|now| now.start != process.start) {
            join(&self.home, process.pid)?;
        }
        Ok(())
    }

    /// Lets all members out and removes the group.
    pub(crate) fn dissolve(self) {
        for pid in self.members() {
            // One that has ended needs no way out.
            join(&self.home, pid).ok();
        }
        self.remove();
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

/// Moves a process.
fn join(group: &Path, pid: i32) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid.to_string())
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
