//! Moves that wait for a person: asked for, agreed to, refused, too late.

use super::io::{Consent, Effect, Reply, Request, RequestId, Say};
use super::letters::asked;
use super::machine::Engine;
use crate::admit::{Admission, Context, admit, ask_id};
use crate::approval::{Parked, Wish, is_forged, letter_digest};
use crate::bounds::{PARKED, json_width};
use crate::ledger::entry::{Cause, Entry};
use crate::ledger::state::{AskRecord, Ledger};
use crate::model::letter::{Ask, AskKind};
use crate::model::moves::Proposal;
use crate::model::plan::{Author, BeatId, Plan};
use crate::policy::{Scene, always_text};
use crate::time::{Now, span_text};
use crate::world::observation::{Docs, Observation};

impl Engine {
    /// Has a move wait for a person, and asks them.
    pub(super) fn park(
        &mut self,
        beat: Option<BeatId>,
        (wish, proposal): (Wish, Proposal),
        docs: &Docs,
        now: &Now,
    ) -> String {
        let ask = ask_id(&self.ledger);
        let mut parked = Parked::new(wish, proposal, docs, now);
        let letter = parked.letter(&ask);
        parked.letter = letter_digest(&letter);
        self.last_why = Some(format!("{ask} waits for you: {}", parked.prompt()));
        self.log(Entry::Parked { beat, ask: ask.clone(), parked: Box::new(parked) }, now);
        self.push(Effect::Post(Box::new(letter)));
        ask
    }

    /// Why one more move cannot wait, if it cannot.
    pub(super) fn no_room(&self, proposal: &Proposal) -> Option<String> {
        let (waits, bytes) = (self.ledger.parked.len(), self.ledger.parked_width());
        let full = bytes.saturating_add(json_width(proposal)) > PARKED;
        full.then(|| format!("{waits} moves of {bytes} bytes wait for you already (looop asks)"))
    }

    /// What may wait is refused where there is no room for it.
    pub(super) fn with_room(&self, admission: Admission) -> Admission {
        let Admission::Park(waits) = &admission else { return admission };
        match self.no_room(&waits.1) {
            Some(reason) => Admission::Reject(reason),
            None => admission,
        }
    }

    /// Sees to what waits: a letter that is not there is written, one that a worker wrote is taken in, what waited too
    /// long is over.
    pub(super) fn tend_parked(&mut self, seen: &Observation, now: &Now) {
        for (ask, parked) in self.ledger.parked.clone() {
            if let Some(reason) = over(&parked, &seen.docs, &ask, now) {
                self.lapse(&ask, &reason, now);
            } else if !parked.proposed && !seen.docs.proposals.contains_key(&ask) {
                self.push(Effect::Post(Box::new(parked.letter(&ask))));
            }
        }
        for (id, ask) in &seen.letters.asks {
            let waits = |record: &AskRecord| record.asked == ask.asked && record.kind == ask.kind;
            let waits = self.ledger.asks.get(id).is_some_and(waits);
            if ask.kind == AskKind::Proposal && waits && !self.ledger.parked.contains_key(id) {
                self.take_proposal(id, ask, &seen.docs, now);
            }
        }
    }

    /// A worker's proposal waits like a decider's move.
    fn take_proposal(&mut self, id: &str, ask: &Ask, docs: &Docs, now: &Now) {
        let waits = Parked::proposed(ask, docs, now);
        match waits.and_then(|parked| self.no_room(&parked.proposal).map_or(Ok(parked), Err)) {
            Ok(parked) => {
                let (beat, ask) = (None, id.to_owned());
                self.log(Entry::Parked { beat, ask, parked: Box::new(parked) }, now);
            }
            Err(error) => {
                self.log(Entry::Dropped { what: format!("the proposal {id}: {error}") }, now);
                self.log(Entry::Dismissed { ask: id.to_owned() }, now);
                self.push(Effect::Settle(id.to_owned()));
            }
        }
    }

    /// Takes in a worker's proposal before a look finds it.
    pub(super) fn take_up(&mut self, id: RequestId, ask: &str, docs: &Docs, now: &Now) {
        let Ledger { parked, settled, lapsed, asks, .. } = &self.ledger;
        let known = parked.contains_key(ask) || settled.contains_key(ask) || lapsed.contains_key(ask);
        // A question that became a move is not what anybody was asked.
        let other = asks.get(ask).is_some_and(|record| record.kind != AskKind::Proposal);
        let new = |letter: &&Ask| !known && !other && !is_forged(&self.ledger, ask, letter);
        if let Some(letter) = docs.proposals.get(ask).filter(new) {
            self.log(asked(ask, letter), now);
            self.take_proposal(ask, letter, docs, now);
        }
        self.reply(id, Reply::Done);
    }

    fn lapse(&mut self, ask: &str, reason: &str, now: &Now) {
        let (ask, reason) = (ask.to_owned(), reason.to_owned());
        self.log(Entry::Lapsed { ask: ask.clone(), reason }, now);
        self.push(Effect::Settle(ask));
    }

    /// A person's word on a move that waits.
    pub(super) fn consent(&mut self, id: RequestId, consent: Consent, docs: &Docs, now: &Now) {
        self.note_policy(docs);
        if self.ledger.acting.is_some() && consent.say != Say::No {
            return self.queue.push_back((id, Request::Consent(consent)));
        }
        let Some(parked) = self.ledger.parked.get(&consent.ask).cloned() else {
            let reason = self.not_parked(&consent.ask);
            return self.reply(id, Reply::Refused { reason });
        };
        if parked.digest != consent.digest {
            let reason = format!(
                "{0} is not the move that you were shown, so nothing was done; looop asks show {0}",
                consent.ask
            );
            return self.reply(id, Reply::Refused { reason });
        }
        if consent.say == Say::No {
            return self.decline(id, consent, now);
        }
        let stale = over(&parked, docs, &consent.ask, now).or_else(|| parked.changed(docs));
        if let Some(reason) = stale {
            self.lapse(&consent.ask, &reason, now);
            let reason = format!("{reason}, so it was not done; looop asks --expired shows it");
            return self.reply(id, Reply::Refused { reason });
        }
        if !docs.proposals.contains_key(&consent.ask) {
            let reason =
                format!("asks/{}.json is not there as it was written, so nothing was done", consent.ask);
            return self.reply(id, Reply::Refused { reason });
        }
        match self.agreed(&parked, &consent, docs, now) {
            Ok((plan, always)) => self.carry_out(id, (consent.ask, always), plan, now),
            Err(reason) => self.reply(id, Reply::Refused { reason }),
        }
    }

    fn decline(&mut self, id: RequestId, consent: Consent, now: &Now) {
        let Consent { ask, text, .. } = consent;
        let text = if text.trim().is_empty() { "no".to_owned() } else { format!("no: {}", text.trim()) };
        self.log(Entry::Declined { ask: ask.clone(), text }, now);
        self.push(Effect::Settle(ask));
        self.reply(id, Reply::Done);
    }

    /// The plan of a move that a person agreed to, and the rule that they want besides.
    fn agreed(
        &self,
        parked: &Parked,
        consent: &Consent,
        docs: &Docs,
        now: &Now,
    ) -> Result<(Plan, Option<String>), String> {
        let always = match consent.say {
            Say::Always => Some(self.rule(parked, &consent.ask, docs)?),
            Say::Yes | Say::No => None,
        };
        let cx = Context {
            ledger: &self.ledger,
            docs,
            limits: &self.setup.limits,
            now,
            author: Author::Approved(parked.by.clone()),
            rests: None,
            tainted: false,
        };
        let failed = |reason: String| format!("it cannot be done now: {reason}; it still waits");
        match admit(&cx, parked.proposal.clone()) {
            Admission::Execute(plan) => Ok((Plan { ground: parked.ground.clone(), ..*plan }, always)),
            Admission::Reject(reason) | Admission::Overtaken(reason) | Admission::Ask { reason, .. } => {
                Err(failed(reason))
            }
            Admission::Park(_) => Err(failed("it would wait again".to_owned())),
        }
    }

    /// The rule behind "always", as text for the policy.
    fn rule(&self, parked: &Parked, ask: &str, docs: &Docs) -> Result<String, String> {
        let scene = Scene { ledger: &self.ledger, docs, limits: &self.setup.limits };
        always_text(&scene, parked, ask)
    }

    fn carry_out(&mut self, id: RequestId, (ask, always): (String, Option<String>), plan: Plan, now: &Now) {
        self.log(Entry::Approved { ask: ask.clone(), always: always.clone() }, now);
        self.push(Effect::Settle(ask.clone()));
        if let Some(rule) = always {
            self.push(Effect::Rule(ask.clone(), rule));
        }
        self.act_waiter = Some(id);
        self.intend(plan, Some((Cause::Person, Vec::new(), Some(format!("you approved {ask}")))), now);
    }

    /// Why there is nothing to agree to.
    fn not_parked(&self, ask: &str) -> String {
        match (self.ledger.lapsed.get(ask), self.ledger.settled.contains_key(ask)) {
            (Some(lapsed), _) => format!("{ask} can no longer be approved: {}", lapsed.reason),
            (None, true) => format!("{ask} was settled before, and nothing was done now"),
            (None, false) => format!("no move waits as \"{ask}\""),
        }
    }

    /// Asks anew for a move that lapsed, upon the world of now.
    pub(super) fn repark(&mut self, id: RequestId, ask: &str, docs: &Docs, now: &Now) {
        let Some(lapsed) = self.ledger.lapsed.get(ask).cloned() else {
            let reason = format!("no lapsed move \"{ask}\" is kept");
            return self.reply(id, Reply::Refused { reason });
        };
        let Parked { by, proposal, tainted, reason, rule, own, .. } = lapsed.parked;
        if let Some(reason) = self.no_room(&proposal) {
            return self.reply(id, Reply::Refused { reason });
        }
        let wish = Wish { by, proposed: false, tainted, reason, rule, own };
        let new = self.park(None, (wish, proposal), docs, now);
        self.log(Entry::Reparked { ask: ask.to_owned(), new: new.clone() }, now);
        self.reply(id, Reply::Reparked { ask: new });
    }
}

/// Why a move can no longer be approved whatever it rests on.
fn over(parked: &Parked, docs: &Docs, ask: &str, now: &Now) -> Option<String> {
    if now.wall > parked.expires || now.since(&parked.at) > crate::approval::EXPIRY {
        return Some(format!("it waited over {}", span_text(crate::approval::EXPIRY)));
    }
    match docs.proposals.get(ask) {
        Some(letter) if letter_digest(letter) == parked.letter => None,
        Some(_) => Some(format!("asks/{ask}.json was changed since it was asked for")),
        None if parked.proposed => Some(format!("asks/{ask}.json is gone")),
        // The letter of our own that is not there is written again.
        None => None,
    }
}
