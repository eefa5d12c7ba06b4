//! Requests: run here if the lock is free, by its holder if it is not. There is no third way.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use looop_core::engine::io::{PulseView, Reply, Request};
use looop_core::ledger::entry::Line;
use looop_core::model::moves::{Move, Proposal};
use looop_core::model::outcome::Outcome;

use super::see::{Lock, lock};
use super::{Place, reaches_the_loop};
use crate::config::Loaded;
use crate::failure::{Failure, Result};
use crate::pulse::client;
use crate::pulse::open::{Manner, Taken, open};
use crate::threads;

/// How long a holder may take to begin or to cease serving.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often both ways are tried meanwhile.
const GAP: Duration = Duration::from_millis(5);

/// Runs a request to its end. `on_line` sees what is logged meanwhile.
pub(crate) fn submit(place: &Place, request: Request, on_line: &mut dyn FnMut(&Line)) -> Result<Reply> {
    reaches_the_loop(place)?;
    submit_with((place, place.config()?), request, on_line)
}

/// The same with a configuration that was just read.
pub(crate) fn submit_with(
    (place, config): (&Place, Loaded),
    request: Request,
    on_line: &mut dyn FnMut(&Line),
) -> Result<Reply> {
    reaches_the_loop(place)?;
    let begun = Instant::now();
    let heeds_signals = matches!(request, Request::Beat | Request::Make { .. });
    for warning in &config.warnings {
        crate::cli::warn(&warning.to_string());
    }
    loop {
        let pid = match open((&place.data, &place.env), config.clone(), Manner::of_verb(heeds_signals))? {
            Taken::Mine(driver) => return refused(driver.request(request, on_line)?),
            Taken::Held(pid) => pid,
        };
        if let Some(reply) = client::call(&place.data, &request, on_line)? {
            return refused(reply);
        }
        if begun.elapsed() > PATIENCE {
            return Err(silent(pid));
        }
        std::thread::sleep(GAP);
    }
}

fn silent(pid: Option<u32>) -> Failure {
    let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    Failure::new(format!("{who} holds the profile and does not answer"))
        .hint("end it, or wait; nothing was done")
}

/// Who holds the lock.
#[derive(Clone, Debug)]
pub(super) enum Holder {
    Nobody,
    /// The loop.
    Pulse(PulseView),
    /// A verb, for as long as it takes.
    Verb(u32),
}

/// Asks who holds the lock. It is never taken by this.
pub(super) fn holder(place: &Place) -> Result<Holder> {
    reaches_the_loop(place)?;
    let reader = place.reader()?;
    let begun = Instant::now();
    loop {
        match heard(place, &Request::Pulse { seen: false })? {
            Some(Reply::Pulse(view)) if view.loops => return Ok(Holder::Pulse(view)),
            Some(Reply::Pulse(view)) => return Ok(Holder::Verb(view.pid)),
            Some(_) => return Err(Failure::new("the loop gave an answer of another kind")),
            None => {}
        }
        match lock(&reader) {
            Lock::Free => return Ok(Holder::Nobody),
            Lock::Held(pid) if begun.elapsed() > PATIENCE => return Err(silent(pid)),
            Lock::Held(_) => std::thread::sleep(GAP),
        }
    }
}

/// Sends a request to the lock holder, who must not fall silent meanwhile. `None`: nobody listens, and nothing was begun.
pub(super) fn heard(place: &Place, request: &Request) -> Result<Option<Reply>> {
    let (sender, signs) = channel();
    let (data, request) = (place.data.clone(), request.clone());
    threads::start("heard", move || {
        let reply = client::call(&data, &request, &mut |_| drop(sender.send(None)));
        drop(sender.send(Some(reply)));
    })?;
    loop {
        match signs.recv_timeout(PATIENCE) {
            Ok(None) => {}
            Ok(Some(reply)) => return reply,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let held = place.reader().map(|reader| lock(&reader));
                return Err(silent(if let Ok(Lock::Held(pid)) = held { pid } else { None }));
            }
        }
    }
}

/// Sends a request that makes sense for a running pulse only. The lock is never taken for it.
pub(crate) fn to_pulse(place: &Place, request: &Request) -> Result<Reply> {
    let none = || Failure::no_pulse("no pulse runs").hint("looop up starts one; looop beat makes one beat");
    let Holder::Pulse(_) = holder(place)? else { return Err(none()) };
    refused(heard(place, request)?.ok_or_else(none)?)
}

fn refused(reply: Reply) -> Result<Reply> {
    if let Reply::Refused { reason } = reply { Err(Failure::new(reason)) } else { Ok(reply) }
}

/// A request that is simply done or not.
pub(crate) fn done(place: &Place, request: Request) -> Result<()> {
    submit(place, request, &mut |_| {}).map(drop)
}

/// Makes a person's move.
pub(crate) fn make(place: &Place, action: Move) -> Result<Reply> {
    let proposal = Proposal::of(action);
    submit(place, Request::Make { proposal }, &mut |_| {})
}

/// Makes a person's move that must succeed, and says what it did.
pub(crate) fn made(place: &Place, action: Move) -> Result<String> {
    let Reply::Made { summary, outcome, .. } = make(place, action)? else {
        return Err(Failure::new("the loop gave an answer of another kind"));
    };
    match outcome {
        Outcome::Done { note: Some(note), .. } => Ok(format!("{summary} ({note})")),
        Outcome::Done { note: None, .. } => Ok(summary),
        Outcome::Failed { reason, .. } | Outcome::Interrupted { reason } => Err(Failure::new(reason)),
    }
}
