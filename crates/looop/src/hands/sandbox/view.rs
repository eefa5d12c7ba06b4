//! What is seen in the sandbox besides the machine's programs: a list. What is not in it is not there.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use super::confine::Confine;
use super::system;
use crate::hands::{environ, outputs};

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// This file or folder, which can be read.
    Read(PathBuf),
    /// This file or folder, which can be written.
    Write(PathBuf),
    /// A folder in memory of at most so many bytes, which ends with the sandbox.
    Private(u64),
    /// A folder in which nothing is but what else is listed.
    Empty,
    /// An empty file, where a shown folder has another.
    Masked,
}

/// All that is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// By real paths. Parents come before what is in them.
    pub(super) paths: BTreeMap<PathBuf, Sight>,
    /// Symlinks on the way to these, and where they lead.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// Whether it reaches the network.
    pub(super) net: bool,
    /// Whether it keeps its terminal.
    pub(super) terminal: bool,
}

/// What of a profile can be read.
const READABLE: [&str; 20] = [
    "PLAYBOOK.md",
    "answers",
    "asks",
    "box/refused.txt",
    "claims",
    "config.json",
    "config.toml",
    "goals",
    "journal.md",
    "log",
    "looop.json",
    "mail.d",
    "playbook.d",
    "policy.toml",
    "schedules",
    "sensors",
    "snapshots",
    "spend",
    "tells",
    "work",
];
/// What of a profile can be written, and where else it is found: what the profile has there is left to those who are not
/// confined.
const WRITABLE: [(&str, &str); 2] = [(outputs::SCRATCH, "scratch"), (outputs::REPORTS, "reports")];
/// Most bytes in `/tmp` and in the home.
const TEMP: u64 = 1 << 30;
const HOME: u64 = 512 << 20;
/// The folder of a home that is kept for the next command of the same goal. Nothing is mounted below it: bubblewrap would
/// follow a symlink there.
const CACHE: &str = ".cache";
/// Other folders of a home in which programs keep what they downloaded or built, and how they are called in the first.
const CACHES: [(&str, &str); 8] = [
    (".npm", "npm"),
    (".cargo/registry", "cargo-registry"),
    (".cargo/git", "cargo-git"),
    (".gradle/caches", "gradle"),
    (".m2/repository", "m2"),
    (".nuget", "nuget"),
    (".local/share/pnpm", "pnpm"),
    ("go/pkg", "go"),
];
/// Most symlinks on the way to a path.
const MOST_LINKS: usize = 40;

/// Works out what is seen.
pub(super) fn view(confine: &Confine, data: &Path) -> Result<View, String> {
    let mut view = View { net: confine.net, terminal: confine.session.is_some(), ..View::default() };
    let temp = Path::new("/tmp");
    view.paths.insert(temp.canonicalize().unwrap_or_else(|_| temp.to_owned()), Sight::Private(TEMP));
    view.links.insert("/var/tmp".into(), "/tmp".into());
    let home = std::env::home_dir().filter(|home| home.is_absolute() && home.parent().is_some());
    let home = home.map(|home| view.home(&home));
    let (named, data) = (data, real(data)?);
    for tool in &confine.tools {
        view.tool(tool, &[home.as_deref(), Some(&data)])?;
    }
    view.profile(named, &data)?;
    for path in &confine.read {
        view.show(path, Sight::Read);
    }
    for path in &confine.write {
        view.show(path, Sight::Write).ok_or_else(|| format!("{} is not there", path.display()))?;
    }
    for path in &confine.keep {
        view.show(path, Sight::Read);
    }
    if let Some(session) = &confine.session {
        // It is made after this and before the sandbox.
        let folder = data.join("sessions").join(session);
        view.paths.insert(folder.clone(), Sight::Read(folder));
    }
    if let Some(bin) = environ::bin() {
        view.show(&bin, Sight::Read);
    }
    if let (Some(home), Some(goal)) = (&home, &confine.goal) {
        view.caches(home, &data.join(outputs::HOMES).join(goal))?;
    }
    view.hide(&confine.hide);
    Ok(view)
}

fn real(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
}

impl View {
    /// Shows what is at a path, if anything is, there and at its real place.
    fn show(&mut self, path: &Path, sight: fn(PathBuf) -> Sight) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        self.paths.insert(real.clone(), sight(real.clone()));
        self.lead_to(path);
        Some(real)
    }

    /// Keeps the symlinks on the way to a path, so that it can be reached by its name.
    fn lead_to(&mut self, path: &Path) {
        let mut rest: Vec<std::ffi::OsString> = parts(path).rev().collect();
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            let Ok(target) = std::fs::read_link(&next) else {
                at = next;
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return;
            }
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            rest.extend(parts(&target).rev());
            self.links.insert(next, target);
        }
    }

    /// A home of its own, in which nothing is.
    fn home(&mut self, home: &Path) -> PathBuf {
        self.lead_to(home);
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        self.paths.insert(home.clone(), Sight::Private(HOME));
        home
    }

    /// A folder of programs that the person listed. One that holds the home or the profile would show all of it.
    fn tool(&mut self, tool: &Path, never: &[Option<&Path>]) -> Result<(), String> {
        let Ok(real) = tool.canonicalize() else { return Ok(()) };
        if never.iter().flatten().any(|path| path.starts_with(&real)) {
            return Err(format!(
                "sandbox_tools: {} holds your home or the profile; list a folder of programs",
                tool.display()
            ));
        }
        self.show(tool, Sight::Read);
        Ok(())
    }

    /// What is shown of the profile. Its sockets, its lock, and the sessions and briefs of others are not.
    fn profile(&mut self, named: &Path, data: &Path) -> Result<(), String> {
        outputs::make(data).map_err(|error| format!("{}: {error}", data.join("box").display()))?;
        self.lead_to(named);
        self.paths.insert(data.to_owned(), Sight::Empty);
        for name in READABLE {
            let path = data.join(name);
            match std::fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() || meta.is_file() => {
                    self.paths.insert(path.clone(), Sight::Read(path));
                }
                // A symlink of the person's leads to where it leads.
                Ok(_) => drop(self.show(&path, Sight::Read)),
                Err(_) => {}
            }
        }
        for (own, place) in WRITABLE {
            for path in [own, place] {
                self.paths.insert(data.join(path), Sight::Write(data.join(own)));
            }
        }
        Ok(())
    }

    /// Puts the kept folder where programs look for their caches, unless something else is shown there.
    fn caches(&mut self, home: &Path, kept: &Path) -> Result<(), String> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(kept);
        made.map_err(|error| format!("{} cannot be made: {error}", kept.display()))?;
        if self.is_taken(home, CACHE) {
            return Ok(());
        }
        self.paths.insert(home.join(CACHE), Sight::Write(kept.to_owned()));
        for (place, name) in
            CACHES.iter().filter(|(place, _)| !self.is_taken(home, place)).collect::<Vec<_>>()
        {
            match std::fs::DirBuilder::new().mode(0o700).create(kept.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(format!("{} cannot be made: {error}", kept.join(name).display()));
                }
                // What a command has put there instead is its own.
                Ok(()) | Err(_) => self.links.insert(home.join(place), home.join(CACHE).join(name)),
            };
        }
        Ok(())
    }

    /// Whether something is shown at a place in the home, or in it, or it is in something that is.
    fn is_taken(&self, home: &Path, place: &str) -> bool {
        let place = home.join(place);
        let is_in_the_way = |other: &PathBuf| {
            other != home
                && (other.starts_with(&place) || place.starts_with(other))
                && other.starts_with(home)
        };
        self.paths.keys().any(is_in_the_way) || self.links.keys().any(is_in_the_way)
    }

    /// Hides files that lie in a shown folder, and drops links that lie in one: they are there already.
    fn hide(&mut self, files: &[PathBuf]) {
        for file in files.iter().filter_map(|file| file.canonicalize().ok()) {
            if self.is_in_a_shown_folder(&file) || self.paths.contains_key(&file) {
                self.paths.insert(file, Sight::Masked);
            }
        }
        let there: Vec<PathBuf> =
            self.links.keys().filter(|link| self.is_in_a_shown_folder(link)).cloned().collect();
        self.links.retain(|link, _| !there.contains(link) && !self.paths.contains_key(link));
    }

    fn is_in_a_shown_folder(&self, path: &Path) -> bool {
        let nearest = path.ancestors().skip(1).find_map(|above| self.paths.get(above));
        match nearest {
            Some(Sight::Read(_) | Sight::Write(_)) => true,
            Some(Sight::Private(_) | Sight::Empty | Sight::Masked) => false,
            None => system::is_shown(path),
        }
    }
}

/// The names of a path, without its root.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = std::ffi::OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a profile, and its real path.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["goals", "sessions", "runs", "scratch", "reports", "undo.d", "strange"] {
            fs::create_dir_all(root.join("data").join(name)).unwrap();
        }
        for name in ["sock", "lock", "policy.toml", "secrets.env", "pulse.log"] {
            fs::write(root.join("data").join(name), "").unwrap();
        }
        (folder, root)
    }

    fn at(view: &View, path: &Path) -> Option<Sight> {
        view.paths.get(path).cloned()
    }

    #[test]
    fn of_a_profile_a_list_is_shown() {
        let (_folder, root) = place();
        let data = root.join("data");
        let seen = view(&Confine::default(), &data).unwrap();
        let read = |name: &str| Some(Sight::Read(data.join(name)));
        let write = |name: &str| Some(Sight::Write(data.join(name)));
        let table = [
            ("goals", read("goals")),
            ("policy.toml", read("policy.toml")),
            ("scratch", write("box/scratch")),
            ("reports", write("box/reports")),
            ("box/reports", write("box/reports")),
            ("box", None),
            ("sessions", None),
            ("runs", None),
            ("undo.d", None),
            ("sock", None),
            ("lock", None),
            ("pulse.log", None),
            ("secrets.env", None),
            ("strange", None),
        ];
        for (name, expected) in table {
            assert_eq!(at(&seen, &data.join(name)), expected, "{name}");
        }
        assert_eq!(at(&seen, &data), Some(Sight::Empty));
        assert!(!seen.net && !seen.terminal);
        let worker = Confine { session: Some("w~1".to_owned()), net: true, ..Confine::default() };
        let seen = view(&worker, &data).unwrap();
        assert_eq!(at(&seen, &data.join("sessions/w~1")), Some(Sight::Read(data.join("sessions/w~1"))));
        assert!(seen.net && seen.terminal);
    }

    #[test]
    fn what_is_listed_is_shown_by_its_name_and_at_its_real_place() {
        let (_folder, root) = place();
        for name in ["tools/bin", "work/deep"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("tools/token"), "").unwrap();
        symlink("tools", root.join("named")).unwrap();
        let confine = Confine {
            tools: vec![root.join("named"), root.join("absent")],
            read: vec![root.join("absent")],
            write: vec![root.join("work")],
            keep: vec![root.join("work/deep")],
            hide: vec![root.join("tools/token"), root.join("data/secrets.env")],
            ..Confine::default()
        };
        let seen = view(&confine, &root.join("data")).unwrap();
        assert_eq!(at(&seen, &root.join("tools")), Some(Sight::Read(root.join("tools"))));
        assert_eq!(seen.links.get(&root.join("named")), Some(&PathBuf::from("tools")));
        assert_eq!(at(&seen, &root.join("named")), None);
        assert_eq!(at(&seen, &root.join("absent")), None);
        assert_eq!(at(&seen, &root.join("work")), Some(Sight::Write(root.join("work"))));
        assert_eq!(at(&seen, &root.join("work/deep")), Some(Sight::Read(root.join("work/deep"))));
        assert_eq!(at(&seen, &root.join("tools/token")), Some(Sight::Masked));
        assert_eq!(at(&seen, &root.join("data/secrets.env")), None, "it is not shown anyway");
        let missing = Confine { write: vec![root.join("absent")], ..Confine::default() };
        assert!(view(&missing, &root.join("data")).unwrap_err().contains("absent is not there"));
    }

    #[test]
    fn a_folder_of_programs_that_holds_the_profile_or_the_home_is_refused() {
        let (_folder, root) = place();
        let home = std::env::home_dir().unwrap();
        for tool in [root.clone(), root.join("data"), home, PathBuf::from("/")] {
            let confine = Confine { tools: vec![tool.clone()], ..Confine::default() };
            let said = view(&confine, &root.join("data")).unwrap_err();
            assert!(said.contains("holds your home or the profile"), "{}: {said}", tool.display());
        }
    }

    #[test]
    fn caches_are_kept_where_nothing_else_is_shown() {
        let (_folder, root) = place();
        let (home, kept) = (root.join("home"), root.join("kept"));
        let mut seen = View::default();
        seen.paths.insert(root.clone(), Sight::Private(1));
        seen.paths.insert(home.clone(), Sight::Private(1));
        for tool in [".cargo/bin", "go/bin", ".m2"] {
            seen.paths.insert(home.join(tool), Sight::Read(home.join(tool)));
        }
        seen.caches(&home, &kept).unwrap();
        assert_eq!(at(&seen, &home.join(CACHE)), Some(Sight::Write(kept.clone())));
        for (place, name) in CACHES {
            let expected = place != ".m2/repository";
            let leads = seen.links.get(&home.join(place));
            assert_eq!(leads, expected.then(|| home.join(CACHE).join(name)).as_ref(), "{place}");
            assert_eq!(kept.join(name).is_dir(), expected, "{place}");
        }
        seen = View::default();
        seen.paths.insert(home.join(".cache/agent"), Sight::Write(home.join(".cache/agent")));
        seen.caches(&home, &kept).unwrap();
        assert_eq!((seen.paths.len(), seen.links.len()), (1, 0), "nothing is mounted below what is kept");
    }
}
