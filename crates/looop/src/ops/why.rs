//! Why: the causal chain of the last beat, or of one goal, from data.

use looop_core::builtin::{self, Standing};
use looop_core::gate::paused;
use looop_core::ledger::entry::{Cause, Entry, Force, Line};
use looop_core::ledger::state::Ledger;
use looop_core::meter::Micros;
use looop_core::model::goal;
use looop_core::model::outcome::Outcome;
use looop_core::purse::{balance, how_to_report, paused_text};
use looop_core::time::{Now, clock_text, span_text};
use looop_core::view::status::worker_view;
use looop_core::world::baseline::Change;
use looop_core::world::fleet::Worker;
use looop_core::world::observation::Doc;
use looop_core::world::probe::is_overdue;
use serde::Serialize;

use super::{Place, history, see};
use crate::clock;
use crate::failure::{Failure, Result};
use crate::pulse::open::log_failure;
use crate::setup::limits;

/// How many appends are looked through for the last beat.
const LOOK_BACK: usize = 400;

/// One step of the chain.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    pub(crate) what: String,
    pub(crate) text: String,
}

fn step(what: &str, text: impl Into<String>) -> Step {
    Step { what: what.to_owned(), text: text.into() }
}

/// The chain of the last beat that left an entry.
pub(crate) fn last_beat(place: &Place) -> Result<Vec<Step>> {
    let now = clock::now();
    let lines = history::recent(place, LOOK_BACK)?;
    let last = lines.iter().rev().flat_map(|line| line.entries.iter().rev()).find_map(Entry::beat);
    let Some(beat) = last else {
        return Ok(vec![step("nothing", "no beat has left an entry yet; looop beat makes one")]);
    };
    let mut steps = Vec::new();
    for line in &lines {
        for entry in line.entries.iter().filter(|entry| entry.beat() == Some(beat)) {
            if steps.is_empty() {
                steps.push(step("beat", format!("#{beat} at {}", clock_text(line.at.wall, &now.zone))));
            }
            explain(entry, &now, &mut steps);
        }
    }
    steps.extend(stopped(&place.reader()?.ledger().map_err(|error| log_failure(&error))?, &now));
    steps.extend(lines.last().map(|line| since(line, &now)));
    Ok(steps)
}

/// What money stops besides decides: goals whose budget allows no worker, and workers that passed their allowance.
fn stopped(ledger: &Ledger, now: &Now) -> Vec<Step> {
    let goals = ledger.goals.values().filter_map(|record| Some(step("budget", record.broke.as_ref()?)));
    let workers = ledger.workers.iter().filter_map(|(session, record)| {
        Some(step("worker", format!("{session} is {}", paused_text(session, record, now)?)))
    });
    goals.chain(workers).chain(unreported(ledger, now)).collect()
}

/// What was reserved today and not reported, and what changes that.
fn unreported(ledger: &Ledger, now: &Now) -> Option<Step> {
    let balance = balance(ledger, now);
    let by = balance.unreported_by.filter(|_| balance.unreported > Micros::ZERO)?;
    let how = how_to_report(&by, balance.unpriced.as_deref());
    let text = format!("{} was reserved today and counts; {how}", balance.unreported);
    Some(step("not reported", text))
}

fn since(line: &Line, now: &Now) -> Step {
    step("since", format!("nothing new was written for {}", span_text(now.since(&line.at))))
}

fn looked(cause: Cause, changes: &[Change], steps: &mut Vec<Step>) {
    steps.push(step("looked", format!("because {}", cause.text())));
    let texts: Vec<String> = changes.iter().map(Change::text).collect();
    let shown =
        if texts.is_empty() { "nothing since the last decision".to_owned() } else { texts.join("\n") };
    steps.push(step("changed", shown));
}

fn explain(entry: &Entry, now: &Now, steps: &mut Vec<Step>) {
    match entry {
        Entry::Skipped { cause, why, changes, .. } => {
            looked(*cause, changes, steps);
            steps.push(step("did nothing", why.text(now)));
        }
        Entry::DecideStarted { decider, run, cause, forced, changes, tainted, .. } => {
            looked(*cause, changes, steps);
            if !tainted.is_empty() {
                steps.push(step("tainted", format!("the brief shows {}", tainted.join(", "))));
            }
            let reason = forced.as_ref().map_or_else(|| "the world changed".to_owned(), Force::text);
            let text = format!("{decider}, because {reason}; looop runs {run} shows the brief");
            steps.push(step("asked", text));
        }
        Entry::Decided { proposal, .. } => steps.push(step("decided", proposal.action.summary())),
        Entry::Failed { reason, .. } => steps.push(step("failed", reason.clone())),
        Entry::Rejected { reason, .. } => steps.push(step("refused", reason.clone())),
        Entry::Overtaken { reason, .. } => steps.push(step("overtaken", reason.clone())),
        Entry::Intended { plan, cause, changes, why, .. } => {
            if let Some(cause) = cause {
                looked(*cause, changes, steps);
            }
            if let Some(why) = why {
                steps.push(step("chose", why.clone()));
            }
            steps.push(step("move", format!("{} by {}", plan.action.action(), plan.author.word())));
        }
        Entry::Parked { ask, parked, .. } => {
            let text = format!("{} as {ask}; {}", parked.prompt(), parked.rule);
            steps.push(step("waits for you", text));
        }
        Entry::Approved { ask, .. } => steps.push(step("approved", ask.clone())),
        Entry::Restarted { .. } => steps.push(step("restarted", "it had not run before a crash")),
        Entry::Finished { outcome, .. } => steps.push(match outcome {
            Outcome::Done { note, .. } => {
                step("done", note.clone().unwrap_or_else(|| "it took effect".to_owned()))
            }
            Outcome::Failed { reason, .. } => step("failed", reason.clone()),
            Outcome::Interrupted { reason } => step("interrupted", reason.clone()),
        }),
        Entry::WorkerStarted { session, .. } => steps.push(step("started", session.clone())),
        Entry::Seeded { .. }
        | Entry::Saw { .. }
        | Entry::WorkerEnded { .. }
        | Entry::Spent { .. }
        | Entry::Granted { .. }
        | Entry::Verified { .. }
        | Entry::ClaimReaped { .. }
        | Entry::Told { .. }
        | Entry::Pruned { .. }
        | Entry::WorkFound { .. }
        | Entry::GoalsHold { .. }
        | Entry::WorkerNoted { .. }
        | Entry::ScheduleDue { .. }
        | Entry::ConfigError { .. }
        | Entry::ConfigMended
        | Entry::Notified { .. }
        | Entry::Undelivered { .. }
        | Entry::Delivered { .. }
        | Entry::SensorChanged { .. }
        | Entry::Flapping { .. }
        | Entry::Declined { .. }
        | Entry::Lapsed { .. }
        | Entry::Reparked { .. }
        | Entry::RuleWritten { .. }
        | Entry::Asked { .. }
        | Entry::Answered { .. }
        | Entry::Dismissed { .. }
        | Entry::Withdrawn { .. }
        | Entry::Trusted { .. }
        | Entry::Paused { .. }
        | Entry::Forgot { .. }
        | Entry::Renumbered { .. }
        | Entry::Resumed
        | Entry::Dropped { .. }
        | Entry::Stopped { .. } => {}
    }
}

/// Why a goal is or is not being worked on, or how it came that a worker is as it is.
pub(crate) fn about(place: &Place, id: &str) -> Result<Vec<Step>> {
    let seen = see::see(place)?;
    if let Some(doc) = seen.observation.docs.goals.get(id) {
        return Ok(goal(&seen, id, doc));
    }
    let fleet = &seen.observation.docs.fleet;
    let Some(found) = fleet.workers.get(id).or_else(|| fleet.latest(id)) else {
        return Err(Failure::new(format!("there is no goal or worker \"{id}\""))
            .hint("looop goal list and looop worker list show them"));
    };
    let mut steps = worker(&seen, found);
    for line in history::recent(place, LOOK_BACK)? {
        let at = clock_text(line.at.wall, &seen.now.zone);
        steps.extend(line.entries.iter().filter_map(|entry| happened(entry, &found.session, &at)));
    }
    Ok(steps)
}

/// A worker's session as it is now.
fn worker(seen: &see::Seen, worker: &Worker) -> Vec<Step> {
    let (docs, limits) = (&seen.observation.docs, limits(&seen.config.config));
    let view = worker_view(&seen.ledger, docs, worker, (&seen.now, &limits));
    let mut steps = vec![step("worker", format!("{} ({})", view.session, view.text))];
    steps.push(step("health", view.health));
    steps.extend(view.goal.map(|goal| step("goal", goal)));
    if let Some(record) = seen.ledger.workers.get(&worker.session) {
        steps.push(step("started by", record.author.word()));
        if let Some(allowed) = view.allowed_usd {
            steps.push(step("spent", format!("${:.2} of its ${allowed:.2}", view.spent_usd)));
        }
        if view.reserved_usd > 0.0 {
            steps.push(step("reserved", format!("${:.2} until it ends", view.reserved_usd)));
        }
        if view.unreported_usd > 0.0 {
            let how = how_to_report(record.runner.as_deref().unwrap_or_default(), None);
            steps.push(step("not reported", format!("${:.2} was reserved; {how}", view.unreported_usd)));
        }
        steps.extend(record.after.as_ref().map(|ask| step("told", format!("your answer to {ask}"))));
    }
    steps.extend(view.waits_on.map(|ask| step("asks you", format!("{ask}; looop answer {ask} '…'"))));
    steps.extend(view.verify.map(|verify| step("verify", verify)));
    if let Some(branch) = view.branch {
        steps.push(step("work", format!("on {branch}; looop review {}", view.session)));
    }
    steps
}

/// What an entry says about a session.
fn happened(entry: &Entry, session: &str, at: &str) -> Option<Step> {
    let (of, what, text) = if let Entry::Intended { plan, .. } = entry {
        let text = format!("{} by {}", plan.action.action(), plan.author.word());
        (plan.act.starts()?, "started", text)
    } else if let Entry::WorkerEnded { session, state, .. } = entry {
        (session.as_str(), "ended", state.text())
    } else if let Entry::Spent { session, spend, .. } = entry {
        (session.as_str(), "money", spend.text()?)
    } else if let Entry::Granted { session, .. } = entry {
        (session.as_str(), "was granted", "a further allowance".to_owned())
    } else if let Entry::Verified { session, text, .. } = entry {
        (session.as_str(), "verified", text.clone())
    } else if let Entry::WorkFound { session, work } = entry {
        (session.as_str(), "left", format!("{} on {}", work.text(), work.branch))
    } else if let Entry::Told { session, text, .. } = entry {
        (session.as_str(), "was told", text.clone())
    } else if let Entry::ClaimReaped { claim, session } = entry {
        (session.as_str(), "lost the claim", claim.clone())
    } else {
        return None;
    };
    (of == session).then(|| step(what, format!("{at} {text}")))
}

fn goal(seen: &see::Seen, id: &str, doc: &Doc) -> Vec<Step> {
    let (ledger, now) = (&seen.ledger, &seen.now);
    let choice =
        builtin::choose(ledger, &seen.observation, &seen.readings, (now, &limits(&seen.config.config)));
    let record = ledger.goal(id);
    let mut steps = vec![step("goal", goal::title(doc.text().unwrap_or("")))];
    if let Some(standing) = choice.standings.get(id) {
        steps.push(step("now", standing.text()));
    }
    if let Doc::Text { text, .. } = doc {
        steps.extend(goal::parse(text).problems.into_iter().map(|problem| step("problem", problem)));
    }
    let waits_its_turn =
        matches!(choice.standings.get(id), Some(Standing::Servable(_) | Standing::Exhausted(_)));
    if let Some((proposal, _)) = choice.pick.as_ref().filter(|_| waits_its_turn)
        && let Some(first) = proposal.goal.as_ref().filter(|first| first.as_str() != id)
    {
        let priority = |id: &str| {
            let text = seen.observation.docs.goals.get(id).and_then(Doc::text);
            text.map_or(0, |text| goal::parse(text).priority)
        };
        let why = if priority(first.as_str()) > priority(id) {
            "has a higher priority"
        } else {
            "has waited longer"
        };
        steps.push(step("first", format!("goal {first} comes before it: it {why}")));
    }
    if let Some(why) = paused(ledger, now) {
        steps.push(step("paused", why.text(now)));
    }
    if let Some(failures) = &ledger.failures {
        steps.push(step("failures", format!("{} in a row; the last: {}", failures.count, failures.reason)));
    }
    if is_overdue(ledger, id, now, &limits(&seen.config.config)) {
        steps.push(step(
            "overdue",
            "it has waited longer than is fair; the next decide must serve or defer it",
        ));
    }
    let served = record
        .served
        .as_ref()
        .map_or_else(|| "never".to_owned(), |at| format!("{} ago", span_text(now.since(at))));
    steps.push(step("served", served));
    if let Some(last) = record.last {
        steps.push(step("last result", last));
    }
    if let Some(ask) = record.ask {
        steps.push(step("asks you", format!("{ask}; looop answer {ask} '…'")));
    }
    steps
}
