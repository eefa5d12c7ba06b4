//! Durable writes: temp file in the same folder, mode, bytes, sync, rename, sync of the folder.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::RawMode;

use super::call::Disk;
use crate::error::{StoreError, failed};
use crate::point::point;

/// How the name of every temp file begins. What a crash left behind is known by it.
pub const TEMP_PREFIX: &str = ".looop-tmp-";

/// Puts a file in place, replacing what was there: after a crash it is either the old or the new one, whole.
pub fn durable_write(disk: &dyn Disk, path: &str, bytes: &[u8], mode: RawMode) -> Result<(), StoreError> {
    let temp = Temp::durable(disk, path, bytes, mode)?;
    temp.replace(path)?;
    sync_parent(disk, path)
}

/// Puts a new file in place, and fails with `AlreadyExists` if the name is taken.
pub fn write_new(disk: &dyn Disk, path: &str, bytes: &[u8], mode: RawMode) -> Result<(), StoreError> {
    let temp = Temp::durable(disk, path, bytes, mode)?;
    temp.place_new(path)?;
    sync_parent(disk, path)
}

/// Puts a file in place whole, without asking for durability: for what can be made again.
pub(crate) fn quick_write(
    disk: &dyn Disk,
    path: &str,
    bytes: &[u8],
    mode: RawMode,
) -> Result<(), StoreError> {
    Temp::write(disk, path, bytes, mode)?.replace(path)
}

fn sync_parent(disk: &dyn Disk, path: &str) -> Result<(), StoreError> {
    disk.sync_dir(parent(path)).map_err(failed(path, "made durable"))?;
    point("store.folder-synced");
    Ok(())
}

/// Removes what an interrupted write left in a folder. Only the lock holder may call it for a folder it writes.
pub fn sweep_temps(disk: &dyn Disk, dir: &str) -> Result<usize, StoreError> {
    let listed = disk.list(dir).into_io().map_err(failed(dir, "listed"))?.unwrap_or_default();
    let mut swept = 0;
    for name in listed.iter().filter_map(|listed| listed.name.to_str()) {
        if name.starts_with(TEMP_PREFIX) {
            let path = join(dir, name);
            disk.remove(&path).map_err(failed(&path, "removed"))?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Whether an interrupted write, or one under way, shows in a folder.
pub fn has_temps(disk: &dyn Disk, dir: &str) -> bool {
    let is_temp = |listed: &super::kinds::Listed| {
        listed.name.to_str().is_some_and(|name| name.starts_with(TEMP_PREFIX))
    };
    disk.list(dir).value().is_some_and(|listed| listed.iter().any(is_temp))
}

/// A temp file on its way to its place. Dropped before it got there, it is removed.
pub(crate) struct Temp<'d> {
    disk: &'d dyn Disk,
    path: String,
    placed: bool,
}

impl<'d> Temp<'d> {
    /// A temp file for `path` whose bytes are on the disk.
    pub(crate) fn durable(
        disk: &'d dyn Disk,
        path: &str,
        bytes: &[u8],
        mode: RawMode,
    ) -> Result<Self, StoreError> {
        let temp = Self::write(disk, path, bytes, mode)?;
        disk.sync(&temp.path).map_err(failed(path, "written"))?;
        point("store.temp-synced");
        Ok(temp)
    }

    fn write(disk: &'d dyn Disk, path: &str, bytes: &[u8], mode: RawMode) -> Result<Self, StoreError> {
        let mut temp = Self { disk, path: join(parent(path), &fresh_name()), placed: true };
        let mut tried = disk.create(&temp.path, bytes, mode);
        // A process of the same id may have died and left a file of that name.
        while tried.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            temp.path = join(parent(path), &fresh_name());
            tried = disk.create(&temp.path, bytes, mode);
        }
        temp.placed = false;
        tried.map_err(failed(path, "written"))?;
        point("store.temp-written");
        Ok(temp)
    }

    /// Takes the place of whatever is at `path`.
    pub(crate) fn replace(mut self, path: &str) -> Result<(), StoreError> {
        self.disk.rename(&self.path, path).map_err(failed(path, "put in place"))?;
        self.placed = true;
        point("store.renamed");
        Ok(())
    }

    /// Takes its place, if nothing is there.
    pub(crate) fn place_new(mut self, path: &str) -> Result<(), StoreError> {
        self.disk.rename_new(&self.path, path).map_err(failed(path, "put in place"))?;
        self.placed = true;
        point("store.renamed");
        Ok(())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // The write has failed already and says so; what cannot be removed now is swept at the next open.
            drop(self.disk.remove(&self.path));
        }
    }
}

fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{TEMP_PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The folder of a path; the profile itself is the empty text.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// The last component of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A path from a folder and a name.
pub(crate) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

/// Whether an error says that the name was taken.
pub(crate) fn is_taken(error: &StoreError) -> bool {
    error.source.kind() == io::ErrorKind::AlreadyExists
}
