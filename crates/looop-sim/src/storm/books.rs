//! The log's money, added up anew and apart from the ledger, to hold both against each other.

use std::collections::BTreeMap;
use std::time::Duration;

use looop_core::ledger::entry::{Entry, Line, Spend};
use looop_core::meter::Micros;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::Plan;
use looop_core::time::Stamp;

/// How long a day lasts at most, with journeys and summer time.
const LONGEST: Duration = Duration::from_hours(48);

/// What is known of one decide or worker.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What was set aside for it, further allowances included.
    pub reserved: Micros,
    /// One allowance.
    one: Micros,
    /// What was settled.
    pub settled: Micros,
    /// Whether nothing is set aside for it any more.
    pub closed: bool,
}

impl Account {
    fn of(reserved: Micros) -> Self {
        Self { reserved, one: reserved, ..Self::default() }
    }

    /// What is still set aside.
    fn open(&self) -> Micros {
        if self.closed { Micros::ZERO } else { self.reserved.saturating_sub(self.settled) }
    }

    /// What the log has for it: settled or set aside.
    pub fn known(&self) -> Micros {
        self.settled.saturating_add(self.open())
    }
}

/// All accounts, by session, and the sums of days.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Accounts by session.
    pub accounts: BTreeMap<String, Account>,
    /// What was settled, by the day that it counts for, and when the first of it was.
    pub days: BTreeMap<String, (Stamp, Micros)>,
    /// What was settled in all.
    pub settled: Micros,
    /// The session of the decide under way.
    deciding: Option<String>,
    /// The worker that is being started.
    starting: Option<(String, Micros)>,
}

impl Books {
    /// The books of a whole log.
    pub fn of(lines: &[Line]) -> Self {
        let mut books = Self::default();
        for line in lines {
            books.add(line);
        }
        books
    }

    /// Takes in an append.
    pub fn add(&mut self, line: &Line) {
        for (first, _) in self.days.values_mut() {
            // A start with an earlier calendar: from here on the clock of this boot tells how long ago it was.
            if first.boot != line.at.boot && first.wall > line.at.wall {
                *first = line.at;
            }
        }
        line.entries.iter().for_each(|entry| self.entry(&line.at, entry));
    }

    /// What is set aside in all.
    pub fn open(&self) -> Micros {
        let starting = self.starting.as_ref().map(|(_, reserved)| *reserved);
        self.accounts.values().map(Account::open).chain(starting).fold(Micros::ZERO, Micros::saturating_add)
    }

    /// What was settled on a day. One of that name two days ago was another day, by a calendar that was set since.
    pub fn settled_on(&self, day: &str, now: &Stamp) -> Micros {
        let of_today = self.days.get(day).filter(|(first, _)| now.since(first) < LONGEST);
        of_today.map_or(Micros::ZERO, |(_, settled)| *settled)
    }

    /// What the log has for a session.
    pub fn known(&self, session: &str) -> Micros {
        let starting = self.starting.as_ref().filter(|(name, _)| name == session);
        let starting = starting.map_or(Micros::ZERO, |(_, reserved)| *reserved);
        self.accounts.get(session).map_or(Micros::ZERO, Account::known).saturating_add(starting)
    }

    fn settle(&mut self, at: &Stamp, spend: &Spend) {
        self.settled = self.settled.saturating_add(spend.micros());
        let sum = self.settled_on(&spend.day, at).saturating_add(spend.micros());
        let day = self.days.entry(spend.day.clone()).or_insert((*at, sum));
        *day = (if at.since(&day.0) < LONGEST { day.0 } else { *at }, sum);
    }

    fn entry(&mut self, at: &Stamp, entry: &Entry) {
        if let Entry::DecideStarted { session, reserved_usd, .. } = entry {
            let reserved = Micros::from_dollars(*reserved_usd).expect("an amount");
            self.accounts.insert(session.clone(), Account::of(reserved));
            self.deciding = Some(session.clone());
        } else if let Entry::Decided { spend, .. }
        | Entry::Failed { spend, .. }
        | Entry::Overtaken { spend: Some(spend), .. } = entry
        {
            self.decide_ends(at, Some(spend));
        } else if let Entry::Overtaken { spend: None, .. } = entry {
            self.decide_ends(at, None);
        } else if let Entry::Intended { plan, .. } = entry {
            self.intended(plan);
        } else if let (Entry::Restarted { session, .. }, Some(starting)) = (entry, &mut self.starting) {
            starting.0.clone_from(session);
        } else if let Entry::Finished { outcome, .. } = entry {
            let begun = self.starting.take().filter(|_| matches!(outcome, Outcome::Done { .. }));
            self.accounts.extend(begun.map(|(session, reserved)| (session, Account::of(reserved))));
        } else if let Entry::Spent { session, spend, closes, .. } = entry {
            self.settle(at, spend);
            let account = self.accounts.entry(session.clone()).or_default();
            account.settled = account.settled.saturating_add(spend.micros());
            account.closed |= closes;
        } else if let Entry::Granted { session, up_to: Some(up_to), .. } = entry
            && let Some(account) = self.accounts.get_mut(session)
            && account.one > Micros::ZERO
        {
            account.reserved = *up_to;
        }
    }

    fn intended(&mut self, plan: &Plan) {
        if let Some((session, allowance)) = plan.act.spends() {
            self.starting = Some((session.to_owned(), allowance.reserved()));
        }
    }

    /// A decide is over; one that never ran has cost nothing.
    fn decide_ends(&mut self, at: &Stamp, spend: Option<&Spend>) {
        let account = self.deciding.take().and_then(|session| self.accounts.get_mut(&session));
        if let Some(account) = account {
            account.closed = true;
            account.settled = spend.map_or(Micros::ZERO, Spend::micros);
        }
        if let Some(spend) = spend {
            self.settle(at, spend);
        }
    }
}
