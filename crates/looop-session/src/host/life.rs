//! The life of a host, from its folder to its receipt.

use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use super::body::Body;
use super::door::Door;
use super::folder;
use super::keeper::Keeper;
use super::publisher::Publisher;
use super::receipt::Reserve;
use super::setup::{self, Ground};
use super::spec::{RECEIPT_VERSION, Receipt};
use super::standing;
use super::tools::Tools;
use crate::cgroup::Cgroup;
use crate::kernel::{Input, Kernel};
use crate::proc::Table;
use crate::spawn::Plan;
use crate::strays::{Sought, Stray};
use crate::tree::Brood;
use crate::{Ended, clock, point, proc};

/// What `looop _host <folder>` does: runs the session in this folder, whose lock is standard input.
///
/// It makes the process a subreaper, reaps every child and closes every descriptor but the standard streams: call it
/// first of all in a process that does nothing else.
pub fn main(folder: &Path) -> ExitCode {
    // Nobody listens to a host; the folder says how far it came.
    if run(folder).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(path: &Path) -> io::Result<()> {
    // Whoever finds the lock free finds the process gone: the kernel alone lets go of it.
    let mut ground = ManuallyDrop::new(setup::detach(path)?);
    let tools = Tools::gather()?;
    let door = Door::open(&ground.folder)?;
    let body = Body::new(&ground.folder, &ground.stored.spec, clock::boot())?;
    let reserve = Reserve::take(&ground.folder)?;
    point("host.reserved");
    let durable = ground.is_durable()?;
    let started_ms = clock::wall_ms();
    if !durable || !ground.folder.claim_start_of_host(proc::our_pid())? {
        reserve.release(&ground.folder);
        ground.folder.remove(folder::SOCK)?;
        return Ok(());
    }
    point("host.started");
    let publisher = Publisher::new(path, &ground.stored.spec, started_ms);
    let mut keeper = keep(&ground, tools, door, body, publisher);
    point("host.execed");
    let ended = keeper.live()?;
    finish(keeper, &reserve, ended, started_ms)
}

/// Starts the child, if it can be started.
fn keep(ground: &Ground, tools: Tools, door: Door, body: Body, publisher: Publisher) -> Keeper<'_> {
    let spec = &ground.stored.spec;
    let (now, deadline) = (clock::boot(), spec.deadline_ms.map(Duration::from_millis));
    let kernel = Kernel::new(spec.terminal.is_some(), deadline, now);
    let (brood, child, over) = (Brood::none(), None, None);
    let mut keeper = Keeper { ground, tools, body, door, kernel, brood, publisher, child, over, lent: None };
    let input = match spawn(&mut keeper.body, ground) {
        Ok((child, group)) => {
            // For whoever finds us dead; the folder may be gone already.
            ground.lock.write_all_at(format!("child {child}\n").as_bytes(), 0).ok();
            keeper.brood = Brood::new(child, &spec.spare, group);
            keeper.child = Some(child);
            keeper.publisher.set_child(child);
            Input::Spawned
        }
        Err(reason) => Input::SpawnFailed(reason),
    };
    keeper.tell(input, now);
    keeper
}

fn spawn(body: &mut Body, ground: &Ground) -> Result<(i32, Option<Cgroup>), String> {
    let (spec, mark) = (&ground.stored.spec, &ground.stored.mark);
    let plan = Plan { argv: &spec.argv, cwd: &spec.cwd, env: None, mark };
    let streams = body.streams().map_err(|error| error.to_string())?;
    let group = Cgroup::make(mark, |path| note(&ground.folder, path));
    let started = plan.start_in(streams, spec.terminal.is_some(), group.as_ref());
    if matches!(started, Ok((_, true))) {
        return started.map(|(pid, _)| (pid, group));
    }
    if let Some(group) = group {
        group.remove();
    }
    // There is none if there was no group.
    ground.folder.remove(folder::CGROUP).ok();
    started.map(|(pid, _)| (pid, None))
}

/// A note about the control group, for whoever finds us dead.
fn note(folder: &folder::Folder, group: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let file = folder.create(folder::CGROUP, rustix::fs::OFlags::TRUNC)?;
    file.write_all_at(group.as_os_str().as_bytes(), 0)
}

/// Leaves all that stays: transcript, screen, receipt and status; then lets everybody go.
fn finish(mut keeper: Keeper<'_>, reserve: &Reserve, ended: Ended, started_ms: u64) -> io::Result<()> {
    let folder = &keeper.ground.folder;
    // An output that cannot be read is no reason to lose the receipt.
    keeper.body.close(folder, &mut keeper.door, clock::boot()).ok();
    point("host.ended");
    let (strays, mut left) = end_strays(&keeper, &ended, started_ms);
    left.splice(..0, keeper.brood.left());
    let receipt = Receipt {
        v: RECEIPT_VERSION,
        ended,
        started_ms,
        ended_ms: clock::wall_ms().max(started_ms),
        output_bytes: keeper.body.total(),
        left,
        inputs: keeper.kernel.typed(),
        strays,
    };
    // Whoever finds a receipt finds nothing to clear up.
    keeper.brood.close();
    let kept = reserve.fill(folder, receipt.clone());
    point("host.receipt");
    keeper.publisher.say_end(folder, &receipt);
    keeper.take_leave(&receipt.ended);
    // The folder may be gone, and the socket with it.
    folder.remove(folder::SOCK).ok();
    // The end of a call says that the host is gone: it comes with the end of the process, after that of the lock.
    std::mem::forget(keeper.door);
    kept
}

/// Ends what a worker left outside its tree, if it ended by itself: whoever ends it from outside looks for it after that,
/// once for all that it ends. Says who was found, and who would not end.
fn end_strays(keeper: &Keeper<'_>, ended: &Ended, started_ms: u64) -> (Vec<Stray>, Vec<i32>) {
    let spec = &keeper.ground.stored.spec;
    if *ended == Ended::Killed || spec.terminal.is_none() {
        return (Vec::new(), Vec::new());
    }
    let (folder, stored) = (&keeper.ground.folder, &keeper.ground.stored);
    let sought = standing::sought_by(folder, stored, keeper.child, started_ms);
    let sought = Sought { host: Some(proc::our_pid()), ..sought };
    // Without a process table nobody can be found.
    Table::scan().and_then(|table| sought.end(&table)).unwrap_or_default()
}
