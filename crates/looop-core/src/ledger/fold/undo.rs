//! What can be taken back, and what was.

use crate::ledger::state::{Acting, GoalRecord, Ledger};
use crate::ledger::undo::Undoable;
use crate::model::moves::Object;
use crate::model::plan::{Act, BeatId};
use crate::time::Stamp;

/// Moves that can be taken back.
pub(super) const UNDOABLE: usize = 20;

/// What is needed to take a move back, as long as the ledger is as it was before it.
pub(super) fn undoable(ledger: &Ledger, at: &Stamp, acting: &Acting) -> Option<Undoable> {
    let plan = &acting.plan;
    let (path, before) = plan.act.replaces()?;
    let same = matches!(&plan.act, Act::File { before, after, .. } if before == after);
    if same || plan.action.object() == Object::Nothing {
        return None;
    }
    Some(Undoable {
        beat: acting.beat,
        at: *at,
        summary: plan.action.summary(),
        author: plan.author.clone(),
        act: plan.act.clone(),
        decided: before.is_some() && ledger.written.get(path).copied() == before,
        tainted: before.is_some() && ledger.tainted.get(path).copied() == before,
        goal: goal_of(path).and_then(|id| ledger.goals.get(id).cloned()),
    })
}

/// A move was done that can be taken back.
pub(super) fn done(ledger: &mut Ledger, undoable: Undoable) {
    ledger.undo.push(undoable);
    let extra = ledger.undo.len().saturating_sub(UNDOABLE);
    ledger.undo.drain(..extra);
}

/// A move was taken back: its file has the author again that it had before.
pub(super) fn taken_back(ledger: &mut Ledger, beat: BeatId) {
    let Some(place) = ledger.undo.iter().position(|undoable| undoable.beat == beat) else { return };
    let undone = ledger.undo.remove(place);
    match undone.before().filter(|_| undone.decided) {
        Some(digest) => ledger.written.insert(undone.path().to_owned(), digest),
        None => ledger.written.remove(undone.path()),
    };
    match undone.before().filter(|_| undone.tainted) {
        Some(digest) => ledger.tainted.insert(undone.path().to_owned(), digest),
        None => ledger.tainted.remove(undone.path()),
    };
    let Some(id) = goal_of(undone.path()).map(str::to_owned) else { return };
    let known = undone.goal.unwrap_or_default();
    if matches!(undone.act, Act::Archive { .. }) {
        ledger.goals.entry(id).or_insert(GoalRecord { ready: None, ask: None, ..known });
    } else if let Some(record) = ledger.goals.get_mut(&id) {
        record.budget = known.budget;
    }
}

/// The goal whose file this is.
fn goal_of(path: &str) -> Option<&str> {
    path.strip_prefix("goals/")?.strip_suffix(".md").filter(|id| !id.contains('/'))
}
