//! bubblewrap: a file system, a process table and a network of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use super::system;
use super::view::{Sight, View};
use crate::hands::environ;

/// A `bwrap` that works here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bwrap {
    /// The program.
    pub(super) program: PathBuf,
    /// Whether it can bound the size of a folder in memory, as it does from version 0.7 on.
    pub(super) sized: bool,
}

/// What is the same for everything.
const ALWAYS: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
];
/// Most bytes in `/dev/shm`.
const SHARED_MEMORY: u64 = 256 << 20;
/// Most processes and threads. It counts those of the sandbox alone only where it is set inside, and a shell is what is
/// there. Shells differ in the letter.
const PROCESSES: &str = r#"ulimit -u 2048 2>/dev/null || ulimit -p 2048 2>/dev/null; exec "$@""#;

/// The words in front of a command: [`super::enter`], which becomes bubblewrap.
pub(super) fn words(bwrap: &Bwrap, view: &View) -> Vec<OsString> {
    let kind = if view.terminal { "worker" } else { "command" };
    let mut words: Vec<OsString> = vec![environ::image().into(), "_box".into(), kind.into()];
    words.push(bwrap.program.clone().into());
    words.extend(ALWAYS.iter().map(OsString::from));
    if !view.net {
        words.push("--unshare-net".into());
    }
    // A command without a terminal must not reach ours; a worker's terminal is its own.
    if !view.terminal {
        words.push("--new-session".into());
    }
    words.extend(system::words());
    private(&mut words, bwrap, ("1777", SHARED_MEMORY), "/dev/shm".into());
    mounts(&mut words, bwrap, view);
    words.extend(["--", "sh", "-c", PROCESSES, "sh"].map(OsString::from));
    words
}

fn private(words: &mut Vec<OsString>, bwrap: &Bwrap, (mode, size): (&str, u64), path: OsString) {
    words.extend(["--perms".into(), mode.into()]);
    if bwrap.sized {
        words.extend(["--size".into(), size.to_string().into()]);
    }
    words.extend(["--tmpfs".into(), path]);
}

fn mounts(words: &mut Vec<OsString>, bwrap: &Bwrap, view: &View) {
    let mut closed: Vec<OsString> = Vec::new();
    for (path, sight) in &view.paths {
        let here = path.clone().into_os_string();
        match sight {
            Sight::Read(from) => words.extend(["--ro-bind-try".into(), from.into(), here]),
            Sight::Write(from) => words.extend(["--bind".into(), from.into(), here]),
            Sight::Private(size) => private(words, bwrap, ("1777", *size), here),
            Sight::Empty => {
                words.extend(["--perms".into(), "0700".into(), "--tmpfs".into(), here.clone()]);
                closed.push(here);
            }
            Sight::Masked => words.extend(["--ro-bind".into(), "/dev/null".into(), here]),
        }
    }
    for (path, target) in &view.links {
        words.extend(["--symlink".into(), target.into(), path.into()]);
    }
    // What is put into these is in place by now, and nothing else can be.
    closed.extend(["/dev", "/"].map(OsString::from));
    words.extend(closed.into_iter().flat_map(|path| ["--remount-ro".into(), path]));
}
