//! The roll of all sessions, read from what their hosts publish.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::clock;
use crate::host::Standing;
use crate::host::folder::{self, Folder};
use crate::host::standing::{is_held, remains};
use crate::kernel::State;
use crate::status::{self, Status};

/// No status is larger.
const LARGEST: u64 = 1 << 20;

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
    pub status: Status,
    /// How long ago it printed something; `None` unless it is alive.
    pub silent_ms: Option<u64>,
}

/// Reads the roll again and again. A published file that has not changed is not read again.
#[derive(Debug, Default)]
pub struct Roll {
    known: HashMap<String, (Stamp, Status)>,
}

/// What tells that a file is another one than last time: files are replaced by rename, so that is its number alone;
/// the rest is for a number that is used again.
type Stamp = (i128, [i128; 3]);

impl Roll {
    /// All sessions of the folder `root`, sorted by name. An absent folder has none; a published file that cannot be
    /// read, or is broken, is an error that names it.
    pub fn read(&mut self, root: &Path) -> io::Result<Vec<Row>> {
        let Some(top) = Folder::open(root)? else { return Ok(Vec::new()) };
        let mut names = sessions(root)?;
        // What was published can be thrown away by hand; whoever holds its lock lives all the same.
        for session in
            self.known.keys().filter(|session| !names.contains_key(*session)).cloned().collect::<Vec<_>>()
        {
            if self.unpublished(&top, &session)?.is_some() {
                names.insert(session, false);
            }
        }
        self.known.retain(|session, _| names.contains_key(session));
        let rows = names.into_iter().map(|(session, ended)| self.row(&top, &session, ended));
        rows.filter_map(Result::transpose).collect()
    }

    fn row(&mut self, root: &Folder, session: &str, ended: bool) -> io::Result<Option<Row>> {
        let found = match self.status(root, session, ended)? {
            Some(status) => Some((status, ended)),
            // It ended since its name was read, or it is gone altogether.
            None if !ended => self.status(root, session, true)?.map(|status| (status, true)),
            None => None,
        };
        let Some((status, ended)) = found else { return self.unpublished(root, session) };
        if ended {
            return Ok(Some(Row {
                session: session.to_owned(),
                alive: false,
                lost: false,
                status,
                silent_ms: None,
            }));
        }
        judge(root, session, status).map(Some)
    }

    /// A session that lives although nothing is published about it any more, as it was last known.
    fn unpublished(&self, root: &Folder, session: &str) -> io::Result<Option<Row>> {
        let Some((_, status)) = self.known.get(session) else { return Ok(None) };
        let row = judge(root, session, status.clone())?;
        Ok(row.alive.then_some(row))
    }

    fn status(&mut self, root: &Folder, session: &str, ended: bool) -> io::Result<Option<Status>> {
        let name = format!("{}/{}", status::FOLDER, status::file_name(session, ended));
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        let Some(meta) = root.meta(&name).map_err(named)? else { return Ok(None) };
        let seen = [meta.st_mtime.into(), meta.st_mtime_nsec.into(), meta.st_size.into()];
        let seen = (i128::from(meta.st_ino), seen);
        if let Some((_, status)) = self.known.get(session).filter(|(known, _)| *known == seen) {
            return Ok(Some(status.clone()));
        }
        let Some(file) = root.read_only(&name).map_err(named)? else { return Ok(None) };
        let meta = file.metadata().map_err(named)?;
        let status = parse(file, session).map_err(named)?;
        let stamp = [meta.mtime().into(), meta.mtime_nsec().into(), meta.len().into()];
        let stamp = (i128::from(meta.ino()), stamp);
        self.known.insert(session.to_owned(), (stamp, status.clone()));
        Ok(Some(status))
    }
}

/// One session of the folder `root`; `None` if nothing is published about it.
pub fn row(root: &Path, session: &str) -> io::Result<Option<Row>> {
    let Some(top) = Folder::open(root)? else { return Ok(None) };
    let mut roll = Roll::default();
    match roll.row(&top, session, false)? {
        None => roll.row(&top, session, true),
        row => Ok(row),
    }
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

fn parse(file: File, session: &str) -> io::Result<Status> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut bytes = Vec::new();
    if file.take(LARGEST + 1).read_to_end(&mut bytes)? as u64 > LARGEST {
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
fn judge(root: &Folder, session: &str, mut status: Status) -> io::Result<Row> {
    let session = session.to_owned();
    let Some(folder) = root.inner(&session)? else {
        return Ok(Row { session, alive: false, lost: false, status, silent_ms: None });
    };
    if is_held(&folder)? {
        let silent_ms = silence(&folder)?;
        return Ok(Row { session, alive: true, lost: false, status, silent_ms });
    }
    let standing = remains(&folder)?;
    let lost = matches!(standing, Standing::Lost | Standing::Corrupt(_));
    if let Standing::Ended(receipt) = standing {
        status.state = State::Ended;
        status.started_ms = receipt.started_ms;
        status.left = receipt.left;
        (status.ended, status.ended_ms) = (Some(receipt.ended), Some(receipt.ended_ms));
        status.output_bytes = Some(receipt.output_bytes);
    }
    Ok(Row { session, alive: false, lost, status, silent_ms: None })
}

/// How long ago something was printed.
fn silence(folder: &Folder) -> io::Result<Option<u64>> {
    let Some(meta) = folder.meta(folder::OUTPUT)? else { return Ok(None) };
    let printed = i128::from(meta.st_mtime) * 1_000 + i128::from(meta.st_mtime_nsec) / 1_000_000;
    let silent = i128::from(clock::wall_ms()) - printed;
    Ok(u64::try_from(silent.max(0)).ok())
}
