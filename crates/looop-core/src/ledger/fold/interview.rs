//! How far the interview of a first run is.

use crate::engine::interview::SETUP;
use crate::ledger::state::{Interview, Ledger};
use crate::model::moves::Move;
use crate::model::plan::{Author, Plan};

/// The starter files were put in place: with the goal of the interview among them, it is due.
pub(super) fn seeded(ledger: &mut Ledger, files: &[String]) {
    if files.iter().any(|file| file.strip_prefix("goals/") == Some("setup.md")) {
        (ledger.interview, ledger.interview_offered) = (Interview::Due, true);
    }
}

/// A move was done: the question was put, or the worker started.
pub(super) fn done(ledger: &mut Ledger, plan: &Plan) {
    let own = plan.author == Author::Builtin && plan.goal.as_deref() == Some(SETUP);
    ledger.interview = match (&plan.action, ledger.interview) {
        (Move::AskHuman { .. }, Interview::Due) if own => Interview::Asked,
        (Move::StartWorker { .. }, Interview::Wanted) if own => Interview::None,
        (_, stands) => stands,
    };
}

/// The person answered what waits for the goal; says whether it was about the interview.
pub(super) fn answered(ledger: &mut Ledger, goal: Option<&str>, text: &str) -> bool {
    if ledger.interview != Interview::Asked || goal != Some(SETUP) {
        return false;
    }
    let yes = text.trim().to_lowercase();
    ledger.interview =
        if matches!(yes.as_str(), "yes" | "y" | "ok" | "sure") { Interview::Wanted } else { Interview::None };
    true
}
