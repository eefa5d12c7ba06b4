//! Processes of a session that run outside its tree.
//!
//! A child can hand work to a program that runs already, such as a server of its user: what that starts is not below the
//! session's host. It is known by the session's mark in its environment, and is ended with the session. What only has
//! its working folder in a folder of the session's own, and was started after it, may be a person's editor or shell: it
//! is reported and never ended.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::host::{self, Standing};
use crate::proc::{self, Process, Table};
use crate::roll::Row;
use crate::tree::{Marked, is_spared};
use crate::{clock, mark};

/// No line of parents is longer; a reused number could make it a circle.
const DEEPEST: usize = 1000;
/// A process that was started in the same moment as the session may show an earlier time by rounding.
const ROUNDING_MS: u64 = 20;

/// How a process is known to belong to a session.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// It carries the session's mark in its environment.
    Mark,
    /// Its working folder is in a folder of the session's own.
    Folder,
}

/// A process of a session that runs outside its tree.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Stray {
    /// Its number.
    pub pid: i32,
    /// The kernel's short name of the program.
    pub program: String,
    /// How it is known.
    pub by: Sign,
    /// Whether it was ended with the session.
    pub ended: bool,
}

/// What is known of a session that has ended, or is about to.
#[derive(Debug)]
pub(crate) struct Sought {
    pub(crate) mark: String,
    pub(crate) spare: Vec<String>,
    /// The number of its host, while that runs.
    pub(crate) host: Option<i32>,
    /// The number of its child.
    pub(crate) home: i32,
    /// Folders that are its own.
    pub(crate) own: Vec<PathBuf>,
    /// When it was started, in milliseconds since 1970.
    pub(crate) started_ms: u64,
}

impl Sought {
    /// Those of it that run, and not below its host.
    fn look(&self, table: &Table) -> Vec<Stray> {
        let (us, since) = (proc::our_pid(), ticks_of(self.started_ms));
        let below = self.host.map(|host| table.below(host)).unwrap_or_default();
        let below: HashSet<i32> = below.into_iter().map(|(process, _)| process.pid).collect();
        let outside =
            table.all().filter(|process| !process.dead && process.pid != us && !below.contains(&process.pid));
        let strays = outside.filter(|process| !is_spared(process, self.home, &self.spare));
        strays.filter_map(|process| stray(process, self.sign(process, since)?)).collect()
    }

    fn sign(&self, process: &Process, since: u64) -> Option<Sign> {
        if proc::mark_of(process.pid).as_ref() == Some(&self.mark) {
            return Some(Sign::Mark);
        }
        let cwd = proc::folder_of(process.pid).filter(|_| process.start >= since)?;
        self.own.iter().any(|own| cwd.starts_with(own)).then_some(Sign::Folder)
    }

    /// Finds them, and ends those that carry the mark. Blocks. Says who was found, and the numbers of those that would
    /// not end.
    pub(crate) fn end(&self, table: &Table) -> io::Result<(Vec<Stray>, Vec<i32>)> {
        let mut found = self.look(table);
        found.sort_by_key(|stray| stray.pid);
        if found.iter().all(|stray| stray.by == Sign::Folder) {
            return Ok((found, Vec::new()));
        }
        let carries = |mark: &str| mark == self.mark;
        let marked = Marked { home: self.home, spare: &self.spare, ..Marked::by(&carries) };
        let left = marked.end()?.left;
        for stray in found.iter_mut().filter(|stray| stray.by == Sign::Mark) {
            stray.ended = !left.contains(&stray.pid);
        }
        Ok((found, left))
    }
}

/// A process as it is reported, if it is still the one that was looked at.
fn stray(process: &Process, by: Sign) -> Option<Stray> {
    proc::one(process.pid).filter(|now| now.start == process.start && !now.dead)?;
    Some(Stray { pid: process.pid, program: process.name.clone(), by, ended: false })
}

/// A moment of the wall clock in the unit of [`Process::start`].
fn ticks_of(wall_ms: u64) -> u64 {
    let ago = Duration::from_millis((clock::wall_ms() + ROUNDING_MS).saturating_sub(wall_ms));
    proc::ticks(clock::boot().saturating_sub(ago))
}

/// Ends what sessions in the folder `root` that have ended left outside their trees. Blocks; one look serves all of them.
/// Says who was found, by session. A session that has no receipt is left out.
pub fn end_strays(root: &Path, sessions: &[&str]) -> io::Result<BTreeMap<String, Vec<Stray>>> {
    let mut found = BTreeMap::new();
    let table = match Table::scan() {
        // Where there never is a process table nothing can be found.
        Err(_) if cfg!(not(target_os = "linux")) => return Ok(found),
        table => table?,
    };
    for session in sessions {
        let folder = root.join(session);
        let Standing::Ended(receipt) = host::standing(&folder)? else { continue };
        let Some(sought) = host::sought(&folder, receipt.started_ms)? else { continue };
        let (strays, _) = sought.end(&table)?;
        if !strays.is_empty() {
            found.insert((*session).to_owned(), strays);
        }
    }
    Ok(found)
}

/// What live sessions of the folder `root` have running outside their trees now, by session. Nothing is ended.
///
/// Of the processes of sessions only those that their hosts do not name are looked at, and of all others only those that
/// are younger than the oldest session are looked at closely.
pub fn strays(root: &Path, rows: &[Row]) -> io::Result<BTreeMap<String, Vec<Stray>>> {
    let live: Vec<&Row> = rows.iter().filter(|row| row.alive).collect();
    let Some(oldest) = live.iter().min_by_key(|row| row.status.started_ms) else {
        return Ok(BTreeMap::new());
    };
    let named: HashSet<i32> =
        live.iter().flat_map(|row| [row.status.host, row.status.child]).flatten().collect();
    let since = start_of(oldest);
    let young: HashMap<i32, Process> = proc::numbers()?
        .filter(|pid| !named.contains(pid) && *pid != proc::our_pid())
        .filter_map(|pid| Some((pid, proc::one(pid)?)))
        .filter(|(_, process)| !process.dead && process.start >= since)
        .collect();
    let mut found: BTreeMap<String, Vec<Stray>> = BTreeMap::new();
    for process in young.values().filter(|process| !is_below(process, &young, &named)) {
        if let Some((row, by)) = owner(process, root, &live)? {
            found.entry(row.session.clone()).or_default().extend(stray(process, by));
        }
    }
    for strays in found.values_mut() {
        strays.sort_by_key(|stray| stray.pid);
    }
    Ok(found)
}

/// When the host of a live session was started. One that cannot be seen is as old as the machine.
fn start_of(row: &Row) -> u64 {
    row.status.host.and_then(proc::one).map_or(0, |host| host.start)
}

/// Whether a process is below one of those that are named. What is below them is as young as they are.
fn is_below(process: &Process, young: &HashMap<i32, Process>, named: &HashSet<i32>) -> bool {
    let line = std::iter::successors(Some(process), |at| young.get(&at.parent));
    line.take(DEEPEST).any(|at| named.contains(&at.parent))
}

/// The live session that a process belongs to.
fn owner<'r>(process: &Process, root: &Path, live: &[&'r Row]) -> io::Result<Option<(&'r Row, Sign)>> {
    // Whose environment cannot be read is another user's, or has ended.
    let environ = proc::file(process.pid, "environ").unwrap_or_default();
    if let Some(mark) = mark::within(&environ) {
        let named = mark::entry(&environ, "LOOOP_SESSION_ID");
        let (likely, others): (Vec<&Row>, Vec<&Row>) =
            live.iter().partition(|row| Some(row.session.as_bytes()) == named);
        for row in likely.into_iter().chain(others) {
            if host::mark_of(&root.join(&row.session))?.as_deref() == Some(mark) {
                return Ok(Some((row, Sign::Mark)));
            }
        }
    }
    let Some(cwd) = proc::folder_of(process.pid) else { return Ok(None) };
    let since = |row: &Row| process.start >= start_of(row);
    let owns = |row: &&&Row| since(row) && folders(root, row).iter().any(|own| cwd.starts_with(own));
    Ok(live.iter().find(owns).map(|row| (*row, Sign::Folder)))
}

/// The folders that are a session's own.
fn folders(root: &Path, row: &Row) -> Vec<PathBuf> {
    let own = row.status.own.iter().map(PathBuf::from);
    own.chain([root.join(&row.session)]).collect()
}

/// Folders as the kernel names them.
pub(crate) fn real(folders: &[OsString]) -> Vec<PathBuf> {
    // One that is gone is nobody's working folder any more.
    folders.iter().filter_map(|folder| Path::new(folder).canonicalize().ok()).collect()
}
