//! The purse against a bank that charges: whatever happens in whatever order, nothing starts that the cap does not
//! cover, the ledger and the letters that it has not counted yet never know less than was charged, and they know exactly
//! that once every receipt has come.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ledger::entry::Spend;
use crate::meter::{Format, Metered, Source, Usage};
use crate::model::letter::Expense;
use crate::purse::{balance, granted, open};
use crate::world::fleet::WorkerState;

const CAP: u64 = 1000;
const CENT: u64 = 10_000;

fn cents(count: u64) -> Micros {
    Micros::new(count * CENT)
}

/// How one hears what a worker spent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    File,
    Letters,
    Not,
}

/// What a decide leaves.
#[derive(Clone, Copy, Debug)]
enum Slip {
    Exact,
    AtLeast,
    None,
}

/// Something that happens outside the engine.
#[derive(Clone, Debug)]
enum Happens {
    Beat,
    Hours(u64),
    DecideSpends(u64),
    DecideEnds(Slip, bool),
    DecideFails(Slip),
    Hire,
    Begins(Way, u64),
    Interrupted(u64),
    Spends(usize, u64),
    Dies(usize),
    /// The engine is lost; its last append too, or only what was to be done after it.
    Crash,
    Prune,
}

fn happens() -> impl Strategy<Value = Happens> {
    let slip =
        || proptest::sample::select(vec![Slip::Exact, Slip::Exact, Slip::Exact, Slip::AtLeast, Slip::None]);
    let way = proptest::sample::select(vec![Way::File, Way::File, Way::Letters, Way::Letters, Way::Not]);
    prop_oneof![
        8 => Just(Happens::Beat),
        1 => proptest::sample::select(vec![1, 13]).prop_map(Happens::Hours),
        4 => (0..60u64).prop_map(Happens::DecideSpends),
        4 => (slip(), any::<bool>()).prop_map(|(slip, starts)| Happens::DecideEnds(slip, starts)),
        1 => slip().prop_map(Happens::DecideFails),
        2 => Just(Happens::Hire),
        6 => (way, 0..80u64).prop_map(|(way, count)| Happens::Begins(way, count)),
        1 => (0..200u64).prop_map(Happens::Interrupted),
        6 => (0..5usize, 0..90u64).prop_map(|(which, count)| Happens::Spends(which, count)),
        3 => (0..5usize).prop_map(Happens::Dies),
        2 => Just(Happens::Crash),
        1 => Just(Happens::Prune),
    ]
}

impl Happens {
    /// The same with every receipt.
    fn truthful(self) -> Self {
        match self {
            Self::DecideEnds(_, starts) => Self::DecideEnds(Slip::Exact, starts),
            Self::DecideFails(_) => Self::DecideFails(Slip::Exact),
            Self::Begins(Way::Not, count) => Self::Begins(Way::File, count + 1),
            Self::Begins(way, count) => Self::Begins(way, count + 1),
            Self::Interrupted(_) | Self::Prune => Self::Beat,
            Self::Beat
            | Self::Hours(_)
            | Self::DecideSpends(_)
            | Self::Hire
            | Self::Spends(..)
            | Self::Dies(_)
            | Self::Crash => self,
        }
    }
}

struct Bank {
    world: World,
    /// All that was ever charged.
    charged: Micros,
    /// The decide that runs, and what it was charged.
    decide: Option<(RunId, Micros)>,
    workers: BTreeMap<String, (Micros, Way)>,
    /// Whether every receipt came so far.
    exact: bool,
    letters: u64,
    beats: u64,
    hired: u64,
    /// Whether the engine waits for a look.
    looking: bool,
}

impl Bank {
    fn new() -> Self {
        let mut world = World::new(false, &["m"]);
        world.limit(|limits| {
            limits.daily_usd = Some(cents(CAP));
            limits.max_workers = None;
            limits.decides_per_hour = 0;
        });
        let (decide, workers) = (None, BTreeMap::new());
        let (letters, beats, hired) = (0, 0, 0);
        Self {
            world,
            charged: Micros::ZERO,
            decide,
            workers,
            exact: true,
            letters,
            beats,
            hired,
            looking: false,
        }
    }

    fn charge(&mut self, amount: Micros) {
        self.charged = self.charged.saturating_add(amount);
    }

    fn known(&self) -> Micros {
        let ledger = self.world.engine.ledger();
        let settled = ledger.spend.values().fold(Micros::ZERO, |sum, day| sum.saturating_add(day.spent));
        settled.saturating_add(open(ledger)).saturating_add(self.unread())
    }

    /// What letters of pruned workers say that the next look counts.
    fn unread(&self) -> Micros {
        let ledger = self.world.engine.ledger();
        let letters = self.world.seen.letters.expenses.values();
        let unread = letters.filter(|letter| {
            !ledger.workers.contains_key(&letter.session) && !ledger.expenses.contains_key(&letter.id)
        });
        unread.fold(Micros::ZERO, |sum, letter| sum.saturating_add(letter.used().usd))
    }

    fn happens(&mut self, what: &Happens) {
        self.world.pass(Duration::from_secs(1));
        self.world.effects.clear();
        match what {
            Happens::Beat => self.beat(),
            Happens::Hours(hours) => self.world.pass(Duration::from_hours(*hours)),
            Happens::DecideSpends(count) => self.decide_spends(cents(*count)),
            Happens::DecideEnds(slip, starts) => self.decide_ends(*slip, Some(*starts)),
            Happens::DecideFails(slip) => self.decide_ends(*slip, None),
            Happens::Hire => self.hire(),
            Happens::Begins(way, count) => self.begins(*way, cents(*count)),
            Happens::Interrupted(count) => self.interrupted(cents(*count)),
            Happens::Spends(which, count) => self.spends(*which, cents(*count)),
            Happens::Dies(which) => {
                if let Some(session) = self.live(*which) {
                    self.world.dies(&session, WorkerState::Exited(0));
                }
            }
            Happens::Crash => self.crash(),
            Happens::Prune => drop(self.world.ask(Request::Prune { only: None })),
        }
        self.obey();
        assert!(self.known() >= self.charged, "{what:?}: {} of {}", self.known(), self.charged);
    }

    fn beat(&mut self) {
        self.beats += 1;
        self.world.reading("n", json!(self.beats));
        for (session, (spent, way)) in &self.workers {
            if *way == Way::File {
                let usage = Usage {
                    usd: (*spent > Micros::ZERO).then_some(*spent),
                    tokens_in: spent.get(),
                    tokens_out: 0,
                    tokens_cached: 0,
                    model: None,
                    source: Source::Stream(Format::Claude),
                };
                self.world.seen.spends.insert(session.clone(), Metered::Exact(usage));
            }
        }
        self.world.step(Event::Woke(Cause::Timer));
        // A full look waits for the move under way.
        self.looking |= self.world.effects.iter().any(|effect| matches!(effect, Effect::Sense(..)));
        if std::mem::take(&mut self.looking) {
            self.world.sense();
        }
    }

    fn decide_spends(&mut self, amount: Micros) {
        let reserved = self.world.engine.setup.limits.decide_usd;
        if let Some((run, spent)) = self.decide {
            // What passes its reservation is stopped.
            let amount = amount.min(reserved.saturating_sub(spent));
            self.decide = Some((run, spent.saturating_add(amount)));
            self.charge(amount);
        }
    }

    fn decide_ends(&mut self, slip: Slip, starts: Option<bool>) {
        let Some((run, spent)) = self.decide.take() else { return };
        let receipt = |source: &str, amount: Micros| {
            Some(Spend { usd: amount.dollars(), source: source.to_owned(), ..Spend::default() })
        };
        let left = match slip {
            Slip::Exact => receipt("claude", spent),
            Slip::AtLeast => receipt("claude (at least)", Micros::new(spent.get() / 2)),
            Slip::None => None,
        };
        self.exact &= matches!(slip, Slip::Exact);
        self.hired += 1;
        let decision = starts.map(|starts| {
            if starts {
                json!({"action": "start_worker", "id": format!("d{}", self.hired), "prompt": "p"})
            } else {
                json!({"action": "noop"})
            }
        });
        let failure = decision.is_none().then(|| (FailureKind::Runner, "no".to_owned()));
        let record = Record { spend: left, ..record(run, decision, failure, self.world.now.wall) };
        let docs = Box::new(self.world.seen.docs.clone());
        self.world.step(Event::Decided(run, Box::new(record.clone()), docs));
        // One that came while a move was under way is fetched again after it.
        if self.world.engine.ledger().deciding.is_some() {
            self.decide = Some((run, spent));
        }
    }

    fn hire(&mut self) {
        self.hired += 1;
        self.world.make(json!({"action": "start_worker", "id": format!("p{}", self.hired), "prompt": "p"}));
    }

    fn begins(&mut self, way: Way, amount: Micros) {
        let acting = self.world.engine.ledger().acting.clone();
        if acting.is_some_and(|acting| acting.plan.act.spends().is_some()) {
            let session = self.world.begun();
            self.exact &= way != Way::Not;
            self.workers.insert(session.clone(), (Micros::ZERO, way));
            self.pay(&session, amount);
        }
    }

    /// The host died while the worker was started: it may have worked.
    fn interrupted(&mut self, amount: Micros) {
        let acting = self.world.engine.ledger().acting.clone();
        if acting.is_some_and(|acting| acting.plan.act.spends().is_some()) {
            self.exact = false;
            self.charge(amount);
            self.world.acted(Outcome::Interrupted { reason: "its host died".to_owned() });
        }
    }

    fn live(&self, which: usize) -> Option<String> {
        let fleet = &self.world.seen.docs.fleet;
        let live = fleet.workers.values().filter(|worker| worker.state.is_alive());
        live.map(|worker| worker.session.clone()).nth(which)
    }

    fn spends(&mut self, which: usize, amount: Micros) {
        if let Some(session) = self.live(which) {
            self.pay(&session, amount);
        }
    }

    /// A worker is charged, up to what it may: then it would be stopped.
    fn pay(&mut self, session: &str, amount: Micros) {
        let most = granted(&self.world.engine.ledger().workers[session]);
        let (spent, way) = self.workers[session];
        let amount = amount.min(most.saturating_sub(spent));
        self.workers.insert(session.to_owned(), (spent.saturating_add(amount), way));
        self.charge(amount);
        // Nothing that costs nothing has a receipt: the allowance settles then.
        if way == Way::Letters && amount > Micros::ZERO {
            self.letters += 1;
            let expense = Expense {
                v: 1,
                id: format!("w-{}", self.letters),
                session: session.to_owned(),
                usd: amount.dollars(),
                tokens_in: 0,
                tokens_out: 0,
                tokens_cached: 0,
                model: None,
                runner: None,
                goal: None,
                extra: false,
                recorded: self.world.now.wall,
            };
            self.world.seen.letters.expenses.insert(expense.id.clone(), expense);
        }
    }

    fn crash(&mut self) {
        self.world.crash();
        self.looking = false;
        let ledger = self.world.engine.ledger();
        // What the log knows and the bank does not was never begun.
        if let Some(deciding) = &ledger.deciding {
            if self.decide.is_none_or(|(run, _)| run != deciding.run) {
                let run = deciding.run;
                self.world.step(Event::RunNeverRan(run));
            }
        } else {
            self.decide = None;
        }
    }

    /// Does what the engine wants, and looks at what it starts.
    fn obey(&mut self) {
        let starts = self.world.effects.iter().any(|effect| {
            if let Effect::Act(_, plan) = effect {
                plan.act.spends().is_some()
            } else {
                matches!(effect, Effect::Decide(_))
            }
        });
        let now = balance(self.world.engine.ledger(), &self.world.now);
        assert!(!starts || now.counted() <= cents(CAP), "{now:?}");
        let effects = std::mem::take(&mut self.world.effects);
        for effect in effects {
            if let Effect::Sense(..) = effect {
                self.looking = true;
            } else if let Effect::Decide(order) = effect {
                self.decide = Some((order.run, Micros::ZERO));
            } else if let Effect::Counted(letter) = effect {
                self.world.seen.letters.expenses.remove(&letter);
            } else if let Effect::Prune(id, sessions) = effect {
                for session in &sessions {
                    let record = self.world.engine.ledger().workers.get(session);
                    self.exact &= record.is_none_or(|record| record.account.closed);
                    self.world.seen.docs.fleet.workers.remove(session);
                }
                self.world.step(Event::Pruned(id, sessions, Vec::new()));
            } else if let Effect::Freeze(session) = effect {
                panic!("{session} did not pass its allowance");
            } else if let Effect::Act(_, plan) = effect {
                // Only starts of workers are begun by what happens.
                if plan.act.spends().is_none() {
                    self.world.acted(Outcome::done());
                }
            }
        }
    }

    /// Everything comes to its end, with its receipt.
    fn ends(&mut self) {
        for _ in 0..3 {
            self.happens(&Happens::Begins(Way::Letters, 0));
            self.happens(&Happens::DecideEnds(Slip::Exact, false));
            while self.live(0).is_some() {
                self.happens(&Happens::Dies(0));
            }
            self.happens(&Happens::Beat);
        }
        self.happens(&Happens::DecideEnds(Slip::Exact, false));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_cap_holds_and_the_ledger_knows_what_was_charged(
        all in proptest::collection::vec(happens(), 1..100),
        truthful in any::<bool>(),
    ) {
        let mut bank = Bank::new();
        for what in all {
            bank.happens(&if truthful { what.truthful() } else { what });
        }
        bank.ends();
        prop_assert!(bank.exact || !truthful);
        bank.world.audit();
        let ledger = bank.world.engine.ledger();
        prop_assert_eq!(open(ledger), Micros::ZERO, "nothing runs any more");
        let silent = bank.workers.values().any(|(spent, _)| *spent == Micros::ZERO);
        if bank.exact && !silent {
            prop_assert_eq!(bank.known(), bank.charged);
        }
    }
}
