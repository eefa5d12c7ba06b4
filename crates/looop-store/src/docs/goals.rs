//! Goals: `goals/<id>.md`, and the archive's stems.

use looop_core::model::name::{is_name, shown};
use looop_core::world::observation::Doc;

use super::cache::Pass;
use super::scan::{Scan, doc, listed};
use crate::dir::TEXT_LIMIT;

pub(super) fn scan(pass: &mut Pass<'_>, scan: &mut Scan) {
    for entry in listed(pass, "goals", &mut scan.broken) {
        let name = entry.name.to_string_lossy();
        let Some(id) = name.strip_suffix(".md").filter(|_| !name.starts_with('.')) else { continue };
        if !is_name(id) {
            scan.docs.odd.push(shown(&name));
            continue;
        }
        let path = format!("goals/{name}");
        let found = doc(&path, pass.read(&path, TEXT_LIMIT));
        // A goal that went away between the listing and the reading is simply gone.
        if found != Doc::Absent {
            scan.docs.goals.insert(id.to_owned(), found);
        }
    }
    for entry in listed(pass, "goals/archive", &mut scan.broken) {
        if let Some(stem) = entry.name.to_str().and_then(|name| name.strip_suffix(".md")) {
            scan.docs.archive.push(stem.to_owned());
        }
    }
    scan.docs.odd.sort_unstable();
    scan.docs.archive.sort_unstable();
}
