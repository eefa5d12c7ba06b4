//! Snapshots: the latest readings as files, for people and deciders.

use std::collections::{BTreeMap, BTreeSet};

use looop_core::model::digest::Digest;

use crate::dir::{Reader, STATE_LIMIT};
use crate::disk::{Links, Meta, Stored, quick_write};
use crate::error::{StoreError, failed};
use crate::lock::Writer;
use crate::point::point;

const FOLDER: &str = "snapshots";

fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}.json")
}

/// The name of a sensor's snapshot, `sensor-<name>.json`. Probes do not vanish: a `sys-<name>.json` that nobody writes
/// is an older looop's and is left alone.
fn name_of(file: &str) -> Option<&str> {
    file.strip_suffix(".json").filter(|name| name.starts_with("sensor-"))
}

impl Reader {
    /// A snapshot by name, such as `sensor-ci`, with the moment it was taken in milliseconds since the epoch.
    pub fn read_snapshot(&self, name: &str) -> Stored<(Vec<u8>, i64)> {
        let read = self.disk().read(&path_of(name), STATE_LIMIT, Links::Refuse);
        read.map(|content| (content.bytes, content.meta.modified_ms()))
    }
}

impl Writer {
    /// Writes a snapshot if its bytes differ, and says whether they did. It is whole at any time, and not synced: it can
    /// be taken again.
    pub fn write_snapshot(&self, name: &str, bytes: &[u8]) -> Result<bool, StoreError> {
        let path = path_of(name);
        if let Stored::Value((have, _)) = self.read_snapshot(name)
            && have == bytes
        {
            return Ok(false);
        }
        if !self.has_folder(FOLDER) {
            self.disk().make_dir(FOLDER).map_err(failed(FOLDER, "made"))?;
        }
        quick_write(self.disk(), &path, bytes, 0o600)?;
        point("store.snapshot-renamed");
        Ok(true)
    }

    /// Dates a snapshot that was taken again and did not differ.
    pub fn touch_snapshot(&self, name: &str, wall: i64) -> Result<(), StoreError> {
        let path = path_of(name);
        self.disk().touch(&path, wall).map_err(failed(&path, "dated"))
    }

    /// Removes the snapshots of what no longer exists: a sensor that vanished takes its reading with it. Returns their
    /// names.
    pub fn keep_snapshots(&self, names: &BTreeSet<String>) -> Result<Vec<String>, StoreError> {
        let listed =
            self.disk().list(FOLDER).into_io().map_err(failed(FOLDER, "listed"))?.unwrap_or_default();
        let mut gone = Vec::new();
        for name in listed.iter().filter_map(|listed| name_of(listed.name.to_str()?)) {
            if !names.contains(name) {
                let path = path_of(name);
                self.disk().remove(&path).map_err(failed(&path, "removed"))?;
                gone.push(name.to_owned());
            }
        }
        Ok(gone)
    }
}

/// What the folder of snapshots is known to hold, kept by whoever writes them again and again. An empty cache is always
/// right. It holds while the folder shows no change but our own; a snapshot that a person edits in place is written
/// again when its reading changes.
#[derive(Debug, Default)]
pub struct SnapshotCache {
    written: BTreeMap<String, Digest>,
    names: BTreeSet<String>,
    folder: Option<Meta>,
}

/// One pass over all snapshots.
#[derive(Debug)]
pub struct Snapshots<'a> {
    writer: &'a Writer,
    cache: &'a mut SnapshotCache,
    changed: bool,
    wall: i64,
}

impl Writer {
    /// Begins a pass over all snapshots at a moment in milliseconds since the epoch: one system call where nothing has
    /// changed.
    pub fn snapshots<'a>(&'a self, cache: &'a mut SnapshotCache, wall: i64) -> Snapshots<'a> {
        let folder = self.disk().stat(FOLDER).value();
        let changed = folder.is_none() || folder != cache.folder;
        if changed {
            *cache = SnapshotCache::default();
        }
        Snapshots { writer: self, cache, changed, wall }
    }
}

impl Snapshots<'_> {
    /// Writes a snapshot if its bytes differ, and says whether they did.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<bool, StoreError> {
        let digest = Digest::of(bytes);
        if self.cache.written.get(name) == Some(&digest) {
            return Ok(false);
        }
        self.changed = true;
        self.cache.written.remove(name);
        let written = self.writer.write_snapshot(name, bytes)?;
        self.cache.written.insert(name.to_owned(), digest);
        Ok(written)
    }

    /// Ends the pass: removes the snapshots of what no longer exists.
    pub fn keep(self, names: BTreeSet<String>) -> Result<(), StoreError> {
        if !self.changed && self.cache.names == names {
            return Ok(());
        }
        self.cache.folder = None;
        self.writer.keep_snapshots(&names)?;
        self.cache.written.retain(|name, _| names.contains(name));
        self.cache.names = names;
        let folder = self.writer.disk().stat(FOLDER).value();
        self.cache.folder = folder.filter(|meta| meta.is_settled(self.wall));
        Ok(())
    }
}
