//! The built-in decider: serves goals that carry a recipe. Free, and asked at each beat.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::admit::recipe;
use crate::admit::terms::misfit;
use crate::admit::workers::{allowance, budget, fruitless_ask, is_fruitless};
use crate::engine::interview::SETUP;
use crate::gate::Limits;
use crate::ledger::fold::{AGAIN, LEAVE};
use crate::ledger::state::{GoalRecord, Interview, Ledger};
use crate::model::goal::{self, Goal};
use crate::model::moves::{Move, Proposal};
use crate::model::name::Name;
use crate::model::nearest::nearest;
use crate::model::outcome::Ended;
use crate::purse;
use crate::time::{Now, span_text};
use crate::world::condition::{self, Truth, Unknown};
use crate::world::fleet::{is_worker_id, worker_of};
use crate::world::observation::{Checked, Doc, Observation};
use crate::world::reading::Reading;

/// Attempts after which a person is asked.
const ATTEMPTS: u32 = 3;

/// Whether a goal wants something done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It does, and this is why.
    Ready(String),
    /// It is as it should be.
    Holds(String),
    /// It is not due yet.
    NotDue(Duration),
    /// Its `when` does not hold; which part of it, and what the reading says.
    Unmet(String),
    /// It cannot be told whether its `when` holds.
    Unknown(Unknown),
    /// Its check gives no answer.
    CheckError(String),
    /// It says nothing that a machine could tell.
    Prose,
}

/// Tells whether a goal wants something done: its check fails, its `every` is due, or its `when` alone holds.
pub fn readiness(
    goal: &Goal,
    record: &GoalRecord,
    checked: Option<&Checked>,
    readings: &BTreeMap<String, Reading>,
    now: &Now,
) -> Readiness {
    if let Some(text) = &goal.when {
        match condition::parse(text) {
            Ok(when) => match when.truth(readings) {
                Truth::Holds => {}
                Truth::Fails(text) => return Readiness::Unmet(text),
                Truth::Unknown(why) => return Readiness::Unknown(why),
            },
            Err(problem) => return Readiness::CheckError(format!("when: {problem}")),
        }
    }
    if goal.check.is_some() {
        match checked.map(|checked| &checked.ended) {
            None => return Readiness::CheckError("its check has not run yet".to_owned()),
            Some(Ended::Exited(0)) => {}
            Some(Ended::Exited(1)) => return Readiness::Ready("its check fails".to_owned()),
            Some(ended) => return Readiness::CheckError(format!("its check gave {}", ended.text())),
        }
    }
    match (goal.every, &record.served) {
        (Some(every), None) => {
            Readiness::Ready(format!("it is due every {} and was never served", span_text(every)))
        }
        (Some(every), Some(served)) => {
            let left = every.saturating_sub(now.since(served));
            if left.is_zero() {
                Readiness::Ready(format!("it is due every {}", span_text(every)))
            } else {
                Readiness::NotDue(left)
            }
        }
        (None, _) if goal.check.is_some() => Readiness::Holds("its check holds".to_owned()),
        (None, _) => match &goal.when {
            Some(when) => Readiness::Ready(format!("{when} holds")),
            None => Readiness::Prose,
        },
    }
}

/// How the built-in decider sees a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It can be served now, for this reason.
    Servable(String),
    /// Its recipe was tried often enough; a person has to look.
    Exhausted(String),
    /// It cannot or need not be served now.
    Not(Idle),
}

/// Why a goal is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It is as it should be.
    Holds(String),
    /// It is due again after this long.
    NotDue(Duration),
    /// Its `when` does not hold; which part of it, and what the reading says.
    Unmet(String),
    /// It cannot be told whether its `when` holds, for this reason.
    Unknown(String),
    /// Its check or condition gives no answer.
    CheckError(String),
    /// It has a recipe and nothing that makes it due.
    NeverDue,
    /// It is prose.
    Prose,
    /// It waits for an answer to this ask.
    Waits(String),
    /// It is the interview of a first run, which is so far.
    Interview(Interview),
    /// It still fails, and a person wants it left alone.
    Left(String),
    /// It is ready and has no recipe.
    NoRecipe(String),
    /// It is ready, and this session works on it.
    Worked(String),
    /// It is ready, and this session has claimed it.
    Claimed(String),
    /// It is ready, its recipe is a worker, and no runner can start one.
    NoRunner(String),
    /// It is ready, its recipe is a worker, and none can be started as the goal says.
    Misfit(String),
    /// It is ready, and this session's work for it waits for a person.
    Review(String),
    /// It is ready, and its last worker failed so short a time ago that the next one waits.
    Retry(Duration),
    /// It is ready, its recipe is a worker, and so many live already.
    NoRoom(usize),
    /// It is ready, its recipe is a worker, and there is no money for one.
    NoMoney(String),
    /// Its file cannot be used.
    Broken(String),
}

impl Idle {
    fn text(&self) -> String {
        match self {
            Self::Holds(why) | Self::Misfit(why) => why.clone(),
            Self::NotDue(left) => format!("due again in {}", span_text(*left)),
            Self::Unknown(why) => format!("it is not known whether its condition holds: {why}"),
            Self::Unmet(text) => text.clone(),
            Self::CheckError(error) | Self::Broken(error) => error.clone(),
            Self::NeverDue => "its recipe never becomes due: give it a check, an every or a when".to_owned(),
            Self::Prose => "it is prose: only a model can serve it".to_owned(),
            Self::Waits(ask) => format!("it waits for your answer to {ask}"),
            Self::Interview(Interview::Due) => "you are asked whether you want the interview".to_owned(),
            Self::Interview(Interview::Asked) => {
                "it waits for your answer whether you want the interview (looop asks)".to_owned()
            }
            Self::Interview(Interview::Wanted) => "the interview begins".to_owned(),
            Self::Interview(Interview::None) => {
                "the interview has begun or is not wanted (looop goal archive setup)".to_owned()
            }
            Self::Left(why) => {
                format!("{why}, and you said to leave it: it is tried again when its recipe changes")
            }
            Self::NoRecipe(why) => format!("{why}, and it has no recipe: only a model can serve it"),
            Self::Worked(session) => format!("worker {session} is on it"),
            Self::Claimed(session) => format!("{session} has claimed it"),
            Self::NoRunner(why) => {
                format!("{why}, and no runner can start its worker; set runners.<name>.interactive")
            }
            Self::Review(session) => {
                let id = worker_of(session);
                format!("the work of {id} is done and waits for you: looop review {id}")
            }
            Self::Retry(left) => {
                format!("its last worker failed; the next is started in {}", span_text(*left))
            }
            Self::NoRoom(cap) => format!("it waits for room: max_workers is {cap}"),
            Self::NoMoney(why) => format!("it waits for money: {why}"),
        }
    }

    /// The word under which goals are counted when nothing is to be done.
    fn word(&self) -> &'static str {
        match self {
            Self::Holds(_) | Self::Interview(Interview::None) => "as it should be",
            Self::NotDue(_) | Self::Unmet(_) | Self::Retry(_) => "not due",
            Self::Unknown(_) => "with an unknown condition",
            Self::Waits(_) | Self::Interview(Interview::Due | Interview::Asked | Interview::Wanted) => {
                "waiting for your answer"
            }
            Self::Left(_) => "left alone",
            Self::Review(_) => "waiting for your review",
            Self::Prose | Self::NoRecipe(_) => "for a model to serve",
            Self::Worked(_) | Self::Claimed(_) => "being worked on",
            Self::NoRunner(_) | Self::NoRoom(_) => "for a worker to serve",
            Self::NoMoney(_) => "waiting for money",
            Self::CheckError(_) | Self::NeverDue | Self::Misfit(_) | Self::Broken(_) => "broken",
        }
    }
}

impl Standing {
    /// The standing in words.
    pub fn text(&self) -> String {
        match self {
            Self::Servable(text) | Self::Exhausted(text) => text.clone(),
            Self::Not(idle) => idle.text(),
        }
    }
}

/// What the built-in decider chose, and how it sees each goal.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The move, with the reason for it.
    pub pick: Option<(Proposal, String)>,
    /// Every goal's standing.
    pub standings: BTreeMap<String, Standing>,
}

/// Chooses among the servable goals the one of highest priority that was longest unserved.
pub fn choose(
    ledger: &Ledger,
    seen: &Observation,
    readings: &BTreeMap<String, Reading>,
    (now, limits): (&Now, &Limits),
) -> Choice {
    let mut standings = BTreeMap::new();
    let mut best: Option<(Rank, String, Goal)> = None;
    for (id, doc) in &seen.docs.goals {
        let (parsed, standing) = match doc {
            Doc::Text { text, .. } => {
                let parsed = goal::parse(text);
                let standing = standing(ledger, (id, &parsed), seen, readings, (now, limits));
                (parsed, standing)
            }
            Doc::Broken { error } => (Goal::default(), Standing::Not(Idle::Broken(error.clone()))),
            Doc::Absent => continue,
        };
        if !matches!(standing, Standing::Not(_)) {
            let rank = rank(ledger, (id, doc), &parsed, now);
            if best.as_ref().is_none_or(|(top, ..)| rank > *top) {
                best = Some((rank, id.clone(), parsed));
            }
        }
        standings.insert(id.clone(), standing);
    }
    let pick = best.and_then(|(_, id, goal)| {
        let body = seen.docs.goals.get(&id).and_then(Doc::text).map_or("", |text| goal::split(text).1);
        Some((proposal(ledger, &id, (&goal, body), &standings[&id])?, pick_reason(&id, &standings[&id])))
    });
    Choice { pick, standings }
}

type Rank = (i64, Duration);

/// A goal that a decider wrote can step back behind others, and not before them.
fn rank(ledger: &Ledger, (id, doc): (&str, &Doc), goal: &Goal, now: &Now) -> Rank {
    let unserved = ledger.goal(id).served.map_or(Duration::MAX, |served| now.since(&served));
    let written = ledger.written.get(&format!("goals/{id}.md"));
    let foreign = written.is_some() && written.copied() == doc.digest();
    (if foreign { goal.priority.min(0) } else { goal.priority }, unserved)
}

fn standing(
    ledger: &Ledger,
    (id, goal): (&str, &Goal),
    seen: &Observation,
    readings: &BTreeMap<String, Reading>,
    (now, limits): (&Now, &Limits),
) -> Standing {
    let record = ledger.goal(id);
    let why = match readiness(goal, &record, seen.checks.get(id), readings, now) {
        Readiness::Ready(why) => why,
        Readiness::Holds(why) => return Standing::Not(Idle::Holds(why)),
        Readiness::NotDue(left) => return Standing::Not(Idle::NotDue(left)),
        Readiness::Unmet(text) => return Standing::Not(Idle::Unmet(text)),
        Readiness::Unknown(why) => return Standing::Not(Idle::Unknown(unknown_text(&why, seen, readings))),
        Readiness::CheckError(error) => return Standing::Not(Idle::CheckError(error)),
        Readiness::Prose if goal.fault.is_some() => {
            return Standing::Not(Idle::Broken(goal.fault.clone().unwrap_or_default()));
        }
        Readiness::Prose if id == SETUP && goal.worker.is_some() && ledger.interview_offered => {
            return Standing::Not(Idle::Interview(ledger.interview));
        }
        Readiness::Prose if goal.run.is_some() || goal.worker.is_some() => {
            return Standing::Not(Idle::NeverDue);
        }
        Readiness::Prose => return Standing::Not(Idle::Prose),
    };
    if let Some(ask) = &record.ask {
        return Standing::Not(Idle::Waits(ask.clone()));
    }
    if let Some(idle) = taken(id, seen) {
        return Standing::Not(idle);
    }
    if let Some(session) = &record.review {
        return Standing::Not(Idle::Review(session.clone()));
    }
    if record.left.is_some() && record.left == recipe(ledger, &seen.docs, id) {
        return Standing::Not(Idle::Left(why));
    }
    match (&goal.run, &goal.worker) {
        (None, None) => Standing::Not(Idle::NoRecipe(why)),
        (None, Some(_)) => with_worker(ledger, (id, goal), seen, (why, now, limits)),
        (Some(_), _) if record.attempts >= ATTEMPTS => {
            let last = record.last.as_deref().unwrap_or("no result");
            Standing::Exhausted(format!("{why} after {} attempts; the last: {last}", record.attempts))
        }
        (Some(_), _) => Standing::Servable(why),
    }
}

/// Why a condition cannot be evaluated, with what to do about it.
fn unknown_text(why: &Unknown, seen: &Observation, readings: &BTreeMap<String, Reading>) -> String {
    let names = || seen.docs.sensors.keys().chain(readings.keys()).map(String::as_str);
    match why {
        Unknown::Failing(name) => format!("sensor {name} fails (looop sensor run {name})"),
        Unknown::NoReading(name) if seen.docs.sensors.contains_key(name) => {
            format!("sensor {name} has not run yet (looop beat)")
        }
        Unknown::NoReading(name) => match nearest(name, names()) {
            Some(near) => format!("there is no sensor \"{name}\"; did you mean {near}?"),
            None => format!("there is no sensor \"{name}\" (looop sensor list)"),
        },
    }
}

/// Who is at a ready goal already: a live worker that serves it, or a live session that claimed it.
fn taken(id: &str, seen: &Observation) -> Option<Idle> {
    let fleet = &seen.docs.fleet;
    let mut live = fleet.workers.values().filter(|worker| worker.state.is_alive());
    if let Some(worker) = live.find(|worker| worker.goal.as_deref() == Some(id)) {
        return Some(Idle::Worked(worker.session.clone()));
    }
    let claim = seen.letters.claims.get(id).filter(|claim| fleet.holds(&claim.session));
    claim.map(|claim| Idle::Claimed(claim.session.clone()))
}

/// The standing of a ready goal whose recipe is a worker.
fn with_worker(
    ledger: &Ledger,
    (id, said): (&str, &Goal),
    seen: &Observation,
    (why, now, limits): (String, &Now, &Limits),
) -> Standing {
    let fleet = &seen.docs.fleet;
    if let Some(worker) = fleet.live(id) {
        return Standing::Not(Idle::Worked(worker.session.clone()));
    }
    if limits.worker_runners.is_empty() {
        return Standing::Not(Idle::NoRunner(why));
    }
    if let Some(why) = misfit(limits, id, said) {
        return Standing::Not(Idle::Misfit(why));
    }
    if !is_worker_id(id) {
        return Standing::Not(Idle::Broken(format!(
            "no worker can be called {id}, so its recipe cannot be served"
        )));
    }
    if let Some(cap) = limits.max_workers.filter(|cap| fleet.live_count() >= *cap) {
        return Standing::Not(Idle::NoRoom(cap));
    }
    if is_fruitless(ledger, id) || ledger.goal(id).attempts >= ATTEMPTS {
        return Standing::Exhausted(format!("{why}, and its workers come to nothing"));
    }
    let goal = Some((id, budget(ledger, &seen.docs, id)));
    let allowance = allowance(limits, said.runner.as_deref(), None);
    if let Err(reason) = purse::worker(ledger, limits, allowance, goal, now) {
        return Standing::Not(Idle::NoMoney(reason));
    }
    match retry_left(&ledger.goal(id), limits, now) {
        Duration::ZERO => Standing::Servable(why),
        left => Standing::Not(Idle::Retry(left)),
    }
}

/// How long a goal still waits after a worker that failed: each failure in a row makes the wait four times as long.
pub(crate) fn retry_left(record: &GoalRecord, limits: &Limits, now: &Now) -> Duration {
    let Some(failed) = record.failed.as_ref().filter(|_| record.fruitless > 0) else { return Duration::ZERO };
    let times = 4_u32.saturating_pow(record.fruitless.saturating_sub(1));
    now.left(failed, limits.worker_retry.saturating_mul(times))
}

fn pick_reason(id: &str, standing: &Standing) -> String {
    format!("goal {id}: {}", standing.text())
}

fn proposal(ledger: &Ledger, id: &str, (goal, body): (&Goal, &str), standing: &Standing) -> Option<Proposal> {
    let name = Name::new(id).ok()?;
    let action = match (standing, &goal.run) {
        (Standing::Servable(_), Some(cmd)) => Move::RunShell { cmd: cmd.clone(), reason: None },
        (Standing::Servable(_), None) => Move::StartWorker {
            id: name.clone(),
            prompt: worker_prompt(id, goal.worker.as_deref()?, body),
            goal: Some(name.clone()),
            runner: goal.runner.clone(),
            command: None,
            verify: goal.check.clone(),
            sandbox: false,
            repo: None,
            cwd: None,
        },
        (Standing::Exhausted(_), None) => return Some(fruitless_ask(ledger, &name)),
        (Standing::Exhausted(why), Some(_)) => Move::AskHuman {
            prompt: format!(
                "Goal \"{id}\" still fails: {why}. Its recipe is `{}`. Fix the goal or the cause, and this question closes \
                 by itself. Answer \"{AGAIN}\" to run the recipe again now, or \"{LEAVE}\" to leave the goal until its \
                 recipe changes; looop goal archive {id} archives it.",
                goal.run.as_deref().unwrap_or("")
            ),
            options: vec![AGAIN.to_owned(), LEAVE.to_owned()],
            reference: Some(format!("goals/{id}.md")),
        },
        (Standing::Not(_), _) => return None,
    };
    Some(Proposal { goal: Some(name), ..Proposal::of(action) })
}

/// What a worker of a recipe is told: the recipe, and the goal in full.
pub(crate) fn worker_prompt(id: &str, recipe: &str, body: &str) -> String {
    format!("{recipe}\n\nThe goal \"{id}\", which you serve:\n\n{}\n", body.trim())
}

/// One stable line about why there is nothing to do.
pub fn nothing_text(choice: &Choice) -> String {
    if choice.standings.is_empty() {
        return "there are no goals; write one with `looop goal write <id>`".to_owned();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for standing in choice.standings.values() {
        if let Standing::Not(idle) = standing {
            *counts.entry(idle.word()).or_default() += 1;
        }
    }
    let said: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let poor = choice.standings.values().find_map(|standing| match standing {
        Standing::Not(Idle::NoMoney(reason)) => Some(format!("; {reason}")),
        Standing::Servable(_) | Standing::Exhausted(_) | Standing::Not(_) => None,
    });
    format!("no goal to serve: {}{}", said.join(", "), poor.unwrap_or_default())
}

#[cfg(test)]
mod tests;
