//! What is published about sessions that have ended, in one file: `status/.ended.json`. Whoever reads many of them for the
//! first time reads this file instead of each.
//!
//! It may be lost, cut or old: a session is taken from it only if its own file is as it was when it was noted.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::Stamp;
use crate::host::folder::{Folder, read_whole};
use crate::status::{self, Status};

/// The version of the form.
const VERSION: u32 = 1;
const NAME: &str = ".ended.json";
/// No index is larger.
const LARGEST: u64 = 4 << 20;
/// Fewer sessions are read one by one.
pub(super) const MANY: usize = 16;
/// A session with longer notes, in bytes, is read from its own file.
const LONGEST_NOTES: usize = 2 << 10;

#[derive(Serialize, Deserialize)]
struct Index<S> {
    v: u32,
    ended: Vec<(Stamp, S)>,
}

/// What was noted about ended sessions. An index that cannot be used is as good as none.
pub(super) fn load(root: &Folder) -> Vec<(Stamp, Status)> {
    let Ok(Some((file, meta))) = root.open_file(&format!("{}/{NAME}", status::FOLDER)) else {
        return Vec::new();
    };
    let bytes = read_whole(&file, &meta, LARGEST).unwrap_or_default();
    match serde_json::from_slice::<Index<Status>>(&bytes) {
        Ok(index) if index.v == VERSION => {
            index.ended.into_iter().filter(|(_, status)| status.v == status::VERSION).collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Notes what is known about ended sessions, for whoever reads them next.
pub(super) fn store<'a>(
    root: &Path,
    known: impl Iterator<Item = &'a (Stamp, Arc<Status>)>,
) -> io::Result<()> {
    let is_short = |status: &Status| {
        let notes = status.notes.iter().map(|(name, text)| name.len() + text.len());
        notes.sum::<usize>() <= LONGEST_NOTES
    };
    let ended = known.filter(|(_, status)| status.ended.is_some() && is_short(status));
    let index = Index { v: VERSION, ended: ended.map(|(stamp, status)| (*stamp, &**status)).collect() };
    let bytes = serde_json::to_vec(&index)?;
    if bytes.len() as u64 > LARGEST {
        return Ok(());
    }
    let folder = File::open(root.join(status::FOLDER))?;
    // Several may write one at the same time; each is whole.
    let temporary = format!("{NAME}.{}.tmp", std::process::id());
    let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = rustix::fs::openat(&folder, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
    File::from(fd).write_all(&bytes)?;
    Ok(rustix::fs::renameat(&folder, &temporary, &folder, NAME)?)
}
