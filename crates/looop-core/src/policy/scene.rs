//! From a move and the world as it is to a case.

use super::case::Case;
use super::grant::Grant;
use super::run::{Run, Text, run, with_goal};
use crate::admit::path_of;
use crate::gate::Limits;
use crate::ledger::state::Ledger;
use crate::model::goal;
use crate::model::moves::Move;
use crate::model::name::Name;
use crate::model::plan::Author;
use crate::world::fleet::{Worker, worker_of};
use crate::world::observation::{Doc, Docs};

/// What a case is built from.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What the loop remembers.
    pub ledger: &'a Ledger,
    /// The policy files and workers as they are now.
    pub docs: &'a Docs,
    /// Bounds.
    pub limits: &'a Limits,
}

/// A move as the policy sees it. `goal` is the one that its proposal names.
pub fn case<'a>(scene: &Scene<'a>, action: &'a Move, goal: Option<&'a str>, tainted: bool) -> Case<'a> {
    let Scene { ledger, docs, limits } = *scene;
    let worker = touched(docs, action);
    let goal = goal_of(ledger, action, worker, goal);
    let runner = runner_of(limits, action, worker);
    let goal_by_person = goal.is_some_and(|goal| by_person(ledger, docs, goal));
    let allowing = goal.filter(|_| goal_by_person).and_then(|goal| docs.goals.get(goal)).and_then(Doc::text);
    Case {
        action,
        goal,
        goal_by_person,
        runner,
        configured: runner.is_some_and(|runner| limits.worker_runners.iter().any(|known| known == runner)),
        by_hand: worker.is_some_and(|worker| by_hand(ledger, worker)),
        path: path_of(docs, action.object()),
        tainted,
        runs: runs(limits, action, allowing, tainted),
        confined: limits.confines,
    }
}

/// The worker that a move types into, restarts or ends.
fn touched<'a>(docs: &'a Docs, action: &Move) -> Option<&'a Worker> {
    typed_into(action).and_then(|id| docs.fleet.latest(id.as_str()))
}

fn typed_into(action: &Move) -> Option<&Name> {
    match action {
        Move::SteerSession { id, .. }
        | Move::SendKey { id, .. }
        | Move::RestartSession { id, .. }
        | Move::KillWorker { id, .. } => Some(id),
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::WriteGoal { .. }
        | Move::ArchiveGoal { .. }
        | Move::WriteSensor { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::StartWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => None,
    }
}

/// Whether a person started a worker by hand, in this session or an earlier one. What the log does not know was not
/// started by the loop.
fn by_hand(ledger: &Ledger, worker: &Worker) -> bool {
    let mut known = ledger.workers.iter().filter(|(session, _)| worker_of(session) == worker.id);
    !ledger.workers.contains_key(&worker.session) || known.any(|(_, record)| record.author == Author::Person)
}

/// The goal that a move serves. A worker's own goal counts before the one that the proposal names, or a decider could
/// type into any worker in the name of a goal that a person wrote.
fn goal_of<'a>(
    ledger: &'a Ledger,
    action: &'a Move,
    worker: Option<&'a Worker>,
    named: Option<&'a str>,
) -> Option<&'a str> {
    if typed_into(action).is_some() {
        let worker = worker?;
        let remembered = ledger.workers.get(&worker.session).and_then(|record| record.goal.as_deref());
        return remembered.or(worker.goal.as_deref());
    }
    if let Move::StartWorker { goal: Some(goal), .. } = action { Some(goal.as_str()) } else { named }
}

/// Whether a person wrote a goal as it stands: it is there, and no move of a decider wrote these bytes.
fn by_person(ledger: &Ledger, docs: &Docs, goal: &str) -> bool {
    let Some(Doc::Text { digest, .. }) = docs.goals.get(goal) else { return false };
    ledger.written.get(&format!("goals/{goal}.md")) != Some(digest)
}

fn runner_of<'a>(limits: &'a Limits, action: &'a Move, worker: Option<&'a Worker>) -> Option<&'a str> {
    let Move::StartWorker { command, runner, .. } = action else {
        return worker.and_then(|worker| worker.runner.as_deref());
    };
    let taken = || runner.as_ref().or(limits.worker_runners.first()).map(String::as_str);
    if command.is_some() { None } else { taken() }
}

/// What each shell text in a move would run. What a goal allows goes to commands that serve it, and not to what is
/// written down under its name.
fn runs(limits: &Limits, action: &Move, allowing: Option<&str>, tainted: bool) -> Vec<Run> {
    let grants = &limits.policy.grants;
    let with = |grants: &[Grant], texts: &[Text<'_>]| -> Vec<Run> {
        texts.iter().map(|text| run(grants, *text, tainted)).collect()
    };
    match action {
        Move::RunShell { cmd, .. } => with(&with_goal(grants, allowing), &[Text::Command(cmd)]),
        Move::WriteSensor { script, .. } => with(grants, &[Text::Sensor(script)]),
        Move::WriteGoal { body, .. } => {
            let goal = goal::parse(body);
            let check = goal.check.as_deref().map(Text::Check);
            let recipe = goal.run.as_deref().map(Text::Command);
            with(grants, &check.into_iter().chain(recipe).collect::<Vec<_>>())
        }
        Move::StartWorker { command, verify, .. } => {
            let command = command.as_deref().map(Text::Command);
            let proof = verify.as_deref().map(Text::Check);
            with(&with_goal(grants, allowing), &command.into_iter().chain(proof).collect::<Vec<_>>())
        }
        Move::Noop { .. }
        | Move::ArchiveGoal { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::RestartSession { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => Vec::new(),
    }
}
