//! The bank: what providers charge while decides and workers run, whatever becomes of the receipts.

use std::collections::BTreeMap;

use looop_core::engine::io::Record;
use looop_core::ledger::entry::{FailureKind, Spend};
use looop_core::ledger::state::Ledger;
use looop_core::meter::{Format, Metered, Micros, Source, Usage};
use looop_core::model::letter::Expense;
use looop_core::model::outcome::Ended;
use looop_core::purse;
use looop_core::time::Now;

use super::agenda::Happening;
use super::books::Books;
use super::site::Site;
use super::yard::{Job, Stage};
use crate::world::all_lines;

/// How one hears what a call costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By its stream; the provider keeps to a bound.
    Api,
    /// By its stream, which is stopped when it has passed what was set aside.
    Stream,
    /// By the file that an agent keeps.
    File,
    /// By letters.
    Letters,
    /// Not at all.
    Not,
}

/// What was charged for one decide or worker.
#[derive(Clone, Debug)]
pub(super) struct Call {
    way: Way,
    reserved: Micros,
    charged: Micros,
    /// Whether a part of it was never heard of.
    unheard: bool,
}

/// What was charged for everything, and what the log knows of it.
#[derive(Debug)]
pub struct Bank {
    calls: BTreeMap<String, Call>,
    /// What the log on the disk says.
    pub books: Books,
    /// Whether every receipt came, so that the log must know exactly what was charged.
    pub exact: bool,
    /// Whether receipts are lost on their way.
    pub careless: bool,
}

impl Bank {
    /// A bank that has charged nothing yet.
    pub fn new(careless: bool) -> Self {
        Self { calls: BTreeMap::new(), books: Books::default(), exact: true, careless }
    }

    /// All that was ever charged.
    pub fn charged(&self) -> Micros {
        self.calls.values().map(|call| call.charged).fold(Micros::ZERO, Micros::saturating_add)
    }

    /// The log never has less for a call than was charged. Beyond what was set aside, that is so once it was heard.
    pub fn check(&self) {
        for (session, call) in &self.calls {
            let known = self.books.known(session);
            let account = self.books.accounts.get(session);
            let over = account.map_or(call.reserved, |account| account.reserved.max(account.settled));
            let waits = call.unheard || account.is_none_or(|account| !account.closed);
            let passes = call.way != Way::Api && waits && call.charged > over;
            // What a worker could not record it was told so, and nobody else can know of it.
            let passes = passes || call.way == Way::Letters && call.unheard;
            assert!(known >= call.charged || passes, "{session}: {known} of {call:?}, {account:?}");
        }
    }

    /// Before anything starts, all that is settled and set aside, with what the start may cost, is within the cap.
    pub(super) fn check_start(&self, ledger: &Ledger, cap: Option<Micros>, now: &Now) {
        let balance = purse::balance(ledger, now);
        let settled = self.books.settled_on(&balance.day, &now.stamp());
        assert_eq!((settled, self.books.open()), (balance.settled(), balance.reserved), "{balance:?}");
        let all = settled.saturating_add(self.books.open());
        assert!(cap.is_none_or(|cap| all <= cap), "{all} of {cap:?} on {}", balance.day);
    }

    /// What the files of agents say.
    pub(super) fn files(&self, is_kept: impl Fn(&str) -> bool) -> BTreeMap<String, Metered> {
        let told = self.calls.iter().filter(|(session, call)| call.way == Way::File && is_kept(session));
        let told = told.filter(|(_, call)| call.charged > Micros::ZERO);
        told.map(|(session, call)| (session.clone(), Metered::Exact(usage(call.charged)))).collect()
    }

    /// A part of what a call costs will never be heard of.
    fn lose(&mut self, session: &str) {
        if let Some(call) = self.calls.get_mut(session) {
            call.unheard = true;
            self.exact = false;
        }
    }
}

fn usage(charged: Micros) -> Usage {
    let (tokens_in, tokens_out, tokens_cached) = (charged.get() / 4, 0, 0);
    let (model, source) = (Some("big".to_owned()), Source::Stream(Format::Claude));
    Usage { usd: Some(charged), tokens_in, tokens_out, tokens_cached, model, source }
}

fn receipt(charged: Micros, source: &str) -> Spend {
    Spend { usd: charged.dollars(), source: source.to_owned(), tokens_in: 9, ..Spend::default() }
}

impl Site {
    /// The log was opened: what it says is what is known.
    pub(super) fn recount(&mut self) {
        let Some(bank) = &mut self.bank else { return };
        bank.books = Books::of(&all_lines(&self.disk.kill()));
    }

    /// A decide or a worker has been launched, and is going to be charged.
    pub(super) fn open_call(&mut self, session: &str, way: Option<Way>, reserved: Micros) {
        let Some(bank) = &mut self.bank else { return };
        let worker =
            if bank.careless { &[Way::File, Way::Letters, Way::Not][..] } else { &[Way::File, Way::Letters] };
        let way = way.unwrap_or_else(|| *self.dice.pick(worker));
        // What costs nothing has no receipt, and what nobody hears of settles at what was set aside.
        bank.exact &= way != Way::Not;
        let call = Call { way, reserved, charged: Micros::ZERO, unheard: way == Way::Not };
        bank.calls.insert(session.to_owned(), call);
    }

    /// A child begins to run: it is charged from now on.
    pub(super) fn begin_charges(&mut self, session: &str) {
        if self.bank.as_ref().is_some_and(|bank| bank.calls.contains_key(session)) {
            let first = self.dice.between(1, 400);
            self.after(first, Happening::Charges(session.to_owned()));
        }
    }

    /// The provider sends the next piece of an answer, and charges for it.
    pub(super) fn charge(&mut self, session: &str) {
        let runs = self.yard.children.get(session).is_some_and(|child| child.stage == Stage::Runs);
        let Some(call) =
            self.bank.as_ref().and_then(|bank| bank.calls.get(session)).filter(|_| runs).cloned()
        else {
            return;
        };
        let next = self.dice.between(1_000, 900_000);
        self.after(next, Happening::Charges(session.to_owned()));
        if self.yard.paused.contains(session) {
            return;
        }
        let reserved = call.reserved.get();
        let most = if self.dice.below(8) == 0 { reserved * 2 } else { reserved / 6 };
        let amount = Micros::new(self.dice.between(1, most.max(2)));
        let granted = self.bank.as_ref().and_then(|bank| bank.books.accounts.get(session));
        let granted = granted.map_or(call.reserved, |account| account.reserved);
        let bounded = matches!(call.way, Way::Api | Way::Not);
        let amount = if bounded { amount.min(granted.saturating_sub(call.charged)) } else { amount };
        self.tale.count("charges");
        self.tell(|| format!("bank: charges {session} {amount}"));
        if let Some(call) = self.bank.as_mut().and_then(|bank| bank.calls.get_mut(session)) {
            call.charged = call.charged.saturating_add(amount);
        }
        match call.way {
            Way::Letters => self.post_charge(session, amount),
            Way::Stream => self.stop_decide(session),
            Way::Api | Way::File | Way::Not => {}
        }
    }

    fn post_charge(&mut self, session: &str, amount: Micros) {
        let expense = Expense {
            v: 1,
            id: String::new(),
            session: session.to_owned(),
            usd: amount.dollars(),
            tokens_in: 3,
            tokens_out: 0,
            tokens_cached: 0,
            model: None,
            runner: None,
            goal: None,
            extra: false,
            recorded: self.clock.wall(),
        };
        if self.reader().is_some_and(|reader| reader.post_expense(expense).is_ok()) {
            self.tale.count("expenses recorded");
        } else {
            self.tale.count("expenses not recorded");
            self.lose_receipt(session);
        }
    }

    /// A decide that has passed what was set aside for it ends there.
    fn stop_decide(&mut self, session: &str) {
        let Some(call) = self.bank.as_ref().and_then(|bank| bank.calls.get(session)).cloned() else { return };
        if call.reserved == Micros::ZERO || call.charged <= call.reserved {
            return;
        }
        self.tale.count("decides stopped");
        let wall = self.clock.wall();
        let Some(child) = self.yard.children.get_mut(session) else { return };
        let Job::Decide(run, record) = &mut child.job else { return };
        let failure = Some((FailureKind::Budget, "stopped".to_owned()));
        let spend = Some(receipt(call.charged, "claude (at least)"));
        *record = Some(Box::new(Record { failure, spend, ..Record::empty(*run, wall) }));
        self.end_child(session, &Stage::Ended(Ended::Exited(0)));
    }

    /// What a decide says that it cost, if it says it.
    pub(super) fn receipt(&mut self, session: &str) -> Option<Spend> {
        let bank = self.bank.as_ref()?;
        let charged = bank.calls.get(session).map(|call| call.charged)?;
        let luck = if bank.careless { self.dice.below(10) } else { 0 };
        if luck < 8 {
            return Some(receipt(charged, "claude"));
        }
        self.lose_receipt(session);
        (luck == 8).then(|| receipt(Micros::new(charged.get() / 2), "claude (at least)"))
    }

    /// What a call costs will not be heard of, or not in full.
    pub(super) fn lose_receipt(&mut self, session: &str) {
        if let Some(bank) = &mut self.bank {
            bank.lose(session);
            self.tale.count("receipts lost");
        }
    }

    /// A child is over. A decide that left no record has no receipt.
    pub(super) fn close_call(&mut self, session: &str) {
        let Some(child) = self.yard.children.get(session) else { return };
        let lost = match (&child.stage, &child.job) {
            (Stage::Fenced, _) | (_, Job::Shell(_)) => false,
            (Stage::Ended(_), Job::Decide(_, record)) => record.is_none(),
            (_, Job::Decide(..)) => true,
            (_, Job::Works { .. }) => {
                // Who has not said anything has spent all it might, as far as one knows.
                let silent =
                    |bank: &Bank| bank.calls.get(session).is_some_and(|call| call.charged == Micros::ZERO);
                self.bank.as_ref().is_some_and(silent)
            }
        };
        self.yard.paused.remove(session);
        if lost {
            self.lose_receipt(session);
        }
    }
}
