//! Doing what the engine says.

use looop_core::engine::io::{DecideOrder, Effect, Event, Record};
use looop_core::ledger::entry::FailureKind;
use looop_core::meter::Micros;
use looop_core::model::moves::Move;
use looop_core::model::outcome::{Ended, Outcome};
use looop_core::model::plan::{Act, BeatId, Plan, RunId};
use looop_store::Recovered;

use super::agenda::Message;
use super::bank::Way;
use super::pulse::Pulse;
use super::site::Site;
use super::yard::{Awaited, Job, Stage};

impl Pulse {
    pub(super) fn perform(&mut self, site: &mut Site, effect: Effect) {
        match effect {
            // It was appended before.
            Effect::Log(_) | Effect::Clean(_) => {}
            Effect::Sense(scope, stale) => self.sense(site, scope, &stale),
            Effect::Snapshots(readings) => {
                for (name, reading) in &readings {
                    // A convenience: the binary warns and goes on.
                    let bytes = serde_json::to_vec(reading).unwrap_or_default();
                    drop(self.writer.write_snapshot(name, &bytes));
                }
            }
            Effect::Decide(order) => self.decide(site, &order),
            Effect::Adopt(run, session) => self.adopt(site, run, &session),
            Effect::Act(beat, plan) => self.act(site, beat, plan),
            Effect::Recover(beat, plan) => self.recover(site, beat, plan),
            Effect::Journal(line) => {
                let written = if self.journal_lags {
                    self.writer.mend_journal(self.engine.ledger())
                } else {
                    self.writer.append_journal(&line)
                };
                self.journal_lags = written.is_err();
            }
            Effect::Settle(ask) => drop(self.writer.settle(&ask, site.clock.wall())),
            Effect::Post(ask) => drop(self.writer.post_own(&ask)),
            Effect::Rule(ask, _) => self.events.push_back(Event::RuleWritten(ask, None)),
            Effect::End(session) => site.end_on_request(&session),
            Effect::Clear => self.clear(site),
            Effect::Reap => self.reap(site),
            Effect::Prune(id, sessions) => self.prune(site, id.map(|id| id.0), sessions),
            Effect::Counted(letter) => drop(self.writer.counted(&letter, site.clock.wall())),
            Effect::Freeze(session) => self.restrain(site, &session, true),
            Effect::Thaw(session) => self.restrain(site, &session, false),
            Effect::Notify(notice) => {
                let error = site.dice.coin().then(|| "nobody listens".to_owned());
                self.events.push_back(Event::Notified(notice.key, vec![("command".to_owned(), error)]));
            }
            Effect::Again(id, request) => self.ask(site, id, *request),
            Effect::Reply(id, _) => drop(self.waiting.remove(&id.0)),
            Effect::Exit => self.exited = true,
        }
    }

    /// Stops a worker, or lets it go on. Where a bank charges, that never fails.
    #[expect(clippy::unused_self, reason = "it belongs to the effects")]
    fn restrain(&self, site: &mut Site, session: &str, stop: bool) {
        let lives = site.yard.children.get(session).is_some_and(super::yard::Child::lives);
        match (site.bank.is_some(), stop) {
            (true, true) if lives => {
                site.tale.count("workers stopped");
                site.yard.paused.insert(session.to_owned());
            }
            (true, true) => {}
            (true, false) => {
                site.tale.count("workers let go on");
                site.yard.paused.remove(session);
            }
            (false, true) => site.freeze(session),
            (false, false) => site.thaw(session),
        }
    }

    fn decide(&mut self, site: &mut Site, order: &DecideOrder) {
        site.assert_intended(|ledger| ledger.deciding.as_ref().is_some_and(|d| d.run == order.run));
        if let Err(error) = self.writer.make_run(order.run, order.brief.as_bytes()) {
            let failure = (FailureKind::Runner, error.text());
            let record = Record::uncalled(order.run, site.clock.wall(), failure);
            let docs = Box::new(self.docs(site, None));
            return self.events.push_back(Event::Decided(order.run, Box::new(record), docs));
        }
        if site.disk.is_stopped() {
            return;
        }
        site.launch(&order.session, Job::Decide(order.run, None));
        let reserved = Micros::from_dollars(order.reserved_usd).expect("an amount");
        let is_api =
            site.config.setup.paid.iter().any(|paid| paid.name == order.decider && paid.bound.is_some());
        site.open_call(&order.session, Some(if is_api { Way::Api } else { Way::Stream }), reserved);
        site.wait_for(&order.session, self.life, Awaited::Decide(order.run));
    }

    fn adopt(&mut self, site: &mut Site, run: RunId, session: &str) {
        site.tale.count("decides adopted");
        if site.yard.stands(session).stage == Stage::Fenced {
            return site.post(self.life, 0, Message::RunNeverRan(run));
        }
        site.wait_for(session, self.life, Awaited::Decide(run));
    }

    fn act(&mut self, site: &mut Site, beat: BeatId, plan: Box<Plan>) {
        site.assert_intended(|ledger| ledger.acting.as_ref().is_some_and(|acting| acting.beat == beat));
        match (&plan.act, &plan.action) {
            (Act::Hosted { session }, action) => {
                let command =
                    if let Move::RunShell { cmd, .. } = action { cmd.clone() } else { action.summary() };
                site.launch(session, Job::Shell(command));
                site.wait_for(session, self.life, Awaited::Move(beat));
            }
            (Act::File { .. }, Move::WriteSensor { .. }) => {
                let problem = site.dice.chance(site.weather.moves).then(|| "it printed nothing".to_owned());
                self.trying = Some((beat, plan));
                site.post(self.life, 200, Message::Tried(beat, problem));
            }
            (Act::Worker { .. } | Act::Typed { .. } | Act::Ended { .. } | Act::Again { .. }, _) => {
                self.act_on_worker(site, beat, &plan);
            }
            (Act::Nothing | Act::File { .. } | Act::Archive { .. }, _) => self.write(beat, &plan),
        }
    }

    fn write(&mut self, beat: BeatId, plan: &Plan) {
        let outcome = match self.writer.bytes_for(plan) {
            Ok(bytes) => self.writer.perform(plan, bytes.as_deref(), 3),
            Err(reason) => Outcome::failed(reason),
        };
        self.events.push_back(Event::Acted(beat, outcome));
    }

    pub(super) fn acted(&mut self, site: &Site, beat: BeatId, outcome: Outcome) {
        self.events.push_back(Event::Acted(beat, outcome));
        // Upkeep: what cannot be removed now is removed next time.
        drop(self.writer.sweep());
        drop(self.writer.prune_runs(5));
        drop(self.writer.sweep_mail(site.clock.wall()));
    }

    pub(super) fn tried(&mut self, beat: BeatId, problem: Option<String>) {
        let Some((_, plan)) = self.trying.take().filter(|(trying, _)| *trying == beat) else { return };
        match problem {
            Some(problem) => self.events.push_back(Event::Acted(beat, Outcome::failed(problem))),
            None => self.write(beat, &plan),
        }
    }

    /// What became of a move that an earlier lock holder began.
    fn recover(&mut self, site: &mut Site, beat: BeatId, plan: Box<Plan>) {
        site.tale.count("moves recovered");
        match &plan.act {
            Act::Hosted { session } => match site.yard.stands(session).stage {
                Stage::Fenced => site.post(self.life, 0, Message::ActNeverRan(beat)),
                Stage::Launched | Stage::Runs | Stage::Ended(_) | Stage::Lost => {
                    site.wait_for(session, self.life, Awaited::Move(beat));
                }
            },
            Act::Worker { session, .. } | Act::Again { session, .. } => {
                self.events.push_back(match &site.yard.stands(session).stage {
                    Stage::Fenced => Event::ActNeverRan(beat),
                    Stage::Lost => {
                        Event::Acted(beat, Outcome::Interrupted { reason: "its host died".to_owned() })
                    }
                    Stage::Launched | Stage::Runs | Stage::Ended(_) => Event::Acted(beat, Outcome::done()),
                });
            }
            Act::Ended { session, also } => {
                let killed = std::iter::once(session).chain(also).all(|session| {
                    site.yard
                        .children
                        .get(session)
                        .is_some_and(|child| child.stage == Stage::Ended(Ended::Killed))
                });
                if killed {
                    self.events.push_back(Event::Acted(beat, Outcome::done()));
                } else {
                    self.act_on_worker(site, beat, &plan);
                }
            }
            Act::Typed { .. } => self.act_on_worker(site, beat, &plan),
            Act::Nothing => self.events.push_back(Event::Acted(beat, Outcome::done())),
            Act::File { .. } | Act::Archive { .. } => match self.writer.recover(&plan) {
                Recovered::Done => self.events.push_back(Event::Acted(beat, Outcome::done())),
                Recovered::Todo => self.act(site, beat, plan),
                Recovered::Conflict(reason) => {
                    self.events.push_back(Event::Acted(beat, Outcome::Interrupted { reason }));
                }
            },
        }
    }

    /// Takes claims from sessions that have ended, and puts away what they were to be told.
    fn reap(&mut self, site: &Site) {
        let fleet = site.fleet();
        let lives = |holder: &str| fleet.holds(holder);
        let wall = site.clock.wall();
        if let Ok(claims) = self.writer.reap_claims(&lives, wall) {
            let taken = claims.into_iter().map(|claim| (claim.name, claim.session)).collect();
            self.events.push_back(Event::Reaped(taken));
        }
        drop(self.writer.reap_tells(&lives, wall));
    }
}

/// The record of a decide that left none.
pub(super) fn lost(run: RunId, wall: i64) -> Record {
    let failure = Some((FailureKind::Lost, "the decide died without a record".to_owned()));
    Record { failure, ..Record::empty(run, wall) }
}
