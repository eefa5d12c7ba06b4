//! What workers spend, and how they are stopped and let go on.

use std::collections::BTreeMap;

use looop_core::meter::{Format, Metered, Micros, Source, Usage};
use looop_core::model::letter::Expense;
use looop_core::world::fleet::Fleet;
use looop_core::world::observation::Scope;

use super::agenda::Happening;
use super::decider::Mind;
use super::pulse::Pulse;
use super::site::Site;
use super::yard::{AgentFile, Child, Job, Wallet};

/// A cent.
const CENT: u64 = 10_000;

impl Pulse {
    /// What the files of their agents say that workers used. A quick look asks only about those that have ended.
    pub(super) fn spends(&self, site: &Site, scope: Scope, fleet: &Fleet) -> BTreeMap<String, Metered> {
        let open = self.engine.ledger().workers.iter().filter(|(session, record)| {
            let metered = !record.allowance.is_nothing() && !record.account.closed;
            metered && (scope == Scope::Full || !fleet.lives(session))
        });
        let children = &site.yard.children;
        open.filter_map(|(session, _)| Some((session.clone(), read(children.get(session)?.wallet()?)?)))
            .collect()
    }
}

/// What the file of a worker's agent says.
fn read(wallet: &Wallet) -> Option<Metered> {
    let tokens = wallet.used;
    let usage = |usd| Usage {
        usd,
        tokens_in: tokens,
        tokens_out: 0,
        tokens_cached: 0,
        model: Some("big".to_owned()),
        source: Source::Stream(Format::Claude),
    };
    let usd = Some(Micros::new(wallet.used * CENT));
    match wallet.file {
        AgentFile::Missing => None,
        AgentFile::Exact => Some(Metered::Exact(usage(usd))),
        AgentFile::AtLeast => Some(Metered::AtLeast(usage(usd))),
        AgentFile::Unpriced => Some(Metered::Unmetered(usage(None))),
    }
}

impl Site {
    /// The empty wallet of a worker.
    pub(super) fn wallet(&mut self) -> Wallet {
        let kinds =
            [AgentFile::Exact, AgentFile::Exact, AgentFile::AtLeast, AgentFile::Missing, AgentFile::Unpriced];
        Wallet { file: *self.dice.pick(&kinds), ..Wallet::default() }
    }

    /// A worker's agent uses its model.
    pub(super) fn use_a_model(&mut self, session: &str) {
        let dear = self.dice.chance(self.weather.spenders * 2);
        let cents = if dear { self.dice.between(100, 400) } else { self.dice.between(1, 30) };
        if let Some(Job::Works { wallet, .. }) =
            self.yard.children.get_mut(session).map(|child| &mut child.job)
        {
            wallet.used += cents;
        }
    }

    /// A worker says what it has spent.
    pub(super) fn record_expense(&mut self, session: &str) {
        let Some(reader) = self.reader() else { return };
        let dear = self.dice.chance(self.weather.spenders * 2);
        let usd =
            Micros::new(CENT * if dear { self.dice.between(100, 400) } else { self.dice.between(0, 30) });
        let expense = Expense {
            v: 1,
            id: String::new(),
            session: session.to_owned(),
            usd: usd.dollars(),
            tokens_in: 5,
            tokens_out: 0,
            tokens_cached: 0,
            model: None,
            runner: None,
            goal: None,
            extra: self.dice.coin(),
            recorded: self.clock.wall(),
        };
        match reader.post_expense(expense) {
            Ok(expense) => {
                self.tale.count("spend letters");
                self.till.posted.insert((expense.id, expense.recorded));
            }
            Err(_) => drop(self.till.unsure.insert(self.clock.wall())),
        }
    }

    /// Stops a worker, which does not always work.
    pub(super) fn freeze(&mut self, session: &str) {
        if !self.dice.chance(self.weather.moves / 2) && self.set_frozen(session, true) {
            self.tale.count("workers paused");
            self.tell(|| format!("child {session}: is paused"));
        }
    }

    /// Lets a stopped worker go on, which does not always work.
    pub(super) fn thaw(&mut self, session: &str) {
        if self.dice.chance(self.weather.moves / 2) || !self.set_frozen(session, false) {
            return;
        }
        self.tale.count("workers let go on");
        self.tell(|| format!("child {session}: goes on"));
        let longest = if matches!(self.mind, Mind::Idle) { 60_000 } else { 7_200_000 };
        let ends = self.dice.between(1_000, longest);
        self.after(ends, Happening::Child(session.to_owned()));
        if !matches!(self.mind, Mind::Idle) {
            let next = self.dice.between(500, 120_000);
            self.after(next, Happening::Works(session.to_owned()));
        }
    }

    /// Says whether that is news.
    fn set_frozen(&mut self, session: &str, stop: bool) -> bool {
        let child = self.yard.children.get_mut(session).filter(|child| Child::lives(child));
        let Some(Job::Works { wallet, .. }) = child.map(|child| &mut child.job) else { return false };
        std::mem::replace(&mut wallet.frozen, stop) != stop
    }
}
