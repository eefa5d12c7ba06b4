//! The roll of all sessions, read from what their hosts publish and, where that is missing or broken, from the sessions'
//! own folders.

mod index;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::Stat;
use rustix::io::Errno;

use crate::clock;
use crate::host::Standing;
use crate::host::folder::{self, Folder, read_whole};
use crate::host::standing::{is_held, rebuilt, remains};
use crate::kernel::State;
use crate::status::{self, Status};

/// No status is larger.
const LARGEST: u64 = 1 << 20;

/// Times of a folder that are older than this are not shown again by a later change.
const SETTLED_MS: i128 = 2_000;

/// One session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its name.
    pub session: String,
    /// Whether its lock is held; nothing else is life.
    pub alive: bool,
    /// It was started, its host is gone, and it left no receipt.
    pub lost: bool,
    /// What its host published last, or what its receipt says.
    pub status: Arc<Status>,
    /// How long ago it printed something; `None` unless it is alive.
    pub silent_ms: Option<u64>,
    /// What is wrong with its files, and with which. The rest of the row is what its folder says.
    pub fault: Option<String>,
}

impl Row {
    /// Whether its host came as far as the start.
    fn ran(&self) -> bool {
        let over = self.lost || self.status.ended.is_some();
        over || (self.alive && self.status.state != State::Starting)
    }
}

/// Reads the roll again and again. A published file that has not changed is not read again.
#[derive(Debug, Default)]
pub struct Roll {
    known: HashMap<String, (Stamp, Arc<Status>)>,
    /// The folders of sessions, and the change of their parent up to which they are known.
    folders: (Option<[i128; 3]>, BTreeSet<String>),
    /// How many statuses of ended sessions were read from their own files since the index was written.
    fresh: usize,
}

/// What tells that a file is another one than last time: files are replaced by rename, so that is its number alone;
/// the rest is for a number that is used again.
type Stamp = (i128, [i128; 3]);

/// What is published about a session.
enum Published {
    Nothing,
    Value(Arc<Status>, bool),
    Broken(String),
}

impl Roll {
    /// All sessions of the folder `root` whose name is `wanted`, sorted by name. An absent folder has none.
    ///
    /// What is published is an index that may be lost: a session whose file is missing or broken is judged by its own
    /// folder, and its status is published anew. It is an error only if `root` itself cannot be read.
    pub fn read(&mut self, root: &Path, wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<Row>> {
        let rows = self.inspect(root, wanted)?;
        for row in rows.iter().filter(|row| row.fault.is_some()) {
            // Who may not write here finds it broken again, and judges it again.
            republish(root, row).ok();
        }
        if self.fresh >= index::MANY {
            // Where it cannot be written each is read again by whoever comes next.
            index::store(root, self.known.values()).ok();
            self.fresh = 0;
        }
        Ok(rows)
    }

    /// The same without a change on disk.
    pub fn inspect(&mut self, root: &Path, wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<Row>> {
        let Some(top) = Folder::open(root)? else { return Ok(Vec::new()) };
        // Where the statuses cannot be read every session is judged by its folder.
        let mut names = sessions(root).unwrap_or_default();
        if self.known.is_empty() && names.values().filter(|ended| **ended).count() >= index::MANY {
            let ended = index::load(&top).into_iter();
            self.known =
                ended.map(|(stamp, status)| (status.session.clone(), (stamp, Arc::new(status)))).collect();
        }
        self.list(&top, root)?;
        for session in self.folders.1.iter().filter(|session| wanted(session)) {
            names.entry(session.clone()).or_insert(false);
        }
        self.known.retain(|session, _| names.contains_key(session));
        Ok(names.into_iter().filter_map(|(session, ended)| self.row(&top, &session, ended)).collect())
    }

    /// Lists the folders of sessions again if one came or went.
    fn list(&mut self, top: &Folder, root: &Path) -> io::Result<()> {
        let Some(meta) = top.meta(".")? else { return Ok(()) };
        let stamp = [meta.st_ino.into(), meta.st_mtime.into(), meta.st_mtime_nsec.into()];
        if self.folders.0 != Some(stamp) {
            // A change right after another one may show the same time.
            let settled = i128::from(clock::wall_ms()) - i128::from(meta.st_mtime) * 1_000 >= SETTLED_MS;
            self.folders = (settled.then_some(stamp), folders(root)?);
        }
        Ok(())
    }

    /// One session, whatever is wrong with its files. `None`: there is no such session any more.
    fn row(&mut self, root: &Folder, session: &str, ended: bool) -> Option<Row> {
        self.judged(root, session, ended).unwrap_or_else(|error| Some(unknown(session, &error)))
    }

    fn judged(&mut self, root: &Folder, session: &str, ended: bool) -> io::Result<Option<Row>> {
        let mut published = self.published(root, session, ended);
        if matches!(published, Published::Nothing) && !ended {
            // It ended since its name was read, or it is gone altogether.
            published = self.published(root, session, true);
        }
        let (fault, announced) = match published {
            Published::Value(status, true) => {
                let (session, fault) = (session.to_owned(), None);
                return Ok(Some(Row { session, alive: false, lost: false, status, silent_ms: None, fault }));
            }
            Published::Value(status, false) => return judge(root, session, status).map(Some),
            Published::Nothing => (format!("{}: missing", place(session, ended)), false),
            Published::Broken(why) => (why, true),
        };
        let Some(folder) = root.inner(session)? else { return Ok(None) };
        let Some(status) = rebuilt(&folder, session)? else { return Ok(None) };
        let row = Row { fault: Some(fault), ..judge(root, session, Arc::new(status))? };
        // Who prepares a session announces it before it can start.
        Ok(Some(row).filter(|row| announced || row.ran()))
    }

    fn published(&mut self, root: &Folder, session: &str, ended: bool) -> Published {
        match self.status(root, session, ended) {
            Ok(Some(status)) => Published::Value(status, ended),
            Ok(None) => Published::Nothing,
            Err(error) => Published::Broken(format!("{}: {error}", place(session, ended))),
        }
    }

    fn status(&mut self, root: &Folder, session: &str, ended: bool) -> io::Result<Option<Arc<Status>>> {
        let name = place(session, ended);
        if let Some((known, status)) = self.known.get(session) {
            let Some(meta) = root.meta(&name)? else { return Ok(None) };
            if *known == stamp(&meta) {
                return Ok(Some(Arc::clone(status)));
            }
        }
        let Some((file, meta)) = root.open_file(&name)? else { return Ok(None) };
        let status = Arc::new(parse((&file, &meta), session)?);
        self.known.insert(session.to_owned(), (stamp(&meta), Arc::clone(&status)));
        self.fresh += usize::from(ended);
        Ok(Some(status))
    }
}

/// One session of the folder `root`; `None` if there is none of this name.
pub fn row(root: &Path, session: &str) -> io::Result<Option<Row>> {
    let Some(top) = Folder::open(root)? else { return Ok(None) };
    Ok(Roll::default().row(&top, session, false))
}

/// The sessions in `root` whose host died without a receipt and of which nobody has ended yet what they left.
pub fn lost(root: &Path) -> io::Result<Vec<String>> {
    let mut lost = Vec::new();
    for (session, ended) in sessions(root)? {
        if !ended && crate::host::is_unswept(&root.join(&session))? {
            lost.push(session);
        }
    }
    Ok(lost)
}

/// Where the status of a session is published.
fn place(session: &str, ended: bool) -> String {
    format!("{}/{}", status::FOLDER, status::file_name(session, ended))
}

/// Publishes what a row says, instead of a file that is missing or broken. What the host publishes meanwhile stays.
fn republish(root: &Path, row: &Row) -> io::Result<()> {
    if !row.ran() {
        return Ok(());
    }
    let statuses = File::open(root.join(status::FOLDER))?;
    for ended in [false, true] {
        let broken = match Folder::open(root)?.map(|top| top.open_file(&place(&row.session, ended))) {
            Some(Ok(Some((file, meta)))) => parse((&file, &meta), &row.session).is_err(),
            Some(Ok(None)) | None => false,
            Some(Err(_)) => true,
        };
        if broken {
            status::withdraw(&statuses, &row.session, ended)?;
        }
    }
    row.status.publish_first(&statuses)
}

/// A session of which it cannot be told how it stands. What is wrong for good makes it lost; otherwise it counts as alive,
/// so that nothing is started in its place and nothing is taken from it.
fn unknown(session: &str, error: &io::Error) -> Row {
    let odd = [Errno::LOOP, Errno::NOTDIR, Errno::ISDIR].map(|odd| Some(odd.raw_os_error()));
    let lost = error.kind() == io::ErrorKind::InvalidData || odd.contains(&error.raw_os_error());
    let fault = Some(format!("{session}: {error}"));
    let status = Arc::new(Status::blank(session));
    Row { session: session.to_owned(), alive: !lost, lost, status, silent_ms: None, fault }
}

/// The folders in `root`.
pub(crate) fn folders(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok();
        let session = name.filter(|name| name.contains('~') && !name.starts_with('.'));
        found.extend(session.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())));
    }
    Ok(found)
}

/// The sessions in the folder of statuses, and whether they have ended.
///
/// A session that ends while the folder is read may show neither of its names, so it is read twice.
pub(crate) fn sessions(root: &Path) -> io::Result<BTreeMap<String, bool>> {
    let folder = root.join(status::FOLDER);
    let mut found = BTreeMap::new();
    for _ in 0..2 {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            entries => entries?,
        };
        for entry in entries {
            let name = entry?.file_name();
            if let Some((session, ended)) = name.to_str().and_then(status::session_of) {
                *found.entry(session.to_owned()).or_insert(false) |= ended;
            }
        }
    }
    Ok(found)
}

fn stamp(meta: &Stat) -> Stamp {
    (i128::from(meta.st_ino), [meta.st_mtime.into(), meta.st_mtime_nsec.into(), meta.st_size.into()])
}

fn parse((file, meta): (&File, &Stat), session: &str) -> io::Result<Status> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let bytes = read_whole(file, meta, LARGEST)?;
    if bytes.len() as u64 > LARGEST {
        return Err(invalid("is too large".to_owned()));
    }
    let status: Status = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    if status.v != status::VERSION {
        return Err(invalid(format!("version {} is not {}", status.v, status::VERSION)));
    }
    if status.session != session {
        return Err(invalid(format!("it is about {}", status.session)));
    }
    Ok(status)
}

/// What the session's own folder says about one that did not publish its end.
fn judge(root: &Folder, session: &str, mut status: Arc<Status>) -> io::Result<Row> {
    let session = session.to_owned();
    let Some(folder) = root.inner(&session)? else {
        return Ok(Row { session, alive: false, lost: false, status, silent_ms: None, fault: None });
    };
    if is_held(&folder)? {
        let silent_ms = silence(&folder)?;
        return Ok(Row { session, alive: true, lost: false, status, silent_ms, fault: None });
    }
    let standing = remains(&folder)?;
    let lost = matches!(standing, Standing::Lost | Standing::Corrupt(_));
    if let Standing::Ended(receipt) = standing {
        let status = Arc::make_mut(&mut status);
        status.state = State::Ended;
        status.started_ms = receipt.started_ms;
        (status.left, status.strays) = (receipt.left, receipt.strays);
        (status.ended, status.ended_ms) = (Some(receipt.ended), Some(receipt.ended_ms));
        status.output_bytes = Some(receipt.output_bytes);
    }
    Ok(Row { session, alive: false, lost, status, silent_ms: None, fault: None })
}

/// How long ago something was printed.
fn silence(folder: &Folder) -> io::Result<Option<u64>> {
    let Some(meta) = folder.meta(folder::OUTPUT)? else { return Ok(None) };
    let printed = i128::from(meta.st_mtime) * 1_000 + i128::from(meta.st_mtime_nsec) / 1_000_000;
    let silent = i128::from(clock::wall_ms()) - printed;
    Ok(u64::try_from(silent.max(0)).ok())
}
