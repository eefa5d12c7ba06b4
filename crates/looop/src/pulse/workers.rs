//! Carrying out the moves that touch workers. What takes a while is done in a thread of its own.

use std::collections::BTreeMap;

use looop_core::engine::io::{Event, RequestId};
use looop_core::meter::Metered;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{Act, BeatId, Plan};
use looop_core::world::fleet::Fleet;
use looop_core::world::observation::Scope;
use looop_session::Launched;

use super::driver::Driver;
use super::inbox::{Message, post};
use crate::clock;
use crate::failure::Result;
use crate::hands::worker::Found;
use crate::hands::{fleet, labour, worker};
use crate::threads;

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
        self.events.push_back(Event::Acted(beat, outcome));
    }

    /// Reaps the hosts that have ended.
    pub(super) fn reap_hosts(&mut self) {
        // One that cannot be waited for is nobody's child any more.
        self.hosts.retain_mut(|host| matches!(host.try_reap(), Ok(false)));
    }

    /// What became of a worker move that an earlier lock holder began. To type what was typed, or to end what has
    /// ended, does no harm.
    pub(super) fn recover_worker(&mut self, beat: BeatId, plan: Box<Plan>) -> Result<()> {
        match &plan.act {
            Act::Worker { session, .. } | Act::Again { session, .. } => {
                let found = worker::recover(&self.reader, &self.config, session)?;
                self.events.push_back(match found {
                    Found::Done(outcome) => Event::Acted(beat, outcome),
                    Found::NeverRan => Event::ActNeverRan(beat),
                });
            }
            Act::Ended { session, also } if labour::were_killed(&self.reader, session, also)? => {
                self.events.push_back(Event::Acted(beat, Outcome::done()));
            }
            Act::Ended { .. }
            | Act::Typed { .. }
            | Act::Nothing
            | Act::Hosted { .. }
            | Act::File { .. }
            | Act::Archive { .. } => self.act_on_worker(beat, plan),
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

    /// What the files of their agents say that workers used. A quick look asks only about those that have ended.
    pub(super) fn spends(&mut self, scope: Scope, fleet: &Fleet) -> BTreeMap<String, Metered> {
        let open = self.engine.ledger().workers.iter().filter(|(session, record)| {
            let metered = !record.allowance.is_nothing() && !record.account.closed;
            metered && (scope == Scope::Full || !fleet.lives(session))
        });
        let sessions: Vec<String> = open.map(|(session, _)| session.clone()).collect();
        if sessions.is_empty() {
            return BTreeMap::new();
        }
        match self.usages.look(&self.reader, &self.config, fleet, &sessions) {
            Ok(spends) => spends,
            Err(failure) => {
                self.warn(&failure.error);
                BTreeMap::new()
            }
        }
    }

    /// Ends what dead hosts left behind. A host rarely dies, and a beat that has seen it does not end before this.
    pub(super) fn sweep_lost(&mut self, fleet: &Fleet) {
        for session in labour::unswept(&self.reader, fleet) {
            if let Err(failure) = labour::sweep_lost(&self.reader, &session) {
                self.warn(&failure.error);
            }
        }
    }

    /// Takes claims from sessions that have ended, and puts away what they were to be told.
    pub(super) fn reap(&mut self) {
        let fleet = fleet::look(&self.reader, &mut self.roll);
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

    /// Removes what is kept of ended sessions.
    pub(super) fn prune(&mut self, id: Option<RequestId>, sessions: Vec<String>) {
        let (reader, config, sender) = (self.reader.clone(), self.config.clone(), self.ear.poster());
        let all = sessions.clone();
        let started = threads::start("prune", move || {
            let (mut gone, mut kept) = (Vec::new(), Vec::new());
            for session in sessions {
                match worker::remove(&reader, &config, &session) {
                    Ok(None) => gone.push(session),
                    Ok(Some(note)) => {
                        kept.push((session.clone(), note));
                        gone.push(session);
                    }
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
