//! The socket of a live host: one line of JSON in, one line out, each saying its version.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use serde::{Deserialize, Serialize};

use super::folder::{self, Folder};

/// The version of the words.
pub(super) const VERSION: u32 = 1;
/// A request is shorter.
const LONGEST_LINE: usize = 4096;
/// More callers than this are turned away.
const MOST_CALLERS: usize = 32;

/// What a caller says.
#[derive(Serialize, Deserialize, Debug)]
pub(super) struct Request {
    #[serde(default)]
    pub(super) v: Option<u32>,
    #[serde(rename = "do")]
    pub(super) verb: Verb,
}

/// What a caller wants.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verb {
    /// Who are you?
    Hello,
    /// End all that the child started.
    Kill,
}

/// What the host answers.
#[derive(Serialize, Deserialize, Debug, Default)]
pub(super) struct Reply {
    pub(super) v: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// The listening socket and its callers. A caller's end is closed with the host, so its end tells that the host is
/// gone.
#[derive(Debug)]
pub(super) struct Door {
    listener: UnixListener,
    callers: Vec<Caller>,
}

#[derive(Debug)]
struct Caller {
    stream: UnixStream,
    heard: Vec<u8>,
}

impl Door {
    /// Listens in the folder.
    pub(super) fn open(folder: &Folder) -> io::Result<Self> {
        let listener = UnixListener::bind(folder.path_of(folder::SOCK))?;
        folder.make_private(folder::SOCK)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, callers: Vec::new() })
    }

    /// What to poll for reading: the listener first, then the callers in order.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.listener.as_fd()).chain(self.callers.iter().map(|caller| caller.stream.as_fd()))
    }

    /// Handles those that are ready, `hot` being in the order of [`Door::fds`]. Says whether one asked to kill.
    pub(super) fn answer(&mut self, hot: &[bool]) -> bool {
        let mut kill = false;
        let mut ready = hot.iter().skip(1).copied();
        self.callers.retain_mut(|caller| !ready.next().unwrap_or(false) || caller.hear(&mut kill).is_ok());
        if hot.first() == Some(&true) {
            self.admit();
        }
        kill
    }

    fn admit(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.callers.len() < MOST_CALLERS && stream.set_nonblocking(true).is_ok() {
                self.callers.push(Caller { stream, heard: Vec::new() });
            }
        }
    }
}

impl Caller {
    /// Reads what is there and answers whole lines. An error ends the call; what it asked before counts.
    fn hear(&mut self, kill: &mut bool) -> io::Result<()> {
        let mut chunk = [0_u8; LONGEST_LINE];
        match self.stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.heard.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let (reply, verb) = reply(&line);
            *kill |= verb == Some(Verb::Kill);
            let mut text = serde_json::to_vec(&reply)?;
            text.push(b'\n');
            self.stream.write_all(&text)?;
        }
        if self.heard.len() > LONGEST_LINE {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }
}

fn reply(line: &[u8]) -> (Reply, Option<Verb>) {
    let refuse = |why: String| Reply { v: VERSION, ok: Some(false), error: Some(why), ..Reply::default() };
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => return (refuse(error.to_string()), None),
    };
    match (request.v, request.verb) {
        (Some(version), _) if version != VERSION => {
            (refuse(format!("version {version} is not {VERSION}")), None)
        }
        (_, Verb::Hello) => {
            (Reply { v: VERSION, pid: Some(crate::proc::our_pid()), ..Reply::default() }, Some(Verb::Hello))
        }
        (_, Verb::Kill) => (Reply { v: VERSION, ok: Some(true), ..Reply::default() }, Some(Verb::Kill)),
    }
}
