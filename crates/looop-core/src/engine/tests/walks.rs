//! Random walks with workers: whatever happens in whatever order, what must be once is once.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::crew::WORKED;
use super::*;
use crate::model::letter::AskKind;
use crate::model::plan::Author;
use crate::world::fleet::{WorkerState, worker_of};

const CAP: usize = 2;

/// Something that happens outside the engine.
#[derive(Clone, Debug)]
enum Happens {
    Beat,
    Passes(u64),
    Person(&'static str, &'static str, Option<&'static str>),
    Acts(Ending),
    Decides(&'static str, &'static str, Option<&'static str>),
    Worker(usize, Does),
    Proof(usize, i32),
    Check(i32),
    Answers(usize),
    Fetches(usize),
    Blindness(bool),
    Prune,
    Crash,
}

/// What a live worker does.
#[derive(Clone, Debug)]
enum Does {
    Die(WorkerState),
    Ask(AskKind),
    Claim,
}

/// How a move under way comes to its end.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Done,
    Failed,
    Interrupted,
    NeverRan,
}

fn does() -> impl Strategy<Value = Does> {
    use WorkerState::{Exited, Lost, Signalled};
    let state = proptest::sample::select(vec![Exited(0), Exited(1), Signalled(9), Lost]);
    let kind = proptest::sample::select(vec![AskKind::Question, AskKind::Question, AskKind::Flag]);
    prop_oneof![3 => state.prop_map(Does::Die), 3 => kind.prop_map(Does::Ask), 1 => Just(Does::Claim)]
}

fn happens() -> impl Strategy<Value = Happens> {
    let id = || proptest::sample::select(vec!["u", "w"]);
    let goal = || proptest::sample::select(vec![None, Some("g"), Some("h")]);
    let verb = || {
        let all = [
            "start_worker",
            "start_worker",
            "kill_worker",
            "force",
            "restart_session",
            "steer_session",
            "noop",
        ];
        proptest::sample::select(all.to_vec())
    };
    let endings =
        vec![Ending::Done, Ending::Done, Ending::Done, Ending::Failed, Ending::Interrupted, Ending::NeverRan];
    prop_oneof![
        6 => Just(Happens::Beat),
        2 => proptest::sample::select(vec![1, 80]).prop_map(Happens::Passes),
        2 => (verb(), id(), goal()).prop_map(|(verb, id, goal)| Happens::Person(verb, id, goal)),
        6 => proptest::sample::select(endings).prop_map(Happens::Acts),
        4 => (verb(), id(), goal()).prop_map(|(verb, id, goal)| Happens::Decides(verb, id, goal)),
        6 => (0..2usize, does()).prop_map(|(which, does)| Happens::Worker(which, does)),
        2 => (0..4usize, 0..2i32).prop_map(|(which, code)| Happens::Proof(which, code)),
        1 => (0..2i32).prop_map(Happens::Check),
        3 => (0..3usize).prop_map(Happens::Answers),
        1 => (0..3usize).prop_map(Happens::Fetches),
        1 => any::<bool>().prop_map(Happens::Blindness),
        1 => Just(Happens::Prune),
        1 => Just(Happens::Crash),
    ]
}

fn proposal(verb: &str, id: &str, goal: Option<&str>) -> Value {
    match verb {
        "start_worker" => json!({"action": verb, "id": id, "prompt": "p", "goal": goal}),
        "steer_session" => json!({"action": verb, "id": id, "input": "go on"}),
        "noop" => json!({"action": verb}),
        "force" => json!({"action": "kill_worker", "id": id, "force": true}),
        _ => json!({"action": verb, "id": id}),
    }
}

/// The edge: it does what the engine wants of it, and lets things happen.
struct Edge {
    world: World,
    asks: usize,
}

impl Edge {
    fn new(builtin: bool) -> Self {
        let mut world = World::new(builtin, &["m"]).goal("g", WORKED).goal("h", "# H\n");
        world.limit(|limits| limits.max_workers = Some(CAP));
        world.check("g", 1);
        Self { world, asks: 0 }
    }

    fn sessions(&self, pick: impl Fn(&WorkerState) -> bool) -> Vec<String> {
        let fleet = &self.world.seen.docs.fleet;
        fleet.workers.values().filter(|worker| pick(&worker.state)).map(|w| w.session.clone()).collect()
    }

    fn happens(&mut self, what: &Happens) {
        self.world.pass(Duration::from_secs(1));
        self.world.effects.clear();
        self.world.docs_of_now();
        match what {
            Happens::Beat => self.beat(),
            Happens::Passes(hours) => self.world.pass(Duration::from_hours(*hours)),
            Happens::Person(verb, id, goal) => drop(self.world.make(proposal(verb, id, *goal))),
            Happens::Acts(ending) => self.acts(*ending),
            Happens::Decides(verb, id, goal) => {
                if self.world.engine.ledger().deciding.is_some() {
                    self.world.decided(&proposal(verb, id, *goal));
                }
            }
            Happens::Worker(which, does) => self.worker(*which, does),
            Happens::Proof(which, code) => self.proof(*which, *code),
            Happens::Check(code) => self.world.check("g", *code),
            Happens::Answers(which) => self.answers(*which),
            Happens::Fetches(which) => self.fetches(*which),
            Happens::Blindness(is_blind) => {
                self.world.seen.docs.fleet.fault = is_blind.then(|| "unreadable".to_owned());
            }
            Happens::Prune => drop(self.world.ask(Request::Prune { only: None })),
            Happens::Crash => self.world.crash(),
        }
        self.obey();
    }

    fn beat(&mut self) {
        self.world.step(Event::Woke(Cause::Timer));
        if self.world.effects.iter().any(|effect| matches!(effect, Effect::Sense(..))) {
            self.world.sense();
        }
    }

    fn worker(&mut self, which: usize, does: &Does) {
        let live = self.sessions(WorkerState::is_alive);
        let Some(session) = live.get(which) else { return };
        match does {
            Does::Die(state) => self.world.dies(session, state.clone()),
            Does::Claim => self.world.claims("x", session),
            Does::Ask(kind) => {
                self.asks += 1;
                let id = format!("{}-{}", session.replace('~', "-"), self.asks);
                self.world.asks(&id, session, *kind);
            }
        }
    }

    /// A command that proves work is run once, after the end.
    fn proof(&mut self, which: usize, code: i32) {
        let dead = self.sessions(|state| !state.is_alive());
        let Some(session) = dead.get(which) else { return };
        if self.world.engine.unproven().iter().any(|(unproven, _)| unproven == session) {
            self.world.proof(session, code);
        }
    }

    fn answers(&mut self, which: usize) {
        let letters = &self.world.seen.letters;
        let mut open = letters.asks.keys().filter(|id| !letters.answers.contains_key(*id));
        if let Some(id) = open.nth(which).cloned() {
            self.world.answers(&id, "yes");
        }
    }

    fn fetches(&mut self, which: usize) {
        let live = self.sessions(WorkerState::is_alive);
        let letters = &self.world.seen.letters;
        let asks_live = |id: &&String| letters.asks.get(*id).is_some_and(|ask| live.contains(&ask.from));
        if let Some(id) = letters.answers.keys().filter(asks_live).nth(which).cloned() {
            self.world.fetches(&id);
        }
    }

    /// The move under way ends.
    fn acts(&mut self, ending: Ending) {
        let Some(acting) = self.world.engine.ledger().acting.clone() else { return };
        let act = acting.plan.act.clone();
        match (ending, &act) {
            (Ending::NeverRan, act) if act.starts().is_some() => {
                self.world.step(Event::ActNeverRan(acting.beat));
            }
            (Ending::Done | Ending::NeverRan, Act::Worker { .. }) => drop(self.world.begun()),
            (Ending::Done | Ending::NeverRan, Act::Again { from, .. }) => {
                if self.world.seen.docs.fleet.lives(from) {
                    self.world.dies(from, WorkerState::Killed);
                }
                self.world.begun();
            }
            (Ending::Done | Ending::NeverRan, Act::Ended { session, .. }) => {
                let killed = self.sessions(WorkerState::is_alive).contains(session);
                if killed {
                    self.world.dies(session, WorkerState::Killed);
                }
                let by_itself = || Outcome::failed("it had ended by itself");
                self.world.acted(if killed { Outcome::done() } else { by_itself() });
            }
            (Ending::Done | Ending::NeverRan, Act::File { .. }) => drop(self.world.asked_a_person()),
            (Ending::Done | Ending::NeverRan, _) => self.world.acted(Outcome::done()),
            (Ending::Failed, _) => self.world.acted(Outcome::failed("it could not be")),
            (Ending::Interrupted, _) => {
                self.world.acted(Outcome::Interrupted { reason: "its host died".to_owned() });
            }
        }
    }

    /// Does what the engine wants done at once.
    fn obey(&mut self) {
        self.world.docs_of_now();
        self.guard();
        self.world.settle();
        for (id, sessions) in self.world.prunes() {
            for session in &sessions {
                self.world.seen.docs.fleet.workers.remove(session);
                self.world.seen.proofs.remove(session);
            }
            self.world.step(Event::Pruned(id, sessions, Vec::new()));
        }
        if self.world.reaps() > 0 {
            let live: BTreeSet<String> = self.sessions(WorkerState::is_alive).into_iter().collect();
            let claims = &mut self.world.seen.letters.claims;
            let taken: Vec<_> =
                claims.values().filter(|claim| !live.contains(&claim.session)).cloned().collect();
            claims.retain(|_, claim| live.contains(&claim.session));
            let taken = taken.into_iter().map(|claim| (claim.name, claim.session)).collect();
            self.world.step(Event::Reaped(taken));
        }
        let sent = self
            .world
            .each(|effect| if let Effect::Notify(notice) = effect { Some(notice.key.clone()) } else { None });
        for (at, key) in sent.into_iter().enumerate() {
            let error = (at % 2 == 0).then(|| "nobody is there".to_owned());
            self.world.step(Event::Notified(key, vec![("command".to_owned(), error)]));
        }
        let again = self.world.each(|effect| {
            if let Effect::Again(id, request) = effect { Some((*id, request.clone())) } else { None }
        });
        for (id, request) in again {
            let docs = Some(Box::new(self.world.seen.docs.clone()));
            self.world.step(Event::Asked(id, request, docs));
        }
    }

    /// What no effect may do, in the world as it is now.
    fn guard(&self) {
        let (fleet, letters) = (&self.world.seen.docs.fleet, &self.world.seen.letters);
        let lives = |session: &str| fleet.workers.get(session).is_some_and(|worker| worker.state.is_alive());
        for (_, sessions) in self.world.prunes() {
            for session in &sessions {
                assert!(!lives(session), "{session} lives and is removed");
                assert!(
                    !self.world.seen.docs.waiting.contains_key(session),
                    "{session} waits and is removed"
                );
            }
        }
        let settled = self
            .world
            .each(|effect| if let Effect::Settle(ask) = effect { letters.asks.get(ask) } else { None });
        for ask in settled.into_iter().filter(|ask| ask.kind == AskKind::Question) {
            let told = self.world.engine.ledger().redelivered.contains_key(&ask.id);
            assert!(told || !lives(&ask.from), "the letters of {}, which lives, are taken", ask.id);
        }
        if let Some(Act::Worker { session, .. }) = self.world.act().map(|plan| &plan.act) {
            assert!(fleet.live(worker_of(session)).is_none(), "{session} is started beside another");
            assert!(fleet.live_count() < CAP, "{session} is started beyond the cap");
        }
    }
}

/// How often each of these is in the log.
fn counted<T: Ord>(found: Vec<T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for one in found {
        *counts.entry(one).or_default() += 1;
    }
    counts
}

fn never_twice<T: Ord + std::fmt::Debug>(what: &str, found: Vec<T>) {
    let twice: Vec<_> = counted(found).into_iter().filter(|(_, count)| *count > 1).collect();
    assert!(twice.is_empty(), "{what} more than once: {twice:?}");
}

/// What the log may say once of each session and of each ask.
fn is_once(world: &World) {
    never_twice(
        "started",
        world.logged(|entry| {
            if let Entry::WorkerStarted { session, .. } = entry { Some(session.clone()) } else { None }
        }),
    );
    never_twice("ended", world.ends().into_iter().map(|(session, _)| session).collect());
    never_twice(
        "verified",
        world.logged(
            |entry| {
                if let Entry::Verified { session, .. } = entry { Some(session.clone()) } else { None }
            },
        ),
    );
    never_twice(
        "asked",
        world.logged(|entry| if let Entry::Asked { ask, .. } = entry { Some(ask.clone()) } else { None }),
    );
    never_twice(
        "settled",
        world.logged(|entry| {
            if let Entry::Answered { ask, .. } | Entry::Dismissed { ask } = entry {
                Some(ask.clone())
            } else {
                None
            }
        }),
    );
    never_twice(
        "brought",
        intents(
            world,
            |plan| if let Act::Again { asks, .. } = &plan.act { Some(asks.clone()) } else { None },
        )
        .concat(),
    );
    // A question that could not be written is asked again.
    let asked = world.engine.ledger().asks_made;
    let mourned = intents(world, |plan| {
        if let Move::AskHuman { reference, .. } = &plan.action {
            reference.clone().filter(|about| about.starts_with("sessions/"))
        } else {
            None
        }
    });
    assert!(mourned.len() as u64 <= asked);
}

fn intents<T>(world: &World, pick: impl Fn(&Plan) -> Option<T>) -> Vec<T> {
    world.logged(|entry| if let Entry::Intended { plan, .. } = entry { pick(plan) } else { None })
}

/// Three workers in a row for a goal, in vain, and no fourth unasked: judged from the log alone.
fn is_allowed(world: &World) {
    let mut goals: BTreeMap<String, String> = BTreeMap::new();
    let mut ended: BTreeSet<String> = BTreeSet::new();
    let mut in_vain: BTreeMap<String, usize> = BTreeMap::new();
    let mut asks: BTreeMap<String, String> = BTreeMap::new();
    let mut acting: Option<Box<Plan>> = None;
    for entry in world.entries() {
        if let Entry::WorkerStarted { session, goal: Some(goal) } = entry {
            goals.insert(session.clone(), goal.clone());
        } else if let Entry::WorkerEnded { session, .. } = entry {
            if let (true, Some(goal)) = (ended.insert(session.clone()), goals.get(session)) {
                *in_vain.entry(goal.clone()).or_default() += 1;
            }
        } else if let Entry::GoalsHold { goals } = entry {
            in_vain.retain(|goal, _| !goals.contains(goal));
        } else if let Entry::Verified { session, pass: true, red: false, .. } = entry {
            goals.get(session).map(|goal| in_vain.insert(goal.clone(), 0));
        } else if let Entry::Asked { ask, goal: Some(goal), .. } = entry {
            asks.insert(ask.clone(), goal.clone());
        } else if let Entry::Answered { ask, .. } | Entry::Dismissed { ask } | Entry::Withdrawn { ask, .. } =
            entry
        {
            // The loop takes its question back when the goal holds after all: what fails after that is another matter.
            asks.get(ask).map(|goal| in_vain.insert(goal.clone(), 0));
        } else if let Entry::Intended { plan, .. } = entry {
            let starts = matches!(plan.act, Act::Worker { .. }) && plan.author != Author::Person;
            let count = plan.goal.as_ref().and_then(|goal| in_vain.get(goal)).copied().unwrap_or(0);
            assert!(!starts || count < 3, "a fourth worker for {:?}", plan.goal);
            acting = Some(plan.clone());
        } else if let Entry::Finished { outcome, .. } = entry {
            let plan = acting.take().filter(|_| outcome.is_done());
            let killed = match plan.as_ref().map(|plan| &plan.act) {
                Some(Act::Ended { session, .. }) => Some(session),
                Some(Act::Again { from, .. }) => Some(from),
                _ => None,
            };
            if let Some(session) = killed
                && let (true, Some(goal)) = (ended.insert(session.clone()), goals.get(session))
            {
                *in_vain.entry(goal.clone()).or_default() += 1;
            }
            if let Some(plan) = plan
                && let (Move::AskHuman { .. }, Act::File { path, .. }, Some(goal)) =
                    (&plan.action, &plan.act, &plan.goal)
            {
                let ask = path.trim_start_matches("asks/").trim_end_matches(".json");
                asks.insert(ask.to_owned(), goal.clone());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_what_must_be_once_is_once(
        builtin in any::<bool>(),
        all in proptest::collection::vec(happens(), 1..120),
    ) {
        let mut edge = Edge::new(builtin);
        for what in &all {
            edge.happens(what);
        }
        edge.world.audit();
        is_once(&edge.world);
        is_allowed(&edge.world);
        let ledger = edge.world.engine.ledger();
        for session in edge.world.seen.docs.fleet.workers.keys() {
            let used = ledger.generations.get(worker_of(session)).copied().unwrap_or(0);
            prop_assert!(used >= crate::world::fleet::generation(session), "{session} could be used again");
        }
    }
}
