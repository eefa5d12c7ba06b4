//! Folders that were listed before and have not changed since.

use std::collections::HashMap;
use std::sync::Arc;

use super::call::Disk;
use super::kinds::{Listed, Meta};
use super::stored::Stored;

/// The names of folders, kept by whoever lists them again and again. An empty one is always right.
///
/// A folder shows another time once a name in it was added, removed, replaced or renamed. What is changed inside a file
/// does not show there: files are looked at one by one.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    known: HashMap<String, (Meta, Arc<[Listed]>)>,
}

impl Listings {
    /// The names in a folder, sorted, at a moment in milliseconds since the epoch that is not after the present one: one
    /// system call where the folder has not changed.
    pub(crate) fn list(&mut self, disk: &dyn Disk, dir: &str, wall: i64) -> Stored<Arc<[Listed]>> {
        // Before the listing: what changes after this shows another time at the next look.
        let found = disk.stat(dir).value();
        if let Some((meta, names)) = self.known.get(dir)
            && found.as_ref() == Some(meta)
        {
            return Stored::Value(Arc::clone(names));
        }
        self.known.remove(dir);
        let listed = sorted(disk, dir);
        if let (Some(meta), Stored::Value(names)) = (found, &listed)
            && meta.is_settled(wall)
        {
            self.known.insert(dir.to_owned(), (meta, Arc::clone(names)));
        }
        listed
    }
}

/// The names in a folder, sorted, whatever is known of it.
pub(crate) fn sorted(disk: &dyn Disk, dir: &str) -> Stored<Arc<[Listed]>> {
    disk.list(dir).map(|mut names| {
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        names.into()
    })
}
