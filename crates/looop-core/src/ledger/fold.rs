//! The fold: the only way in which the ledger changes.

use std::time::Duration;

use memory::noted;

use super::bound::is_policy_file;
use super::entry::{Entry, Force, Line};
use super::state::{
    Acting, AskRecord, Deciding, GoalRecord, Ledger, Note, NoteKind, Noted, Nudge, Paused, ReadingRecord,
    Skip,
};
use crate::bounds::{PROMPT, cut};
use crate::model::digest::Digest;
use crate::model::letter::{AskKind, question_digest};
use crate::model::moves::Move;
use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::model::plan::{Act, Author, BeatId, Plan, RunId};
use crate::model::work::Answered;
use crate::time::Stamp;
use crate::world::baseline::{Delta, Seen, seen_of};
use crate::world::fleet::WorkerState;
use crate::world::probe;

mod consent;
mod failures;
mod goals;
mod interview;
mod memory;
mod money;
mod notices;
mod sensors;
mod undo;
mod workers;

pub(crate) use goals::{AGAIN, LEAVE};

/// Most notes kept for the next brief.
const NOTES: usize = 20;
/// Journal lines kept for the brief.
const JOURNAL: usize = 20;

/// Applies one append.
pub fn apply_line(ledger: &mut Ledger, line: &Line) {
    apply_each(ledger, line, |_, _| {});
}

/// Applies one line of the log, and shows each entry with the ledger before it.
pub fn apply_each(ledger: &mut Ledger, line: &Line, mut look: impl FnMut(&Ledger, &Entry)) {
    ledger.seq = line.seq;
    ledger.at = Some(line.at);
    for entry in &line.entries {
        look(ledger, entry);
        apply(ledger, &line.at, entry);
    }
}

/// Applies one entry. Every entry is legal in every state: what it refers to may be gone.
pub fn apply(ledger: &mut Ledger, at: &Stamp, entry: &Entry) {
    money::anchor(ledger, at);
    match entry {
        Entry::Seeded { files } => {
            ledger.seeded = true;
            interview::seeded(ledger, files);
        }
        Entry::Saw { readings, quiet, some, ready, held, rewritten, broke } => {
            saw_readings(ledger, readings, *quiet, *some);
            goals::held(ledger, held);
            goals::rewritten(ledger, rewritten);
            if let Some(ready) = ready {
                saw_ready(ledger, ready, at);
            }
            if let Some(broke) = broke {
                money::saw_broke(ledger, broke);
            }
        }
        Entry::SensorChanged { sensor, state } => sensors::changed(ledger, at, sensor, state),
        Entry::Flapping { .. }
        | Entry::WorkerStarted { .. }
        | Entry::ClaimReaped { .. }
        | Entry::Dropped { .. }
        | Entry::Stopped { .. } => {}
        Entry::Skipped { beat, cause, why, sees, .. } => {
            ledger.beats = ledger.beats.max(beat.0);
            ledger.skipped = Some(Skip { beat: *beat, at: *at, cause: *cause, why: why.clone() });
            if let Some(sees) = sees {
                sees.apply(&mut ledger.baseline);
            }
        }
        Entry::DecideStarted { .. } => decide_started(ledger, at, entry),
        Entry::Decided { .. } | Entry::Failed { .. } | Entry::Rejected { .. } | Entry::Overtaken { .. } => {
            decide_ended(ledger, at, entry);
        }
        Entry::Parked { .. }
        | Entry::Approved { .. }
        | Entry::Declined { .. }
        | Entry::Lapsed { .. }
        | Entry::Reparked { .. }
        | Entry::RuleWritten { .. }
        | Entry::Trusted { .. } => consent::apply(ledger, at, entry),
        Entry::Intended { beat, plan, .. } => intended(ledger, at, *beat, plan),
        Entry::Restarted { session, .. } => workers::restarted(ledger, session),
        Entry::Finished { beat, outcome, journal, policy } => {
            if let Some(line) = journal {
                journal_line(ledger, line, *beat);
            }
            if ledger.acting.as_ref().is_some_and(|acting| acting.beat == *beat)
                && let Some(acting) = ledger.acting.take()
            {
                finished(ledger, at, &acting, outcome, *policy);
            }
        }
        Entry::Asked { ask, from, prompt, goal, kind, asked: when } => {
            asked(ledger, at, (ask, *when, *kind), (from, prompt), goal.as_deref());
        }
        Entry::Answered { ask, text } => answered(ledger, ask, text),
        Entry::Withdrawn { ask, .. } => withdrawn(ledger, ask),
        Entry::Dismissed { ask } => dismissed(ledger, at, ask),
        Entry::WorkerEnded { session, state, strays: s } => workers::ended(ledger, at, session, (state, s)),
        Entry::Spent { .. } => money::spent(ledger, at, entry),
        Entry::Granted { session, grants, up_to } => money::granted(ledger, session, (*grants, *up_to)),
        Entry::Verified { .. } | Entry::WorkFound { .. } => workers::learned(ledger, entry),
        Entry::GoalsHold { goals } => goals::hold(ledger, goals),
        Entry::WorkerNoted { journal, .. } => journaled(ledger, journal),
        Entry::Told { tell, told, .. } => workers::told(ledger, tell, *told),
        Entry::Pruned { sessions } => workers::pruned(ledger, sessions),
        Entry::ScheduleDue { schedule, due } => schedule_due(ledger, schedule, *due),
        Entry::ConfigError { error } => ledger.config_error = Some(error.clone()),
        Entry::ConfigMended => ledger.config_error = None,
        Entry::Notified { key, .. } => notices::notified(ledger, at, key),
        Entry::Undelivered { channel, error, .. } => notices::undelivered(ledger, at, channel, error),
        Entry::Delivered { channel } => drop(ledger.undelivered.remove(channel)),
        Entry::Paused { until } => ledger.paused = Some(Paused { at: *at, until: *until }),
        Entry::Resumed => failures::resumed(ledger),
        Entry::Forgot { .. } | Entry::Renumbered { .. } => memory::changed(ledger, entry),
    }
    notices::forget(ledger);
}

/// Keeps a journal line for the brief, with whether it was written from what a stranger wrote.
fn journal_line(ledger: &mut Ledger, line: &str, beat: BeatId) {
    let acting = ledger.acting.as_ref().filter(|acting| acting.beat == beat);
    if acting.is_some_and(|acting| acting.plan.tainted) {
        ledger.tainted_lines.push(line.to_owned());
    }
    journaled(ledger, line);
}

fn journaled(ledger: &mut Ledger, line: &str) {
    ledger.journal.push(line.to_owned());
    let extra = ledger.journal.len().saturating_sub(JOURNAL);
    ledger.journal.drain(..extra);
    let journal = &ledger.journal;
    ledger.tainted_lines.retain(|line| journal.contains(line));
}

fn schedule_due(ledger: &mut Ledger, schedule: &str, due: i64) {
    ledger.due.insert(schedule.to_owned(), due);
    noted(ledger, Noted::Due, schedule);
}

fn saw_readings(
    ledger: &mut Ledger,
    changed: &std::collections::BTreeMap<String, Option<Digest>>,
    quiet: u32,
    some: bool,
) {
    for (name, record) in &mut ledger.readings {
        record.streak = record.streak.saturating_sub(quiet);
        if !some && !changed.contains_key(name) {
            record.streak = record.streak.saturating_sub(1);
        }
    }
    for (name, digest) in changed {
        match digest {
            None => {
                ledger.readings.remove(name);
            }
            Some(digest) => {
                let streak = ledger.readings.get(name).map_or(0, |record| record.streak.saturating_add(1));
                ledger.readings.insert(name.clone(), ReadingRecord { digest: *digest, streak });
            }
        }
    }
}

fn saw_ready(ledger: &mut Ledger, ready: &[String], at: &Stamp) {
    for (id, record) in &mut ledger.goals {
        if record.ready.is_some() && !ready.contains(id) {
            record.ready = None;
        }
    }
    for id in ready {
        ledger.goals.entry(id.clone()).or_default().ready.get_or_insert(*at);
    }
    ledger.overdue.retain(|id, _| ready.contains(id));
}

fn decide_started(ledger: &mut Ledger, at: &Stamp, entry: &Entry) {
    let Entry::DecideStarted {
        beat,
        run,
        session,
        decider,
        forced,
        changes,
        sees,
        files,
        reserved_usd,
        free,
        config,
        tainted,
        ..
    } = entry
    else {
        return;
    };
    ledger.beats = ledger.beats.max(beat.0);
    ledger.runs = ledger.runs.max(run.0);
    ledger.sessions = ledger.sessions.saturating_add(1);
    ledger.skipped = None;
    notices::paid(ledger);
    let own = forced.as_ref().is_some_and(Force::is_own_doing) && changes.is_empty();
    ledger.chain = if own { ledger.chain.saturating_add(1) } else { 0 };
    ledger.last_decide = Some(*at);
    ledger.decides.retain(|then| within_hour(then, at));
    ledger.decides.push(*at);
    // A nudge is one-shot: whatever started this decide, it has been served.
    ledger.nudge = None;
    if let Some(Force::Overdue(goal)) = forced {
        ledger.overdue.insert(goal.clone(), *at);
    }
    ledger.deciding = Some(Deciding {
        beat: *beat,
        run: *run,
        session: session.clone(),
        decider: decider.clone(),
        at: *at,
        seq: ledger.seq,
        forced: forced.clone(),
        sees: sees.clone(),
        files: files.clone(),
        reserved_usd: *reserved_usd,
        free: *free,
        config: *config,
        tainted: !tainted.is_empty(),
    });
}

/// The end of a decide: with a proposal, without one, or with one that is not used.
fn decide_ended(ledger: &mut Ledger, at: &Stamp, entry: &Entry) {
    if let Entry::Decided { run, proposal, spend, .. } = entry {
        let shown = deciding_seq(ledger, *run);
        ledger.notes.retain(|note| note.seq > shown);
        money::settle(ledger, at, spend, proposal.goal.as_ref().map(Name::as_str));
        if !proposal.unknown.is_empty() {
            note(ledger, NoteKind::Unknown { fields: proposal.unknown.clone() }, tainted(ledger));
        }
    }
    if let Entry::Failed { run, failure, reason, spend, policy, until, .. } = entry {
        money::settle(ledger, at, spend, None);
        if !money::limited(ledger, at, (*failure, *until)) {
            failures::fail(ledger, at, reason, *policy);
        }
        if ledger.deciding.as_ref().is_some_and(|deciding| deciding.run == *run) {
            ledger.deciding = None;
        }
        note(ledger, NoteKind::Failure { reason: reason.clone() }, true);
    }
    if let Entry::Rejected { reason, policy, .. } = entry {
        let tainted = tainted(ledger);
        ledger.deciding = None;
        failures::fail(ledger, at, reason, *policy);
        note(ledger, NoteKind::Refused { reason: reason.clone() }, tainted);
    }
    if let Entry::Overtaken { reason, spend, .. } = entry {
        if let Some(spend) = spend {
            money::settle(ledger, at, spend, None);
        }
        let tainted = tainted(ledger);
        ledger.deciding = None;
        note(ledger, NoteKind::Overtaken { reason: reason.clone() }, tainted);
    }
}

/// Whether the decide under way was shown what a stranger wrote.
fn tainted(ledger: &Ledger) -> bool {
    ledger.deciding.as_ref().is_some_and(|deciding| deciding.tainted)
}

fn within_hour(then: &Stamp, now: &Stamp) -> bool {
    now.since(then) < Duration::from_hours(1)
}

fn deciding_seq(ledger: &Ledger, run: RunId) -> u64 {
    ledger.deciding.as_ref().filter(|deciding| deciding.run == run).map_or(0, |deciding| deciding.seq)
}

fn intended(ledger: &mut Ledger, at: &Stamp, beat: BeatId, plan: &Plan) {
    ledger.beats = ledger.beats.max(beat.0);
    match &plan.act {
        Act::Hosted { .. } => ledger.sessions = ledger.sessions.saturating_add(1),
        Act::Worker { session, .. } | Act::Again { session, .. } => workers::numbered(ledger, session),
        Act::Nothing | Act::Typed { .. } | Act::Ended { .. } | Act::File { .. } | Act::Archive { .. } => {}
    }
    if matches!(plan.action, Move::AskHuman { .. }) {
        ledger.asks_made = ledger.asks_made.saturating_add(1);
    }
    let sees = match &plan.author {
        Author::Decider(_) => ledger.deciding.take().map(|deciding| deciding.sees),
        Author::Builtin | Author::Person | Author::Approved(_) => None,
    };
    if plan.author != Author::Person {
        ledger.skipped = None;
    }
    ledger.acting = Some(Acting { beat, plan: Box::new(plan.clone()), sees, at: *at });
}

fn finished(ledger: &mut Ledger, at: &Stamp, acting: &Acting, outcome: &Outcome, policy: Digest) {
    let plan = &acting.plan;
    let own = matches!(plan.author, Author::Decider(_));
    let undoable = undo::undoable(ledger, at, acting);
    goals::served(ledger, at, plan, outcome);
    if let (Move::RunShell { cmd, .. }, Some(shell)) = (&plan.action, outcome.shell()) {
        let (cmd, ended, tail) = (cmd.clone(), shell.ended.clone(), shell.tail.clone());
        let own = own || matches!(plan.author, Author::Approved(_));
        note(ledger, NoteKind::Shell { cmd, ended, tail, own }, true);
    }
    match outcome {
        Outcome::Done { .. } => {
            if own {
                ledger.failures = None;
                ledger.noop = matches!(plan.action, Move::Noop { .. }).then_some(*at);
                ledger.nudge = plan.next_interval_s.map(|seconds| Nudge { at: *at, seconds });
                if let Some(sees) = &acting.sees {
                    sees.apply(&mut ledger.baseline);
                }
            }
            wrote(ledger, plan);
            if let Some(undoable) = undoable {
                undo::done(ledger, undoable);
            }
            if let Move::Undo { beat, .. } = &plan.action {
                undo::taken_back(ledger, *beat);
            }
            workers::done(ledger, at, plan);
            interview::done(ledger, plan);
            if let Move::AskHuman { prompt, options, .. } = &plan.action
                && let Act::File { path, .. } = &plan.act
            {
                let id = path.trim_start_matches("asks/").trim_end_matches(".json").to_owned();
                let ask = (id.as_str(), plan.at.wall, AskKind::Question);
                asked(ledger, at, ask, ("pulse", prompt), plan.goal.as_deref());
                if let Some(record) = ledger.asks.get_mut(&id) {
                    (record.tainted, record.topic) = (plan.tainted, plan.topic);
                    record.question = Some(question_digest(prompt, options));
                }
                if plan.author != Author::Person {
                    ledger.baseline.insert("reading:sys-asks".to_owned(), seen_of(&probe::asks(ledger)));
                }
            }
        }
        Outcome::Failed { reason, .. } => {
            workers::not_started(ledger, at, plan, WorkerState::Spawn(reason.clone()));
            workers::not_typed(ledger, at, plan);
            let text = format!("{}: {reason}", plan.action.summary());
            if own {
                failures::fail(ledger, at, &text, policy);
            }
            if plan.author != Author::Person {
                note(ledger, NoteKind::Failure { reason: text }, true);
            }
        }
        Outcome::Interrupted { reason } => {
            workers::interrupted(ledger, at, plan);
            let reason = format!("{}: {reason}", plan.action.summary());
            note(ledger, NoteKind::Interrupted { reason }, plan.tainted);
        }
    }
}

/// Folds into the baseline what a move of the loop wrote, so that our own writing does not wake us. What a person
/// writes is never folded.
fn wrote(ledger: &mut Ledger, plan: &Plan) {
    let item = |path: &str| match path {
        "PLAYBOOK.md" => Some("playbook".to_owned()),
        _ => path.strip_prefix("goals/")?.strip_suffix(".md").map(|id| format!("goal:{id}")),
    };
    let (path, after) = match &plan.act {
        Act::File { path, after, .. } => (path, *after),
        Act::Archive { from, .. } => (from, None),
        Act::Nothing
        | Act::Hosted { .. }
        | Act::Worker { .. }
        | Act::Typed { .. }
        | Act::Ended { .. }
        | Act::Again { .. } => return,
    };
    let own = matches!(plan.author, Author::Decider(_) | Author::Approved(_));
    if let (true, Move::WriteGoal { id, .. }) = (own, &plan.action) {
        ledger.goals.entry(id.to_string()).or_default().budget = plan.budget;
    }
    // A question is a file, too, and nobody asks who wrote it.
    if !is_policy_file(path) {
        return;
    }
    match after {
        Some(digest) if own => ledger.written.insert(path.clone(), digest),
        _ => ledger.written.remove(path),
    };
    match after.filter(|_| plan.tainted && matches!(plan.author, Author::Decider(_))) {
        Some(digest) => ledger.tainted.insert(path.clone(), digest),
        None => ledger.tainted.remove(path),
    };
    if plan.author == Author::Person {
        return;
    }
    if let Some(item) = item(path) {
        let seen = after.map(|digest| Seen { digest, value: None });
        Delta([(item, seen)].into()).apply(&mut ledger.baseline);
    }
}

fn asked(
    ledger: &mut Ledger,
    at: &Stamp,
    (ask, asked, kind): (&str, i64, AskKind),
    (from, prompt): (&str, &str),
    goal: Option<&str>,
) {
    let goal = goal.map(str::to_owned);
    if let Some(id) = &goal {
        ledger.goals.entry(id.clone()).or_default().ask = Some(ask.to_owned());
    }
    let (from, mut prompt, tainted) = (from.to_owned(), prompt.to_owned(), false);
    cut(&mut prompt, PROMPT, &format!("asks/{ask}.json"));
    let record = AskRecord { from, prompt, goal, kind, at: *at, asked, tainted, topic: None, question: None };
    ledger.asks.insert(ask.to_owned(), record);
}

fn answered(ledger: &mut Ledger, ask: &str, text: &str) {
    let tainted = ledger.asks.get(ask).is_some_and(crate::taint::of_ask);
    let about_goal = goals::answered(ledger, ask, text);
    let record = settle_ask(ledger, ask);
    let goal = record.as_ref().and_then(|record| record.goal.as_deref());
    let about_setup = interview::answered(ledger, goal, text);
    let about_money = money::answered(ledger, ask, text);
    let asker = record.as_ref().and_then(|record| Some((record, ledger.workers.get_mut(&record.from)?)));
    let of_worker = asker.is_some();
    if let Some((record, worker)) = asker {
        Answered::add(&mut worker.answers, &record.prompt, text);
    }
    // What a worker asked is told to the worker, and what the loop asked about it is the loop's own.
    if !of_worker && !about_money && !about_setup && !about_goal {
        let prompt = record.map(|record| record.prompt).unwrap_or_default();
        note(ledger, NoteKind::Answer { ask: ask.to_owned(), prompt, text: text.to_owned() }, tainted);
    }
}

fn withdrawn(ledger: &mut Ledger, ask: &str) {
    let goal = settle_ask(ledger, ask).and_then(|record| record.goal);
    goals::rewritten(ledger, goal.as_slice());
}

fn dismissed(ledger: &mut Ledger, at: &Stamp, ask: &str) {
    consent::declined(ledger, ask, None);
    goals::answered(ledger, ask, "");
    settle_ask(ledger, ask);
    money::dismissed(ledger, at, ask);
}

fn settle_ask(ledger: &mut Ledger, ask: &str) -> Option<AskRecord> {
    for record in ledger.goals.values_mut() {
        if record.ask.as_deref() == Some(ask) {
            record.ask = None;
            (record.attempts, record.fruitless) = (0, 0);
        }
    }
    // A letter may name any goal. Where there is nothing else to be known of it, nothing is.
    ledger.goals.retain(|_, record| *record != GoalRecord::default());
    let record = ledger.asks.remove(ask)?;
    ledger.settled.insert(ask.to_owned(), record.asked);
    noted(ledger, Noted::Settled, ask);
    Some(record)
}

fn note(ledger: &mut Ledger, mut what: NoteKind, tainted: bool) {
    what.bound();
    ledger.notes.push(Note { seq: ledger.seq, tainted, what });
    let extra = ledger.notes.len().saturating_sub(NOTES);
    ledger.notes.drain(..extra);
}

#[cfg(test)]
mod tests;
