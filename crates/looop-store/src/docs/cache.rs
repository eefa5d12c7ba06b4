//! What was read before and has not changed since.

use std::collections::HashMap;
use std::sync::Arc;

use looop_core::model::digest::Digest;

use crate::dir::{Reader, Unsafe};
use crate::disk::{Links, Listed, Listings, Meta, Stored};

/// Files and folders of the last scans, kept by whoever scans again and again. An empty one is always right.
#[derive(Debug, Default)]
pub struct DocsCache {
    files: HashMap<String, Cached>,
    folders: Listings,
    round: u64,
}

#[derive(Debug)]
struct Cached {
    meta: Meta,
    file: Whole,
    round: u64,
}

/// A file that could be read.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: Digest,
    pub(super) meta: Meta,
}

/// One scan's access to files.
pub(super) struct Pass<'a> {
    pub(super) reader: &'a Reader,
    cache: &'a mut DocsCache,
    wall: i64,
}

impl<'a> Pass<'a> {
    /// Begins a scan at a moment in milliseconds since the epoch.
    pub(super) fn begin(reader: &'a Reader, cache: &'a mut DocsCache, wall: i64) -> Self {
        cache.round += 1;
        Self { reader, cache, wall }
    }

    /// The names in a folder, sorted.
    pub(super) fn list(&mut self, dir: &str) -> Stored<Arc<[Listed]>> {
        self.cache.folders.list(self.reader.disk(), dir, self.wall)
    }

    /// Reads a file that must belong to us and be writable by nobody else, or takes it from the cache.
    pub(super) fn read(&mut self, path: &str, limit: u64) -> Stored<Whole> {
        if let Some(whole) = self.unchanged(path) {
            return Stored::Value(whole);
        }
        let read = self.reader.disk().read(path, limit, Links::Inside);
        let whole = read.and_then(|content| {
            if let Some(found) = crate::dir::judge(self.reader.root(), path, &content.meta) {
                return Stored::Unreadable(refused(&found));
            }
            let digest = Digest::of(&content.bytes);
            Stored::Value(Whole { bytes: content.bytes, digest, meta: content.meta })
        });
        whole.map(|whole| {
            self.keep(path, &whole);
            whole
        })
    }

    fn unchanged(&mut self, path: &str) -> Option<Whole> {
        let cached = self.cache.files.get_mut(path)?;
        let Stored::Value(meta) = self.reader.disk().stat(path) else { return None };
        // A link never equals the file that it leads to, so what it leads to is read each time.
        if meta != cached.meta {
            return None;
        }
        cached.round = self.cache.round;
        Some(cached.file.clone())
    }

    fn keep(&mut self, path: &str, whole: &Whole) {
        if whole.meta.is_settled(self.wall) {
            let cached = Cached { meta: whole.meta, file: whole.clone(), round: self.cache.round };
            self.cache.files.insert(path.to_owned(), cached);
        } else {
            self.cache.files.remove(path);
        }
    }

    /// Forgets the files that this scan did not meet.
    pub(super) fn end(self) {
        let round = self.cache.round;
        self.cache.files.retain(|_, cached| cached.round == round);
    }
}

fn refused(found: &Unsafe) -> std::io::Error {
    std::io::Error::other(format!("it {}; mend it with: {}", found.what, found.fix))
}
