//! Workers: how the loop starts and ends them, and what they do of themselves.

use looop_core::model::letter::AskKind;
use looop_core::model::outcome::{Ended, Outcome};
use looop_core::model::plan::{Act, BeatId, Plan};
use looop_store::mail::{Lease, NewAsk};

use super::agenda::{Happening, Message};
use super::pulse::Pulse;
use super::site::Site;
use super::yard::{Child, Job, Stage};

impl Pulse {
    /// Does what a worker move says; the outcome comes as a message.
    pub(super) fn act_on_worker(&mut self, site: &mut Site, beat: BeatId, plan: &Plan) {
        let outcome = match &plan.act {
            Act::Worker { session, .. } => site.hire(session, plan.goal.clone()),
            Act::Again { from, session, .. } => {
                let goal = site.yard.children.get(from).and_then(|child| match &child.job {
                    Job::Works { goal, .. } => goal.clone(),
                    Job::Decide(..) | Job::Shell(_) => None,
                });
                site.end_on_request(from);
                site.hire(session, goal)
            }
            Act::Ended { session, also } => {
                let mut outcome = Outcome::failed("it had ended by itself");
                for session in std::iter::once(session).chain(also) {
                    if site.yard.children.get(session).is_some_and(Child::lives) {
                        site.end_on_request(session);
                        outcome = Outcome::done();
                    }
                }
                outcome
            }
            Act::Typed { session, answers, .. } => {
                if !site.yard.children.get(session).is_some_and(Child::lives) {
                    Outcome::failed("it does not run")
                } else if answers.is_some() && site.dice.chance(site.weather.moves) {
                    Outcome::failed("not typed: a dialog has the keyboard")
                } else {
                    let wall = site.clock.wall();
                    // What cannot be put away now goes at the next look.
                    drop(answers.as_ref().zip(site.reader()).map(|(ask, reader)| reader.typed(ask, wall)));
                    Outcome::done()
                }
            }
            Act::Nothing | Act::Hosted { .. } | Act::File { .. } | Act::Archive { .. } => Outcome::done(),
        };
        site.post(self.life, 40, Message::Acted(beat, outcome));
    }

    /// Ends all workers.
    pub(super) fn clear(&mut self, site: &mut Site) {
        for session in site.yard.living(true) {
            site.end_on_request(&session);
        }
        site.post(self.life, 300, Message::Cleared(Vec::new()));
    }

    /// Removes what is kept of ended sessions.
    pub(super) fn prune(&mut self, site: &mut Site, id: Option<u64>, sessions: Vec<String>) {
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        for session in sessions {
            if site.yard.children.get(&session).is_some_and(Child::lives) {
                kept.push((session, "it lives".to_owned()));
            } else {
                site.yard.children.remove(&session);
                let open = |bank: &super::bank::Bank| {
                    bank.books.accounts.get(&session).is_some_and(|account| !account.closed)
                };
                if site.bank.as_ref().is_some_and(open) {
                    site.lose_receipt(&session);
                }
                gone.push(session);
            }
        }
        site.post(self.life, 20, Message::Pruned(id, gone, kept));
    }
}

impl Site {
    /// Starts a worker, which may die at once.
    fn hire(&mut self, session: &str, goal: Option<String>) -> Outcome {
        if self.dice.chance(self.weather.moves / 3) {
            return Outcome::failed("its runner is missing");
        }
        let (started, active) = (self.clock.wall(), self.clock.t);
        let wallet = self.wallet();
        self.launch(session, Job::Works { goal, started, ended: None, active, wallet });
        self.open_call(session, None, self.config.setup.limits.worker_usd);
        self.tale.count("workers started");
        if self.dice.chance(self.weather.hosts) {
            self.tale.count("hosts lost");
            self.end_child(session, &Stage::Lost);
            self.lose_receipt(session);
            return Outcome::Interrupted { reason: "its host died".to_owned() };
        }
        Outcome::done()
    }

    /// A worker does something of itself.
    pub(super) fn work(&mut self, session: &str) {
        let t = self.clock.t;
        let works = |child: &&mut Child| child.stage == Stage::Runs && !child.is_frozen();
        let Some(child) = self.yard.children.get_mut(session).filter(works) else { return };
        let Job::Works { goal, active, .. } = &mut child.job else { return };
        *active = t;
        let goal = goal.clone();
        let deed = self.dice.below(16);
        self.tell(|| format!("worker {session} does {deed}"));
        match deed {
            0 => self.take_claim(session, goal.as_deref()),
            1 => self.give_back(session),
            2 | 3 => self.pose(session, AskKind::Question, goal.as_deref()),
            4 => self.pose(session, AskKind::Flag, goal.as_deref()),
            5 => drop(self.reader().map(|reader| reader.take_tells(session))),
            6 | 7 => self.collect(session),
            8 if self.dice.coin() => self.end_child(session, &Stage::Ended(Ended::Exited(0))),
            9..=12 | 15 if self.bank.is_none() => self.use_a_model(session),
            13 | 14 if self.bank.is_none() => self.record_expense(session),
            _ => {}
        }
        let next = self.dice.between(5_000, 1_200_000);
        self.after(next, Happening::Works(session.to_owned()));
    }

    fn take_claim(&mut self, session: &str, goal: Option<&str>) {
        let Some(reader) = self.reader() else { return };
        let fleet = self.fleet();
        let alive = |holder: &str| fleet.holds(holder);
        let name = goal.filter(|_| self.dice.coin()).unwrap_or("the-key").to_owned();
        let lease = Lease { nonce: "n", wall: self.clock.wall(), alive: &alive };
        if reader.claim(&name, session, &lease).is_ok() {
            self.tale.count("claims");
        }
    }

    fn give_back(&mut self, session: &str) {
        let Some(reader) = self.reader() else { return };
        let fleet = self.fleet();
        let alive = |holder: &str| fleet.holds(holder);
        let lease = Lease { nonce: "n", wall: self.clock.wall(), alive: &alive };
        drop(reader.unclaim("the-key", Some(session), &lease));
    }

    fn pose(&mut self, session: &str, kind: AskKind, goal: Option<&str>) {
        let Some(reader) = self.reader() else { return };
        let prompt = format!("Shall I, at {}?", self.clock.t);
        let new = NewAsk { from: session, kind, prompt: &prompt, goal, ..NewAsk::default() };
        if reader.post_ask(&new, self.clock.wall()).is_ok() {
            self.tale.count("asks of workers");
        }
    }

    /// A worker fetches the answers to what it asked.
    fn collect(&mut self, session: &str) {
        let Some(reader) = self.reader() else { return };
        let letters = reader.letters();
        for (id, ask) in &letters.asks {
            if ask.from == session && letters.answers.contains_key(id) {
                self.tale.count("answers fetched");
                drop(reader.collect(id, self.clock.wall()));
            }
        }
    }
}
