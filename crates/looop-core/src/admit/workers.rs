//! Admission of the moves that touch workers.

use super::Context;
use super::agent::names_agent;
use super::rights::is_deciders;
use super::terms::{self, misfit, terms};
use super::works::last;
use crate::gate::Limits;
use crate::ledger::fold::{AGAIN, LEAVE};
use crate::ledger::state::Ledger;
use crate::meter::Micros;
use crate::model::goal;
use crate::model::money::Allowance;
use crate::model::moves::{Move, Proposal, one_line};
use crate::model::name::Name;
use crate::model::plan::{Act, Author, Plan};
use crate::purse;
use crate::world::fleet::{Fleet, Worker, generation, is_worker_id};
use crate::world::observation::{Doc, Docs};

/// Workers in a row without proof of their work after which a person is asked.
const FRUITLESS: u32 = 3;

/// Whether a goal's workers come to nothing, so that no further one is started unasked.
pub(crate) fn is_fruitless(ledger: &Ledger, goal: &str) -> bool {
    ledger.goals.get(goal).is_some_and(|record| record.fruitless >= FRUITLESS)
}

/// What a worker may cost: nothing where its own command runs no agent that is known.
pub(crate) fn allowance(limits: &Limits, runner: Option<&str>, command: Option<&str>) -> Allowance {
    if runner.is_none() && command.is_some_and(|command| !names_agent(command)) {
        return Allowance::Nothing;
    }
    let chosen = chosen(limits, runner, command);
    let is_in = |list: &[String]| chosen.is_some_and(|runner| list.iter().any(|known| known == runner));
    if is_in(&limits.free_runners) {
        Allowance::Free
    } else if is_in(&limits.plain_runners) && command.is_none_or(|command| !names_agent(command)) {
        Allowance::Reported(limits.worker_usd)
    } else {
        Allowance::Paid(limits.worker_usd)
    }
}

/// The runner that a worker is started with: the one that is named, else the first, unless it has a command of its own.
fn chosen<'a>(limits: &'a Limits, runner: Option<&'a str>, command: Option<&str>) -> Option<&'a str> {
    let first = limits.worker_runners.first().map(String::as_str);
    runner.or_else(|| first.filter(|_| command.is_none()))
}

/// What is wrong with a worker move, in itself or in the world as it is.
pub(super) fn fault(cx: &Context<'_>, action: &Move) -> Option<String> {
    if let Some(fault) = &cx.docs.fleet.fault {
        return Some(format!("it is not known which workers run: {fault}"));
    }
    match action {
        Move::StartWorker { .. } => start_fault(cx, action),
        Move::SteerSession { id, input } => {
            if input.trim().is_empty() {
                return Some("the input is empty".to_owned());
            }
            typing_fault(cx, id)
        }
        Move::SendKey { id, keys } => {
            if keys.is_empty() {
                return Some("no key is named".to_owned());
            }
            typing_fault(cx, id)
        }
        Move::KillWorker { id, also, force, .. } => {
            std::iter::once(id).chain(also).find_map(|id| kill_fault(cx, id, *force))
        }
        Move::RestartSession { id, force, .. } => match cx.docs.fleet.latest(id.as_str()) {
            None => Some(format!("there is no worker \"{id}\"")),
            Some(worker) => restart_fault(cx, worker, *force),
        },
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::WriteGoal { .. }
        | Move::ArchiveGoal { .. }
        | Move::WriteSensor { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => None,
    }
}

fn kill_fault(cx: &Context<'_>, id: &Name, force: bool) -> Option<String> {
    match live(cx, id) {
        Ok(worker) if !force => waiting(cx, worker).map(|ask| {
            format!("worker \"{id}\" is waiting for a person's answer to {ask} and is not killed")
        }),
        Ok(_) => None,
        Err(reason) => Some(reason),
    }
}

fn restart_fault(cx: &Context<'_>, worker: &Worker, force: bool) -> Option<String> {
    let waits = waiting(cx, worker).filter(|_| worker.state.is_alive() && !force);
    if let Some(ask) = waits {
        let id = &worker.id;
        return Some(format!(
            "worker \"{id}\" is waiting for a person's answer to {ask} and is not restarted"
        ));
    }
    let goal = worker.goal.as_deref().and_then(|goal| Name::new(goal).ok());
    let waits = goal.as_ref().filter(|_| cx.author != Author::Person).and_then(|goal| review_fault(cx, goal));
    let no_room = || full(cx).or_else(|| goal_full(cx, goal.as_ref()));
    waits
        .or_else(|| no_room().filter(|_| !worker.state.is_alive()))
        .or_else(|| money_fault(cx, again_allowance(cx, worker), worker.goal.as_deref()))
}

fn start_fault(cx: &Context<'_>, action: &Move) -> Option<String> {
    let Move::StartWorker { id, prompt, goal, runner, command, verify, .. } = action else { return None };
    if !is_worker_id(id.as_str()) {
        return Some(format!("\"{id}\" is a name of the loop's own; call the worker something else"));
    }
    if prompt.trim().is_empty() && command.is_none() {
        return Some("the prompt is empty".to_owned());
    }
    if [command, verify].into_iter().flatten().any(|text| text.trim().is_empty()) {
        return Some("the command or verify is empty".to_owned());
    }
    if let Some(worker) = cx.docs.fleet.live(id.as_str()) {
        return Some(format!("worker \"{id}\" lives already, as {}", worker.session));
    }
    if let Some(full) = full(cx) {
        return Some(full);
    }
    goal_runner_fault(cx, goal.as_ref(), runner.as_deref(), command.is_some())
        .or_else(|| runner_fault(cx, runner.as_deref(), command.is_some()))
        .or_else(|| goal.as_ref().and_then(|goal| goal_fault(cx, goal)))
        .or_else(|| goal_full(cx, goal.as_ref()))
        .or_else(|| {
            let allowance = allowance(cx.limits, runner.as_deref(), command.as_deref());
            money_fault(cx, allowance, goal.as_ref().map(Name::as_str))
        })
}

/// Why there is no money for another worker, if there is none.
fn money_fault(cx: &Context<'_>, allowance: Allowance, goal: Option<&str>) -> Option<String> {
    let goal = goal.map(|goal| (goal, budget(cx.ledger, cx.docs, goal)));
    purse::worker(cx.ledger, cx.limits, allowance, goal, cx.now).err()
}

/// What a worker that begins anew may cost: the same as before, in the terms of now.
fn again_allowance(cx: &Context<'_>, worker: &Worker) -> Allowance {
    match cx.ledger.workers.get(&worker.session).map(|record| record.allowance) {
        Some(Allowance::Nothing) => Allowance::Nothing,
        _ => allowance(cx.limits, worker.runner.as_deref(), None),
    }
}

/// The budget of a goal, as a person set it. What a decider wrote into the text does not count.
pub(crate) fn budget(ledger: &Ledger, docs: &Docs, goal: &str) -> Option<Micros> {
    let doc = docs.goals.get(goal)?;
    // This is asked of every goal in every beat, and most have no budget and are written by no decider.
    let file = || ledger.written.get(&format!("goals/{goal}.md")).copied();
    let written = if ledger.written.is_empty() { None } else { file() };
    if written.is_some() && written == doc.digest() {
        return ledger.goals.get(goal).and_then(|record| record.budget);
    }
    let text = doc.text().filter(|text| text.contains("budget_usd"))?;
    goal::parse(text).budget_usd
}

/// Why the budget of a goal allows no further worker of the usual kind, if it does not.
pub(crate) fn over_budget(ledger: &Ledger, docs: &Docs, limits: &Limits, goal: &str) -> Option<String> {
    let budget = budget(ledger, docs, goal)?;
    let runner = docs.goals.get(goal).and_then(Doc::text).and_then(|text| goal::parse(text).runner);
    match allowance(limits, runner.as_deref(), None) {
        Allowance::Paid(own) if !limits.worker_runners.is_empty() => {
            purse::over_budget(ledger, own, (goal, budget))
        }
        Allowance::Paid(_) | Allowance::Reported(_) | Allowance::Free | Allowance::Nothing => None,
    }
}

/// Why there is no room for another worker, if there is none.
fn full(cx: &Context<'_>) -> Option<String> {
    let live = cx.docs.fleet.live_count();
    let cap = cx.limits.max_workers.filter(|cap| live >= *cap)?;
    Some(format!("{live} workers live and max_workers is {cap}"))
}

fn runner_fault(cx: &Context<'_>, runner: Option<&str>, has_command: bool) -> Option<String> {
    let known = &cx.limits.worker_runners;
    match runner {
        _ if has_command => None,
        Some(name) if known.iter().any(|known| known == name) => None,
        Some(name) => Some(format!("no runner \"{name}\" is configured that can start a worker")),
        None if known.is_empty() => Some(
            "no runner can start a worker; set runners.<name>.interactive in config.toml, or give a command"
                .to_owned(),
        ),
        None => None,
    }
}

/// Why a worker cannot be started as its goal says, where it is to be.
fn goal_runner_fault(
    cx: &Context<'_>,
    goal: Option<&Name>,
    runner: Option<&str>,
    has_command: bool,
) -> Option<String> {
    let (id, said) = (goal?, terms(cx.docs, goal));
    let own = has_command || runner.is_some() && runner != said.runner.as_deref();
    if own { None } else { misfit(cx.limits, id.as_str(), &said) }
}

/// Why a goal has as many live workers as it may have.
fn goal_full(cx: &Context<'_>, goal: Option<&Name>) -> Option<String> {
    terms::full(&cx.docs.fleet, goal?.as_str(), &terms(cx.docs, goal))
}

fn goal_fault(cx: &Context<'_>, goal: &Name) -> Option<String> {
    match cx.docs.goals.get(goal.as_str()) {
        None | Some(Doc::Absent) => return Some(format!("there is no goal {goal}")),
        Some(Doc::Broken { error }) => return Some(error.clone()),
        Some(Doc::Text { .. }) => {}
    }
    if cx.author == Author::Person {
        return None;
    }
    if let Some(waits) = review_fault(cx, goal) {
        return Some(waits);
    }
    let ask = cx.ledger.goal(goal.as_str()).ask?;
    Some(format!("goal {goal} waits for a person's answer to {ask}"))
}

/// Why no worker is started for a goal whose last one's work waits for a person.
fn review_fault(cx: &Context<'_>, goal: &Name) -> Option<String> {
    let session = cx.ledger.goal(goal.as_str()).review?;
    Some(format!("the work of {session} for goal {goal} waits for a person's review"))
}

/// Nothing is typed where it would pass for a person's answer.
fn typing_fault(cx: &Context<'_>, id: &Name) -> Option<String> {
    match live(cx, id) {
        Ok(worker) => waiting(cx, worker)
            .map(|ask| format!("worker \"{id}\" waits on a person ({ask}); only a person answers that")),
        Err(reason) => Some(reason),
    }
}

fn live<'a>(cx: &'a Context<'_>, id: &Name) -> Result<&'a Worker, String> {
    cx.docs.fleet.live(id.as_str()).ok_or_else(|| match cx.docs.fleet.latest(id.as_str()) {
        Some(worker) => format!("worker \"{id}\" does not run: {}", worker.state.text()),
        None => format!("there is no worker \"{id}\""),
    })
}

fn waiting<'a>(cx: &'a Context<'_>, worker: &Worker) -> Option<&'a String> {
    cx.docs.waiting.get(&worker.session)
}

/// How a worker move is carried out.
pub(super) fn act(cx: &Context<'_>, plan: &Plan) -> Option<Act> {
    match &plan.action {
        Move::StartWorker { id, goal, verify, runner, command, repo, .. } => {
            let parsed = terms(cx.docs, goal.as_ref());
            let model = terms::model(cx.limits, &parsed, runner.as_deref(), command.is_some());
            let verify = verify.clone().or(parsed.check);
            let foreign = repo.is_none() && parsed.repo.is_some();
            Some(Act::Worker {
                session: next_session(cx.ledger, &cx.docs.fleet, id.as_str()),
                verify,
                foreign: foreign && is_deciders(cx, goal.as_ref().map(Name::as_str)),
                repo: repo.clone().or(parsed.repo),
                allowance: allowance(cx.limits, runner.as_deref(), command.as_deref()),
                runner: chosen(cx.limits, runner.as_deref(), command.as_deref()).map(str::to_owned),
                model,
                last: goal.as_ref().and_then(|goal| last(cx.ledger, goal.as_str())),
            })
        }
        Move::SteerSession { id, .. } | Move::SendKey { id, .. } => {
            let session = cx.docs.fleet.live(id.as_str())?.session.clone();
            // The beat that it belongs to gives it its name.
            Some(Act::Typed { session, input: String::new(), answers: None, wakes: None })
        }
        Move::KillWorker { id, also, .. } => {
            let session = |id: &Name| Some(cx.docs.fleet.live(id.as_str())?.session.clone());
            Some(Act::Ended { session: session(id)?, also: also.iter().filter_map(session).collect() })
        }
        Move::RestartSession { id, .. } => {
            let worker = cx.docs.fleet.latest(id.as_str())?;
            Some(Act::Again {
                from: worker.session.clone(),
                allowance: again_allowance(cx, worker),
                session: next_session(cx.ledger, &cx.docs.fleet, id.as_str()),
                asks: Vec::new(),
                runner: worker.runner.clone(),
            })
        }
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::WriteGoal { .. }
        | Move::ArchiveGoal { .. }
        | Move::WriteSensor { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => None,
    }
}

/// The next session of a worker. Numbers of sessions that only the disk knows are passed over too.
pub(crate) fn next_session(ledger: &Ledger, fleet: &Fleet, id: &str) -> String {
    let used = ledger.generations.get(id).copied().unwrap_or(0);
    let seen = fleet.latest(id).map_or(0, |worker| generation(&worker.session));
    format!("{id}~{}", used.max(seen).saturating_add(1))
}

/// The worker that a move names.
pub(crate) fn named(action: &Move) -> Option<&Name> {
    match action {
        Move::StartWorker { id, .. }
        | Move::SteerSession { id, .. }
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
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => None,
    }
}

/// The goal that a worker to be started, or started anew, serves.
fn goal_of(cx: &Context<'_>, action: &Move) -> Option<Name> {
    match action {
        Move::StartWorker { goal, .. } => goal.clone(),
        Move::RestartSession { id, .. } => {
            Name::new(cx.docs.fleet.latest(id.as_str())?.goal.as_deref()?).ok()
        }
        Move::Noop { .. }
        | Move::RunShell { .. }
        | Move::WriteGoal { .. }
        | Move::ArchiveGoal { .. }
        | Move::WriteSensor { .. }
        | Move::RemoveSensor { .. }
        | Move::WritePlaybook { .. }
        | Move::SteerSession { .. }
        | Move::SendKey { .. }
        | Move::KillWorker { .. }
        | Move::SendNotification { .. }
        | Move::AskHuman { .. }
        | Move::WriteSchedule { .. }
        | Move::DropSchedule { .. }
        | Move::Undo { .. }
        | Move::SettleWork { .. } => None,
    }
}

/// The question that takes the place of one more worker for a goal whose workers come to nothing.
pub(super) fn instead(cx: &Context<'_>, proposal: &Proposal) -> Option<Proposal> {
    let goal = &goal_of(cx, &proposal.action)?;
    let waits = cx.ledger.goal(goal.as_str()).ask.is_some();
    if cx.author == Author::Person || waits || !is_fruitless(cx.ledger, goal.as_str()) {
        return None;
    }
    Some(fruitless_ask(cx.ledger, goal))
}

/// What a person is asked when a goal's workers come to nothing.
pub(crate) fn fruitless_ask(ledger: &Ledger, goal: &Name) -> Proposal {
    let ended = last(ledger, goal.as_str()).map_or_else(String::new, |last| {
        let proof = last.proof.map(|proof| format!("; its proof: {}", one_line(&proof.text, 200)));
        let (session, proof) = (last.session, proof.unwrap_or_default());
        format!(" The last, {session}, ended with {}{proof} (looop log {session}).", last.ended)
    });
    let action = Move::AskHuman {
        prompt: format!(
            "The workers for goal \"{goal}\" end, or fail to start, without proof that their work is done.{ended} looop \
             review shows what they left. Fix the goal or the cause, and this question closes by itself. Answer \
             \"{AGAIN}\" to have another worker started now, or \"{LEAVE}\" to leave the goal until its recipe \
             changes; looop goal archive {goal} archives it."
        ),
        options: vec![AGAIN.to_owned(), LEAVE.to_owned()],
        reference: Some(format!("goals/{goal}.md")),
    };
    Proposal { goal: Some(goal.clone()), ..Proposal::of(action) }
}
