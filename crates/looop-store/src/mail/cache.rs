//! Letters that were read before and have not changed since: a look reads what is new.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::forms::Found;
use crate::disk::{Disk, Listed, Listings, Meta, Stored};

/// Letters by path. The folder of a path says of which type its letter is.
type Known = HashMap<String, Kept>;

/// A letter, and what was known of its file when it was read.
struct Kept {
    meta: Meta,
    letter: Box<dyn Any + Send>,
    /// Whether it was read twice with the same times. A file that is changed right after it was first read may show the
    /// times from before.
    settled: bool,
}

/// Whole letters by path, and the folders that they are in.
#[derive(Default)]
pub(crate) struct LetterCache {
    letters: Mutex<Known>,
    folders: Mutex<Listings>,
    own: Mutex<()>,
}

impl LetterCache {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while the loop writes a letter of its own, for which it takes no lock of a folder, and while what interrupted
    /// writes have left is swept.
    pub(crate) fn own(&self) -> MutexGuard<'_, ()> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names in a folder, sorted, at a moment in milliseconds since the epoch.
    pub(super) fn list(&self, disk: &dyn Disk, folder: &str, wall: i64) -> Stored<Arc<[Listed]>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).list(disk, folder, wall)
    }

    /// Whether it is worth to look at a file without reading it.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.lock().get(path).is_some_and(|kept| kept.settled)
    }

    /// The letter of a file that is as it was when it was read.
    pub(super) fn get<T: Clone + 'static>(&self, path: &str, meta: &Meta) -> Option<Found<T>> {
        let letters = self.lock();
        let kept = letters.get(path).filter(|kept| kept.settled && kept.meta == *meta)?;
        kept.letter.downcast_ref::<Found<T>>().cloned()
    }

    /// Keeps a letter that was read.
    pub(super) fn keep<T: Clone + Send + 'static>(&self, path: &str, meta: Meta, letter: &Found<T>) {
        let mut letters = self.lock();
        let settled = letters.get(path).is_some_and(|kept| kept.meta == meta);
        letters.insert(path.to_owned(), Kept { meta, letter: Box::new(letter.clone()), settled });
    }

    /// Forgets the letters of a folder that are not among these.
    pub(super) fn retain(&self, folder: &str, paths: &HashSet<String>) {
        let of_folder = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.lock().retain(|path, _| !of_folder(path) || paths.contains(path));
    }
}
