//! Ending the loop, what is in flight and the workers; also what a loop that died has left.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use looop_core::engine::io::Request;
use looop_core::world::fleet::{is_worker_id, worker_of};
use looop_session::{Standing, Watched, host};
use looop_store::Reader;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use super::Place;
use super::see::{Lock, lock};
use super::submit::{self, Holder};
use crate::cli::warn;
use crate::config::{self, Env, Loaded};
use crate::failure::{Failure, Result};
use crate::hands::labour;
use crate::pulse::open::{Manner, Taken, open};

/// How long a holder may take to go after it said that it does.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the lock is looked at once its holder is gone.
const GAP: Duration = Duration::from_millis(5);
/// How often one looks whether really everything has ended, and ends the rest.
const AUDITS: usize = 3;

/// What was ended.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Down {
    /// The process of the loop, if one ran.
    pub(crate) pulse: Option<u32>,
    /// A verb that held the profile.
    pub(crate) verb: Option<u32>,
    /// The sessions of workers that were ended.
    pub(crate) workers: Vec<String>,
    /// The sessions of decides and moves that a dead holder had left, and that were ended.
    pub(crate) orphans: Vec<String>,
    /// The sessions of workers that go on.
    pub(crate) kept: Vec<String>,
}

/// Ends everything, or everything but the workers, and comes back when it is gone.
pub(crate) fn down(place: &Place, keep_workers: bool) -> Result<Down> {
    let reader = place.reader()?;
    let mut done = Down::default();
    let before = live(&reader)?;
    for _ in 0..AUDITS {
        let holder = match submit::holder(place) {
            Ok(holder) => holder,
            Err(failure) => {
                done.pulse = Some(signal_holder(&reader, keep_workers, failure)?);
                continue;
            }
        };
        match holder {
            Holder::Pulse(view) => {
                end_holder(place, view.pid, keep_workers)?;
                done.pulse = Some(view.pid);
            }
            Holder::Verb(pid) => {
                end_holder(place, pid, keep_workers)?;
                done.verb = Some(pid);
            }
            Holder::Nobody if rest(&reader, keep_workers)?.is_empty() => break,
            Holder::Nobody => end_rest(place, keep_workers)?,
        }
    }
    let lost = sweep(&reader)?;
    let after = live(&reader)?;
    let rest = rest(&reader, keep_workers)?;
    if !rest.is_empty() {
        return Err(Failure::new(format!("not everything could be ended: {} goes on", rest.join(", ")))
            .hint("looop kill --all --force"));
    }
    let (mut workers, others): (BTreeSet<String>, BTreeSet<String>) =
        before.difference(&after).cloned().partition(|session| is_worker(session));
    // What the holder had in flight ended with it; only a dead one leaves something, or a dead host.
    let mut orphans = if done.pulse.or(done.verb).is_none() { others } else { BTreeSet::new() };
    let (lost_workers, lost_others): (Vec<String>, Vec<String>) =
        lost.into_iter().partition(|session| is_worker(session));
    workers.extend(lost_workers);
    orphans.extend(lost_others);
    let kept = after.into_iter().filter(|session| is_worker(session)).collect();
    let (workers, orphans) = (workers.into_iter().collect(), orphans.into_iter().collect());
    Ok(Down { workers, orphans, kept, ..done })
}

/// Ends what sessions left running whose host died; says which sessions had something left. Nobody can see or drive a
/// worker without its host, so it is ended also where workers are kept.
fn sweep(reader: &Reader) -> Result<Vec<String>> {
    let (mut swept, mut problems) = (Vec::new(), Vec::new());
    for session in sessions(reader)? {
        match labour::sweep_lost(reader, &session) {
            Ok(0) => {}
            Ok(_) => swept.push(session),
            Err(failure) => problems.push(failure.error),
        }
    }
    if problems.is_empty() { Ok(swept) } else { Err(Failure::new(problems.join("; "))) }
}

fn is_worker(session: &str) -> bool {
    is_worker_id(worker_of(session))
}

/// Asks a holder to end, and waits until it has. A holder that goes by itself meanwhile is as good.
pub(super) fn end_holder(place: &Place, pid: u32, keep_workers: bool) -> Result<()> {
    let failed = |error| Failure::new(format!("process {pid} cannot be watched: {error}"));
    let watched = Watched::of(pid).map_err(failed)?;
    submit::heard(place, &Request::Down { keep_workers })?;
    let begun = Instant::now();
    if let Some(watched) = watched
        && !watched.wait(PATIENCE).map_err(failed)?
    {
        return Err(Failure::new(format!("process {pid} was told to end and still runs"))
            .hint(format!("kill -9 {pid} ends it; the next one takes up what it leaves")));
    }
    let reader = place.reader()?;
    // Whoever holds the lock now has nothing to do with the one who went.
    while lock(&reader) == Lock::Held(Some(pid)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(GAP);
    }
    Ok(())
}

/// Ends a holder that does not answer by a signal: one that has no thread or descriptor left still takes it. SIGHUP
/// leaves the workers alone.
fn signal_holder(reader: &Reader, keep_workers: bool, silent: Failure) -> Result<u32> {
    let Lock::Held(Some(pid)) = lock(reader) else { return Err(silent) };
    let failed = |error| Failure::new(format!("process {pid} cannot be watched: {error}"));
    let Some(watched) = Watched::of(pid).map_err(failed)? else { return Ok(pid) };
    let (signal, name) = if keep_workers { (Signal::HUP, "SIGHUP") } else { (Signal::TERM, "SIGTERM") };
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some(target) = target.filter(|_| lock(reader) == Lock::Held(Some(pid))) else { return Err(silent) };
    warn(&format!("process {pid} does not answer; it is sent {name}"));
    kill_process(target, signal).map_err(|error| {
        Failure::new(format!("process {pid} does not answer and cannot be sent {name}: {error}"))
    })?;
    if watched.wait(PATIENCE).map_err(failed)? {
        return Ok(pid);
    }
    Err(Failure::new(format!("process {pid} does not answer, was sent {name} and still runs"))
        .hint(format!("kill -9 {pid} ends it; the next one takes up what it leaves")))
}

/// Ends what a dead holder has left, as the lock holder. Somebody who is faster is asked at the next audit.
fn end_rest(place: &Place, keep_workers: bool) -> Result<()> {
    match open((&place.data, &place.env), any_config(place)?, Manner::of_verb(false))? {
        Taken::Mine(driver) => driver.request(Request::Down { keep_workers }, &mut |_| {}).map(drop),
        Taken::Held(_) => Ok(()),
    }
}

/// The configuration, or the defaults: a broken file keeps nobody from ending things.
fn any_config(place: &Place) -> Result<Loaded> {
    place.config().or_else(|failure| {
        warn(&format!("{}; ending things without it", failure.error));
        config::from_bytes(None, &Env::new()).map_err(|error| Failure::new(error.to_string()))
    })
}

/// The live sessions that must end.
fn rest(reader: &Reader, keep_workers: bool) -> Result<Vec<String>> {
    Ok(live(reader)?.into_iter().filter(|session| !keep_workers || !is_worker(session)).collect())
}

/// All live sessions: of workers, decides and moves.
fn live(reader: &Reader) -> Result<BTreeSet<String>> {
    let root = reader.path("sessions");
    // One that cannot be judged keeps no other from being ended; the sweep at the end names it.
    let lives = |name: &String| matches!(host::standing(&root.join(name)), Ok(Standing::Live));
    Ok(sessions(reader)?.into_iter().filter(lives).collect())
}

/// All sessions that are kept.
fn sessions(reader: &Reader) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(reader.path("sessions")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| unreadable(&error))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(|error| unreadable(&error))?.file_name().into_string().ok());
    }
    names.retain(|name| name.contains('~') && !name.starts_with('.'));
    Ok(names)
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(format!("sessions/ cannot be read: {error}"))
}
