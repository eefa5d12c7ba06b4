//! Workers for the world of the other tests: what the disk shows of them, and the letters they write.

use super::*;
use crate::model::letter::{Ask, AskKind, Claim, Tell};
use crate::world::fleet::{Worker, WorkerState, worker_of};

/// A goal that workers serve and whose check proves their work.
pub(super) const WORKED: &str = "---\ncheck: test -e x\nworker: make x\n---\nThere is an x.\n";

impl World {
    /// What the disk shows of a session.
    pub(super) fn put(&mut self, session: &str, state: WorkerState, goal: Option<&str>) {
        let ended = (!state.is_alive()).then_some(self.now.wall);
        let worker = Worker {
            id: worker_of(session).to_owned(),
            session: session.to_owned(),
            state,
            goal: goal.map(str::to_owned),
            runner: None,
            started: self.now.wall,
            ended,
            silent_s: None,
            strays: Vec::new(),
        };
        self.seen.docs.fleet.workers.insert(session.to_owned(), worker);
    }

    /// A session on the disk comes to its end.
    pub(super) fn dies(&mut self, session: &str, state: WorkerState) {
        let worker = self.seen.docs.fleet.workers.get_mut(session).expect("a session on the disk");
        (worker.state, worker.ended) = (state, Some(self.now.wall));
    }

    /// The command that proves a session's work was run.
    pub(super) fn proof(&mut self, session: &str, code: i32) {
        let checked = Checked { ended: Ended::Exited(code), output: "a line\nthe last".to_owned() };
        self.seen.proofs.insert(session.to_owned(), checked);
    }

    /// The move under way starts its worker: it lives from now on.
    pub(super) fn begun(&mut self) -> String {
        let plan = self.engine.ledger().acting.as_ref().expect("a move").plan.clone();
        let session = plan.act.starts().expect("a start").to_owned();
        self.acted(Outcome::done());
        let goal = self.engine.ledger().workers[&session].goal.clone();
        self.put(&session, WorkerState::Alive, goal.as_deref());
        session
    }

    /// A person wants a move; what they are told comes with the end of it.
    pub(super) fn make(&mut self, proposal: Value) -> RequestId {
        self.docs_of_now();
        let proposal: Proposal = serde_json::from_value(proposal).unwrap();
        self.ask(Request::Make { proposal })
    }

    /// A person starts a worker.
    pub(super) fn hire(&mut self, id: &str, goal: Option<&str>) -> String {
        self.make(json!({"action": "start_worker", "id": id, "prompt": "p", "goal": goal}));
        self.begun()
    }

    /// A worker's letter, not yet seen by the loop.
    pub(super) fn asks(&mut self, id: &str, from: &str, kind: AskKind) {
        let ask = Ask {
            closed: false,
            fetched: false,
            limit: None,
            v: 1,
            id: id.to_owned(),
            from: from.to_owned(),
            kind,
            prompt: "Really?".to_owned(),
            options: Vec::new(),
            reference: None,
            goal: self.seen.docs.fleet.workers.get(from).and_then(|worker| worker.goal.clone()),
            proposal: (kind == AskKind::Proposal).then(|| json!({"action": "noop"})),
            asked: self.now.wall,
        };
        self.seen.letters.asks.insert(id.to_owned(), ask);
        self.docs_of_now();
    }

    /// A person's letter, not yet seen by the loop.
    pub(super) fn answers(&mut self, id: &str, text: &str) {
        let answer = Answer { v: 1, ask: id.to_owned(), text: text.to_owned(), answered: self.now.wall };
        self.seen.letters.answers.insert(id.to_owned(), answer);
        self.docs_of_now();
    }

    /// The worker fetches its answer: both letters go, and the answer stays to be read.
    pub(super) fn fetches(&mut self, id: &str) {
        self.seen.letters.asks.remove(id);
        let answer = self.seen.letters.answers.remove(id).expect("an answer");
        self.seen.letters.collected.insert(id.to_owned(), answer);
        self.docs_of_now();
    }

    pub(super) fn claims(&mut self, name: &str, session: &str) {
        let claim =
            Claim { v: 1, name: name.to_owned(), session: session.to_owned(), ts: 0, nonce: "n".to_owned() };
        self.seen.letters.claims.insert(name.to_owned(), claim);
    }

    pub(super) fn tells(&mut self, id: &str, to: &str) {
        let (id, to, text) = (id.to_owned(), to.to_owned(), "be brief".to_owned());
        self.seen.letters.tells.insert(id.clone(), Tell { v: 1, id, to, text, sent: self.now.wall });
    }

    /// What the edge works out from the letters whenever it reads the policy files.
    pub(super) fn docs_of_now(&mut self) {
        self.seen.docs.waiting = self.seen.letters.waiting();
        self.seen.docs.unfetched = self.seen.letters.unfetched();
        self.seen.docs.proposals = self.seen.letters.proposals();
    }

    /// Does what the edge does with letters that can go, and says which went.
    pub(super) fn settle(&mut self) -> Vec<String> {
        let mut settled =
            self.each(|effect| if let Effect::Settle(ask) = effect { Some(ask.clone()) } else { None });
        settled.dedup();
        for ask in &settled {
            self.seen.letters.asks.remove(ask);
            self.seen.letters.answers.remove(ask);
        }
        self.docs_of_now();
        settled
    }

    /// The question that the move under way asks is written: its letter is there from now on.
    pub(super) fn asked_a_person(&mut self) -> (String, String) {
        let plan = self.engine.ledger().acting.as_ref().expect("a move").plan.clone();
        let bytes = crate::admit::content(&plan).expect("a letter");
        let ask: Ask = serde_json::from_slice(&bytes).unwrap();
        self.acted(Outcome::done());
        let (id, prompt) = (ask.id.clone(), ask.prompt.clone());
        self.seen.letters.asks.insert(id.clone(), ask);
        self.docs_of_now();
        (id, prompt)
    }

    /// What the loop is about to do, in one word.
    pub(super) fn doing(&self) -> Option<&'static str> {
        self.act().map(|plan| plan.action.action())
    }

    pub(super) fn prunes(&self) -> Vec<(Option<RequestId>, Vec<String>)> {
        self.each(
            |effect| {
                if let Effect::Prune(id, sessions) = effect { Some((*id, sessions.clone())) } else { None }
            },
        )
    }

    pub(super) fn reaps(&self) -> usize {
        self.each(|effect| matches!(effect, Effect::Reap).then_some(())).len()
    }

    /// Entries of the log that a test looks for, in order.
    pub(super) fn logged<T>(&self, pick: impl Fn(&Entry) -> Option<T>) -> Vec<T> {
        self.entries().filter_map(pick).collect()
    }

    /// The ends of workers that the log tells.
    pub(super) fn ends(&self) -> Vec<(String, WorkerState)> {
        self.logged(|entry| {
            if let Entry::WorkerEnded { session, state, .. } = entry {
                Some((session.clone(), state.clone()))
            } else {
                None
            }
        })
    }

    /// The limits, changed.
    pub(super) fn limit(&mut self, change: impl FnOnce(&mut Limits)) {
        change(&mut self.engine.setup.limits);
    }
}
