//! Landlock: the kernel refuses to this process, and to all that come of it, what is not listed.
//!
//! There is no "everything except": beside each hidden path its siblings are listed. A listing covers what is below it,
//! so that the names in hidden folders can be seen, and nothing more of them.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::plan::{Plan, Sight};

/// The newest rules that we know. An older kernel enforces those that it knows.
const NEWEST: ABI = ABI::V9;
/// Most paths that are listed; what is beyond cannot be reached.
const MOST: usize = 8192;
/// Devices that every program may use.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Restricts this thread, and gives the version that the kernel enforces.
pub(super) fn restrict(plan: &Plan) -> Result<u32, String> {
    drop_powers().map_err(|error| format!("its powers cannot be dropped: {error}"))?;
    let ruleset = ruleset(plan.net).map_err(|error| error.to_string())?;
    let status =
        Lister { ruleset, left: MOST }.list(plan)?.restrict_self().map_err(|error| error.to_string())?;
    enforced(&status)
}

fn ruleset(net: bool) -> Result<RulesetCreated, landlock::RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
    let ruleset = ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if net { ruleset.create() } else { ruleset.handle_access(AccessNet::from_all(NEWEST))?.create() }
}

/// The version that is enforced. One that lets files be cut short does not keep them as they are.
fn enforced(status: &RestrictionStatus) -> Result<u32, String> {
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err("this kernel has no Landlock, or it is switched off".to_owned());
    };
    let version = effective_abi as u32;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs || version < 3 {
        return Err(format!("this kernel's Landlock (version {version}) is too old"));
    }
    Ok(version)
}

/// Root without its powers can do what its files let it do, and no more; `execve` does not give them back, since no new
/// privileges can be got.
fn drop_powers() -> rustix::io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
    set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Whether it works, tried out in a thread that ends at once: a restriction is a thread's own.
pub(super) fn probe() -> Result<u32, String> {
    let plan = Plan::default();
    let tried = std::thread::Builder::new().name("landlock".to_owned()).spawn(move || restrict(&plan));
    let tried = tried.map_err(|error| format!("a thread cannot be started: {error}"))?;
    tried.join().unwrap_or_else(|_| Err("the probe failed".to_owned()))
}

/// Lists what is shown.
struct Lister {
    ruleset: RulesetCreated,
    left: usize,
}

impl Lister {
    fn list(mut self, plan: &Plan) -> Result<RulesetCreated, String> {
        self.add(Path::new("/"), AccessFs::ReadDir.into())?;
        self.show(plan, Path::new("/"), Sight::Read)?;
        for (path, sight) in &plan.paths {
            if !matches!(sight, Sight::Hidden | Sight::Private) {
                self.show(plan, path, *sight)?;
            }
        }
        for device in DEVICES {
            self.add(Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)?;
        }
        Ok(self.ruleset)
    }

    /// Shows a path, but for what is hidden below it.
    fn show(&mut self, plan: &Plan, path: &Path, sight: Sight) -> Result<(), String> {
        let hides = |(below, sight): (&PathBuf, &Sight)| {
            matches!(sight, Sight::Hidden | Sight::Private) && below != path && below.starts_with(path)
        };
        if !plan.paths.iter().any(hides) {
            return self.add(path, access(sight));
        }
        let Ok(entries) = std::fs::read_dir(path) else { return Ok(()) };
        for entry in entries.flatten() {
            // A link leads to where it leads: what is there has rules of its own.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link && !plan.paths.contains_key(&entry.path()) {
                self.show(plan, &entry.path(), sight)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        // What is not there, or cannot be reached, needs no rule.
        let Ok(opened) = PathFd::new(path) else { return Ok(()) };
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        let added = (&mut self.ruleset).add_rule(PathBeneath::new(opened, access));
        added.map(drop).map_err(|error| format!("{}: {error}", path.display()))
    }
}

fn access(sight: Sight) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    match sight {
        Sight::Hidden | Sight::Private => BitFlags::empty(),
        Sight::Read => read,
        Sight::Talk => read | AccessFs::ResolveUnix,
        Sight::Write => AccessFs::from_all(NEWEST),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// What a thread that is restricted can do: read a granted file, read one beside it, write, reach a listener.
    fn can(root: &Path, keys: Sight, net: bool, port: u16) -> Option<[bool; 4]> {
        let path = |name: &str| root.join(name);
        let paths = [(path("keys"), keys), (path("keys/granted"), Sight::Read), (path("open"), Sight::Write)];
        let plan = Plan { paths: paths.into(), net, ..Plan::default() };
        let root = root.to_owned();
        let tried = std::thread::spawn(move || {
            if restrict(&plan).is_err() {
                return None;
            }
            let read = |name: &str| std::fs::read(root.join(name)).is_ok();
            assert!(std::fs::write(root.join("open/new"), "").is_ok());
            Some([
                read("keys/granted"),
                read("keys/secret"),
                std::fs::write(root.join("beside"), "").is_ok(),
                TcpStream::connect(("127.0.0.1", port)).is_ok(),
            ])
        });
        tried.join().unwrap()
    }

    #[test]
    fn what_is_granted_is_given_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["keys", "open"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["keys/granted", "keys/secret", "beside"] {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let version = match probe() {
            Ok(version) => version,
            Err(why) => {
                assert!(std::env::var_os("LOOOP_TEST_ALL").is_none(), "Landlock does not work here: {why:?}");
                return;
            }
        };
        for keys in [Sight::Hidden, Sight::Private] {
            assert_eq!(can(&root, keys, false, port), Some([true, false, false, version < 4]), "{keys:?}");
            assert_eq!(can(&root, keys, true, port), Some([true, false, false, true]), "{keys:?}");
        }
    }
}
