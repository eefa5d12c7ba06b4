//! What a decide left behind becomes a move, a failure, or nothing.

use std::time::Duration;

use super::io::{Effect, Record};
use super::machine::Engine;
use crate::admit::{Admission, Context, admit, rests};
use crate::approval::deed;
use crate::intake;
use crate::ledger::entry::{Cause, Entry, FailureKind, Spend};
use crate::ledger::state::Deciding;
use crate::model::moves::Proposal;
use crate::model::plan::{Author, BeatId, RunId};
use crate::purse;
use crate::time::Now;
use crate::world::observation::Docs;

/// Age from which the decision of an adopted decide is no longer used.
const STALE: Duration = Duration::from_mins(10);

impl Engine {
    pub(super) fn decided(&mut self, run: RunId, record: Record, docs: &Docs, now: &Now) {
        let Some(deciding) = self.ledger.deciding.clone().filter(|deciding| deciding.run == run) else {
            let what = format!("the result of decide {run}, which nobody waits for");
            return self.log(Entry::Dropped { what }, now);
        };
        self.note_policy(docs);
        let spend = purse::settle(&self.ledger, (record.spend.as_ref(), record.unpriced.as_ref()), now);
        if self.is_stopping() {
            return self.cancel(&deciding, "the loop was ended meanwhile", Some(spend), now);
        }
        if let Some((failure, reason)) = record.failure {
            return self.fail_decide(&deciding, (failure, record.until), reason, spend, now);
        }
        let Some(decision) = record.decision else {
            let reason = "the decider left no decision".to_owned();
            return self.fail_decide(&deciding, (FailureKind::NoDecision, None), reason, spend, now);
        };
        match intake::parse(&decision) {
            Err(refusal) => {
                let kind = (FailureKind::Unusable, None);
                self.fail_decide(&deciding, kind, refusal.to_string(), spend, now);
            }
            Ok(proposal) => self.admit_decision(&deciding, proposal, record.ended, (spend, docs), now),
        }
    }

    fn admit_decision(
        &mut self,
        deciding: &Deciding,
        proposal: Proposal,
        ended: i64,
        (spend, docs): (Spend, &Docs),
        now: &Now,
    ) {
        if self.ledger.acting.is_some() {
            // One move at a time. The decision is fetched again after that one, with the policy files of then.
            self.late = Some(Effect::Adopt(deciding.run, deciding.session.clone()));
            return;
        }
        // It is settled first: it may have cost more than was set aside for it, and what it proposes has to be paid out of
        // what is left then.
        let (beat, summary) = (deciding.beat, deed(&proposal.action));
        self.log(Entry::Decided { beat, run: deciding.run, proposal: proposal.clone(), spend }, now);
        let age = Duration::from_millis(u64::try_from(now.wall.saturating_sub(ended)).unwrap_or(0));
        let stale = self.adopted && age > STALE;
        let cx = Context {
            ledger: &self.ledger,
            docs,
            limits: &self.setup.limits,
            now,
            author: Author::Decider(deciding.decider.clone()),
            rests: Some(&rests(&self.ledger, deciding)),
            tainted: deciding.tainted,
        };
        let admission = if stale {
            Admission::Overtaken("it was made over 10 minutes before anyone could take it".to_owned())
        } else {
            self.with_room(admit(&cx, proposal))
        };
        match admission {
            Admission::Execute(plan) => self.intend(*plan, None, now),
            Admission::Reject(reason) => self.refuse(beat, &summary, &reason, now),
            Admission::Park(waits) => {
                self.park(Some(beat), *waits, docs, now);
                self.notify_new(now);
            }
            Admission::Ask { reason, instead } => {
                self.refuse(beat, &summary, &reason, now);
                self.intend(*instead, Some((Cause::Followup, Vec::new(), Some(reason))), now);
            }
            Admission::Overtaken(reason) => {
                let reason = format!("{summary}: {reason}");
                self.last_why = Some(format!("the proposal was overtaken: {reason}"));
                self.log(Entry::Overtaken { beat, reason, spend: None }, now);
            }
        }
    }

    fn refuse(&mut self, beat: BeatId, summary: &str, reason: &str, now: &Now) {
        self.last_failed = true;
        let reason = format!("{summary}: {reason}");
        self.last_why = Some(format!("the proposal was refused: {reason}"));
        self.log(Entry::Rejected { beat, reason, policy: self.policy }, now);
        self.notify_new(now);
    }

    fn fail_decide(
        &mut self,
        deciding: &Deciding,
        (failure, until): (FailureKind, Option<i64>),
        reason: String,
        spend: Spend,
        now: &Now,
    ) {
        self.last_failed = true;
        self.last_why = Some(reason.clone());
        let (beat, run, policy) = (deciding.beat, deciding.run, self.policy);
        self.log(Entry::Failed { beat, run, failure, reason, spend, policy, until }, now);
        self.notify_new(now);
    }

    fn cancel(&mut self, deciding: &Deciding, why: &str, spend: Option<Spend>, now: &Now) {
        let reason = format!("decide {} by {}: {why}", deciding.run, deciding.decider);
        self.last_why = Some(reason.clone());
        self.log(Entry::Overtaken { beat: deciding.beat, reason, spend }, now);
    }

    pub(super) fn run_never_ran(&mut self, run: RunId, now: &Now) {
        if let Some(deciding) = self.ledger.deciding.clone().filter(|deciding| deciding.run == run) {
            self.cancel(&deciding, "a crash came before it ran", None, now);
        }
    }
}
