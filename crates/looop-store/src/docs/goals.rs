//! Goals: `goals/<id>.md`, and the archive's stems.

use looop_core::bounds::{GOALS, GOALS_TOTAL};
use looop_core::model::name::{is_name, shown};
use looop_core::world::observation::Doc;

use super::cache::Pass;
use super::scan::{Scan, doc, listed, shortened, within};
use crate::dir::TEXT_LIMIT;

pub(super) fn scan(pass: &mut Pass<'_>, scan: &mut Scan) {
    let mut bytes = 0;
    let goals = listed(pass, "goals", &mut scan.broken);
    for entry in within(&goals, "goals", (".md", GOALS), &mut scan.odd) {
        let name = entry.name.to_string_lossy();
        let Some(id) = name.strip_suffix(".md") else { continue };
        if !is_name(id) {
            scan.docs.odd.push(shown(&name));
            continue;
        }
        let path = format!("goals/{name}");
        let found = if bytes > GOALS_TOTAL {
            Doc::Broken {
                error: format!("{path} is not read: the goals before it have over {} MiB", GOALS_TOTAL >> 20),
            }
        } else {
            doc(&path, pass.read(&path, TEXT_LIMIT))
        };
        bytes += found.text().map_or(0, |text| text.len() as u64);
        // A goal that went away between the listing and the reading is simply gone.
        if found != Doc::Absent {
            scan.docs.goals.insert(id.to_owned(), found);
        }
    }
    for entry in listed(pass, "goals/archive", &mut scan.broken).iter() {
        if let Some(stem) = entry.name.to_str().and_then(|name| name.strip_suffix(".md")) {
            scan.docs.archive.push(stem.to_owned());
        }
    }
    shortened(&mut scan.docs.odd);
    scan.docs.archive.sort_unstable();
}
