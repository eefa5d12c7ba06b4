//! Moves that wait for a person, and what became of them.

use super::{asked, journaled, note, settle_ask};
use crate::approval::{Lapsed, PULSE, Parked, deed};
use crate::ledger::entry::Entry;
use crate::ledger::state::{Ledger, NoteKind, Nudge};
use crate::model::letter::AskKind;
use crate::model::plan::BeatId;
use crate::time::Stamp;
use crate::world::baseline::seen_of;
use crate::world::probe;

/// Lapsed moves kept.
const LAPSED: usize = 20;

/// Takes in an entry about consent.
pub(super) fn apply(ledger: &mut Ledger, at: &Stamp, entry: &Entry) {
    if let Entry::Parked { beat, ask, parked: waits } = entry {
        parked(ledger, at, (ask, *beat), waits);
    } else if let Entry::Approved { ask, always } = entry {
        approved(ledger, ask, always.as_ref());
    } else if let Entry::Declined { ask, text } = entry {
        declined(ledger, ask, Some(text));
    } else if let Entry::Lapsed { ask, reason } = entry {
        lapsed(ledger, at, ask, reason);
    } else if let Entry::Reparked { ask, .. } = entry {
        ledger.lapsed.remove(ask);
    } else if let Entry::RuleWritten { ask, .. } = entry {
        ledger.rules_due.remove(ask);
    } else if let Entry::Trusted { path, journal } = entry {
        ledger.written.remove(path);
        ledger.tainted.remove(path);
        journaled(ledger, journal);
    }
}

/// A move waits. The decision that wanted it has seen the world.
fn parked(ledger: &mut Ledger, at: &Stamp, (ask, beat): (&str, Option<BeatId>), parked: &Parked) {
    ledger.beats = ledger.beats.max(beat.map_or(0, |beat| beat.0));
    ledger.skipped = None;
    if beat.is_some() && ledger.deciding.as_ref().map(|deciding| deciding.beat) == beat {
        let deciding = ledger.deciding.take();
        if let Some(deciding) = deciding {
            deciding.sees.apply(&mut ledger.baseline);
        }
        (ledger.failures, ledger.noop) = (None, None);
        ledger.nudge = parked.proposal.next_interval_s.map(|seconds| Nudge { at: *at, seconds });
    }
    let from = if parked.proposed { parked.by.as_str() } else { PULSE };
    let letter = (ask, parked.at.wall, AskKind::Proposal);
    if !ledger.asks.contains_key(ask) {
        asked(ledger, at, letter, (from, &parked.prompt()), parked.goal());
    }
    if let Some(record) = ledger.asks.get_mut(ask) {
        record.tainted = parked.tainted;
    }
    if !parked.proposed {
        ledger.asks_made = ledger.asks_made.saturating_add(1);
        ledger.baseline.insert("reading:sys-asks".to_owned(), seen_of(&probe::asks(ledger)));
    }
    ledger.lapsed.remove(ask);
    ledger.parked.insert(ask.to_owned(), parked.clone());
}

/// The person agreed; the move is carried out now, and never again.
fn approved(ledger: &mut Ledger, ask: &str, always: Option<&String>) {
    ledger.parked.remove(ask);
    settle_ask(ledger, ask);
    if let Some(rule) = always {
        ledger.rules_due.insert(ask.to_owned(), rule.clone());
    }
}

/// The person refused, in words or by putting the question away.
pub(super) fn declined(ledger: &mut Ledger, ask: &str, text: Option<&str>) {
    let Some(parked) = ledger.parked.remove(ask) else { return };
    settle_ask(ledger, ask);
    if parked.by == "builtin"
        && let Some(goal) = parked.goal()
    {
        let body = parked.ground.get(&format!("goals/{goal}.md")).copied().flatten();
        ledger.goals.entry(goal.to_owned()).or_default().declined = body;
    }
    if let Some(text) = text {
        let (ask, prompt, text) = (ask.to_owned(), parked.prompt(), text.to_owned());
        note(ledger, NoteKind::Answer { ask, prompt, text }, parked.tainted);
    }
}

/// It can no longer be approved. The next brief says so, and the person can have it asked for anew.
fn lapsed(ledger: &mut Ledger, at: &Stamp, ask: &str, reason: &str) {
    let Some(parked) = ledger.parked.remove(ask) else { return };
    settle_ask(ledger, ask);
    let text = format!("{}: {reason}", deed(&parked.proposal.action));
    note(ledger, NoteKind::Overtaken { reason: text }, parked.tainted);
    let lapsed = Lapsed { parked, reason: reason.to_owned(), at: *at };
    ledger.lapsed.insert(ask.to_owned(), lapsed);
    while ledger.lapsed.len() > LAPSED {
        let oldest = ledger.lapsed.iter().min_by_key(|(_, lapsed)| lapsed.at.wall).map(|(id, _)| id.clone());
        oldest.map(|id| ledger.lapsed.remove(&id));
    }
    ledger.bound_moves();
}
