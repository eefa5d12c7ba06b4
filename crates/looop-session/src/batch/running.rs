//! One job while it runs.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, WaitStatus};
use rustix::time::Timespec;

use super::{Done, Job, Keep, Output};
use crate::Ended;
use crate::spawn::Plan;

/// The outputs of a job, in the order of its streams.
const OUTPUTS: [Output; 2] = [Output::Stdout, Output::Stderr];

/// What is to be told of both outputs.
type Pieces = [(Output, Vec<u8>); 2];

/// One of its two outputs: the head or the tail is kept, the rest is counted.
#[derive(Debug)]
struct Stream {
    pipe: Option<PipeReader>,
    cap: u64,
    keep: Keep,
    kept: Vec<u8>,
    total: u64,
    /// What came since it was last told, if it is told at all.
    fresh: Option<Vec<u8>>,
}

impl Stream {
    fn new(pipe: PipeReader, cap: Option<u64>, keep: Keep, told: bool) -> Self {
        let cap = cap.unwrap_or(u64::MAX);
        Self { pipe: Some(pipe), cap, keep, kept: Vec::new(), total: 0, fresh: told.then(Vec::new) }
    }

    /// Reads once what is there. The caller knows that it does not block.
    fn read(&mut self, scratch: &mut [u8]) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&*pipe, &mut *scratch))?;
        if count == 0 {
            self.pipe = None;
        }
        self.store(&scratch[..count]);
        self.total += count as u64;
        if let Some(fresh) = &mut self.fresh {
            fresh.extend_from_slice(&scratch[..count]);
        }
        Ok(count)
    }

    fn store(&mut self, bytes: &[u8]) {
        match self.keep {
            Keep::Head => {
                let room = usize::try_from(self.cap.saturating_sub(self.total)).unwrap_or(usize::MAX);
                self.kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
            }
            Keep::Tail => {
                self.kept.extend_from_slice(bytes);
                // Cut only when twice the cap is reached, so that each byte is moved at most once on average.
                if self.kept.len() as u64 / 2 >= self.cap {
                    self.cut();
                }
            }
        }
    }

    /// What came since it was last told.
    fn take_fresh(&mut self) -> Vec<u8> {
        self.fresh.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Drops what is before the tail.
    fn cut(&mut self) {
        let cap = usize::try_from(self.cap).unwrap_or(usize::MAX);
        self.kept.drain(..self.kept.len().saturating_sub(cap));
    }

    /// Takes what is in the pipe now, and no more: whoever was left behind may write for ever. Says whether somebody
    /// still holds the other end.
    fn drain(&mut self, scratch: &mut [u8]) -> io::Result<bool> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        let mut waiting = rustix::io::ioctl_fionread(pipe)?;
        while waiting > 0 && self.pipe.is_some() {
            let most = usize::try_from(waiting).unwrap_or(usize::MAX).min(scratch.len());
            waiting -= self.read(&mut scratch[..most])? as u64;
        }
        Ok(self.pipe.as_ref().is_some_and(|pipe| !hung_up(pipe.as_fd())))
    }
}

/// The standard input of a job: a regular file, whose opening cannot block, or nothing.
fn input(path: Option<&Path>) -> Result<Stdio, String> {
    let Some(path) = path else { return Ok(Stdio::null()) };
    let named = |error: io::Error| format!("{}: {error}", path.display());
    if !std::fs::metadata(path).map_err(named)?.is_file() {
        return Err(format!("{}: not a regular file", path.display()));
    }
    File::open(path).map(Stdio::from).map_err(named)
}

/// Whether nobody holds the writing end.
fn hung_up(pipe: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(pipe, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
}

/// A job whose own process lives.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) index: usize,
    pub(super) pid: i32,
    began: Duration,
    /// When its time is over.
    pub(super) deadline: Option<Duration>,
    /// Why we are ending it, if we are.
    pub(super) verdict: Option<Ended>,
    streams: [Stream; 2],
    /// Reaped by number, with all the others.
    _child: Child,
}

impl Running {
    /// Starts a job. `Err` is its result if it could not be started.
    pub(super) fn start(
        index: usize,
        job: &Job,
        env: Option<&[(String, String)]>,
        mark: &str,
        now: Duration,
    ) -> Result<Self, Done> {
        let fail = |error: String| Done::without_run(Ended::Spawn(error));
        let (stdout, stdout_end) = io::pipe().map_err(|error| fail(error.to_string()))?;
        let (stderr, stderr_end) = io::pipe().map_err(|error| fail(error.to_string()))?;
        let plan = Plan { argv: &job.argv, cwd: &job.cwd, env: job.env.as_deref().or(env), mark };
        let stdin = input(job.stdin.as_deref()).map_err(fail)?;
        let child = plan.start(stdin, stdout_end.into(), stderr_end.into()).map_err(fail)?;
        Ok(Self {
            index,
            pid: Pid::from_child(&child).as_raw_pid(),
            began: now,
            deadline: job.timeout.map(|timeout| now.saturating_add(timeout)),
            verdict: None,
            streams: [
                Stream::new(stdout, job.stdout_cap, job.keep, job.stream),
                Stream::new(stderr, job.stderr_cap, job.keep, job.stream),
            ],
            _child: child,
        })
    }

    /// The descriptors to poll, with the number of the stream. Who is told what comes may be too slow for more of it.
    pub(super) fn open(&self, full: bool) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let streams =
            self.streams.iter().enumerate().filter(move |(_, stream)| !(full && stream.fresh.is_some()));
        streams.filter_map(|(at, stream)| Some((at, stream.pipe.as_ref()?.as_fd())))
    }

    /// Reads from a stream that poll said is readable. Gives what is to be told of it.
    pub(super) fn read(&mut self, stream: usize, scratch: &mut [u8]) -> io::Result<(Output, Vec<u8>)> {
        self.streams[stream].read(scratch)?;
        Ok((OUTPUTS[stream], self.streams[stream].take_fresh()))
    }

    /// Its process has ended: takes what is left in its pipes. Gives what is to be told of it, and whether somebody
    /// still holds one of them.
    pub(super) fn drain(&mut self, scratch: &mut [u8]) -> io::Result<(Pieces, bool)> {
        let [out, err] = &mut self.streams;
        let held = [out.drain(scratch)?, err.drain(scratch)?];
        let fresh = [(Output::Stdout, out.take_fresh()), (Output::Stderr, err.take_fresh())];
        Ok((fresh, held.contains(&true)))
    }

    /// Its result.
    pub(super) fn finish(self, status: WaitStatus, now: Duration) -> Done {
        let [mut out, mut err] = self.streams;
        if out.keep == Keep::Tail {
            out.cut();
            err.cut();
        }
        Done {
            ended: self.verdict.unwrap_or_else(|| Ended::of(status)),
            stdout: out.kept,
            stdout_total: out.total,
            stderr: err.kept,
            stderr_total: err.total,
            took: now.saturating_sub(self.began),
        }
    }
}
