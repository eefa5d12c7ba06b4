//! Requests: run here if the lock is free, by its holder if it is not. There is no third way.

use std::time::{Duration, Instant};

use looop_core::engine::io::{Reply, Request};
use looop_core::ledger::entry::Line;
use looop_core::model::moves::{Move, Proposal};
use looop_core::model::outcome::Outcome;

use super::Place;
use crate::failure::{Failure, Result};
use crate::pulse::client;
use crate::pulse::open::{Manner, Taken, open};

/// How long a holder may take to begin or to cease serving.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often both ways are tried meanwhile.
const GAP: Duration = Duration::from_millis(5);

/// Runs a request to its end. `on_line` sees what is logged meanwhile.
pub(crate) fn submit(place: &Place, request: Request, on_line: &mut dyn FnMut(&Line)) -> Result<Reply> {
    let begun = Instant::now();
    let heeds_signals = matches!(request, Request::Beat | Request::Make { .. });
    let config = place.config()?;
    for warning in &config.warnings {
        crate::cli::warn(&warning.to_string());
    }
    loop {
        let pid = match open(&place.data, config.clone(), Manner { heeds_signals })? {
            Taken::Mine(driver) => return refused(driver.request(request, on_line)?),
            Taken::Held(pid) => pid,
        };
        if let Some(reply) = client::call(&place.data, &request, on_line)? {
            return refused(reply);
        }
        if begun.elapsed() > PATIENCE {
            let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            return Err(Failure::new(format!("{who} holds the profile and does not answer"))
                .hint("end it, or wait; nothing was done"));
        }
        std::thread::sleep(GAP);
    }
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
