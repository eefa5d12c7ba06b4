//! Snapshots: the latest readings as files, for people and deciders.

use std::collections::BTreeSet;

use crate::dir::{Reader, STATE_LIMIT};
use crate::disk::{Links, Stored, quick_write};
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
