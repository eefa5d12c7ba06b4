//! The batch process: one thread, one poll loop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::running::Running;
use super::sweep::{Scope, Sight, Sweep};
use super::wire::{self, Request};
use super::{Done, Order, Output};
use crate::clock::{self, Alarm};
use crate::reaper::{self, Bell, Reaped};
use crate::tree::{Ending, Pressed};
use crate::{Ended, sys};

/// How much is read at once.
const SCRATCH: usize = 64 << 10;
/// How much may wait for whoever is told; then jobs that stream wait too.
const OUTBOX: usize = 1 << 20;

/// Why a batch could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The order on standard input cannot be understood.
    #[error("cannot understand the order")]
    Order(#[source] io::Error),
    /// The kernel refused something the loop cannot do without.
    #[error("the batch cannot go on")]
    Loop(#[source] io::Error),
}

/// Reads an order from `input`, runs it, and writes the results to `output`; both are pipes of our own.
///
/// When `input` ends, or on SIGTERM, SIGINT or SIGHUP, everything is ended. When this returns nothing below us lives.
/// It makes the process a subreaper and reaps every child: call it in a process that does nothing else.
pub fn serve(input: &impl AsFd, output: &impl AsFd) -> Result<(), ServeError> {
    let request = read_request(input.as_fd()).map_err(ServeError::Order)?;
    let Some(request) = request else { return Ok(()) };
    let mut pass = Pass::new(&request, input.as_fd(), output.as_fd()).map_err(ServeError::Loop)?;
    let ran = pass.run();
    if ran.is_err() {
        pass.stop(clock::boot());
        pass.clear().map_err(ServeError::Loop)?;
    }
    ran.map_err(ServeError::Loop)
}

/// The request line; `None` if whoever asked is gone already.
fn read_request(input: BorrowedFd<'_>) -> io::Result<Option<Request>> {
    let mut text = Vec::new();
    let mut chunk = vec![0_u8; SCRATCH];
    while text.last() != Some(&b'\n') {
        match rustix::io::retry_on_intr(|| rustix::io::read(input, &mut chunk[..]))? {
            0 => return Ok(None),
            count => text.extend_from_slice(&chunk[..count]),
        }
    }
    let Some(line) = wire::read_line(&mut &text[..])? else { return Ok(None) };
    let request: Request = serde_json::from_slice(&line)?;
    wire::check(request.v)?;
    Ok(Some(request))
}

/// A pass under way.
struct Pass<'a> {
    order: &'a Order,
    /// The next job to start.
    next: usize,
    running: Vec<Running>,
    sweep: Sweep,
    /// The end of this is the order to stop; `None` once it has come.
    input: Option<BorrowedFd<'a>>,
    output: BorrowedFd<'a>,
    /// What is written and not yet taken.
    outbox: Vec<u8>,
    deaf: bool,
    children: Bell,
    stopping: Bell,
    alarm: Alarm,
    /// The last look at our children found none.
    childless: bool,
    scratch: Vec<u8>,
}

/// What poll said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ready {
    /// The input has something, or has ended.
    Input,
    /// The output takes something.
    Output,
    /// A child ended.
    Child,
    /// We were asked to stop by a signal.
    Stop,
    /// A timer is due; all of them are looked at after every wait.
    Time,
    /// Job, by its place in `running`, and stream.
    Stream(usize, usize),
}

impl<'a> Pass<'a> {
    fn new(request: &'a Request, input: BorrowedFd<'a>, output: BorrowedFd<'a>) -> io::Result<Self> {
        sys::keep_descriptors_from_children()?;
        reaper::adopt_orphans()?;
        reaper::survive_broken_pipes()?;
        rustix::io::ioctl_fionbio(output, true)?;
        Ok(Self {
            order: &request.order,
            next: 0,
            running: Vec::new(),
            sweep: Sweep::new(&request.mark, &request.order),
            input: Some(input),
            output,
            outbox: Vec::new(),
            deaf: false,
            children: Bell::of_children()?,
            stopping: Bell::of_stopping()?,
            alarm: Alarm::new()?,
            childless: true,
            scratch: vec![0; SCRATCH],
        })
    }

    /// From the first job to the last byte.
    fn run(&mut self) -> io::Result<()> {
        loop {
            self.fill()?;
            if self.running.is_empty() && self.next == self.order.jobs.len() {
                break;
            }
            self.turn(Scope::Ended)?;
        }
        self.clear()?;
        wire::put_over(&mut self.outbox, self.sweep.left())?;
        while !self.outbox.is_empty() {
            self.turn(Scope::All)?;
        }
        Ok(())
    }

    /// Ends whatever is left below us.
    fn clear(&mut self) -> io::Result<()> {
        let mut unseen = Ending::begin(clock::boot());
        loop {
            self.reap(clock::boot())?;
            if self.running.is_empty() && self.childless {
                return Ok(());
            }
            let sight = self.sweep.look(Scope::All, clock::boot());
            let settled = self.running.is_empty() && self.sweep.idle();
            match sight {
                Sight::Exempt | Sight::Blind if settled => return Ok(()),
                // Children that no look shows forked away while we looked, or are hidden from us.
                Sight::Nobody if settled => match unseen.unseen(clock::boot()) {
                    Pressed::Stuck(_) => return Ok(()),
                    Pressed::Gone | Pressed::Again => self.sweep.hunt(Scope::All),
                },
                Sight::Somebody | Sight::Nobody | Sight::Exempt | Sight::Blind => self.turn(Scope::All)?,
            }
        }
    }

    /// Starts jobs while there is room.
    fn fill(&mut self) -> io::Result<()> {
        while self.running.len() < self.order.parallel.max(1) && self.next < self.order.jobs.len() {
            let index = self.next;
            self.next += 1;
            match Running::start(
                index,
                &self.order.jobs[index],
                self.order.env.as_deref(),
                &self.sweep.mark_of(index),
                clock::boot(),
            ) {
                Ok(running) => {
                    self.sweep.started(index, running.pid);
                    self.running.push(running);
                }
                Err(done) => self.report(index, &done)?,
            }
        }
        Ok(())
    }

    /// Waits for something and handles it.
    fn turn(&mut self, scope: Scope) -> io::Result<()> {
        let ready = self.wait()?;
        let now = clock::boot();
        // The places of streams hold until a job is taken out, so they come first.
        for news in &ready {
            if let Ready::Stream(at, stream) = news {
                let job = &mut self.running[*at];
                let (index, (output, piece)) = (job.index, job.read(*stream, &mut self.scratch)?);
                self.tell(index, output, &piece)?;
            }
        }
        let child = ready.contains(&Ready::Child) && self.children.take();
        if child {
            self.reap(now)?;
        }
        let signalled = ready.contains(&Ready::Stop) && self.stopping.take();
        if signalled || (ready.contains(&Ready::Input) && self.input_ended()?) {
            self.stop(now);
        }
        self.expire(now);
        let due = self.sweep.next().is_some_and(|next| next <= now);
        if due || (child && !self.sweep.idle()) {
            self.sweep.look(scope, now);
        }
        if ready.contains(&Ready::Output) {
            self.send();
        }
        Ok(())
    }

    /// All that may have news.
    fn sources(&self) -> impl Iterator<Item = (Ready, BorrowedFd<'_>, PollFlags)> {
        let full = self.outbox.len() >= OUTBOX;
        let bells = [(Ready::Child, self.children.as_fd()), (Ready::Stop, self.stopping.as_fd())];
        let rare = self
            .input
            .map(|fd| (Ready::Input, fd))
            .into_iter()
            .chain(self.alarm.fd().map(|fd| (Ready::Time, fd)));
        let streams = self.running.iter().enumerate().flat_map(move |(at, job)| {
            job.open(full).map(move |(stream, fd)| (Ready::Stream(at, stream), fd))
        });
        let output = (!self.outbox.is_empty()).then_some((Ready::Output, self.output, PollFlags::OUT));
        bells.into_iter().chain(rare).chain(streams).map(|(news, fd)| (news, fd, PollFlags::IN)).chain(output)
    }

    /// Waits for news.
    fn wait(&mut self) -> io::Result<Vec<Ready>> {
        let deadlines =
            self.running.iter().filter(|job| job.verdict.is_none()).filter_map(|job| job.deadline);
        self.alarm.set(deadlines.chain(self.sweep.next()).min())?;
        let (mut fds, mut asked) = (Vec::new(), Vec::new());
        for (news, fd, flags) in self.sources() {
            asked.push(news);
            fds.push(PollFd::from_borrowed_fd(fd, flags));
        }
        match rustix::event::poll(&mut fds, self.alarm.timeout().as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let hot = fds.iter().zip(asked).filter(|(fd, _)| !fd.revents().is_empty());
        Ok(hot.map(|(_, news)| news).collect())
    }

    /// Whether the input is at its end. Nothing more is expected on it, so what comes is dropped.
    fn input_ended(&mut self) -> io::Result<bool> {
        let Some(input) = self.input else { return Ok(true) };
        match rustix::io::read(input, &mut self.scratch[..]) {
            Ok(0) => Ok(true),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends all that runs and starts no more.
    fn stop(&mut self, now: Duration) {
        self.input = None;
        for job in &mut self.running {
            job.verdict.get_or_insert(Ended::Killed);
            self.sweep.end(job.index, now);
        }
        for index in std::mem::replace(&mut self.next, self.order.jobs.len())..self.order.jobs.len() {
            // Whoever asked may be gone; then there is nobody to tell.
            self.report(index, &Done::without_run(Ended::Killed)).ok();
        }
    }

    /// Ends those whose time is over.
    fn expire(&mut self, now: Duration) {
        for job in &mut self.running {
            if job.verdict.is_none() && job.deadline.is_some_and(|deadline| deadline <= now) {
                job.verdict = Some(Ended::TimedOut);
                self.sweep.end(job.index, now);
            }
        }
    }

    /// Reaps all that ended: jobs, and orphans that came to us.
    fn reap(&mut self, now: Duration) -> io::Result<()> {
        loop {
            match reaper::reap()? {
                Reaped::AllAlive => self.childless = false,
                Reaped::NoChildren => self.childless = true,
                Reaped::Child(pid, status) => {
                    let pid = pid.as_raw_pid();
                    if let Some(at) = self.running.iter().position(|job| job.pid == pid) {
                        let mut job = self.running.swap_remove(at);
                        let (pieces, held) = job.drain(&mut self.scratch)?;
                        self.sweep.ended(pid, held, now);
                        for (output, piece) in &pieces {
                            self.tell(job.index, *output, piece)?;
                        }
                        self.report(job.index, &job.finish(status, now))?;
                    }
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// Tells what a job printed.
    fn tell(&mut self, index: usize, output: Output, piece: &[u8]) -> io::Result<()> {
        if self.deaf || piece.is_empty() {
            return Ok(());
        }
        wire::put_piece(&mut self.outbox, index, output, piece)
    }

    fn report(&mut self, index: usize, done: &Done) -> io::Result<()> {
        if self.deaf {
            return Ok(());
        }
        wire::put_done(&mut self.outbox, index, done)
    }

    /// Writes what the reader takes. If there is no reader any more, there is nobody to work for.
    fn send(&mut self) {
        match rustix::io::write(self.output, &self.outbox) {
            Ok(count) => drop(self.outbox.drain(..count)),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => {
                self.deaf = true;
                self.outbox.clear();
                self.stop(clock::boot());
            }
        }
    }
}
