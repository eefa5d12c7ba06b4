//! Carrying out the moves that touch workers. What takes a while is done in a thread of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use looop_core::engine::io::{Effect, Event, RequestId};
use looop_core::ledger::state::WorkerRecord;
use looop_core::meter::Micros;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{BeatId, Plan};
use looop_core::purse;
use looop_core::world::fleet::Fleet;
use looop_core::world::observation::Scope;
use looop_session::Launched;

use super::driver::Driver;
use super::inbox::{Message, post};
use crate::clock;
use crate::failure::Result;
use crate::hands::growth::{self, Follow};
use crate::hands::sense::{Metering, Sensed};
use crate::hands::{fleet, labour, worker, worktree};
use crate::threads;

/// Workers whose files are watched as they grow.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// Whether one of them has passed its bound since they were last looked at.
    pub(super) grown: bool,
    sessions: BTreeSet<String>,
}

impl Following {
    /// Whether a worker that runs is to be looked at now, and not with the next full look.
    fn wants(&self, session: &str) -> bool {
        self.grown || !self.sessions.contains(session)
    }
}

impl Driver {
    /// Does what a worker move says; the outcome comes as a message.
    pub(super) fn act_on_worker(&mut self, beat: BeatId, plan: Box<Plan>) {
        let (reader, config, sender) = (self.reader.clone(), self.config.clone(), self.ear.poster());
        let begun = threads::start("worker", move || {
            let (outcome, launched) = labour::perform(&reader, &config, &plan);
            post(&sender, Message::Worked(beat, outcome, launched));
        });
        match begun {
            Ok(()) => self.begun = Some(beat),
            Err(failure) => self.events.push_back(Event::Acted(beat, Outcome::failed(failure.error))),
        }
    }

    /// A worker move is over. A host that we launched is our child, and is reaped when it ends.
    pub(super) fn worked(&mut self, beat: BeatId, outcome: Outcome, launched: Option<Launched>) {
        self.begun.take_if(|begun| *begun == beat);
        self.hosts.extend(launched);
        // It may have changed letters.
        self.scans.moved();
        self.events.push_back(Event::Acted(beat, outcome));
    }

    /// Reaps the hosts that have ended.
    pub(super) fn reap_hosts(&mut self) {
        // One that cannot be waited for is nobody's child any more.
        self.hosts.retain_mut(|host| matches!(host.try_reap(), Ok(false)));
    }

    /// Finds out in the background what became of a worker move that an earlier lock holder began.
    pub(super) fn recover_worker(&mut self, beat: BeatId, plan: Box<Plan>) -> Result<()> {
        let (reader, config, sender) = (self.reader.clone(), self.config.clone(), self.ear.poster());
        let of = plan.clone();
        let started = threads::start("recover", move || {
            let message = match labour::recover(&reader, &config, &of) {
                Ok(Some((outcome, launched))) => Message::Worked(beat, outcome, launched),
                Ok(None) => Message::ActNeverRan(beat),
                Err(failure) => Message::Unsettled(failure),
            };
            post(&sender, message);
        });
        match started {
            Ok(()) => self.begun = Some(beat),
            Err(failure) => return self.postpone(Effect::Recover(beat, plan), failure),
        }
        Ok(())
    }

    /// Stops a worker, or lets it go on, in the background. To do it again does no harm.
    pub(super) fn restrain(&mut self, session: String, stop: bool) {
        let (reader, sender) = (self.reader.clone(), self.ear.poster());
        let started = threads::start("restrain", move || {
            let problem = labour::restrain(&reader, &session, stop).err().map(|failure| failure.error);
            post(&sender, Message::Restrained(problem));
        });
        match started {
            Ok(()) => self.sending += 1,
            // The next look finds it as it is, and tries again.
            Err(failure) => self.warn(&failure.error),
        }
    }

    /// Has the files of agents looked at for a look, where that is needed: the look comes back as a message then. A
    /// worker that ended meanwhile is looked at again, since what it used last decides what it cost.
    pub(super) fn metered(&mut self, sensed: Sensed, fleet: &Fleet) -> Option<Sensed> {
        let sessions = self.to_meter(sensed.scope(), fleet);
        let is_known = |session: &String| {
            let metered = sensed.metered.as_ref();
            metered.is_some_and(|metered| fleet.lives(session) || metered.of_ended.contains(session))
        };
        let silent = self.to_look_at(&sensed, fleet);
        if sessions.iter().all(is_known) && silent.is_empty() {
            return Some(sensed);
        }
        // Whoever looks at some looks at all: a file that is another's must not be taken for theirs.
        let sessions = self.to_meter(Scope::Full, fleet);
        let bounds = self.bounds(fleet);
        self.following = Following { grown: false, sessions: sessions.iter().cloned().collect() };
        let (reader, config, usages) = (self.reader.clone(), self.config.clone(), self.usages.clone());
        let screens = self.screens.clone();
        let (sender, epoch, scope, fleet) = (self.ear.poster(), self.epoch, sensed.scope(), fleet.clone());
        let started = threads::start("meter", move || {
            let mut sensed = sensed;
            let unseen =
                screens.lock().unwrap_or_else(PoisonError::into_inner).look(&reader, &config, &silent);
            let looked = usages
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .look(&reader, &config, &fleet, &sessions);
            let (spends, mut problem) = match looked {
                Ok(spends) => (spends, None),
                Err(failure) => (BTreeMap::new(), Some(failure.error)),
            };
            let follow = Follow { reader, config, fleet: fleet.clone(), bounds };
            problem = problem.or(growth::follow(&usages, follow, &sender).err().map(|failure| failure.error));
            let of_ended = sessions.into_iter().filter(|session| !fleet.lives(session)).collect();
            sensed.metered = Some(Metering { of_ended, spends });
            let problem = problem.into_iter().chain(unseen).reduce(|one, other| format!("{one}; {other}"));
            post(&sender, Message::Metered(Box::new(sensed), epoch, problem));
        });
        if let Err(failure) = started {
            self.events.push_back(Event::Blind(failure.error, scope));
        }
        None
    }

    /// Sessions whose screens a full look asks about. While others are looked at there is nothing to ask.
    fn to_look_at(&self, sensed: &Sensed, fleet: &Fleet) -> Vec<(String, bool)> {
        match self.screens.try_lock() {
            Ok(screens) if sensed.scope() == Scope::Full && sensed.metered.is_none() && !sensed.is_dry() => {
                screens.due(fleet)
            }
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// Sessions whose files a look asks about: all that have an open account, or those that have ended.
    fn to_meter(&self, scope: Scope, fleet: &Fleet) -> Vec<String> {
        let open = self.engine.ledger().workers.iter().filter(|(session, record)| {
            let metered = !record.allowance.is_nothing() && !record.account.closed;
            metered && (scope == Scope::Full || !fleet.lives(session) || self.following.wants(session))
        });
        open.map(|(session, _)| session.clone()).collect()
    }

    /// What the files of each worker that runs may say at most, where that is bounded.
    fn bounds(&self, fleet: &Fleet) -> BTreeMap<String, Micros> {
        let open = self.engine.ledger().workers.iter().filter(|(session, record)| {
            fleet.lives(session) && !record.account.closed && record.allowance.bound() > Micros::ZERO
        });
        let bound = |record: &WorkerRecord| purse::granted(record).saturating_sub(record.account.extra.usd);
        open.map(|(session, record)| (session.clone(), bound(record))).collect()
    }

    /// Ends in the background what dead hosts left running. What cannot be ended is tried again at the next look.
    pub(super) fn sweep_lost(&mut self, fleet: &Fleet) {
        let mut lost = labour::unswept(&self.reader, fleet);
        lost.retain(|session| !self.sweeping.contains(session));
        if lost.is_empty() {
            return;
        }
        let (reader, sender, sessions) = (self.reader.clone(), self.ear.poster(), lost.clone());
        let started = threads::start("lost", move || {
            let problem = |session: &String| labour::sweep_lost(&reader, session).err();
            let problems = sessions.iter().filter_map(problem).map(|failure| failure.error).collect();
            post(&sender, Message::Swept(sessions, problems));
        });
        match started {
            Ok(()) => self.sweeping.extend(lost),
            Err(failure) => self.warn(&failure.error),
        }
    }

    /// Takes claims from sessions that have ended, and puts away what they were to be told.
    pub(super) fn reap(&mut self) {
        let fleet = fleet::look(&self.reader, &mut self.roll);
        self.scans.moved();
        let lives = |holder: &str| fleet.holds(holder);
        let wall = clock::now().wall;
        match self.writer.reap_claims(&lives, wall) {
            Ok(claims) => {
                let taken = claims.into_iter().map(|claim| (claim.name, claim.session)).collect();
                self.events.push_back(Event::Reaped(taken));
            }
            Err(error) => self.warn(&format!("claims: {error}")),
        }
        if let Err(error) = self.writer.reap_tells(&lives, wall) {
            self.warn(&format!("tells: {error}"));
        }
    }

    /// Removes the copy and the branch of a worker that changed nothing, in the background. What cannot be removed now is
    /// removed with its session.
    pub(super) fn clean(&mut self, session: String) {
        let (reader, config, sender) = (self.reader.clone(), self.config.clone(), self.ear.poster());
        let started = threads::start("clean", move || {
            let problem = worktree::remove(&reader, &config, &session).err();
            post(&sender, Message::Restrained(problem.map(|problem| format!("{session}: {problem}"))));
        });
        match started {
            Ok(()) => self.sending += 1,
            Err(failure) => self.warn(&failure.error),
        }
    }

    /// Removes what is kept of ended sessions.
    pub(super) fn prune(&mut self, id: Option<RequestId>, sessions: Vec<String>) {
        let (reader, config, sender) = (self.reader.clone(), self.config.clone(), self.ear.poster());
        let all = sessions.clone();
        let started = threads::start("prune", move || {
            let (mut gone, mut kept) = (Vec::new(), Vec::new());
            for session in sessions {
                match worker::remove(&reader, &config, &session) {
                    Ok(()) => gone.push(session),
                    Err(failure) => kept.push((session, failure.error)),
                }
            }
            post(&sender, Message::Pruned(id, gone, kept));
        });
        if let Err(failure) = started {
            let kept = all.into_iter().map(|session| (session, failure.error.clone())).collect();
            self.events.push_back(Event::Pruned(id, Vec::new(), kept));
        }
    }
}
