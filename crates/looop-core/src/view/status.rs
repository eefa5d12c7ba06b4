//! What `status` and `why` show, as values.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::admit::workers::{budget, over_budget};
use crate::builtin;
use crate::engine::io::PulseView;
use crate::gate::{Limits, backoff_left, paused};
use crate::ledger::state::{Ledger, UndeliveredRecord, WorkerRecord};
use crate::meter::Micros;
use crate::model::goal;
use crate::purse;
use crate::time::{Now, machine_text, span_text};
use crate::world::fleet::{Worker, WorkerState};
use crate::world::observation::{Doc, Docs, Observation};
use crate::world::probe::{Health, is_overdue};
use crate::world::reading::Reading;

/// The whole status.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Version of the form.
    pub v: u32,
    /// Who decides.
    pub deciders: Vec<String>,
    /// The process that holds the lock, if one does.
    pub holder: Option<u32>,
    /// The loop, as it describes itself, if it runs.
    pub pulse: Option<PulseView>,
    /// The last beat that left an entry.
    pub last: Option<LastBeat>,
    /// Why the last beat did nothing, if it did nothing.
    pub why: Option<String>,
    /// What is under way.
    pub under_way: Vec<String>,
    /// Failures in a row.
    pub failures: Option<FailureView>,
    /// Why nothing is decided until a person says so.
    pub paused: Option<String>,
    /// Goals.
    pub goals: Vec<GoalView>,
    /// The newest session of each worker that is kept.
    pub workers: Vec<WorkerView>,
    /// Asks that wait for a person.
    pub asks: Vec<AskView>,
    /// Files that cannot be used.
    pub broken: Vec<String>,
    /// Failing sensors.
    pub failing: Vec<String>,
    /// Channels that did not take the last notice.
    pub undelivered: Vec<String>,
    /// Today's spend.
    pub spend: SpendView,
    /// The last journal lines.
    pub journal: Vec<String>,
}

/// The last beat that left an entry.
#[derive(Clone, Debug, Serialize)]
pub struct LastBeat {
    /// Its number.
    pub beat: u64,
    /// When.
    pub at: String,
    /// How long ago.
    pub age_s: u64,
}

/// Failures in a row.
#[derive(Clone, Debug, Serialize)]
pub struct FailureView {
    /// How many.
    pub count: u32,
    /// The last.
    pub reason: String,
    /// What is left of the wait.
    pub wait_left_s: u64,
}

/// A goal.
#[derive(Clone, Debug, Serialize)]
pub struct GoalView {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// `ready`, `holds`, `waits`, `prose`, `broken`, …: the standing in words.
    pub state: String,
    /// Seconds since a move served it.
    pub served_age_s: Option<u64>,
    /// How the last move for it ended.
    pub last: Option<String>,
    /// Whether it has waited too long.
    pub overdue: bool,
    /// What is wrong with its front matter.
    pub problems: Vec<String>,
    /// Dollars that were spent on it in all, as reported.
    pub spent_usd: f64,
    /// Dollars that were reserved for it and not reported; they count against its budget.
    pub unreported_usd: f64,
    /// The budget that a person gave it.
    pub budget_usd: Option<f64>,
    /// Why its budget allows no further worker, where it does not.
    pub broke: Option<String>,
    /// The session whose work is done and waits for a person's review.
    pub review: Option<String>,
}

/// A worker's newest session.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerView {
    /// Its id.
    pub id: String,
    /// The session.
    pub session: String,
    /// `alive`, `exited`, `killed`, `lost`.
    pub state: &'static str,
    /// The same in more words.
    pub text: String,
    /// Whether it runs.
    pub alive: bool,
    /// Whether it is stopped for now.
    pub paused: bool,
    /// Whether it is stopped because it passed its allowance.
    pub over_allowance: bool,
    /// The exit code, where it has one.
    pub exit_code: Option<i32>,
    /// `busy`, `waiting`, `stuck`, `dead`.
    pub health: &'static str,
    /// The goal that it serves.
    pub goal: Option<String>,
    /// The runner that it was started with.
    pub runner: Option<String>,
    /// Whether its work was proven, if that was tried: `pass`, `fail`, or `unchanged` where it changed nothing.
    pub verify: Option<&'static str>,
    /// The branch that has its work, as long as that is neither merged nor discarded.
    pub branch: Option<String>,
    /// The session whose work is done and waits for a person's review: this one, if it does.
    pub review: Option<String>,
    /// The ask that it waits for.
    pub waits_on: Option<String>,
    /// For how long it runs, or ran.
    pub ran_s: u64,
    /// How long ago it ended.
    pub ended_ago_s: Option<u64>,
    /// For how long a live one has printed nothing.
    pub silent_s: Option<u64>,
    /// Dollars that it has spent, as reported.
    pub spent_usd: f64,
    /// Dollars that are reserved for it while it runs.
    pub reserved_usd: f64,
    /// Dollars that were reserved for it and that no report accounts for, once it has ended.
    pub unreported_usd: f64,
    /// Dollars that it may spend, where there is a bound.
    pub allowed_usd: Option<f64>,
}

/// An ask that waits.
#[derive(Clone, Debug, Serialize)]
pub struct AskView {
    /// Its id.
    pub id: String,
    /// Who asks.
    pub from: String,
    /// The question.
    pub prompt: String,
    /// The goal that waits.
    pub goal: Option<String>,
    /// For how long.
    pub age_s: u64,
}

/// Today's spend.
#[derive(Clone, Debug, Serialize)]
pub struct SpendView {
    /// Which day.
    pub day: String,
    /// Dollars that were spent, as reported.
    pub usd: f64,
    /// Dollars that are reserved for what runs.
    pub reserved_usd: f64,
    /// Dollars that were reserved for what ended without a report. They may have been spent, and count against the cap.
    pub unreported_usd: f64,
    /// The runner for which that last happened; empty for a command of a worker's own.
    pub unreported_by: Option<String>,
    /// The model that was used then and has no price, if that is why.
    pub unpriced: Option<String>,
    /// The cap, where there is one.
    pub cap_usd: Option<f64>,
    /// Tokens.
    pub tokens: u64,
    /// The cap of tokens, where there is one.
    pub cap_tokens: Option<u64>,
    /// Decides.
    pub decides: u64,
}

/// How the purse stands, for tables and scripts.
pub fn spend_view(ledger: &Ledger, now: &Now, limits: &Limits) -> SpendView {
    let balance = purse::balance(ledger, now);
    SpendView {
        day: balance.day,
        usd: balance.spent.dollars(),
        reserved_usd: balance.reserved.dollars(),
        unreported_usd: balance.unreported.dollars(),
        unreported_by: balance.unreported_by,
        unpriced: balance.unpriced,
        cap_usd: limits.daily_usd.map(Micros::dollars),
        tokens: balance.tokens,
        cap_tokens: limits.daily_tokens,
        decides: balance.decides,
    }
}

/// Puts the status together, where so many paid deciders have their turn.
pub fn status(
    ledger: &Ledger,
    seen: &Observation,
    readings: &BTreeMap<String, Reading>,
    (now, limits): (&Now, &Limits),
    deciders: usize,
) -> Status {
    Status {
        v: 1,
        deciders: Vec::new(),
        holder: None,
        pulse: None,
        last: ledger.at.filter(|_| ledger.beats > 0).map(|at| LastBeat {
            beat: ledger.beats,
            at: machine_text(at.wall),
            age_s: now.since(&at).as_secs(),
        }),
        why: ledger.skipped.as_ref().map(|skip| skip.why.text(now)),
        under_way: under_way(ledger, now),
        failures: ledger.failures.as_ref().map(|failures| FailureView {
            count: failures.count,
            reason: failures.reason.clone(),
            wait_left_s: backoff_left(ledger, deciders, now).as_secs(),
        }),
        paused: paused(ledger, now).map(|why| why.text(now)),
        goals: goals(ledger, seen, readings, now, limits),
        workers: seen
            .docs
            .fleet
            .newest()
            .into_values()
            .map(|worker| worker_view(ledger, &seen.docs, worker, (now, limits)))
            .collect(),
        asks: asks(ledger, now),
        broken: broken(seen),
        failing: readings
            .iter()
            .filter(|(_, reading)| reading.failed)
            .map(|(name, _)| name.clone())
            .collect(),
        undelivered: undelivered(ledger, now, limits),
        spend: spend_view(ledger, now, limits),
        journal: ledger.journal.iter().rev().take(5).rev().cloned().collect(),
    }
}

fn undelivered(ledger: &Ledger, now: &Now, limits: &Limits) -> Vec<String> {
    let failing = ledger.undelivered.iter().filter(|_| limits.can_notify);
    let text = |(channel, record): (&String, &UndeliveredRecord)| {
        let (age, count) = (span_text(now.since(&record.at)), record.count);
        format!("{channel} did not take {count} in a row, last {age} ago: {}", record.error)
    };
    failing.map(text).collect()
}

fn under_way(ledger: &Ledger, now: &Now) -> Vec<String> {
    let age = |at| span_text(now.since(at));
    let deciding =
        ledger.deciding.iter().map(|d| format!("decide {} by {}, for {}", d.run, d.decider, age(&d.at)));
    let acting = ledger.acting.iter().map(|a| format!("{}, for {}", a.plan.action.action(), age(&a.at)));
    deciding.chain(acting).collect()
}

fn goals(
    ledger: &Ledger,
    seen: &Observation,
    readings: &BTreeMap<String, Reading>,
    now: &Now,
    limits: &Limits,
) -> Vec<GoalView> {
    let choice = builtin::choose(ledger, seen, readings, (now, limits));
    let view = |(id, doc): (&String, &Doc)| {
        let parsed = goal::parse(doc.text().unwrap_or(""));
        let record = ledger.goal(id);
        GoalView {
            id: id.clone(),
            title: goal::title(doc.text().unwrap_or("")),
            state: choice.standings.get(id).map(builtin::Standing::text).unwrap_or_default(),
            served_age_s: record.served.as_ref().map(|served| now.since(served).as_secs()),
            last: record.last,
            overdue: is_overdue(ledger, id, now, limits),
            problems: parsed.problems,
            spent_usd: record.spent.saturating_sub(record.unreported).dollars(),
            unreported_usd: record.unreported.dollars(),
            budget_usd: budget(ledger, &seen.docs, id).map(Micros::dollars),
            review: record.review,
            broke: record.broke.and_then(|_| over_budget(ledger, &seen.docs, limits, id)),
        }
    };
    seen.docs.goals.iter().map(view).collect()
}

/// One session of a worker, for tables and scripts.
pub fn worker_view(
    ledger: &Ledger,
    docs: &Docs,
    worker: &Worker,
    (now, limits): (&Now, &Limits),
) -> WorkerView {
    let waits_on = docs.waiting.get(&worker.session).filter(|_| worker.state.is_alive());
    let record = ledger.workers.get(&worker.session);
    let allowed = record.map(purse::granted).filter(|granted| *granted > Micros::ZERO);
    let seconds = |from: i64, to: i64| u64::try_from(to.saturating_sub(from) / 1000).unwrap_or(0);
    let paused = worker.state == WorkerState::Paused;
    let over = record.filter(|_| paused).and_then(|record| purse::paused_text(&worker.session, record, now));
    WorkerView {
        id: worker.id.clone(),
        session: worker.session.clone(),
        state: worker.state.word(),
        paused,
        over_allowance: over.is_some(),
        text: over.unwrap_or_else(|| worker.state.text()),
        alive: worker.state.is_alive(),
        exit_code: worker.state.exit_code(),
        health: Health::of(worker, waits_on.is_some(), limits).word(),
        goal: worker.goal.clone(),
        runner: worker.runner.clone(),
        verify: record.and_then(WorkerRecord::verify_word),
        branch: record.and_then(WorkerRecord::unsettled).map(|work| work.branch.clone()),
        review: record.filter(|record| record.waits_for_review()).map(|_| worker.session.clone()),
        waits_on: waits_on.cloned(),
        ran_s: seconds(worker.started, worker.ended.unwrap_or(now.wall)),
        ended_ago_s: worker.ended.map(|ended| seconds(ended, now.wall)),
        silent_s: worker.silent_s,
        spent_usd: record.map_or(0.0, |record| record.account.used().usd.dollars()),
        reserved_usd: record.map_or(0.0, |record| purse::left(record).dollars()),
        unreported_usd: record.map_or(0.0, |record| purse::unreported(record).dollars()),
        allowed_usd: allowed.map(Micros::dollars),
    }
}

fn asks(ledger: &Ledger, now: &Now) -> Vec<AskView> {
    let view = |(id, ask): (&String, &crate::ledger::state::AskRecord)| AskView {
        id: id.clone(),
        from: ask.from.clone(),
        prompt: ask.prompt.clone(),
        goal: ask.goal.clone(),
        age_s: now.since(&ask.at).as_secs(),
    };
    ledger.asks.iter().map(view).collect()
}

fn broken(seen: &Observation) -> Vec<String> {
    let doc = |doc: &Doc| match doc {
        Doc::Broken { error } => Some(error.clone()),
        Doc::Absent | Doc::Text { .. } => None,
    };
    let playbook = doc(&seen.docs.playbook);
    let goals = seen.docs.goals.values().filter_map(doc);
    let odd = seen.docs.odd.iter().map(|name| format!("goals/{name}: this name cannot be used"));
    let letters = seen.letters.broken.iter().map(|(_, error)| error.clone());
    let unusable = seen.unusable.iter().map(|file| format!("{file}: this name cannot be used"));
    let folders = seen.broken.iter().chain(&seen.docs.fleet.fault).cloned();
    playbook.into_iter().chain(folders).chain(goals).chain(odd).chain(unusable).chain(letters).collect()
}

/// A duration for tables, or a dash.
pub fn age_text(seconds: Option<u64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |seconds| span_text(Duration::from_secs(seconds)))
}
