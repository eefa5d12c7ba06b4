//! Reading all letters that wait.

use std::collections::BTreeSet;

use looop_core::model::name::{is_name, shown};
use looop_core::world::observation::Letters;

use super::forms::{self, Found};
use crate::dir::{Reader, TEXT_LIMIT};
use crate::disk::{Links, Stored};

pub(super) const ASKS: &str = "asks";
pub(super) const ANSWERS: &str = "answers";

impl Reader {
    /// Every ask and answer, and what is in their folders and is none. An older looop left answered asks where they
    /// were; a pair that it wrote is history and not listed. An answer without its ask is listed: settle it.
    pub fn letters(&self) -> Letters {
        let mut letters = Letters::default();
        let mut older_asks = BTreeSet::new();
        for stem in self.stems(ASKS, &mut letters.broken) {
            match self.letter(ASKS, &stem, forms::ask) {
                Ok(None) => {}
                Ok(Some(Found { letter, older })) => {
                    if older {
                        older_asks.insert(stem.clone());
                    }
                    letters.asks.insert(stem, letter);
                }
                Err(error) => letters.broken.push((format!("{ASKS}/{stem}.json"), error)),
            }
        }
        for stem in self.stems(ANSWERS, &mut letters.broken) {
            match self.letter(ANSWERS, &stem, forms::answer) {
                Ok(None) => {}
                Ok(Some(Found { older: true, .. })) if !letters.asks.contains_key(&stem) => {}
                Ok(Some(Found { older: true, .. })) if older_asks.contains(&stem) => {
                    letters.asks.remove(&stem);
                }
                Ok(Some(Found { letter, .. })) => {
                    letters.answers.insert(stem, letter);
                }
                Err(error) => letters.broken.push((format!("{ANSWERS}/{stem}.json"), error)),
            }
        }
        letters
    }

    /// Reads one letter; the error names the file.
    pub(super) fn letter<T>(
        &self,
        folder: &str,
        stem: &str,
        parse: fn(&str, &[u8]) -> Result<Found<T>, String>,
    ) -> Result<Option<Found<T>>, String> {
        let path = format!("{folder}/{stem}.json");
        let read = self.disk().read(&path, TEXT_LIMIT, Links::Refuse);
        let found = read.and_then(|content| match parse(stem, &content.bytes) {
            Ok(found) => Stored::Value(found),
            Err(what) => Stored::Corrupt(what),
        });
        found.known(&path)
    }

    fn stems(&self, folder: &str, broken: &mut Vec<(String, String)>) -> Vec<String> {
        let listed = match self.disk().list(folder).known(folder) {
            Ok(listed) => listed.unwrap_or_default(),
            Err(error) => {
                broken.push((folder.to_owned(), error));
                Vec::new()
            }
        };
        let mut stems = Vec::new();
        for entry in listed {
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
