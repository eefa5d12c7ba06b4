//! A disk in memory: every call is counted, any call can fail or be the last, and what was not synced can be lost.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use looop_store::disk::{Content, Disk, Held, Kind, Links, Listed, Locked, Meta, Stored, Tail};

use crate::disk_faults::{DiskWeather, Effect, Fault, crashed};
use crate::disk_tree::{Node, Step, Tree};

/// A profile's folder in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    tree: Tree,
    locks: BTreeSet<String>,
    /// The calls by name, as long as somebody wants them.
    calls: Vec<String>,
    unnamed: bool,
    /// How many calls there were.
    count: usize,
    /// Number of the first call that the fault counts from.
    armed_at: usize,
    fault: Option<Fault>,
    /// What befalls calls by chance.
    weather: DiskWeather,
    /// Paths that were changed since somebody last asked.
    touched: BTreeSet<String>,
    /// What a person writes right before a call of some name.
    edit: Option<(String, String, Vec<u8>)>,
    /// Whether the machine has stopped: every call fails from here on.
    stopped: bool,
}

impl MemDisk {
    /// An empty folder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets a fault happen, counted from the next call on; none takes it back.
    pub fn arm(&self, fault: Option<Fault>) {
        let mut state = self.lock();
        state.armed_at = state.count;
        state.fault = fault;
    }

    /// Lets chance decide upon every call from here on.
    pub fn set_weather(&self, weather: DiskWeather) {
        self.lock().weather = weather;
    }

    /// Keeps no names of calls: a world that runs for days makes millions of them.
    pub fn forget_names(&self) {
        self.lock().unnamed = true;
    }

    /// Lets what failed syncs have dropped become stored after all.
    pub fn heal(&self) {
        self.lock().tree.heal();
    }

    /// Whether a fault has stopped the machine.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// The paths that were changed since this was last asked, by whomever.
    pub fn touched(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.lock().touched)
    }

    /// Lets a person write a file right before the next call of this name.
    pub fn edit_before(&self, call: &str, path: &str, bytes: &[u8]) {
        self.lock().edit = Some((call.to_owned(), path.to_owned(), bytes.to_vec()));
    }

    /// Every call so far, as `name path`.
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// How many calls were made since the fault was armed or taken back.
    pub fn counted(&self) -> usize {
        let state = self.lock();
        state.count - state.armed_at
    }

    /// The disk as the next process finds it after `kill -9`: all that was written is there, synced or not.
    #[must_use]
    pub fn kill(&self) -> Self {
        let state = self.lock();
        Self::with_tree(state.tree.after_kill(), state.unnamed)
    }

    /// The disk as it is found after a loss of power: of what was not synced, the seed decides what is left.
    #[must_use]
    pub fn crash(&self, seed: u64) -> Self {
        let state = self.lock();
        Self::with_tree(state.tree.after_power_loss(seed), state.unnamed)
    }

    /// Puts a file there, durably and uncounted, as a person would.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        self.put_as(path, bytes, 0o600);
    }

    /// Puts a file there with these rights, durably and uncounted.
    pub fn put_as(&self, path: &str, bytes: &[u8], mode: u32) {
        let mut state = self.lock();
        state.touched.insert(path.to_owned());
        state.tree.put(path, bytes, mode);
    }

    /// Takes a file or a folder away with all that is in it, durably and uncounted, as a person would.
    pub fn erase(&self, path: &str) {
        let mut state = self.lock();
        state.touched.insert(path.to_owned());
        state.tree.erase(path);
    }

    /// The bytes of a file, uncounted.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.lock().tree.file(path).ok().flatten().map(|file| file.data.clone())
    }

    /// The size of a file, uncounted; 0 if there is none.
    pub fn size(&self, path: &str) -> usize {
        self.lock().tree.size(path)
    }

    /// The names in a folder, sorted and uncounted.
    pub fn names(&self, dir: &str) -> Vec<String> {
        self.lock().tree.names(dir).into_iter().map(|(name, _)| name).collect()
    }

    fn with_tree(tree: Tree, unnamed: bool) -> Self {
        Self { state: Arc::new(Mutex::new(State { tree, unnamed, ..State::default() })) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that changes something and lets it happen as far as the fault allows.
    fn change(
        &self,
        name: &str,
        path: &str,
        deed: impl Fn(&mut Tree, Effect) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        if !matches!(name, "sync" | "sync_data" | "sync_dir" | "try_lock") {
            state.touched.insert(path.to_owned());
        }
        match state.count(name, path)? {
            None => deed(&mut state.tree, Effect::Whole),
            Some(fault) => {
                if let Some(effect) = fault.effect(name) {
                    deed(&mut state.tree, effect)?;
                }
                Err(fault.error())
            }
        }
    }

    /// Counts a call that only looks.
    fn look<T>(&self, name: &str, path: &str, deed: impl Fn(&Tree) -> Stored<T>) -> Stored<T> {
        let mut state = self.lock();
        match state.count(name, path) {
            Ok(None) => deed(&state.tree),
            Ok(Some(fault)) => Stored::Unreadable(fault.error()),
            Err(error) => Stored::Unreadable(error),
        }
    }
}

impl State {
    /// Counts a call and says whether a fault befalls it.
    fn count(&mut self, name: &str, path: &str) -> io::Result<Option<Fault>> {
        if self.stopped {
            return Err(crashed());
        }
        if let Some((_, path, bytes)) = self.edit.take_if(|(call, ..)| call == name) {
            self.tree.put(&path, &bytes, 0o600);
        }
        let at = self.count - self.armed_at;
        self.count += 1;
        if !self.unnamed {
            self.calls.push(format!("{name} {path}"));
        }
        let fault = self.fault.clone().filter(|fault| fault.at() == at);
        let fault = fault.or_else(|| self.weather.befalls(name));
        self.stopped = matches!(fault, Some(Fault::Cut { .. }));
        Ok(fault)
    }
}

/// Releases the lock of a path when it is dropped.
struct Guard {
    state: Arc<Mutex<State>>,
    path: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).locks.remove(&self.path);
    }
}

impl Disk for MemDisk {
    fn read(&self, path: &str, limit: u64, _links: Links) -> Stored<Content> {
        self.look("read", path, |tree| match tree.file(path) {
            Err(error) => Stored::Unreadable(error),
            Ok(None) => Stored::Absent,
            Ok(Some(file)) if file.data.len() as u64 > limit => Stored::Corrupt("is too large".to_owned()),
            Ok(Some(file)) => Stored::Value(Content { bytes: file.data.clone(), meta: file.meta() }),
        })
    }

    fn read_tail(&self, path: &str, limit: u64) -> Stored<Tail> {
        self.look("read_tail", path, |tree| match tree.file(path) {
            Err(error) => Stored::Unreadable(error),
            Ok(None) => Stored::Absent,
            Ok(Some(file)) => {
                let skip = file.data.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
                Stored::Value(Tail { bytes: file.data[skip..].to_vec(), size: file.data.len() as u64 })
            }
        })
    }

    fn stat(&self, path: &str) -> Stored<Meta> {
        self.look("stat", path, |tree| tree.meta(path).map_or(Stored::Absent, Stored::Value))
    }

    fn list(&self, dir: &str) -> Stored<Vec<Listed>> {
        self.look("list", dir, |tree| match tree.meta(dir) {
            None => Stored::Absent,
            Some(meta) if meta.kind != Kind::Dir => Stored::Unreadable(io::ErrorKind::NotADirectory.into()),
            Some(_) => {
                let listed =
                    tree.names(dir).into_iter().map(|(name, kind)| Listed { name: name.into(), kind });
                Stored::Value(listed.collect())
            }
        })
    }

    fn make_dir(&self, path: &str) -> io::Result<()> {
        self.change("make_dir", path, |tree, _| match tree.meta(path).map(|meta| meta.kind) {
            Some(Kind::Dir) => Ok(()),
            Some(_) => Err(io::ErrorKind::NotADirectory.into()),
            None => tree.step(Step::Add(path.to_owned(), Node::Dir)),
        })
    }

    fn create(&self, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.change("create", path, |tree, effect| {
            if tree.meta(path).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            tree.add_file(path, effect.of(bytes), mode)
        })
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.change("append", path, |tree, effect| {
            if tree.file(path)?.is_none() {
                tree.add_file(path, b"", 0o600)?;
            }
            tree.edit(path, |file| file.data.extend_from_slice(effect.of(bytes)))
        })
    }

    fn sync(&self, path: &str) -> io::Result<()> {
        self.change("sync", path, |tree, effect| tree.sync(path, effect))
    }

    fn sync_data(&self, path: &str) -> io::Result<()> {
        self.change("sync_data", path, |tree, effect| tree.sync(path, effect))
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.change("sync_dir", dir, |tree, _| {
            tree.sync_dir(dir);
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change("rename", to, |tree, _| tree.step(Step::Move(from.to_owned(), to.to_owned())))
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.change("rename_new", to, |tree, _| {
            if tree.meta(to).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            tree.step(Step::Move(from.to_owned(), to.to_owned()))
        })
    }

    fn truncate(&self, path: &str, size: u64) -> io::Result<()> {
        let size = usize::try_from(size).map_err(io::Error::other)?;
        self.change("truncate", path, |tree, _| tree.edit(path, |file| file.data.resize(size, 0)))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.change("remove", path, |tree, _| tree.step(Step::Remove(path.to_owned())))
    }

    fn remove_tree(&self, path: &str) -> io::Result<()> {
        self.change("remove_tree", path, |tree, _| {
            for below in tree.below(path) {
                tree.step(Step::Remove(below))?;
            }
            tree.step(Step::Remove(path.to_owned()))
        })
    }

    fn touch(&self, path: &str, wall: i64) -> io::Result<()> {
        self.change("touch", path, |tree, _| {
            tree.edit(path, |_| ())?;
            tree.date(path, i128::from(wall) * 1_000_000)
        })
    }

    fn try_lock(&self, path: &str) -> io::Result<Locked> {
        self.change("try_lock", path, |tree, _| {
            if tree.file(path)?.is_none() { tree.add_file(path, b"", 0o600) } else { Ok(()) }
        })?;
        if !self.lock().locks.insert(path.to_owned()) {
            return Ok(Locked::Theirs(None));
        }
        Ok(Locked::Ours(Held::new(Guard { state: Arc::clone(&self.state), path: path.to_owned() })))
    }
}
