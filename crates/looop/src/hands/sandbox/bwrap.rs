//! bubblewrap: a file system, a process table and a network of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::plan::{Plan, Sight};

/// A `bwrap` that works here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bwrap {
    /// The program.
    pub(super) program: PathBuf,
    /// How it gets the power to do what it does.
    pub(super) users: Users,
}

/// Whether it works in a user namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Users {
    /// In one in which no other can be made.
    Shut,
    /// In one.
    Own,
    /// With the power of root.
    Root,
}

impl Users {
    /// From the strictest to the laxest.
    pub(super) const ALL: [Self; 3] = [Self::Shut, Self::Own, Self::Root];

    /// An agent may want a sandbox of its own, for which it needs further namespaces.
    fn words(self, terminal: bool) -> &'static [&'static str] {
        match self {
            Self::Shut if !terminal => &["--unshare-user", "--disable-userns"],
            Self::Shut | Self::Own => &["--unshare-user"],
            Self::Root => &[],
        }
    }
}

/// What is the same for everything.
const ALWAYS: &[&str] = &[
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
];

/// What of `/proc` is the machine's and not a process's. The files are root's, so that root could write them without any
/// power.
const OF_THE_MACHINE: [&str; 9] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/driver",
    "/proc/mtrr",
];

/// The words in front of a command.
pub(super) fn words(bwrap: &Bwrap, plan: &Plan) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![bwrap.program.clone().into_os_string()];
    let mut say = |more: &[&str]| words.extend(more.iter().map(OsString::from));
    say(bwrap.users.words(plan.terminal));
    say(ALWAYS);
    for path in OF_THE_MACHINE {
        say(&["--ro-bind-try", path, path]);
    }
    if !plan.net {
        say(&["--unshare-net"]);
    }
    // A command without a terminal must not reach ours; a worker's terminal is its own.
    if !plan.terminal {
        say(&["--new-session"]);
    }
    mounts(&mut words, plan);
    words
}

fn mounts(words: &mut Vec<OsString>, plan: &Plan) {
    let mut emptied: Vec<&Path> = Vec::new();
    for (path, sight) in &plan.paths {
        let here = path.clone().into_os_string();
        let bind = |how: &str| [OsString::from(how), here.clone(), here.clone()];
        match sight {
            Sight::Write => words.extend(bind("--bind")),
            Sight::Read => words.extend(bind("--ro-bind-try")),
            Sight::Talk => words.extend(bind("--ro-bind")),
            Sight::Private => words.extend(["--perms".into(), "1777".into(), "--tmpfs".into(), here]),
            Sight::Hidden if path.is_dir() => {
                words.extend(["--perms".into(), "0700".into(), "--tmpfs".into(), here]);
                emptied.push(path);
            }
            Sight::Hidden => words.extend(["--ro-bind".into(), "/dev/null".into(), here]),
        }
    }
    for (place, own) in &plan.instead {
        words.extend(["--bind".into(), own.clone().into_os_string(), place.clone().into_os_string()]);
    }
    // What is bound below is in place by now, so that nothing can be put into an emptied folder.
    words.extend(emptied.into_iter().flat_map(|path| ["--remount-ro".into(), path.into()]));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::TcpListener;
    use std::process::Command;

    use super::*;

    fn runs(words: &[OsString], script: &str) -> bool {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["--", "bash", "-c", script]);
        command.output().is_ok_and(|output| output.status.success())
    }

    /// The first way that works here, if one does.
    fn working() -> Option<Bwrap> {
        let plan = Plan::default();
        let ways = Users::ALL.map(|users| Bwrap { program: PathBuf::from("bwrap"), users });
        ways.into_iter().find(|way| runs(&words(way, &plan), "true"))
    }

    #[test]
    fn what_is_granted_is_given_and_nothing_else() {
        let Some(bwrap) = working() else {
            assert!(std::env::var_os("LOOOP_TEST_ALL").is_none(), "bubblewrap does not work here");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["keys", "open", "own"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        for name in ["keys/granted", "keys/secret", "beside"] {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let paths: BTreeMap<PathBuf, Sight> = [
            (root.join("keys"), Sight::Hidden),
            (root.join("keys/granted"), Sight::Read),
            (root.join("open"), Sight::Write),
            (root.join("own"), Sight::Private),
            (root.join("beside"), Sight::Hidden),
        ]
        .into();
        let (own, root) = (root.join("own/new"), root.display());
        let us = std::process::id();
        for net in [false, true] {
            let words = words(&bwrap, &Plan { paths: paths.clone(), net, ..Plan::default() });
            let table = [
                (format!("cat '{root}/keys/granted'"), true),
                (format!("cat '{root}/keys/secret'"), false),
                (format!("touch '{root}/keys/new'"), false),
                (format!("test -n \"$(cat '{root}/beside')\""), false),
                (format!("touch '{root}/open/new'"), true),
                (format!("touch '{root}/new'"), false),
                (format!("touch '{root}/own/new'"), true),
                (format!("kill -0 {us}"), false),
                (format!("exec 3<>/dev/tcp/127.0.0.1/{port}"), net),
            ];
            for (script, expected) in table {
                assert_eq!(runs(&words, &script), expected, "{script}, net {net}");
            }
            assert!(!own.exists(), "what is private is seen by nobody else");
        }
    }
}
