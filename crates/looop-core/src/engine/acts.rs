//! Intending a move, and what came of it.

use super::io::{Effect, Reply, RequestId};
use super::machine::Engine;
use crate::admit::session_name;
use crate::admit::workers::next_session;
use crate::ledger::entry::{Cause, Entry};
use crate::ledger::state::Ledger;
use crate::model::moves::{Move, one_line};
use crate::model::outcome::Outcome;
use crate::model::plan::{Act, Author, BeatId, Plan};
use crate::time::{Now, minute_text};
use crate::world::baseline::Change;
use crate::world::fleet::{Fleet, worker_of};

/// Longest journal text.
const JOURNAL_CHARS: usize = 500;

impl Engine {
    /// Writes down what is about to be done, then has it done. A noop is over at once.
    pub(super) fn intend(
        &mut self,
        mut plan: Plan,
        context: Option<(Cause, Vec<Change>, Option<String>)>,
        now: &Now,
    ) {
        let beat = match (&plan.author, &self.ledger.deciding) {
            (Author::Decider(_), Some(deciding)) => deciding.beat,
            _ => self.next_beat(),
        };
        plan.act.typed_in(beat);
        let (cause, changes, why) = match context {
            Some((cause, changes, why)) => (Some(cause), changes, why),
            None => (None, Vec::new(), None),
        };
        let nothing = plan.act == Act::Nothing;
        self.log(Entry::Intended { beat, plan: Box::new(plan.clone()), cause, changes, why }, now);
        if nothing {
            self.acted(beat, Outcome::done(), now);
        } else {
            self.push(Effect::Act(beat, Box::new(plan)));
        }
    }

    pub(super) fn acted(&mut self, beat: BeatId, outcome: Outcome, now: &Now) {
        let Some(acting) = self.ledger.acting.clone().filter(|acting| acting.beat == beat) else {
            let what = format!("the result of beat {beat}, which nobody waits for");
            return self.log(Entry::Dropped { what }, now);
        };
        let journal = journal_line(&acting.plan, &outcome, now);
        self.last_failed |= !outcome.is_done() && acting.plan.author != Author::Person;
        self.log(
            Entry::Finished { beat, outcome: outcome.clone(), journal: journal.clone(), policy: self.policy },
            now,
        );
        if let Some(line) = journal {
            self.push(Effect::Journal(line));
        }
        self.settle_start(&acting.plan, &outcome, now);
        self.note_start(&acting.plan.act, &outcome, now);
        self.forget_asks(&acting.plan.act, &outcome, now);
        if !matches!(acting.plan.action, Move::Noop { .. }) {
            (self.rested, self.moved) = (Some(now.up), true);
        }
        self.looks.pay(acting.plan.goal.as_ref());
        if let Some(id) = self.act_waiter.take() {
            self.reply_made(id, beat, &acting.plan, outcome);
        }
        self.notify_new(now);
        self.out.effects.extend(self.late.take());
    }

    fn reply_made(&mut self, id: RequestId, beat: BeatId, plan: &Plan, outcome: Outcome) {
        let session = match &plan.act {
            Act::Hosted { session }
            | Act::Worker { session, .. }
            | Act::Typed { session, .. }
            | Act::Ended { session, .. }
            | Act::Again { session, .. } => Some(session.clone()),
            Act::Nothing | Act::File { .. } | Act::Archive { .. } => None,
        };
        self.reply(id, Reply::Made { beat, session, summary: plan.action.summary(), outcome });
    }

    /// A hosted move or a worker that never ran is started anew, under a name of its own.
    pub(super) fn act_never_ran(&mut self, beat: BeatId, now: &Now) {
        let Some(acting) = self.ledger.acting.clone().filter(|acting| acting.beat == beat) else { return };
        if self.is_stopping() {
            let reason = "the loop ended before it ran".to_owned();
            return self.acted(beat, Outcome::failed(reason), now);
        }
        let session = match &acting.plan.act {
            Act::Worker { session, .. } | Act::Again { session, .. } => next_of(&self.ledger, session),
            Act::Nothing
            | Act::Hosted { .. }
            | Act::Typed { .. }
            | Act::Ended { .. }
            | Act::File { .. }
            | Act::Archive { .. } => session_name(&self.ledger, "move"),
        };
        self.log(Entry::Restarted { beat, session }, now);
        if let Some(acting) = &self.ledger.acting {
            let effect = Effect::Act(beat, acting.plan.clone());
            self.push(effect);
        }
    }
}

/// The session after one that never ran, of the same worker.
fn next_of(ledger: &Ledger, session: &str) -> String {
    next_session(ledger, &Fleet::default(), worker_of(session))
}

/// The line that a person reads. A decider's silent noop leaves none.
fn journal_line(plan: &Plan, outcome: &Outcome, now: &Now) -> Option<String> {
    if matches!(plan.action, Move::Noop { .. }) && plan.journal.is_none() {
        return None;
    }
    let what = match (&plan.journal, &plan.author) {
        (Some(text), _) => text.clone(),
        (None, Author::Person) => format!("you {}", plan.action.summary()),
        (None, Author::Builtin | Author::Decider(_) | Author::Approved(_)) => match &plan.goal {
            Some(goal) => format!("[{goal}] {}", plan.action.summary()),
            None => plan.action.summary(),
        },
    };
    let ending = match outcome {
        Outcome::Done { .. } => String::new(),
        Outcome::Failed { reason, .. } => format!(" — failed: {reason}"),
        Outcome::Interrupted { reason } => format!(" — interrupted: {reason}"),
    };
    let text = one_line(&format!("{what}{ending}"), JOURNAL_CHARS);
    Some(format!("- {} {text}", minute_text(now.wall, &now.zone)))
}
