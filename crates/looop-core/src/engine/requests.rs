//! Requests: what verbs want of the lock holder.

use super::io::{Effect, Reply, Request, RequestId};
use super::looks::Look;
use super::machine::Engine;
use crate::admit::{Admission, Context, admit, undo};
use crate::gate::is_waiting;
use crate::ledger::entry::{Cause, Entry};
use crate::model::moves::Proposal;
use crate::model::plan::{Author, BeatId};
use crate::time::{Now, minute_text};
use crate::world::observation::Docs;

impl Engine {
    pub(super) fn asked(&mut self, id: RequestId, request: Request, docs: Option<&Docs>, now: &Now) {
        if self.is_stopping() && !matches!(request, Request::Down { .. }) {
            return self.reply(id, Reply::Refused { reason: "the loop is ending".to_owned() });
        }
        match request {
            Request::Beat => {
                self.beat_waiters.push(id);
                self.looks.want(Look { by_person: true, beats: vec![id], ..Look::by(Cause::Person) });
            }
            Request::DryRun => {
                self.looks.want(Look { wet: false, dry: vec![id], ..Look::by(Cause::Person) });
            }
            Request::Make { proposal } => match docs {
                Some(docs) => self.make(id, proposal, docs, now),
                None => self.push(Effect::Again(id, Box::new(Request::Make { proposal }))),
            },
            Request::Undo { beat } => match docs {
                Some(docs) => self.undo(id, beat, docs, now),
                None => self.push(Effect::Again(id, Box::new(Request::Undo { beat }))),
            },
            Request::Pause { until } => {
                self.log(Entry::Paused { until }, now);
                self.reply(id, Reply::Done);
            }
            Request::Resume => self.resume(id, now),
            Request::Dismiss { ask } => self.dismiss(id, ask, now),
            Request::Consent(consent) => match docs {
                Some(docs) => self.consent(id, consent, docs, now),
                None => self.push(Effect::Again(id, Box::new(Request::Consent(consent)))),
            },
            Request::TakeUp { ask } => match docs {
                Some(docs) => self.take_up(id, &ask, docs, now),
                None => self.push(Effect::Again(id, Box::new(Request::TakeUp { ask }))),
            },
            Request::Repark { ask } => match docs {
                Some(docs) => self.repark(id, &ask, docs, now),
                None => self.push(Effect::Again(id, Box::new(Request::Repark { ask }))),
            },
            Request::Trust { path } => self.trust(id, path, now),
            Request::Wake => {
                self.looks.want(Look { by_person: true, ..Look::by(Cause::Person) });
                self.reply(id, Reply::Done);
            }
            // The driver answers it: the engine knows neither processes nor versions.
            Request::Pulse { .. } => self.reply(id, Reply::Done),
            Request::Down { keep_workers } => self.down(id, keep_workers, now),
            Request::Prune { only } => match docs {
                Some(docs) => self.prune(id, only.as_deref(), docs),
                None => self.push(Effect::Again(id, Box::new(Request::Prune { only }))),
            },
        }
    }

    /// Ends a pause, or the wait after failures, for a provider or for receipts.
    fn resume(&mut self, id: RequestId, now: &Now) {
        let waits = is_waiting(&self.ledger, self.setup.paid.len(), now, &self.setup.limits);
        if self.ledger.paused.is_none() && !waits {
            let reason = "nothing is paused, and deciding waits for nothing".to_owned();
            return self.reply(id, Reply::Refused { reason });
        }
        self.log(Entry::Resumed, now);
        self.reply(id, Reply::Done);
    }

    /// A person's move is a small beat of its own; it waits only for another move.
    fn make(&mut self, id: RequestId, proposal: Proposal, docs: &Docs, now: &Now) {
        self.note_policy(docs);
        if self.ledger.acting.is_some() {
            return self.queue.push_back((id, Request::Make { proposal }));
        }
        let cx = Context {
            ledger: &self.ledger,
            docs,
            limits: &self.setup.limits,
            now,
            author: Author::Person,
            rests: None,
            tainted: false,
        };
        match admit(&cx, proposal) {
            Admission::Execute(plan) => {
                self.act_waiter = Some(id);
                self.intend(*plan, Some((Cause::Person, Vec::new(), None)), now);
            }
            Admission::Ask { reason, .. } | Admission::Reject(reason) | Admission::Overtaken(reason) => {
                self.reply(id, Reply::Refused { reason });
            }
            Admission::Park(waits) => self.reply(id, Reply::Refused { reason: waits.0.reason }),
        }
    }

    /// Takes back the last move of a file. It is a person's move like any other.
    fn undo(&mut self, id: RequestId, beat: Option<BeatId>, docs: &Docs, now: &Now) {
        self.note_policy(docs);
        if self.ledger.acting.is_some() {
            return self.queue.push_back((id, Request::Undo { beat }));
        }
        match undo::plan(&self.ledger, docs, beat, now) {
            Ok(plan) => {
                self.act_waiter = Some(id);
                self.intend(plan, Some((Cause::Person, Vec::new(), None)), now);
            }
            Err(reason) => self.reply(id, Reply::Refused { reason }),
        }
    }

    /// A person takes over what a decider wrote. What is theirs already stays so.
    fn trust(&mut self, id: RequestId, path: String, now: &Now) {
        if !self.ledger.written.contains_key(&path) {
            let reason = format!("no decider wrote {path}, so it is yours already");
            return self.reply(id, Reply::Refused { reason });
        }
        let journal = format!("- {} you trust {path}", minute_text(now.wall, &now.zone));
        self.log(Entry::Trusted { path, journal: journal.clone() }, now);
        self.push(Effect::Journal(journal));
        self.reply(id, Reply::Done);
    }

    fn dismiss(&mut self, id: RequestId, ask: String, now: &Now) {
        if !self.ledger.asks.contains_key(&ask) {
            return self.reply(id, Reply::Refused { reason: format!("no ask \"{ask}\" is pending") });
        }
        self.log(Entry::Dismissed { ask: ask.clone() }, now);
        self.push(Effect::Settle(ask));
        self.reply(id, Reply::Done);
    }
}
