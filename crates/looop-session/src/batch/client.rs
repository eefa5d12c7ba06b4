//! The asking side of a batch.

use std::io::{self, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::wire::{self, Message, Request};
use super::{Done, Order, Output};
use crate::mark;
use crate::tree::Marked;

/// Why a batch gave no complete answer.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The batch process could not be started.
    #[error("cannot start the batch")]
    Start(#[source] io::Error),
    /// It could not be told what to do.
    #[error("cannot hand the order to the batch")]
    Order(#[source] io::Error),
    /// It ended before the pass was over. What it had started has been ended by its mark.
    #[error("the batch ended before the pass was over")]
    Died,
    /// It said something that is no result.
    #[error("cannot understand the batch")]
    Answer(#[source] io::Error),
}

/// A pass under way. Dropping it ends the pass and waits until nothing of it lives.
#[derive(Debug)]
pub struct Batch {
    child: Child,
    orders: Stopper,
    results: BufReader<ChildStdout>,
    mark: String,
    over: bool,
}

/// What is told of a job.
#[derive(Debug)]
pub enum News {
    /// It printed this.
    Piece(Output, Vec<u8>),
    /// It is over.
    Done(Done),
}

/// What comes next in a pass.
#[derive(Debug)]
pub enum Next {
    /// News of the job with this index.
    News(usize, News),
    /// Nothing within the time.
    Nothing,
    /// The pass is over; these processes could not be ended.
    Over(Vec<i32>),
}

/// Ends a pass early, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Mutex<Option<ChildStdin>>>);

impl Stopper {
    /// Ends the pass: running jobs are reported as killed, the others as killed without having run.
    pub fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Batch {
    /// Runs a whole pass. `on_done` is called once for each job, as they end; the answer lists the processes that
    /// could not be ended (another user's, or stuck in the kernel), and is normally empty.
    pub fn run(
        image: &Path,
        image_args: &[&str],
        order: &Order,
        on_done: &mut dyn FnMut(usize, Done),
    ) -> Result<Vec<i32>, BatchError> {
        Self::start(image, image_args, order)?.finish(on_done)
    }

    /// Starts a pass. The process is `image` with `image_args`, which must lead to [`super::serve`].
    pub fn start(image: &Path, image_args: &[&str], order: &Order) -> Result<Self, BatchError> {
        let mark = mark::fresh().map_err(BatchError::Start)?;
        let request = Request { v: wire::VERSION, mark: mark.clone(), order: order.clone() };
        let mut line = serde_json::to_vec(&request).map_err(|error| BatchError::Order(error.into()))?;
        line.push(b'\n');
        let mut command = Command::new(image);
        command.args(image_args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A group of its own: an interrupt from the terminal is for us, and we end the batch.
        let mut child = command.process_group(0).spawn().map_err(BatchError::Start)?;
        let (orders, results) = (child.stdin.take(), child.stdout.take());
        let (Some(mut orders), Some(results)) = (orders, results) else {
            return Err(BatchError::Start(io::ErrorKind::BrokenPipe.into()));
        };
        let told = orders.write_all(&line);
        let orders = Stopper(Arc::new(Mutex::new(Some(orders))));
        let batch = Self { child, orders, results: BufReader::new(results), mark, over: false };
        told.map(|()| batch).map_err(BatchError::Order)
    }

    /// A handle that ends the pass early.
    pub fn stopper(&self) -> Stopper {
        self.orders.clone()
    }

    /// Blocks until the pass is over; see [`Batch::run`].
    pub fn finish(self, on_done: &mut dyn FnMut(usize, Done)) -> Result<Vec<i32>, BatchError> {
        self.follow(&mut |index, news| match news {
            News::Done(done) => on_done(index, done),
            News::Piece(..) => {}
        })
    }

    /// Blocks until the pass is over, and tells also what jobs that stream print, as it comes.
    pub fn follow(mut self, on_news: &mut dyn FnMut(usize, News)) -> Result<Vec<i32>, BatchError> {
        loop {
            match self.next(None)? {
                Next::News(index, news) => on_news(index, news),
                Next::Over(left) => return Ok(left),
                Next::Nothing => {}
            }
        }
    }

    /// What comes next, or nothing where nothing came for so long.
    pub fn next(&mut self, within: Option<Duration>) -> Result<Next, BatchError> {
        if self.results.buffer().is_empty() && !self.comes(within).map_err(BatchError::Answer)? {
            return Ok(Next::Nothing);
        }
        match wire::read(&mut self.results) {
            Ok(Some(Message::Job(index, done))) => Ok(Next::News(index, News::Done(done))),
            Ok(Some(Message::Piece(index, output, piece))) => {
                Ok(Next::News(index, News::Piece(output, piece)))
            }
            Ok(Some(Message::Over(left))) => {
                self.over = true;
                Ok(Next::Over(left))
            }
            Ok(None) => Err(BatchError::Died),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(BatchError::Died),
            Err(error) => Err(BatchError::Answer(error)),
        }
    }

    /// Waits until there is something to read; says whether there is.
    fn comes(&self, within: Option<Duration>) -> io::Result<bool> {
        // A length that the kernel cannot express never passes.
        let within = within.and_then(|length| Timespec::try_from(length).ok());
        let mut fds = [PollFd::new(self, PollFlags::IN)];
        match poll(&mut fds, within.as_ref()) {
            Ok(count) => Ok(count > 0),
            // Whoever asked for less time looks at the clock again.
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Readable when there is a result, or when the pass is over.
impl AsFd for Batch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.results.get_ref().as_fd()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.orders.stop();
        let clean = self.child.wait().is_ok_and(|status| status.success());
        if !self.over && !clean {
            // It was killed itself, and so did not end what it had started.
            let mine = format!("{}-", self.mark);
            // Where its processes cannot be listed nothing more can be done for them.
            Marked::by(&|mark| mark.starts_with(&mine)).end().ok();
        }
    }
}
