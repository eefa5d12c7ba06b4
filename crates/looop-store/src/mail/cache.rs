//! Letters that were read before and have not changed since: a look reads what is new.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::forms::Found;
use crate::disk::Meta;

/// A file must have been left alone for this long before it was read, or a later change could show the same times.
const SETTLED_NS: i128 = 1_000_000_000;

/// Letters by path, with what was known of their files. The folder of a path says of which type its letter is.
type Known = HashMap<String, (Meta, Box<dyn Any + Send>)>;

/// Whole letters by path.
#[derive(Default)]
pub(crate) struct LetterCache {
    letters: Mutex<Known>,
}

impl LetterCache {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something is known of a path: only then it is worth to look at its file without reading it.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.lock().contains_key(path)
    }

    /// The letter of a file that is as it was when it was read.
    pub(super) fn get<T: Clone + 'static>(&self, path: &str, meta: &Meta) -> Option<Found<T>> {
        let letters = self.lock();
        let (known, letter) = letters.get(path)?;
        if known != meta {
            return None;
        }
        letter.downcast_ref::<Found<T>>().cloned()
    }

    /// Keeps a letter that was read.
    pub(super) fn keep<T: Clone + Send + 'static>(&self, path: &str, meta: Meta, letter: &Found<T>) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX));
        if now.saturating_sub(meta.changed.max(meta.modified)) >= SETTLED_NS {
            self.lock().insert(path.to_owned(), (meta, Box::new(letter.clone())));
        }
    }

    /// Forgets the letters of a folder that are not among these.
    pub(super) fn retain(&self, folder: &str, paths: &HashSet<String>) {
        let of_folder = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.lock().retain(|path, _| !of_folder(path) || paths.contains(path));
    }
}
