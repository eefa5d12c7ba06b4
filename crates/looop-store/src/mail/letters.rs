//! Reading all letters that wait.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use looop_core::bounds::{LETTERS, LETTERS_TOTAL};
use looop_core::model::letter::{Answer, Ask};
use looop_core::model::name::{is_name, shown};
use looop_core::world::observation::Letters;

use super::forms::{self, Found, Parse};
use super::settle::{ANSWER_KIND, ASK_KIND, SETTLED, letter_path};
use crate::dir::{Reader, TEXT_LIMIT};
use crate::disk::{Links, Stored, sorted};

pub(super) const ASKS: &str = "asks";
pub(super) const ANSWERS: &str = "answers";
pub(super) const TELLS: &str = "tells";
pub(super) const CLAIMS: &str = "claims";
pub(super) const SPEND: &str = "spend";

impl Reader {
    /// Every letter that waits, and what is in their folders and is none. An older looop left answered asks where they
    /// were; a pair that it wrote is history and not listed. An answer without its ask is listed: settle it.
    pub fn letters(&self) -> Letters {
        self.letters_listed(None)
    }

    /// The same at a moment in milliseconds since the epoch, for who looks again and again: a folder that has not changed
    /// since an earlier look is not listed again.
    pub fn letters_at(&self, wall: i64) -> Letters {
        self.letters_listed(Some(wall))
    }

    fn letters_listed(&self, wall: Option<i64>) -> Letters {
        let mut letters = self.asks_listed(wall);
        let plain = |(stem, found): (String, Found<_>)| (stem, found.letter);
        letters.claims =
            self.all((CLAIMS, wall), forms::claim, &mut letters.broken).into_iter().map(plain).collect();
        let plain = |(stem, found): (String, Found<_>)| (stem, found.letter);
        letters.tells =
            self.all((TELLS, wall), forms::tell, &mut letters.broken).into_iter().map(plain).collect();
        let plain = |(stem, found): (String, Found<_>)| (stem, found.letter);
        letters.expenses =
            self.all((SPEND, wall), forms::expense, &mut letters.broken).into_iter().map(plain).collect();
        letters
    }

    /// The same, asks and answers only.
    pub fn asks(&self) -> Letters {
        self.asks_listed(None)
    }

    fn asks_listed(&self, wall: Option<i64>) -> Letters {
        let mut letters = Letters::default();
        let mut older_asks = BTreeSet::new();
        for (stem, Found { letter, older }) in self.all((ASKS, wall), forms::ask, &mut letters.broken) {
            if older {
                older_asks.insert(stem.clone());
            }
            letters.asks.insert(stem, letter);
        }
        for (stem, Found { letter, older }) in self.all((ANSWERS, wall), forms::answer, &mut letters.broken) {
            if older && older_asks.contains(&stem) {
                letters.asks.remove(&stem);
            } else if !older || letters.asks.contains_key(&stem) {
                letters.answers.insert(stem, letter);
            }
        }
        letters
    }

    /// The ask with this id, answered or not.
    pub fn ask(&self, ask: &str) -> Stored<Ask> {
        if !is_name(ask) {
            return Stored::Absent;
        }
        self.stored(&letter_path(ASKS, ask), ask, forms::ask).map(|found| found.letter)
    }

    /// The answer of an ask that nobody has collected or settled yet.
    pub fn answer_of(&self, ask: &str) -> Stored<Answer> {
        if !is_name(ask) {
            return Stored::Absent;
        }
        self.stored(&letter_path(ANSWERS, ask), ask, forms::answer).map(|found| found.letter)
    }

    /// Whether an ask is there, answered or not. One that cannot be looked at is.
    pub fn is_asked(&self, ask: &str) -> bool {
        is_name(ask) && !self.disk().stat(&letter_path(ASKS, ask)).is_absent()
    }

    /// The answer of an ask that was collected or settled.
    pub fn settled_answer(&self, ask: &str) -> Stored<Answer> {
        if !is_name(ask) {
            return Stored::Absent;
        }
        let path = format!("{SETTLED}/{ask}.{ANSWER_KIND}.json");
        self.stored(&path, ask, forms::answer).map(|found| found.letter)
    }

    /// What a session asked and was told, as far as both letters were settled: the newest `most`, in the order in which
    /// they were asked.
    pub fn settled_of(&self, session: &str, worker: &str, most: usize) -> Vec<(Ask, Answer)> {
        let listed = self.disk().list(SETTLED).value().unwrap_or_default();
        let suffix = format!(".{ASK_KIND}.json");
        let stems = listed.iter().filter_map(|entry| entry.name.to_str()?.strip_suffix(&suffix));
        let own = |stem: &&str| {
            stem.strip_prefix(worker).is_some_and(|rest| rest.starts_with('-')) && is_name(stem)
        };
        let ask = |stem: &str| {
            let path = format!("{SETTLED}/{stem}{suffix}");
            let ask = self.stored(&path, stem, forms::ask).value()?.letter;
            Some((ask, self.settled_answer(stem).value()?))
        };
        let mut pairs: Vec<(Ask, Answer)> =
            stems.filter(own).filter_map(ask).filter(|(ask, _)| ask.from == session).collect();
        pairs.sort_by_key(|(ask, _)| ask.asked);
        let extra = pairs.len().saturating_sub(most);
        pairs.drain(..extra);
        pairs
    }

    /// The letters of a folder by their stems; the errors name the files. Of more than can be looked at, the folder
    /// itself is among the errors: what is not seen there is not gone. With a moment, a folder that has not changed since
    /// an earlier look is not listed again.
    pub(super) fn all<T: Clone + Send + 'static>(
        &self,
        (folder, wall): (&str, Option<i64>),
        parse: Parse<T>,
        broken: &mut Vec<(String, String)>,
    ) -> BTreeMap<String, Found<T>> {
        let stems = self.stems((folder, wall), broken);
        let found = stems.len();
        let mut all = BTreeMap::new();
        let (mut paths, mut bytes) = (HashSet::new(), 0);
        for stem in fair(stems) {
            let path = letter_path(folder, &stem);
            match self.read_once(&path, &stem, parse).known(&path) {
                Ok(None) => {}
                Ok(Some((letter, size))) => {
                    bytes += size;
                    if bytes > LETTERS_TOTAL {
                        break;
                    }
                    all.insert(stem, letter);
                }
                Err(error) => broken.push((path.clone(), error)),
            }
            paths.insert(path);
        }
        self.letter_cache().retain(folder, &paths);
        if bytes > LETTERS_TOTAL || found > LETTERS {
            let what = format!(
                "{folder} holds {found} letters, and {} are looked at (at most {LETTERS}, and {} MiB): remove some",
                all.len(),
                LETTERS_TOTAL >> 20
            );
            broken.push((folder.to_owned(), what));
        }
        all
    }

    /// Reads a letter that is new or has changed; gives it with the size of its file.
    fn read_once<T: Clone + Send + 'static>(
        &self,
        path: &str,
        stem: &str,
        parse: Parse<T>,
    ) -> Stored<(Found<T>, u64)> {
        let cache = self.letter_cache();
        if cache.knows(path)
            && let Stored::Value(meta) = self.disk().stat(path)
            && let Some(found) = cache.get(path, &meta)
        {
            return Stored::Value((found, meta.size));
        }
        self.disk().read(path, TEXT_LIMIT, Links::Refuse).and_then(|content| {
            match parse(stem, &content.bytes) {
                Ok(found) => {
                    cache.keep(path, content.meta, &found);
                    Stored::Value((found, content.meta.size))
                }
                Err(what) => Stored::Corrupt(what),
            }
        })
    }

    /// Reads one letter; the error names the file.
    pub(super) fn letter<T>(
        &self,
        folder: &str,
        stem: &str,
        parse: Parse<T>,
    ) -> Result<Option<Found<T>>, String> {
        let path = letter_path(folder, stem);
        self.stored(&path, stem, parse).known(&path)
    }

    /// Reads one letter of that stem at a path.
    pub(super) fn stored<T>(&self, path: &str, stem: &str, parse: Parse<T>) -> Stored<Found<T>> {
        let read = self.disk().read(path, TEXT_LIMIT, Links::Refuse);
        read.and_then(|content| match parse(stem, &content.bytes) {
            Ok(found) => Stored::Value(found),
            Err(what) => Stored::Corrupt(what),
        })
    }

    /// The stems of a folder's letters, sorted.
    fn stems(&self, (folder, wall): (&str, Option<i64>), broken: &mut Vec<(String, String)>) -> Vec<String> {
        let listed = match wall {
            Some(wall) => self.letter_cache().list(self.disk(), folder, wall),
            None => sorted(self.disk(), folder),
        };
        let listed = match listed.known(folder) {
            Ok(listed) => listed.unwrap_or_default(),
            Err(error) => {
                broken.push((folder.to_owned(), error));
                Arc::default()
            }
        };
        let mut stems = Vec::new();
        for entry in listed.iter() {
            let name = entry.name.to_string_lossy();
            let Some(stem) = name.strip_suffix(".json").filter(|_| !name.starts_with('.')) else { continue };
            if is_name(stem) {
                stems.push(stem.to_owned());
            } else {
                let path = format!("{folder}/{}", shown(&name));
                broken.push((path.clone(), format!("{path} has a name that cannot be used")));
            }
        }
        stems.sort_unstable();
        stems
    }
}

/// Of too many letters, the loop's own and then the oldest of each worker in turn: a flood of one does not hide the others.
fn fair(mut stems: Vec<String>) -> Vec<String> {
    if stems.len() <= LETTERS {
        return stems;
    }
    let worker = |stem: &String| stem.rsplit_once('-').map_or("", |(worker, _)| worker).to_owned();
    stems.sort_unstable_by_key(|stem| (stem.len(), stem.clone()));
    let mut turns: BTreeMap<String, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, String)> = stems
        .into_iter()
        .map(|stem| {
            let turn = turns.entry(worker(&stem)).or_default();
            *turn += 1;
            (if stem.starts_with("ask-") { 0 } else { *turn }, stem)
        })
        .collect();
    ranked.sort();
    ranked.truncate(LETTERS);
    ranked.into_iter().map(|(_, stem)| stem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_worker_does_not_hide_the_others() {
        let flood = (1..=3 * LETTERS).map(|n| format!("a-{n}"));
        let all: Vec<String> =
            flood.chain((1..=5).flat_map(|n| [format!("z-{n}"), format!("ask-{n}")])).collect();
        let chosen = fair(all);
        assert_eq!(chosen.len(), LETTERS);
        for n in 1..=5 {
            assert!(chosen.contains(&format!("z-{n}")) && chosen.contains(&format!("ask-{n}")), "{n}");
        }
        assert!(chosen.contains(&"a-1".to_owned()) && !chosen.contains(&format!("a-{}", 3 * LETTERS)));
    }
}
