//! One harness for all tests of the store.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::state::Ledger;
use looop_core::model::digest::Digest;
use looop_core::model::moves::Move;
use looop_core::model::plan::{Act, Author, Plan};
use looop_core::time::Stamp;
use looop_store::{LockError, Reader, Writer};
use rustix::fs::{CWD, FileType, Mode};

pub(crate) struct Profile {
    dir: tempfile::TempDir,
}

impl Profile {
    pub(crate) fn new() -> Self {
        let profile = Self { dir: tempfile::tempdir().unwrap() };
        profile.writer().layout().unwrap();
        profile
    }

    /// A folder without a profile in it.
    pub(crate) fn none() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("profile")
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::create(&self.root()).unwrap()
    }

    /// The lock. A child that another test is just starting holds all descriptors until it runs its program.
    pub(crate) fn writer(&self) -> Writer {
        loop {
            match self.reader().lock() {
                Err(LockError::Held { .. }) => std::thread::yield_now(),
                locked => return locked.unwrap(),
            }
        }
    }

    /// Writes a file as a person would, readable to all.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(path), bytes).unwrap();
        self.chmod(path, 0o644);
    }

    pub(crate) fn sensor(&self, file: &str, script: &str) {
        self.write(&format!("sensors/{file}"), script);
        self.chmod(&format!("sensors/{file}"), 0o755);
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        std::fs::symlink_metadata(self.path(path)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn names(&self, dir: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(dir)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A way in which a file can be broken.
pub(crate) type Break = (&'static str, fn(&Path));

/// Every way in which the bytes or the kind of a file can be wrong. Root reads what is forbidden to it, so the last one
/// is only there for others.
pub(crate) fn breaks() -> Vec<Break> {
    let mut all: Vec<Break> = vec![
        ("garbage", |path| std::fs::write(path, "}{ not ours\n").unwrap()),
        ("binary", |path| std::fs::write(path, [0xff, 0xfe, 0, 1, 0x80]).unwrap()),
        ("huge", |path| std::fs::File::create(path).unwrap().set_len(100 << 20).unwrap()),
        ("fifo", |path| rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap()),
        ("folder", |path| std::fs::create_dir(path).unwrap()),
        ("socket", |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap())),
        ("loop", |path| std::os::unix::fs::symlink(path.file_name().unwrap(), path).unwrap()),
        ("dangling", |path| std::os::unix::fs::symlink("nowhere", path).unwrap()),
        ("outside", |path| std::os::unix::fs::symlink("/etc/hostname", path).unwrap()),
    ];
    if looop_store::disk::our_uid() != 0 {
        all.push(("unreadable", |path| {
            std::fs::write(path, "{}").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
        }));
    }
    all
}

/// Puts something broken in the place of whatever is at `path`.
pub(crate) fn break_with(path: &Path, how: fn(&Path)) {
    if let Ok(meta) = std::fs::symlink_metadata(path) {
        if meta.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
    how(path);
}

pub(crate) fn stamp() -> Stamp {
    Stamp { wall: 1_800_000_000_000, up: 5, boot: 1 }
}

pub(crate) fn line(seq: u64) -> Line {
    let what = format!("thing {seq} {}", "x".repeat(usize::try_from(seq % 50).unwrap()));
    Line { seq, at: stamp(), idle: 0, entries: vec![Entry::Paused { until: None }, Entry::Dropped { what }] }
}

/// A ledger whose last journal line this is.
pub(crate) fn journaled(line: &str) -> Ledger {
    Ledger { journal: vec![line.to_owned()], ..Ledger::default() }
}

pub(crate) fn plan(act: Act) -> Plan {
    Plan::new(Move::Noop { reason: None }, (Author::Person, act), stamp())
}

pub(crate) fn file_plan(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Plan {
    let act =
        Act::File { path: path.to_owned(), before: before.map(Digest::of), after: after.map(Digest::of) };
    plan(act)
}

pub(crate) fn archive_plan(from: &str, to: &str, body: &[u8]) -> Plan {
    plan(Act::Archive { from: from.to_owned(), to: to.to_owned(), body: Digest::of(body) })
}
