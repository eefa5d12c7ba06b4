//! Owners and modes: a profile that others can write is refused, with the command that mends it.

use std::fmt;
use std::path::Path;

use crate::disk::{Disk, Kind, Meta, Stored, our_uid};

/// What must belong to us and be writable by nobody else, besides each goal, sensor and schedule.
const GUARDED: &[&str] = &[
    "",
    "PLAYBOOK.md",
    "config.toml",
    "config.json",
    "looop.json",
    "policy.toml",
    "goals",
    "sensors",
    "schedules",
    "log",
    "asks",
    "answers",
    "tells",
    "claims",
    "spend",
];

/// A file or folder of the profile that somebody else could have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsafe {
    /// The path below the profile; the profile itself is the empty text.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
    /// The command that mends it.
    pub fix: String,
}

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the profile" } else { &self.path };
        write!(f, "{path} {}", self.what)
    }
}

/// Judges one file. Links are not judged: their targets are, when they are read.
pub(crate) fn judge(root: &Path, path: &str, meta: &Meta) -> Option<Unsafe> {
    let us = our_uid();
    let found = |what: String, mend: String| {
        let full = if path.is_empty() { root.to_owned() } else { root.join(path) };
        let fix = format!("{mend} {}", quoted(&full.to_string_lossy()));
        Some(Unsafe { path: path.to_owned(), what, fix })
    };
    if meta.uid != us {
        let what = format!("belongs to user {}, and looop runs as user {us}", meta.uid);
        // Whoever named a folder of the system by a slip is not told to take it over.
        if path.is_empty() {
            let fix = "name a folder of your own: looop --data-dir DIR, or LOOOP_DATA_DIR=DIR".to_owned();
            return Some(Unsafe { path: String::new(), what, fix });
        }
        return found(what, format!("chown {us}"));
    }
    if meta.kind != Kind::Link && meta.mode & 0o022 != 0 {
        return found("can be written by others".to_owned(), "chmod go-w".to_owned());
    }
    None
}

/// Everything at fault among the fixed names of a profile.
pub(crate) fn problems(disk: &dyn Disk, root: &Path) -> Vec<Unsafe> {
    let looked = |path: &&str| match disk.stat(path) {
        Stored::Value(meta) => judge(root, path, &meta),
        Stored::Absent | Stored::Unreadable(_) | Stored::Corrupt(_) => None,
    };
    GUARDED.iter().filter_map(looked).collect()
}

/// A word that any shell reads as exactly this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(mode: u32, uid: u32) -> Meta {
        Meta { kind: Kind::File, size: 0, mode, uid, modified: 0, changed: 0, inode: 1 }
    }

    #[test]
    fn others_may_read_and_not_write() {
        let us = our_uid();
        let root = Path::new("/it's/here");
        assert_eq!(judge(root, "goals/a.md", &meta(0o644, us)), None);
        let found = judge(root, "goals/a.md", &meta(0o620, us)).unwrap();
        assert_eq!(found.fix, r"chmod go-w '/it'\''s/here/goals/a.md'");
        assert_eq!(found.to_string(), "goals/a.md can be written by others");
        let found = judge(root, "", &meta(0o700, us + 1)).unwrap();
        assert!(found.fix.contains("--data-dir DIR") && !found.fix.contains("chown"), "{}", found.fix);
        let found = judge(root, "goals/a.md", &meta(0o600, us + 1)).unwrap();
        assert_eq!(found.fix, format!(r"chown {us} '/it'\''s/here/goals/a.md'"));
    }
}
