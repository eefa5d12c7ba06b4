//! What is on the disk in memory, and what of it would survive a loss of power.

use std::collections::BTreeMap;
use std::io;

use looop_store::disk::{Kind, Meta};

use crate::disk_dice::Dice;
use crate::disk_faults::Effect;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Dir,
    File(u64),
}

/// A change of names, which is durable once a folder that it touches was synced.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Add(String, Node),
    Remove(String),
    Move(String, String),
}

/// A file's bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inode {
    /// As every process sees them.
    pub(crate) data: Vec<u8>,
    /// As they are on the platter.
    synced: Vec<u8>,
    /// Where a failed sync has dropped what was written: these bytes are shown and will never be stored.
    lost: Option<(usize, usize)>,
    number: u64,
    mode: u32,
    modified: i128,
    changed: i128,
}

type Names = BTreeMap<String, Node>;

/// Names and files, live and durable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    live: Names,
    durable: Names,
    /// Changes of `live` that `durable` does not have, oldest first.
    pending: Vec<Step>,
    files: BTreeMap<u64, Inode>,
    /// When a name of a folder last came or went. A folder that is not here has been as it is from the beginning.
    folders: BTreeMap<String, i128>,
    clock: i128,
}

impl Inode {
    pub(crate) fn meta(&self) -> Meta {
        Meta {
            kind: Kind::File,
            size: self.data.len() as u64,
            mode: self.mode,
            uid: our_uid(),
            modified: self.modified,
            changed: self.changed,
            inode: u128::from(self.number),
        }
    }

    /// What the platter holds after a sync that succeeds.
    fn stored(&self) -> Vec<u8> {
        let mut stored = self.data.clone();
        if let Some((from, to)) = self.lost {
            let to = to.min(stored.len());
            stored[from.min(to)..to].fill(0);
        }
        stored
    }

    /// What is left of it when the power goes: of bytes that were appended and not synced a part, or zeros, or all but
    /// some blocks that read as zeros.
    fn after_power_loss(&self, dice: &mut Dice) -> Vec<u8> {
        let whole = self.stored();
        let Some(extra) = whole.strip_prefix(&*self.synced) else {
            return if dice.coin() { whole } else { self.synced.clone() };
        };
        if dice.coin() && dice.coin() {
            return with_holes(whole.clone(), self.synced.len(), dice);
        }
        let mut left = self.synced.clone();
        left.extend_from_slice(&extra[..dice.below(extra.len() + 1)]);
        if dice.coin() && dice.coin() {
            left.resize(whole.len(), 0);
        }
        left
    }
}

/// Zeros in the place of some blocks of what was not synced: the file was made longer, and these were not written.
fn with_holes(mut data: Vec<u8>, synced: usize, dice: &mut Dice) -> Vec<u8> {
    let block = *dice.pick(&[32, 512, 4096]);
    for at in (0..data.len()).step_by(block) {
        let end = (at + block).min(data.len());
        if end > synced && dice.chance(300) {
            data[at.max(synced)..end].fill(0);
        }
    }
    data
}

impl Tree {
    pub(crate) fn put(&mut self, path: &str, bytes: &[u8], mode: u32) {
        let parts: Vec<&str> = path.split('/').collect();
        for depth in 1..parts.len() {
            let dir = parts[..depth].join("/");
            for names in [&mut self.live, &mut self.durable] {
                // A file in the place of a folder makes way.
                if names.get(&dir) != Some(&Node::Dir) {
                    names.insert(dir.clone(), Node::Dir);
                }
            }
        }
        let node = Node::File(self.inode(bytes, mode));
        if let Node::File(number) = node
            && let Some(file) = self.files.get_mut(&number)
        {
            file.synced.clone_from(&file.data);
        }
        // What was under way to the same name must not come back over it.
        self.pending.retain(|step| match step {
            Step::Add(name, _) | Step::Remove(name) | Step::Move(_, name) => name != path,
        });
        self.live.insert(path.to_owned(), node);
        self.durable.insert(path.to_owned(), node);
        for depth in 0..parts.len() {
            self.stir(&parts[..depth].join("/"));
        }
    }

    /// Takes a name away with all that is below it, durably.
    pub(crate) fn erase(&mut self, path: &str) {
        let prefix = format!("{path}/");
        let stays = |name: &String| name != path && !name.starts_with(&prefix);
        self.live.retain(|name, _| stays(name));
        self.durable.retain(|name, _| stays(name));
        // What was to become durable below it is gone with it.
        self.pending.retain(|step| match step {
            Step::Add(name, _) | Step::Remove(name) => stays(name),
            Step::Move(from, to) => stays(from) && stays(to),
        });
        self.stir(parent(path));
    }

    /// A name of a folder came or went.
    fn stir(&mut self, folder: &str) {
        self.clock += 1_000_000;
        self.folders.insert(folder.to_owned(), self.clock);
    }

    fn inode(&mut self, bytes: &[u8], mode: u32) -> u64 {
        self.clock += 1_000_000;
        // The clock never stands still, so that no number is ever used again.
        let number = u64::try_from(self.clock / 1_000_000).unwrap_or(0);
        let (modified, changed) = (self.clock, self.clock);
        let file = Inode { data: bytes.to_vec(), number, mode, modified, changed, ..Inode::default() };
        self.files.insert(number, file);
        number
    }

    /// The file of a name; a folder is an error.
    pub(crate) fn file(&self, path: &str) -> io::Result<Option<&Inode>> {
        match self.live.get(path) {
            None => Ok(None),
            Some(Node::Dir) => Err(io::Error::other("it is a folder, not a regular file")),
            Some(Node::File(number)) => Ok(self.files.get(number)),
        }
    }

    pub(crate) fn meta(&self, path: &str) -> Option<Meta> {
        let stirred = self.folders.get(path).copied().unwrap_or_default();
        let dir = Inode { mode: 0o700, modified: stirred, changed: stirred, ..Inode::default() }.meta();
        match self.live.get(path) {
            _ if path.is_empty() => Some(Meta { kind: Kind::Dir, ..dir }),
            None => None,
            Some(Node::Dir) => Some(Meta { kind: Kind::Dir, ..dir }),
            Some(Node::File(number)) => self.files.get(number).map(Inode::meta),
        }
    }

    /// Names right below a folder.
    pub(crate) fn names(&self, dir: &str) -> Vec<(String, Kind)> {
        let kind = |node: &Node| if *node == Node::Dir { Kind::Dir } else { Kind::File };
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let below = self.live.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let mine = |(path, node): (&String, &Node)| {
            let name = &path[prefix.len()..];
            (!name.contains('/')).then(|| (name.to_owned(), kind(node)))
        };
        below.filter_map(mine).collect()
    }

    /// Every path below a folder, deepest first.
    pub(crate) fn below(&self, dir: &str) -> Vec<String> {
        let prefix = format!("{dir}/");
        self.live.keys().rev().filter(|path| path.starts_with(&prefix)).cloned().collect()
    }

    pub(crate) fn add_file(&mut self, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        let number = self.inode(bytes, mode);
        self.step(Step::Add(path.to_owned(), Node::File(number)))
    }

    pub(crate) fn edit(&mut self, path: &str, deed: impl FnOnce(&mut Inode)) -> io::Result<()> {
        let Some(Node::File(number)) = self.live.get(path) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        self.clock += 1_000_000;
        let file = self.files.get_mut(number).ok_or(io::ErrorKind::NotFound)?;
        deed(file);
        (file.modified, file.changed) = (self.clock, self.clock);
        Ok(())
    }

    /// Sets the time of a file's last change.
    pub(crate) fn date(&mut self, path: &str, nanoseconds: i128) -> io::Result<()> {
        let Some(Node::File(number)) = self.live.get(path) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        self.files.get_mut(number).ok_or(io::ErrorKind::NotFound)?.modified = nanoseconds;
        Ok(())
    }

    /// The size of a file.
    pub(crate) fn size(&self, path: &str) -> usize {
        self.file(path).ok().flatten().map_or(0, |file| file.data.len())
    }

    pub(crate) fn sync(&mut self, path: &str, effect: Effect) -> io::Result<()> {
        let Some(Node::File(number)) = self.live.get(path) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let file = self.files.get_mut(number).ok_or(io::ErrorKind::NotFound)?;
        match effect {
            Effect::Whole | Effect::Half => file.synced = file.stored(),
            Effect::Lost => file.lost = Some((file.synced.len(), file.data.len())),
        }
        Ok(())
    }

    /// Forgets what failed syncs have dropped.
    pub(crate) fn heal(&mut self) {
        self.files.values_mut().for_each(|file| file.lost = None);
    }

    /// Makes the names of a folder durable, and with them all that happened before.
    pub(crate) fn sync_dir(&mut self, dir: &str) {
        let touches = |step: &Step| match step {
            Step::Add(path, _) | Step::Remove(path) => parent(path) == dir,
            Step::Move(from, to) => parent(from) == dir || parent(to) == dir,
        };
        let Some(last) = self.pending.iter().rposition(touches) else { return };
        for step in self.pending.drain(..=last) {
            take(&mut self.durable, &step);
        }
    }

    /// Changes names, not yet durably.
    pub(crate) fn step(&mut self, step: Step) -> io::Result<()> {
        let (Step::Add(path, _) | Step::Remove(path) | Step::Move(_, path)) = &step;
        let folder = parent(path);
        if !folder.is_empty() && self.live.get(folder) != Some(&Node::Dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if let Step::Remove(from) | Step::Move(from, _) = &step
            && !self.live.contains_key(from)
        {
            return Err(io::ErrorKind::NotFound.into());
        }
        take(&mut self.live, &step);
        let (Step::Add(path, _) | Step::Remove(path) | Step::Move(path, _)) = &step;
        self.stir(parent(path));
        if let Step::Move(_, path) = &step {
            self.stir(parent(path));
        }
        self.pending.push(step);
        Ok(())
    }

    /// The tree as the next process finds it. Files that no name leads to are gone.
    pub(crate) fn after_kill(&self) -> Self {
        let steps = self
            .pending
            .iter()
            .filter_map(|step| if let Step::Add(_, node) = step { Some(node) } else { None });
        let nodes = self.live.values().chain(self.durable.values()).chain(steps);
        let numbers =
            nodes.filter_map(|node| if let Node::File(number) = node { Some(*number) } else { None });
        let file = |number: u64| Some((number, self.files.get(&number)?.clone()));
        Self {
            live: self.live.clone(),
            durable: self.durable.clone(),
            pending: self.pending.clone(),
            files: numbers.filter_map(file).collect(),
            folders: self.folders.clone(),
            clock: self.clock,
        }
    }

    /// The tree as it is found when the power comes back.
    pub(crate) fn after_power_loss(&self, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut names = self.durable.clone();
        for step in &self.pending[..dice.below(self.pending.len() + 1)] {
            take(&mut names, step);
        }
        let left = |(number, file): (&u64, &Inode)| {
            let data = file.after_power_loss(&mut dice);
            (*number, Inode { synced: data.clone(), data, lost: None, ..file.clone() })
        };
        let files = self.files.iter().map(left).collect();
        // What a folder held before may be there again: its time is another one in any case.
        let folders = self.folders.keys().map(|folder| (folder.clone(), self.clock + 1_000_000)).collect();
        let clock = self.clock + 1_000_000;
        Self { live: names.clone(), durable: names, pending: Vec::new(), files, folders, clock }
    }
}

fn take(names: &mut Names, step: &Step) {
    match step {
        Step::Add(path, node) => {
            names.insert(path.clone(), *node);
        }
        Step::Remove(path) => {
            names.remove(path);
        }
        Step::Move(from, to) => {
            if let Some(node) = names.remove(from) {
                names.insert(to.clone(), node);
            }
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Our own user, so that the store takes the files for its own.
fn our_uid() -> u32 {
    looop_store::disk::our_uid()
}
