//! One pass over the policy files.

use std::collections::BTreeMap;
use std::sync::Arc;

use looop_core::bounds::ODD;
use looop_core::world::observation::{Doc, Docs};

use super::cache::{DocsCache, Pass, Whole};
use super::sensors::Sensor;
use super::{goals, schedules, sensors};
use crate::dir::{Reader, TEXT_LIMIT};
use crate::disk::{Listed, Stored};

/// What a pass over the policy files found.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// The files, as the study wants them.
    pub docs: Docs,
    /// Every sensor by stem, with what is needed to run it or the reason why it cannot run.
    pub sensors: BTreeMap<String, Sensor>,
    /// Files in `sensors/` and `schedules/` whose names cannot be used, escaped for printing.
    pub odd: Vec<String>,
    /// Folders that cannot be listed. If there is one, what the scan holds is not the whole world: nothing may be
    /// decided upon it.
    pub broken: Vec<String>,
}

impl Reader {
    /// Reads all policy files in one pass. Files that did not change since an earlier pass with the same cache are not
    /// read again. `wall` is the present moment in milliseconds since the epoch.
    pub fn scan(&self, cache: &mut DocsCache, wall: i64) -> Scan {
        let mut pass = Pass::begin(self, cache, wall);
        let mut scan = Scan::default();
        scan.docs.playbook = doc("PLAYBOOK.md", pass.read("PLAYBOOK.md", TEXT_LIMIT));
        goals::scan(&mut pass, &mut scan);
        sensors::scan(&mut pass, &mut scan);
        schedules::scan(&mut pass, &mut scan);
        pass.end();
        scan
    }

    /// Some of the policy files, by their paths below the profile. What is not among them is absent, whether it is there
    /// or not.
    pub fn docs_at<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Docs {
        let mut cache = DocsCache::default();
        // Nothing is read twice, so nothing is worth keeping.
        let mut pass = Pass::begin(self, &mut cache, 0);
        let mut docs = Docs::default();
        for path in paths {
            match path.split_once('/') {
                None => docs.playbook = doc(path, pass.read(path, TEXT_LIMIT)),
                Some(("goals", file)) => {
                    let id = file.strip_suffix(".md").unwrap_or(file);
                    docs.goals.insert(id.to_owned(), doc(path, pass.read(path, TEXT_LIMIT)));
                }
                Some(("schedules", file)) => {
                    let name = file.strip_suffix(".json").unwrap_or(file);
                    docs.schedules
                        .extend(schedules::look(&mut pass, name).map(|found| (name.to_owned(), found)));
                }
                Some(("sensors", file)) => {
                    let kind = self.disk().stat(path).value().map(|meta| meta.kind);
                    let found = kind.and_then(|kind| sensors::look(&mut pass, file, kind));
                    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
                    docs.sensors.extend(found.map(|(_, found)| (stem.to_owned(), found)));
                }
                Some(_) => {}
            }
        }
        docs
    }
}

/// A folder's names, sorted; a folder that is absent is empty, one that cannot be listed is reported.
pub(super) fn listed(pass: &mut Pass<'_>, dir: &str, broken: &mut Vec<String>) -> Arc<[Listed]> {
    match pass.list(dir).known(dir) {
        Ok(listed) => listed.unwrap_or_default(),
        Err(error) => {
            broken.push(error);
            Arc::default()
        }
    }
}

/// What a folder holds that can be looked at, in the order of the names. What is beyond the bound is said.
pub(super) fn within<'l>(
    listed: &'l [Listed],
    dir: &str,
    (end, most): (&str, usize),
    odd: &mut Vec<String>,
) -> Vec<&'l Listed> {
    let usable = |entry: &&Listed| {
        let name = entry.name.as_encoded_bytes();
        name.ends_with(end.as_bytes()) && !name.starts_with(b".")
    };
    let mut all: Vec<&Listed> = listed.iter().filter(usable).collect();
    if all.len() > most {
        odd.push(format!("{dir}/: {} files beyond the first {most} are not looked at", all.len() - most));
        all.truncate(most);
    }
    all
}

/// Lists names that cannot be used, as far as anybody would read them.
pub(super) fn shortened(odd: &mut Vec<String>) {
    odd.sort_unstable();
    let more = odd.len().saturating_sub(ODD);
    odd.truncate(ODD);
    if more > 0 {
        odd.push(format!("and {more} more"));
    }
}

/// A text file as a document.
pub(super) fn doc(path: &str, stored: Stored<Whole>) -> Doc {
    match stored.known(path) {
        Ok(None) => Doc::Absent,
        Ok(Some(whole)) => match String::from_utf8(whole.bytes) {
            Ok(text) => Doc::Text { text, digest: whole.digest },
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                Doc::Broken { error: format!("{path} is not UTF-8 (byte {})", at + 1) }
            }
        },
        Err(error) => Doc::Broken { error },
    }
}
