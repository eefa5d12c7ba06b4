//! What a goal says of its workers: their runner, their model, and how many live at once.

use super::Context;
use crate::gate::Limits;
use crate::model::goal::{self, Goal};
use crate::model::moves::{Move, Proposal};
use crate::model::name::Name;
use crate::model::plan::Author;
use crate::world::fleet::Fleet;
use crate::world::observation::{Doc, Docs};

/// A goal's front matter, where the goal can be read.
pub(super) fn terms(docs: &Docs, goal: Option<&Name>) -> Goal {
    let text = goal.and_then(|goal| docs.goals.get(goal.as_str())).and_then(Doc::text);
    text.map(goal::parse).unwrap_or_default()
}

/// The proposal with the runner that the goal of its worker names. A person who names one means it; a decider does not
/// choose another than the goal does. A worker with a command of its own has no runner.
pub(super) fn filled(cx: &Context<'_>, mut proposal: Proposal) -> Proposal {
    if let Move::StartWorker { goal, runner, command: None, .. } = &mut proposal.action
        && (runner.is_none() || matches!(cx.author, Author::Decider(_)))
        && let Some(named) = terms(cx.docs, goal.as_ref()).runner
    {
        *runner = Some(named);
    }
    proposal
}

/// The model of a worker that is started with this runner. One that a person has run by another runner than the goal's
/// uses what that one is set up with.
pub(super) fn model(limits: &Limits, goal: &Goal, runner: Option<&str>, has_command: bool) -> Option<String> {
    let is_same = taken(limits, runner) == taken(limits, goal.runner.as_deref());
    goal.model.clone().filter(|_| is_same && !has_command)
}

/// The runner that is named, else the first.
fn taken<'a>(limits: &'a Limits, runner: Option<&'a str>) -> Option<&'a str> {
    runner.or_else(|| limits.worker_runners.first().map(String::as_str))
}

/// Why a goal's worker cannot be started with the runner and the model that the goal names.
pub(crate) fn misfit(limits: &Limits, id: &str, goal: &Goal) -> Option<String> {
    if let Some(fault) = &goal.worker_fault {
        return Some(format!("goal {id}, {fault}"));
    }
    let known = &limits.worker_runners;
    if let Some(named) = &goal.runner
        && !known.contains(named)
    {
        let others = if known.is_empty() { "none can".to_owned() } else { known.join(", ") };
        return Some(format!(
            "goal {id} says runner: {named}, and no configured runner of that name can start a worker (those that can: \
             {others})"
        ));
    }
    let (model, runner) = (goal.model.as_ref()?, taken(limits, goal.runner.as_deref())?);
    let takes = limits.model_runners.iter().any(|known| known == runner);
    (!takes).then(|| {
        format!(
            "goal {id} says model: {model}, and the command of runner {runner} runs no agent that takes one (claude, \
             codex, opencode, pi, gemini)"
        )
    })
}

/// Why a goal has as many live workers as it may have.
pub(super) fn full(fleet: &Fleet, id: &str, goal: &Goal) -> Option<String> {
    let serves =
        |worker: &&crate::world::fleet::Worker| worker.state.is_alive() && worker.goal.as_deref() == Some(id);
    let (most, live) = (goal.max_workers?, fleet.workers.values().filter(serves).count());
    (live >= most).then(|| format!("{live} workers serve goal {id}, and its max_workers is {most}"))
}
