//! Whether the files of a configuration may have changed since they were read, without reading them.

use std::fs::{Metadata, metadata, symlink_metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::layers::Env;
use super::load::FILE_NAMES;
use super::policy::POLICY_FILE;

/// Timestamps have a granularity: a file that changed this recently, in milliseconds, may change again and look the same.
const SETTLED: i64 = 1000;

/// The files of a configuration, as the kernel describes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    files: Vec<Found>,
    /// When it was taken, in milliseconds since the epoch.
    taken: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    Absent,
    /// The file, and the link to it if it is one.
    File(State, State),
    Unknown(io::ErrorKind),
}

/// What changes when a file does: device, inode, size, mode, owner, and both times in nanoseconds.
type State = (u64, u64, u64, u32, u32, i128, i128);

impl Stamp {
    /// Takes a stamp of all files that a configuration may be read from. `now` is in milliseconds since the epoch.
    pub fn of(profile: &Path, env: &Env, now: i64) -> Self {
        let named = env.get("LOOOP_CONFIG").filter(|named| !named.is_empty()).map(PathBuf::from);
        let own = FILE_NAMES.iter().filter(|_| named.is_none()).map(|name| profile.join(name));
        let files = own.chain(named.clone()).chain([profile.join(POLICY_FILE)]);
        Self { files: files.map(|file| found(&file)).collect(), taken: now }
    }

    /// Whether what was read when this stamp was taken is what would be read when the later one was.
    pub fn is_current(&self, later: &Self) -> bool {
        self.files == later.files && self.files.iter().all(|file| file.is_settled(self.taken))
    }
}

impl Found {
    fn is_settled(&self, taken: i64) -> bool {
        let settled = |state: &State| {
            let changed = state.5.max(state.6) / 1_000_000;
            i128::from(taken) - changed >= i128::from(SETTLED)
        };
        match self {
            Self::Absent => true,
            Self::File(file, link) => settled(file) && settled(link),
            Self::Unknown(_) => false,
        }
    }
}

fn found(file: &Path) -> Found {
    let link = match symlink_metadata(file) {
        Ok(link) => link,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Absent,
        Err(error) => return Found::Unknown(error.kind()),
    };
    match metadata(file) {
        Ok(file) => Found::File(state(&file), state(&link)),
        Err(error) => Found::Unknown(error.kind()),
    }
}

fn state(meta: &Metadata) -> State {
    let nanos = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let (modified, changed) =
        (nanos(meta.mtime(), meta.mtime_nsec()), nanos(meta.ctime(), meta.ctime_nsec()));
    (meta.dev(), meta.ino(), meta.len(), meta.mode(), meta.uid(), modified, changed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Long after anything that a test writes.
    const LATER: i64 = i64::MAX / 2;

    #[test]
    fn what_comes_changes_or_goes_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let at = |now| Stamp::of(dir.path(), &Env::new(), now);
        let mut before = at(LATER);
        assert!(before.is_current(&at(LATER)));
        let mut changed = |what: &str| {
            let after = at(LATER);
            assert!(!before.is_current(&after), "{what}");
            before = after;
            assert!(before.is_current(&at(LATER)), "{what}");
        };
        for name in FILE_NAMES.into_iter().chain([POLICY_FILE]) {
            let file = dir.path().join(name);
            fs::write(&file, "a = 1").unwrap();
            changed("it came");
            fs::write(&file, "a = 10").unwrap();
            changed("it grew");
            fs::write(dir.path().join("new"), "a = 11").unwrap();
            fs::rename(dir.path().join("new"), &file).unwrap();
            changed("another took its place");
            fs::remove_file(&file).unwrap();
            changed("it is gone");
        }
        std::os::unix::fs::symlink("one", dir.path().join(POLICY_FILE)).unwrap();
        let dangling = at(LATER);
        assert!(!dangling.is_current(&at(LATER)), "what cannot be read is tried again");
        fs::write(dir.path().join("one"), "").unwrap();
        changed("what a link leads to came");
    }

    #[test]
    fn a_file_that_has_just_changed_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.toml"), "a = 1").unwrap();
        let changed = fs::metadata(dir.path().join("config.toml")).unwrap();
        let at = |past: i64| Stamp::of(dir.path(), &Env::new(), changed.ctime() * 1000 + past);
        assert!(!at(0).is_current(&at(LATER / 4)));
        assert!(at(2 * SETTLED).is_current(&at(2 * SETTLED)));
    }

    #[test]
    fn a_file_named_by_the_environment_counts_instead() {
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("mine");
        let env = Env::from([("LOOOP_CONFIG".to_owned(), named.clone().into_os_string())]);
        let before = Stamp::of(dir.path(), &env, LATER);
        fs::write(dir.path().join("config.toml"), "").unwrap();
        assert!(before.is_current(&Stamp::of(dir.path(), &env, LATER)));
        fs::write(named, "").unwrap();
        assert!(!before.is_current(&Stamp::of(dir.path(), &env, LATER)));
    }
}
