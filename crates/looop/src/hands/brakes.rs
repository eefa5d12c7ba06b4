//! The brakes: every batch under way can be ended early, and whoever ends them knows when they are gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use looop_session::{Batch, BatchError, Done, Order, Stopper};

use super::{environ, room};

/// How long an ended batch may take to be gone.
const PATIENCE: Duration = Duration::from_secs(4);

/// Shared by all who run batches for one lock holder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brakes(Arc<(Mutex<Running>, Condvar)>);

#[derive(Debug, Default)]
struct Running {
    /// Those under way; of one that is just being started there is no stopper yet.
    batches: BTreeMap<u64, Option<Stopper>>,
    begun: u64,
    pulled: bool,
}

/// A batch is over, however it went.
pub(crate) struct Over<'a>(&'a Brakes, u64);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.running().batches.remove(&self.1);
        self.0.0.1.notify_all();
    }
}

impl Brakes {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a batch to its end, or until the brakes are pulled. Gives what came of each job.
    pub(crate) fn run(&self, order: &Order) -> Result<Vec<Option<Done>>, BatchError> {
        let mut results: Vec<Option<Done>> = order.jobs.iter().map(|_| None).collect();
        let Some(over) = self.enter() else { return Ok(results) };
        let batch = Batch::start(&environ::image(), &["_batch"], order)?;
        self.add(over.1, batch.stopper());
        // What is strict is confined, and may write below the profile, in which it works. Without a thread nobody looks at
        // the disk, and the deadlines hold.
        let confined = order.jobs.iter().find(|job| job.strict);
        let stopper = batch.stopper();
        let _watch = confined.map(|job| room::watch(&job.cwd, move || stopper.stop()));
        batch.finish(&mut |at, done| results[at] = Some(done))?;
        drop(over);
        Ok(results)
    }

    /// Announces a batch, or other work that is waited for at the end, unless no more may be begun.
    pub(crate) fn enter(&self) -> Option<Over<'_>> {
        let mut running = self.running();
        running.begun += 1;
        let number = running.begun;
        if running.pulled {
            return None;
        }
        running.batches.insert(number, None);
        Some(Over(self, number))
    }

    /// Whether what is under way should end early.
    pub(crate) fn are_pulled(&self) -> bool {
        self.running().pulled
    }

    fn add(&self, number: u64, stopper: Stopper) {
        let mut running = self.running();
        if running.pulled {
            stopper.stop();
        }
        running.batches.insert(number, Some(stopper));
    }

    /// Ends all batches, and lets no more begin.
    pub(crate) fn pull(&self) {
        let mut running = self.running();
        running.pulled = true;
        running.batches.values().flatten().for_each(Stopper::stop);
    }

    /// Waits until no batch is under way. One that does not go is not waited for for ever.
    pub(crate) fn wait(&self) {
        let running = self.running();
        drop(self.0.1.wait_timeout_while(running, PATIENCE, |running| !running.batches.is_empty()));
    }
}
