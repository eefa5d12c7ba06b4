//! A control group of our own, where the kernel lets us make one.
//!
//! It adds two things to parentage and mark: it ends all members in one instant, and it still knows them when their
//! host is dead and they have cleared their environment. Where it cannot be had nothing is said, for parentage and
//! mark do without.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where version 2 is mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Members that were just killed may keep the folder busy for a moment.
const REMOVE_TRIES: u32 = 50;

/// One group, to be removed by [`Cgroup::remove`].
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    /// Where we ourselves are.
    home: PathBuf,
}

impl Cgroup {
    /// Makes a group below our own. `None` where that is not possible.
    pub(crate) fn make(name: &str) -> Option<Self> {
        let home = home()?;
        // We go in and must be able to come out again, so try the way back before there is anything to undo.
        enter(&home).ok()?;
        let path = home.join(format!("looop-{name}"));
        fs::create_dir(&path).ok()?;
        let group = Self { path, home };
        if group.path.join("cgroup.kill").exists() {
            return Some(group);
        }
        group.remove();
        None
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

    /// Runs `start` inside, so that what it starts is a member from its first instant, and comes out again.
    pub(crate) fn within<T>(&self, start: impl FnOnce() -> T) -> (T, io::Result<()>) {
        let entered = enter(&self.path);
        let started = start();
        let left = enter(&self.home);
        (started, entered.and(left))
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

/// Moves this process.
fn enter(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), "0")
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
