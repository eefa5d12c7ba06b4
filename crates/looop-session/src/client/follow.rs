//! Following the output of a session from any offset: first what is kept, then what comes, each byte once.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::attached::Attached;
use super::connection::{Client, View};
use super::error::ClientError;
use super::frame::Frame;
use crate::host::{self, Standing};
use crate::reader::Transcript;

/// How much is read of a transcript at once.
const PIECE: usize = 64 << 10;

/// What came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// So many bytes are no longer kept; what follows comes after them.
    Dropped(u64),
    /// The session has ended, and everything was given.
    Ended,
    /// The time is up.
    Nothing,
}

/// A reader of a session's output.
#[derive(Debug)]
pub struct Follow {
    folder: PathBuf,
    transcript: Transcript,
    /// The offset of the next byte.
    at: u64,
    /// The frames begin here; what is before is read from the transcript.
    edge: u64,
    live: Option<Attached>,
}

impl Follow {
    /// Follows from this offset on. `None`: there is no such session.
    pub fn open(folder: &Path, from: u64) -> Result<Option<Self>, ClientError> {
        let Some(transcript) = Transcript::open(folder)? else { return Ok(None) };
        let mut follow = Self { folder: folder.to_owned(), transcript, at: from, edge: 0, live: None };
        follow.attach()?;
        Ok(Some(follow))
    }

    /// The offset of the next byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Everything before this offset is there already.
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// Goes over what came so far: what follows is what comes from now on.
    pub fn skip_to_now(&mut self) {
        self.at = self.at.max(self.edge);
    }

    /// What is next. Waits for it until then, or for ever.
    pub fn next(&mut self, until: Option<Instant>) -> Result<News, ClientError> {
        loop {
            if self.at < self.edge {
                return self.read();
            }
            let Some(live) = &mut self.live else { return Ok(News::Ended) };
            if let Some(frame) = live.next_frame()? {
                if let Some(news) = self.take(frame)? {
                    return Ok(news);
                }
            } else if !live.is_open() {
                self.over()?;
            } else if !wait(live, until)? {
                return Ok(News::Nothing);
            }
        }
    }

    fn take(&mut self, frame: Frame) -> Result<Option<News>, ClientError> {
        match frame {
            Frame::Output(bytes) => {
                let begin = self.edge;
                self.edge += bytes.len() as u64;
                // An offset that lies in the future is waited for.
                let skipped =
                    usize::try_from(self.at.saturating_sub(begin)).unwrap_or(usize::MAX).min(bytes.len());
                if skipped == bytes.len() {
                    return Ok(None);
                }
                self.at = self.edge;
                Ok(Some(News::Bytes(bytes[skipped..].to_vec())))
            }
            // We did not keep up, or all viewers were sent away; the transcript has what we missed.
            Frame::Repaint(_) | Frame::Detached => self.attach().map(|()| None),
            Frame::Size(_) => Ok(None),
            Frame::End(_) => self.over().map(|()| None),
        }
    }

    /// Attaches if the session lives. What it printed before comes from the transcript.
    fn attach(&mut self) -> Result<(), ClientError> {
        self.live = None;
        let view = View { size: None, watch: true, repaint: false };
        match Client::connect(&self.folder).and_then(|client| client.attach(&view)) {
            Ok(live) => {
                self.edge = live.at();
                self.transcript.printed(self.edge)?;
                self.live = Some(live);
                Ok(())
            }
            Err(ClientError::Absent | ClientError::Gone) => self.over(),
            Err(error) => Err(error),
        }
    }

    /// The host is going or gone: what it left is all there is.
    fn over(&mut self) -> Result<(), ClientError> {
        self.live = None;
        if host::wait(&self.folder)? == Standing::Absent {
            return Err(ClientError::Absent);
        }
        self.edge = self.transcript.extent()?.end;
        Ok(())
    }

    /// Reads on in the transcript, up to the edge.
    fn read(&mut self) -> Result<News, ClientError> {
        let mut bytes = vec![0; usize::try_from(self.edge - self.at).unwrap_or(PIECE).min(PIECE)];
        let piece = self.transcript.read(self.at, &mut bytes)?;
        let found = if piece.count == 0 { self.edge } else { piece.at.min(self.edge) };
        if found > self.at {
            let dropped = found - self.at;
            self.at = found;
            return Ok(News::Dropped(dropped));
        }
        bytes.truncate(piece.count);
        self.at += piece.count as u64;
        Ok(News::Bytes(bytes))
    }
}

/// Waits for the host to say something; says whether it did.
fn wait(live: &mut Attached, until: Option<Instant>) -> Result<bool, ClientError> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    });
    let ready = match rustix::event::poll(&mut [PollFd::new(live, PollFlags::IN)], left.as_ref()) {
        Ok(count) => count > 0,
        // The caller looks at the time again.
        Err(Errno::INTR) => return Ok(true),
        Err(error) => return Err(ClientError::Io(error.into())),
    };
    if ready {
        live.hear()?;
    }
    Ok(ready)
}
