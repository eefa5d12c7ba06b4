//! What the loop does about workers without being told: it notes their ends, takes their claims back, brings answers to
//! those that died before they could fetch them, and removes what is kept for too long.

use std::collections::{BTreeMap, BTreeSet};

use super::io::{Effect, Reply, RequestId};
use super::letters::is_held;
use super::machine::Engine;
use crate::admit::workers::budget;
use crate::bounds::ENDED_WORKERS;
use crate::ledger::entry::Entry;
use crate::ledger::state::{Ledger, WorkerRecord};
use crate::meter::Micros;
use crate::model::moves::{Move, one_line};
use crate::model::name::Name;
use crate::model::outcome::Outcome;
use crate::model::plan::{Act, Author, Plan};
use crate::model::work::Work;
use crate::purse;
use crate::time::{Now, minute_text};
use crate::world::fleet::{Fleet, Stray, WorkerState, worker_of};
use crate::world::observation::{Docs, Observation};

/// Most characters of the output of a proof that are kept.
const TAIL: usize = 2000;

/// Sessions that have ended since the log last said so, what they left, and proofs of their work.
pub(super) fn ends(ledger: &Ledger, seen: &Observation) -> Vec<Entry> {
    let unproven =
        |session: &String| ledger.workers.get(session).is_some_and(|record| record.proven.is_none());
    let proofs = seen.proofs.iter().filter(|(session, _)| unproven(session));
    let proofs = proofs.map(|(session, checked)| {
        let said = one_line(checked.output.lines().next_back().unwrap_or(""), 200);
        let text =
            if said.is_empty() { checked.ended.text() } else { format!("{}: {said}", checked.ended.text()) };
        let goal = ledger.workers.get(session).and_then(|record| record.goal.as_ref());
        let red = goal.and_then(|goal| seen.checks.get(goal)).is_some_and(|check| !check.ended.is_success());
        let (session, pass, tail) = (session.clone(), checked.ended.is_success(), last_of(&checked.output));
        Entry::Verified { session, pass, text, tail, red }
    });
    ended(ledger, &seen.docs.fleet).into_iter().chain(works(ledger, seen)).chain(proofs).collect()
}

/// What sessions left in their copies, as far as the log does not say so. Where that is nothing, there is nothing to be
/// proven.
fn works(ledger: &Ledger, seen: &Observation) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (session, work) in &seen.works {
        let Some(record) = ledger.workers.get(session).filter(|record| record.is_unseen()) else { continue };
        entries.push(Entry::WorkFound { session: session.clone(), work: work.clone() });
        if work.is_nothing() && record.verify.is_some() && record.proven.is_none() {
            let (session, text) = (session.clone(), "it changed nothing".to_owned());
            entries.push(Entry::Verified { session, pass: false, text, tail: String::new(), red: false });
        }
    }
    entries
}

/// The end of what a command printed.
fn last_of(output: &str) -> String {
    let from = output.chars().count().saturating_sub(TAIL);
    output.chars().skip(from).collect()
}

/// What the log says of workers at some moment: who has ended, who is proven, whose account is closed, whose work waits.
pub(super) struct Known(BTreeMap<String, [bool; 4]>);

impl Known {
    pub(super) fn of(ledger: &Ledger) -> Self {
        Self(ledger.workers.iter().map(|(session, record)| (session.clone(), facts(record))).collect())
    }
}

fn facts(record: &WorkerRecord) -> [bool; 4] {
    [record.ended.is_some(), record.proven.is_some(), record.account.closed, record.waits_for_review()]
}

/// What is new about a worker, for the journal.
fn news(session: &str, record: &WorkerRecord, known: [bool; 4]) -> Option<String> {
    let [ended, proven, closed, waits] = std::array::from_fn(|fact| facts(record)[fact] && !known[fact]);
    let strays = Some(Stray::texts(&record.strays)).filter(|said| ended && !said.is_empty());
    let ended = record.ended.as_ref().filter(|_| ended).map(|state| format!("ended ({})", state.text()));
    let nothing = record.work.as_ref().is_some_and(Work::is_nothing);
    let proven = match record.proven.filter(|_| proven) {
        Some(true) => Some("its work is proven".to_owned()),
        Some(false) if nothing => Some("it changed nothing".to_owned()),
        Some(false) => Some("its work is not proven".to_owned()),
        None => None,
    };
    let (used, lost) = (record.account.used().usd, purse::unreported(record));
    let cost = match (closed, used > Micros::ZERO, lost > Micros::ZERO) {
        (true, _, true) => Some(format!("its cost was not reported (${:.2} reserved)", lost.dollars())),
        (true, true, false) => Some(format!("it cost ${:.2}", used.dollars())),
        (true, false, false) | (false, ..) => None,
    };
    let waits = waits.then(|| format!("its work waits for you: looop review {}", worker_of(session)));
    let parts: Vec<String> = [ended, strays, proven, cost, waits].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Sessions that have ended since the log last said so.
pub(super) fn ended(ledger: &Ledger, fleet: &Fleet) -> Vec<Entry> {
    let running = ledger.workers.iter().filter(|(_, record)| record.ended.is_none());
    let ended = running.filter(|(session, _)| !fleet.lives(session)).map(|(session, _)| {
        // A session of which nothing is left was taken away by hand.
        let worker = fleet.workers.get(session);
        let state = worker.map_or(WorkerState::Lost, |worker| worker.state.clone());
        let strays = worker.map(|worker| worker.strays.clone()).unwrap_or_default();
        Entry::WorkerEnded { session: session.clone(), state, strays }
    });
    ended.collect()
}

/// Whether a dead session holds a claim, or is to be told something.
pub(super) fn leaves_letters(seen: &Observation) -> bool {
    let fleet = &seen.docs.fleet;
    let dead = |holder: &str| !fleet.holds(holder);
    seen.letters.claims.values().any(|claim| dead(&claim.session))
        || seen.letters.tells.values().any(|tell| dead(&tell.to))
}

impl Engine {
    /// Says in the journal what is new about workers: their ends, their proofs and their cost.
    pub(super) fn note_workers(&mut self, known: &Known, now: &Now) {
        let new = self.ledger.workers.iter().filter_map(|(session, record)| {
            let said = news(session, record, known.0.get(session).copied().unwrap_or_default())?;
            let goal = record.goal.as_ref().map_or_else(String::new, |goal| format!("[{goal}] "));
            let journal = format!("- {} {goal}worker {session}: {said}", minute_text(now.wall, &now.zone));
            Some(Entry::WorkerNoted { session: session.clone(), journal })
        });
        for entry in new.collect::<Vec<_>>() {
            if let Entry::WorkerNoted { journal, .. } = &entry {
                self.push(Effect::Journal(journal.clone()));
            }
            self.log(entry, now);
        }
    }

    /// Has the copies removed in which nothing was changed.
    pub(super) fn clean(&mut self, seen: &Observation) {
        let nothing = seen.works.iter().filter(|(_, work)| work.is_nothing());
        for session in nothing.map(|(session, _)| session.clone()).collect::<Vec<_>>() {
            self.push(Effect::Clean(session));
        }
    }

    /// Sessions of which it is not known yet what they left in their copies.
    pub fn unseen(&self) -> Vec<String> {
        let unseen = self.ledger.workers.iter().filter(|(_, record)| record.is_unseen());
        unseen.map(|(session, _)| session.clone()).collect()
    }

    /// Sessions whose work is to be proven once they have ended, with the command that does.
    pub fn unproven(&self) -> Vec<(String, String)> {
        let open = self
            .ledger
            .workers
            .iter()
            .filter(|(_, record)| record.proven.is_none() && record.settled.is_none());
        open.filter_map(|(session, record)| Some((session.clone(), record.verify.clone()?))).collect()
    }

    /// Has done what a look at the workers shows to be due, besides moves.
    pub(super) fn tidy(&mut self, seen: &Observation, now: &Now) {
        if leaves_letters(seen) {
            self.push(Effect::Reap);
        }
        let old = self.too_old(&seen.docs, now);
        if !old.is_empty() {
            self.push(Effect::Prune(None, old));
        }
    }

    /// Ended sessions that nobody needs any more. One whose question waits, or whose answer was not brought, is needed.
    fn too_old(&self, docs: &Docs, now: &Now) -> Vec<String> {
        let keep = i64::try_from(self.setup.limits.session_ttl.as_millis()).unwrap_or(i64::MAX);
        let old = |ended: i64| now.wall.saturating_sub(ended) >= keep;
        let workers = docs.fleet.workers.values().filter(|worker| !worker.state.is_alive());
        let old = workers.filter(|worker| old(worker.ended.unwrap_or(worker.started)));
        let old = old.map(|worker| worker.session.clone());
        // Of some the log knows and nothing is on the disk, because they could not be started.
        let records = self.ledger.workers.iter().filter(|(session, record)| {
            let forgotten = record.ended.is_some() && !docs.fleet.workers.contains_key(*session);
            forgotten && now.since(&record.at) >= self.setup.limits.session_ttl
        });
        let all = old.chain(records.map(|(session, _)| session.clone())).chain(too_many(docs));
        let all: BTreeSet<String> = all.collect();
        all.into_iter().filter(|session| self.needed(docs, session).is_none()).collect()
    }

    /// Why a session must be kept, if it must.
    fn needed(&self, docs: &Docs, session: &str) -> Option<String> {
        if docs.fleet.lives(session) {
            return Some("it lives".to_owned());
        }
        if let Some(work) = self.ledger.workers.get(session).and_then(WorkerRecord::unsettled) {
            let id = worker_of(session);
            return Some(format!(
                "its work on {} is neither merged nor discarded: looop review {id}",
                work.branch
            ));
        }
        if self.ledger.acting.as_ref().is_some_and(|acting| acting.plan.act.touches(session)) {
            return Some("a move about it is under way".to_owned());
        }
        let asked = self.ledger.asks.iter().find(|(_, ask)| ask.from == session).map(|(id, _)| id);
        if let Some(ask) = asked.or_else(|| docs.waiting.get(session)) {
            return Some(format!("{ask} waits for your answer"));
        }
        let gone = self.ledger.workers.get(session).is_some_and(|record| record.discharged);
        let open =
            docs.unfetched.get(session).filter(|ask| !gone && !self.ledger.redelivered.contains_key(*ask));
        open.map(|ask| format!("your answer to {ask} was not brought to it yet"))
    }

    /// The loop's own errand, before any decider is asked: an answer to bring, or a death to report.
    pub(super) fn errand(&self, seen: &Observation, now: &Now) -> Option<(Plan, String)> {
        if seen.docs.fleet.fault.is_some() {
            return None;
        }
        self.redelivery(seen, now)
            .or_else(|| self.delivery(seen, now))
            .or_else(|| self.waking(seen, now))
            .or_else(|| self.interview(&seen.docs, now))
            .or_else(|| self.obituary(now))
            .or_else(|| self.overspender(&seen.docs, now))
    }

    /// Brings an answer to a worker that has died since it asked: its task is begun anew with question and answer.
    fn redelivery(&self, seen: &Observation, now: &Now) -> Option<(Plan, String)> {
        let fleet = &seen.docs.fleet;
        let room = self.setup.limits.max_workers.is_none_or(|cap| fleet.live_count() < cap);
        let dead = |from: &str| !fleet.lives(from) && fleet.live(worker_of(from)).is_none();
        let due = |id: &String| {
            let ask = seen.letters.asks.get(id)?;
            (room && dead(&ask.from) && is_held(&self.ledger, seen, id, ask)).then_some((id.clone(), ask))
        };
        let (id, ask) = seen.letters.answers.keys().find_map(due)?;
        let all = seen.letters.answers.keys().filter_map(due).filter(|(_, other)| other.from == ask.from);
        let asks = all.map(|(id, _)| id).collect();
        let worker = Name::new(worker_of(&ask.from)).ok()?;
        let allowance = self.ledger.workers.get(&ask.from).map(|record| record.allowance).unwrap_or_default();
        let purpose = ask.goal.as_deref().map(|goal| (goal, budget(&self.ledger, &seen.docs, goal)));
        crate::purse::worker(&self.ledger, &self.setup.limits, allowance, purpose, now).ok()?;
        let why = format!("{} had died when {id} was answered", ask.from);
        let session = self.next_session(worker.as_str(), fleet);
        let runner = fleet.workers.get(&ask.from).and_then(|worker| worker.runner.clone());
        let act = Act::Again { from: ask.from.clone(), session, asks, allowance, runner };
        let action = Move::RestartSession { id: worker, reason: Some(why.clone()), force: false };
        let goal = ask.goal.clone();
        Some((Plan { goal, ..own_plan(action, act, now) }, why))
    }

    /// Asks a person about a worker that died again after an answer was brought to it.
    fn obituary(&self, now: &Now) -> Option<(Plan, String)> {
        let died = |state: &WorkerState| !matches!(state, WorkerState::Exited(0) | WorkerState::Killed);
        let (session, record, state) = self.ledger.workers.iter().find_map(|(session, record)| {
            let state = record.ended.as_ref().filter(|state| died(state))?;
            let due = record.after.is_some() && !record.mourned && record.proven != Some(true);
            due.then_some((session, record, state))
        })?;
        let ask = record.after.as_deref().unwrap_or("");
        let why = format!("{session} was told your answer to {ask} and died again ({})", state.text());
        let question = Move::AskHuman {
            prompt: format!("{why}. Its transcript: looop log {session}. What shall become of it?"),
            options: Vec::new(),
            reference: Some(format!("sessions/{session}")),
        };
        let plan = own_plan(question, Act::Nothing, now);
        let plan = crate::admit::asking(&self.ledger, Plan { goal: record.goal.clone(), ..plan });
        Some((plan, why))
    }

    fn next_session(&self, id: &str, fleet: &Fleet) -> String {
        crate::admit::workers::next_session(&self.ledger, fleet, id)
    }

    /// A person wants what is kept of ended sessions gone.
    pub(super) fn prune(&mut self, id: RequestId, only: Option<&str>, docs: &Docs) {
        if let Some(fault) = &docs.fleet.fault {
            return self
                .reply(id, Reply::Refused { reason: format!("it is not known which workers run: {fault}") });
        }
        let meant = |session: &str| only.is_none_or(|only| only == session || only == worker_of(session));
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        for worker in docs.fleet.workers.values().filter(|worker| meant(&worker.session)) {
            match self.needed(docs, &worker.session) {
                None => gone.push(worker.session.clone()),
                Some(why) if only.is_some() || !worker.state.is_alive() => {
                    kept.push((worker.session.clone(), why));
                }
                Some(_) => {}
            }
        }
        if let (true, true, Some(only)) = (gone.is_empty(), kept.is_empty(), only) {
            return self
                .reply(id, Reply::Refused { reason: format!("nothing is kept of a worker \"{only}\"") });
        }
        self.prunings.insert(id, kept);
        self.push(Effect::Prune(Some(id), gone));
    }

    /// Sessions were removed, or could not be.
    pub(super) fn pruned(
        &mut self,
        id: Option<RequestId>,
        sessions: Vec<String>,
        failed: Vec<(String, String)>,
        now: &Now,
    ) {
        self.close_accounts(&sessions, now);
        if !sessions.is_empty() {
            self.log(Entry::Pruned { sessions: sessions.clone() }, now);
        }
        let Some(id) = id else { return };
        let mut kept = self.prunings.remove(&id).unwrap_or_default();
        kept.extend(failed);
        self.reply(id, Reply::Pruned { sessions, kept });
    }

    /// Says that a worker was started.
    pub(super) fn note_start(&mut self, act: &Act, outcome: &Outcome, now: &Now) {
        if let (true, Act::Worker { session, .. } | Act::Again { session, .. }) = (outcome.is_done(), act) {
            let goal = self.ledger.workers.get(session).and_then(|record| record.goal.clone());
            self.log(Entry::WorkerStarted { session: session.clone(), goal }, now);
        }
    }

    /// After a worker was killed on request nobody waits for the answers to what it asked.
    pub(super) fn forget_asks(&mut self, act: &Act, outcome: &Outcome, now: &Now) {
        let gone: Vec<&String> = match act {
            Act::Ended { session, also } => std::iter::once(session).chain(also).collect(),
            Act::Again { from, asks, .. } if asks.is_empty() => vec![from],
            Act::Again { .. }
            | Act::Nothing
            | Act::Hosted { .. }
            | Act::Worker { .. }
            | Act::Typed { .. }
            | Act::File { .. }
            | Act::Archive { .. } => return,
        };
        if !outcome.is_done() {
            return;
        }
        let asks = self.ledger.asks.iter().filter(|(_, ask)| gone.contains(&&ask.from));
        for ask in asks.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.log(Entry::Dismissed { ask: ask.clone() }, now);
            self.push(Effect::Settle(ask));
        }
    }
}

/// The ended sessions beyond the number that is kept, the oldest first.
fn too_many(docs: &Docs) -> Vec<String> {
    let ended = docs.fleet.workers.values().filter(|worker| !worker.state.is_alive());
    let mut ended: Vec<(i64, &String)> =
        ended.map(|worker| (worker.ended.unwrap_or(worker.started), &worker.session)).collect();
    let extra = ended.len().saturating_sub(ENDED_WORKERS);
    if extra == 0 {
        return Vec::new();
    }
    ended.sort_unstable();
    ended.into_iter().take(extra).map(|(_, session)| session.clone()).collect()
}

/// A move that the loop makes of itself.
pub(super) fn own_plan(action: Move, act: Act, now: &Now) -> Plan {
    Plan::new(action, (Author::Builtin, act), now.stamp())
}
