//! Which paths are shown, hidden and writable: the same for every means.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::confine::Confine;
use super::secrets;
use crate::hands::{environ, outputs};

/// What becomes of a path, and of all below it that has no word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sight {
    /// It is not there.
    Hidden,
    /// It is an empty folder of one's own, as far as the means can make one.
    Private,
    /// It can be read.
    Read,
    /// It can be read and connected to.
    Talk,
    /// It can be written.
    Write,
}

/// A whole plan. What is not named can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Parents come before what is in them.
    pub(super) paths: BTreeMap<PathBuf, Sight>,
    /// What is found at a path instead of what is there, where the means can do that.
    #[serde(default)]
    pub(super) instead: BTreeMap<PathBuf, PathBuf>,
    /// Whether it reaches the network.
    pub(super) net: bool,
    /// Whether it keeps its terminal.
    pub(super) terminal: bool,
}

/// What of a profile is never shown: the doors of the lock holder, the sessions of others, briefs.
const DOORS: [&str; 4] = ["sock", "lock", "sessions", "runs"];
/// What everything confined may write, and where else it finds that, as far as the means can put it there: what the
/// profile has in its place is left to those who are not confined.
const WRITABLE: [(&str, &str); 2] = [(outputs::SCRATCH, "scratch"), (outputs::REPORTS, "reports")];
/// Places where programs leave things for each other.
const SHARED: [&str; 3] = ["/tmp", "/run", "/var/run"];
/// Most entries of a profile that are shown.
const MOST: usize = 1000;

/// Works out a plan.
pub(super) fn plan(confine: &Confine, data: &Path) -> Result<Plan, String> {
    let data = data.canonicalize().map_err(|error| format!("{} cannot be found: {error}", data.display()))?;
    let mut paths = BTreeMap::new();
    for shared in SHARED.iter().filter_map(|path| Path::new(path).canonicalize().ok()) {
        let sight = if shared == Path::new("/tmp") { Sight::Private } else { Sight::Hidden };
        paths.insert(shared, sight);
    }
    show_again(&mut paths, confine.net);
    let hidden =
        secrets::secrets().into_iter().chain(confine.hide.iter().filter_map(|path| path.canonicalize().ok()));
    paths.extend(hidden.map(|path| (path, Sight::Hidden)));
    outputs::make(&data).map_err(|error| format!("{}: {error}", data.join("box").display()))?;
    profile(&mut paths, &data).map_err(|error| format!("{} cannot be read: {error}", data.display()))?;
    paths.extend(confine.read.iter().filter_map(|path| Some((path.canonicalize().ok()?, Sight::Read))));
    for path in &confine.write {
        let found =
            path.canonicalize().map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        paths.insert(found, Sight::Write);
    }
    paths.extend(confine.keep.iter().filter_map(|path| Some((path.canonicalize().ok()?, Sight::Read))));
    if let Some(session) = &confine.session {
        paths.insert(data.join("sessions").join(session), Sight::Talk);
    }
    if let Some(bin) = environ::bin().filter(|bin| is_covered(&paths, bin)) {
        paths.insert(bin, Sight::Read);
    }
    let instead = WRITABLE.map(|(own, place)| (data.join(place), data.join(own)));
    let instead = instead.into_iter().filter(|(place, _)| paths.contains_key(place)).collect();
    Ok(Plan { paths, instead, net: confine.net, terminal: confine.session.is_some() })
}

/// What lies in a shared place and is needed all the same: a home, programs on the PATH, the names of servers.
fn show_again(paths: &mut BTreeMap<PathBuf, Sight>, net: bool) {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).filter(|folder| folder.is_absolute() && folder.is_dir());
    let names = net.then(|| Path::new("/etc/resolv.conf").canonicalize().ok()).flatten();
    let wanted: Vec<PathBuf> = home.into_iter().chain(programs).chain(names).collect();
    for path in wanted {
        if is_covered(paths, &path) {
            paths.insert(path, Sight::Read);
        }
    }
}

/// Whether a path lies below something that is hidden, and is not itself named.
fn is_covered(paths: &BTreeMap<PathBuf, Sight>, path: &Path) -> bool {
    let mut above = path.ancestors().skip(1).filter_map(|above| paths.get(above));
    !paths.contains_key(path) && matches!(above.next(), Some(Sight::Hidden | Sight::Private))
}

/// A profile is hidden, and each of its entries is shown again as it may be. A file of the profile that comes later is
/// not seen, so that a socket that is bound anew is not either.
fn profile(paths: &mut BTreeMap<PathBuf, Sight>, data: &Path) -> io::Result<()> {
    let hidden: Vec<PathBuf> = paths.keys().filter(|path| path.parent() == Some(data)).cloned().collect();
    paths.insert(data.to_owned(), Sight::Hidden);
    for entry in std::fs::read_dir(data)?.take(MOST) {
        let entry = entry?;
        let name = entry.file_name();
        let is = |names: &[&str]| names.iter().any(|known| name == *known);
        if is(&DOORS) || hidden.contains(&entry.path()) || name.as_encoded_bytes().starts_with(b"pulse.log") {
            continue;
        }
        let kind = entry.file_type()?;
        if !kind.is_dir() && !kind.is_file() {
            continue;
        }
        paths.insert(entry.path(), Sight::Read);
    }
    paths.extend(WRITABLE.map(|(own, _)| (data.join(own), Sight::Write)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["scratch", "reports", "goals", "answers", "sessions", "runs"] {
            std::fs::create_dir_all(folder.path().join("data").join(name)).unwrap();
        }
        for name in ["sock", "lock", "policy.toml", "secrets.env"] {
            std::fs::write(folder.path().join("data").join(name), "").unwrap();
        }
        std::fs::create_dir_all(folder.path().join("keys/granted")).unwrap();
        folder
    }

    #[test]
    fn a_profile_is_shown_entry_by_entry() {
        let folder = profile();
        let root = folder.path().canonicalize().unwrap();
        let data = root.join("data");
        let confine = Confine { hide: vec![data.join("secrets.env")], ..Confine::default() };
        let plan = plan(&confine, &data).unwrap();
        let sight = |name: &str| plan.paths.get(&data.join(name)).copied();
        let table = [
            ("", Some(Sight::Hidden)),
            ("scratch", Some(Sight::Read)),
            ("reports", Some(Sight::Read)),
            ("box", Some(Sight::Read)),
            ("box/scratch", Some(Sight::Write)),
            ("box/reports", Some(Sight::Write)),
            ("goals", Some(Sight::Read)),
            ("answers", Some(Sight::Read)),
            ("policy.toml", Some(Sight::Read)),
            ("secrets.env", Some(Sight::Hidden)),
            ("sessions", None),
            ("runs", None),
            ("sock", None),
            ("lock", None),
        ];
        for (name, expected) in table {
            let found = if name.is_empty() { plan.paths.get(&data).copied() } else { sight(name) };
            assert_eq!(found, expected, "{name}");
        }
        assert!(!plan.net && !plan.terminal);
        let worker = Confine { session: Some("w~1".to_owned()), net: true, ..Confine::default() };
        let plan = super::plan(&worker, &data).unwrap();
        assert_eq!(plan.paths.get(&data.join("sessions/w~1")), Some(&Sight::Talk));
        assert!(plan.net && plan.terminal);
    }

    #[test]
    fn what_is_granted_is_shown_and_nothing_beside_it() {
        let folder = profile();
        let root = folder.path().canonicalize().unwrap();
        let (keys, granted) = (root.join("keys"), root.join("keys/granted"));
        let confine = Confine {
            hide: vec![keys.clone()],
            read: vec![granted.clone(), root.join("absent")],
            write: vec![root.join("data/goals")],
            keep: vec![root.join("data/goals/none")],
            ..Confine::default()
        };
        let plan = plan(&confine, &root.join("data")).unwrap();
        let sight = |path: &Path| plan.paths.get(path).copied();
        assert_eq!((sight(&keys), sight(&granted)), (Some(Sight::Hidden), Some(Sight::Read)));
        assert_eq!(sight(&root.join("absent")), None);
        assert_eq!(sight(&root.join("data/goals")), Some(Sight::Write));
        let missing = Confine { write: vec![root.join("absent")], ..Confine::default() };
        assert!(super::plan(&missing, &root.join("data")).unwrap_err().contains("absent cannot be written"));
    }
}
