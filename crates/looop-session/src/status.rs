//! The published status of a session: one small file that says what a list shows.
//!
//! `<root>/status/<session>.json` while it has not ended, `<session>.ended.json` afterwards. Each is put in place by
//! rename and never synced: the truth is the lock and the receipt in the session's own folder. A power cut may leave it
//! empty or take it away, and it is then made anew from there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::kernel::State;
use crate::strays::Stray;
use crate::{Ended, Size, text};

/// The folder of all statuses, beside the sessions' own.
pub(crate) const FOLDER: &str = "status";
/// The version of the form.
pub(crate) const VERSION: u32 = 1;

const LIVE: &str = ".json";
const ENDED: &str = ".ended.json";

/// What a host publishes about its session.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The version of this form: 1.
    pub v: u32,
    /// The session's name, which is that of its folder.
    pub session: String,
    /// Where it is in its life, as far as its host could say.
    pub state: State,
    /// The host's process number.
    pub host: Option<i32>,
    /// The child's process number.
    pub child: Option<i32>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// How the child ended.
    pub ended: Option<Ended>,
    /// When all of it had ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// How much it printed in all, once it has ended.
    pub output_bytes: Option<u64>,
    /// Processes it started that could not be ended.
    #[serde(default)]
    pub left: Vec<i32>,
    /// Processes of it that ran outside its tree when it ended by itself.
    #[serde(default)]
    pub strays: Vec<Stray>,
    /// The size of its terminal.
    pub size: Option<Size>,
    /// What whoever started it noted in its spec.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
    /// Folders that are its own, as the kernel names them.
    #[serde(default, with = "text::list")]
    pub own: Vec<OsString>,
}

impl Status {
    /// Nothing is known but the name.
    pub(crate) fn blank(session: &str) -> Self {
        Self {
            v: VERSION,
            session: session.to_owned(),
            state: State::Starting,
            host: None,
            child: None,
            started_ms: 0,
            ended: None,
            ended_ms: None,
            output_bytes: None,
            left: Vec::new(),
            strays: Vec::new(),
            size: None,
            notes: BTreeMap::new(),
            own: Vec::new(),
        }
    }

    /// Puts it in place in `folder`, the folder of all statuses.
    pub(crate) fn publish(&self, folder: impl AsFd) -> io::Result<()> {
        let name = file_name(&self.session, self.state == State::Ended);
        let temporary = format!(".{name}.tmp");
        self.write(&folder, &temporary)?;
        rustix::fs::renameat(&folder, &temporary, &folder, &name)?;
        if self.state == State::Ended { withdraw(&folder, &self.session, false) } else { Ok(()) }
    }

    /// Puts it in place unless something is there.
    pub(crate) fn publish_first(&self, folder: impl AsFd) -> io::Result<()> {
        let name = file_name(&self.session, self.state == State::Ended);
        // The host has a name of its own for what it writes.
        let temporary = format!(".{name}.{}.tmp", std::process::id());
        self.write(&folder, &temporary)?;
        let linked = rustix::fs::linkat(&folder, &temporary, &folder, &name, AtFlags::empty());
        rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty())?;
        match linked {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        if self.state == State::Ended { withdraw(&folder, &self.session, false) } else { Ok(()) }
    }

    fn write(&self, folder: impl AsFd, name: &str) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
        File::from(fd).write_all(&serde_json::to_vec(self)?)
    }
}

/// Takes a published file away, if it is there.
pub(crate) fn withdraw(folder: impl AsFd, session: &str, ended: bool) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, file_name(session, ended), AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Takes away what is published about a session, in the folder of all sessions. For whoever removes its folder.
pub fn forget(root: &Path, session: &str) -> io::Result<()> {
    let folder = match File::open(root.join(FOLDER)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    withdraw(&folder, session, true)?;
    withdraw(&folder, session, false)
}

/// The name of a published file.
pub(crate) fn file_name(session: &str, ended: bool) -> String {
    format!("{session}{}", if ended { ENDED } else { LIVE })
}

/// Which session a published file is about, and whether that has ended.
pub(crate) fn session_of(name: &str) -> Option<(&str, bool)> {
    if name.starts_with('.') {
        return None;
    }
    match name.strip_suffix(ENDED) {
        Some(session) => Some((session, true)),
        None => Some((name.strip_suffix(LIVE)?, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        assert_eq!(session_of(&file_name("a~1", false)), Some(("a~1", false)));
        assert_eq!(session_of(&file_name("a~1", true)), Some(("a~1", true)));
        assert_eq!(session_of(".a~1.json.tmp"), None);
        assert_eq!(session_of("notes.txt"), None);
    }
}
