//! Ending the loop: what is in flight, then the workers, then the loop itself.

use super::io::{Effect, Reply, RequestId};
use super::machine::Engine;
use super::workers::ended;
use crate::ledger::entry::Entry;
use crate::model::plan::Act;
use crate::time::Now;
use crate::world::fleet::Fleet;

/// The loop is ending.
#[derive(Debug, Default)]
pub(super) struct Ending {
    keep_workers: bool,
    /// Whether the workers are being ended, or have been.
    clearing: bool,
    cleared: bool,
    /// What could not be ended.
    left: Vec<String>,
    /// Who wants to know.
    waiters: Vec<RequestId>,
}

impl Engine {
    /// Whether the loop is ending.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    /// Ends the loop. Nothing new is begun from here on.
    pub(super) fn stop(&mut self, reason: String, keep_workers: bool, now: &Now) {
        if let Some(ending) = &mut self.stop {
            // Who ends it in a hurry may change their mind about the workers, as long as they live.
            ending.keep_workers &= keep_workers;
            return;
        }
        self.stop = Some(Ending { keep_workers, ..Ending::default() });
        self.looks = super::looks::Looks::default();
        for (id, _) in std::mem::take(&mut self.queue) {
            self.reply(id, Reply::Refused { reason: "the loop is ending".to_owned() });
        }
        if !self.is_still() {
            self.log(Entry::Stopped { reason }, now);
        }
        let deciding = self.ledger.deciding.as_ref().map(|deciding| deciding.session.clone());
        let acting = self.ledger.acting.as_ref().and_then(|acting| match &acting.plan.act {
            Act::Hosted { session } => Some(session.clone()),
            Act::Nothing
            | Act::Worker { .. }
            | Act::Typed { .. }
            | Act::Ended { .. }
            | Act::Again { .. }
            | Act::File { .. }
            | Act::Archive { .. } => None,
        });
        for session in deciding.into_iter().chain(acting) {
            self.push(Effect::End(session));
        }
    }

    /// A verb ends the loop, and is answered when nothing of it is left.
    pub(super) fn down(&mut self, id: RequestId, keep_workers: bool, now: &Now) {
        self.stop("looop down".to_owned(), keep_workers, now);
        if let Some(ending) = &mut self.stop {
            ending.waiters.push(id);
        }
    }

    /// Nothing is in flight any more: the workers are next, so that none is started behind our back.
    pub(super) fn end(&mut self) {
        let Some(ending) = &mut self.stop else { return };
        if !ending.keep_workers && !ending.clearing {
            ending.clearing = true;
            return self.push(Effect::Clear);
        }
        if ending.clearing && !ending.cleared {
            return;
        }
        let ending = std::mem::take(ending);
        let reply = if ending.left.is_empty() {
            Reply::Done
        } else {
            Reply::Refused { reason: ending.left.join("; ") }
        };
        for id in ending.waiters {
            self.reply(id, reply.clone());
        }
        self.stop = Some(Ending { keep_workers: true, cleared: true, ..Ending::default() });
        self.push(Effect::Exit);
    }

    /// The workers were ended.
    pub(super) fn cleared(&mut self, fleet: &Fleet, problems: Vec<String>, now: &Now) {
        for entry in ended(&self.ledger, fleet) {
            self.log(entry, now);
        }
        if let Some(ending) = &mut self.stop {
            ending.cleared = true;
            ending.left.extend(problems);
        }
    }
}
