//! The till: what a storm knows of money besides the log, and whether the log agrees with it.

use std::collections::{BTreeMap, BTreeSet};

use looop_core::gate::Why;
use looop_core::ledger::entry::{AT_LEAST, Entry, Line, NOT_CHARGED, Spend};
use looop_core::ledger::fold::apply;
use looop_core::ledger::state::Ledger;
use looop_core::meter::Micros;
use looop_core::model::money::Allowance;
use looop_core::model::moves::Move;
use looop_core::model::plan::{Author, RunId};
use looop_core::purse;
use looop_core::time::Now;

use super::run::Storm;
use super::yard::{AgentFile, Job, Stage};

/// What is known of money besides the log.
#[derive(Debug, Default)]
pub struct Till {
    /// The cap of the day and the moment, by the line of the log that was written under it.
    bounds: BTreeMap<u64, (Option<Micros>, Now)>,
    /// The letters that workers wrote about money, each with when it was written.
    pub(super) posted: BTreeSet<(String, i64)>,
    /// When letters were written that may be there or not: the disk failed.
    pub(super) unsure: BTreeSet<i64>,
    /// The day on which the purse stopped deciding.
    stopped: Option<String>,
    /// The day of the last line.
    day: String,
}

impl Till {
    /// A line was written under a cap.
    pub(super) fn note(&mut self, line: &Line, cap: Option<Micros>, now: Now) {
        self.day = now.day();
        self.bounds.insert(line.seq, (cap, now));
    }

    /// What an entry of the line that was just noted counts as, where it is about money.
    pub(super) fn word(&mut self, entry: &Entry) -> Option<&'static str> {
        if let Entry::Skipped { why, .. } = entry {
            return self.stop(why);
        }
        if let Entry::DecideStarted { .. } = entry {
            let lifted = self.stopped.take().is_some_and(|day| day != self.day);
            return lifted.then_some("purse stops that another day lifted");
        }
        if let Entry::Spent { letter, closes, .. } = entry {
            let closed = closes.then_some("accounts closed");
            return letter.as_ref().map(|_| "spend letters counted").or(closed);
        }
        let Entry::Intended { plan, .. } = entry else { return None };
        let asks = matches!(&plan.action, Move::AskHuman { options, .. } if options.iter().any(|word| word == "kill"));
        let kills = matches!(plan.action, Move::KillWorker { .. });
        let own = |word| (plan.author == Author::Builtin).then_some(word);
        let asked = asks.then(|| own("asked whether a worker may go on"));
        asked.or_else(|| kills.then(|| own("kills for money"))).flatten()
    }

    fn stop(&mut self, why: &Why) -> Option<&'static str> {
        match why {
            Why::Purse { .. } => {
                self.stopped = Some(self.day.clone());
                Some("purse stops")
            }
            Why::Unmetered { .. } => Some("stops for want of receipts"),
            Why::Limited { .. } => Some("waits for a provider"),
            Why::NothingReady { reason } => {
                reason.contains("waiting for money").then_some("goals that wait for money")
            }
            Why::Stopping
            | Why::Paused { .. }
            | Why::Unchanged
            | Why::Chain { .. }
            | Why::Backoff { .. }
            | Why::DecidesPerHour { .. }
            | Why::Flapping { .. }
            | Why::BadFile { .. }
            | Why::Busy { .. } => None,
        }
    }
}

/// What is started by an entry, if it costs anything.
fn start(entry: &Entry) -> Option<&'static str> {
    if let Entry::DecideStarted { free, .. } = entry {
        return (!free).then_some("a decide");
    }
    if let Entry::Intended { plan, .. } = entry {
        let paid = plan.act.spends().is_some_and(|(_, allowance)| matches!(allowance, Allowance::Paid(_)));
        return paid.then_some("a worker");
    }
    matches!(entry, Entry::Granted { .. }).then_some("a further allowance")
}

/// A decide under way: its number, its session, what is set aside for it, and whether it is free.
type Open<'a> = (RunId, &'a str, Micros, bool);

impl Storm {
    /// Nothing started beyond the cap, every decide and every letter was settled once, and nothing that is known to
    /// have been spent is missing.
    pub(super) fn audit_money(&self, lines: &[Line]) -> Result<(), String> {
        // Where a bank charges, its books say more.
        if self.site.bank.is_some() {
            return Ok(());
        }
        self.audit_starts(lines)?;
        self.audit_receipts(lines)?;
        self.audit_letters(lines)?;
        self.audit_workers(lines)
    }

    /// Settled and set aside stay within the cap at each start; what has no bound of its own needs something to be left.
    fn audit_starts(&self, lines: &[Line]) -> Result<(), String> {
        let mut ledger = Ledger::default();
        for line in lines {
            ledger.seq = line.seq;
            for entry in &line.entries {
                let (Some(what), Some((Some(cap), now))) =
                    (start(entry), self.site.till.bounds.get(&line.seq))
                else {
                    apply(&mut ledger, &line.at, entry);
                    continue;
                };
                let before = total(&ledger, now);
                apply(&mut ledger, &line.at, entry);
                let after = total(&ledger, now);
                if after > *cap || before >= *cap {
                    return Err(format!(
                        "line {}: {what} starts at {before} of {cap} and may bring it to {after}",
                        line.seq
                    ));
                }
            }
        }
        Ok(())
    }

    /// Every decide is settled once, for what its receipt says, or in full.
    fn audit_receipts(&self, lines: &[Line]) -> Result<(), String> {
        let mut open: Option<Open<'_>> = None;
        for entry in lines.iter().flat_map(|line| &line.entries) {
            if let Entry::DecideStarted { run, session, reserved_usd, free, .. } = entry {
                let reserved = Micros::from_dollars(*reserved_usd).unwrap_or_default();
                if let Some((run, ..)) = open.replace((*run, session, reserved, *free)) {
                    return Err(format!("decide {run} was never settled"));
                }
            } else if let Entry::Decided { spend, .. } | Entry::Failed { spend, .. } = entry {
                self.audit_receipt(open.take(), spend)?;
            } else if let Entry::Overtaken { spend: Some(spend), .. } = entry {
                self.audit_receipt(open.take(), spend)?;
            } else if let Entry::Overtaken { spend: None, .. } = entry
                && let Some((run, session, ..)) = open.take()
                && self.site.yard.children.get(session).is_some_and(|child| child.ran > 0)
            {
                return Err(format!("decide {run} ran and was not settled"));
            }
        }
        Ok(())
    }

    fn audit_receipt(&self, open: Option<Open<'_>>, spend: &Spend) -> Result<(), String> {
        let Some((run, session, reserved, free)) = open else {
            return Err(format!("{spend:?} settles a decide that is not under way"));
        };
        let child = self.site.yard.children.get(session);
        let record = child.and_then(|child| match (&child.stage, &child.job) {
            (Stage::Ended(_), Job::Decide(_, record)) => record.as_ref(),
            (_, Job::Decide(..) | Job::Shell(_) | Job::Works { .. }) => None,
        });
        let due = match record.and_then(|record| record.spend.as_ref()) {
            _ if free => Micros::ZERO,
            Some(receipt) if receipt.source.ends_with(AT_LEAST) => receipt.micros().max(reserved),
            Some(receipt) => receipt.micros(),
            None => {
                let known = record.and_then(|record| record.unpriced.as_ref());
                known.map_or(reserved, |known| known.micros().max(reserved))
            }
        };
        // A loss of power may take a receipt after it was counted.
        let lost = child.is_some_and(|child| child.stage == Stage::Lost);
        let unmade = spend.source == NOT_CHARGED && child.is_none_or(|child| child.ran == 0);
        if spend.micros() == due || lost && !free || unmade && spend.micros() == Micros::ZERO {
            return Ok(());
        }
        Err(format!("decide {run} is settled at {} and was {due}", spend.micros()))
    }

    /// Every letter that was written is counted once, and what nobody wrote is not.
    fn audit_letters(&self, lines: &[Line]) -> Result<(), String> {
        let mut counted = BTreeSet::new();
        for entry in lines.iter().flat_map(|line| &line.entries) {
            if let Entry::Spent { letter: Some(letter), .. } = entry {
                if !counted.insert(letter) {
                    return Err(format!("the letter {letter:?} is counted twice"));
                }
                if !self.site.till.posted.contains(letter) && !self.site.till.unsure.contains(&letter.1) {
                    return Err(format!("the letter {letter:?} is counted and was never written"));
                }
            }
        }
        match self.site.till.posted.iter().find(|letter| !counted.contains(*letter)) {
            Some(letter) => Err(format!("the letter {letter:?} was never counted")),
            None => Ok(()),
        }
    }

    /// What the file of an agent says was used is charged in full once its worker's account is closed.
    fn audit_workers(&self, lines: &[Line]) -> Result<(), String> {
        let mut charged: BTreeMap<&String, (Micros, bool)> = BTreeMap::new();
        for entry in lines.iter().flat_map(|line| &line.entries) {
            if let Entry::Spent { session, spend, closes, .. } = entry {
                let account = charged.entry(session).or_default();
                *account = (account.0.saturating_add(spend.micros()), account.1 || *closes);
            }
        }
        for (session, (charged, closed)) in charged {
            let child = self.site.yard.children.get(session);
            let Some(wallet) = child.and_then(super::yard::Child::wallet).filter(|_| closed) else {
                continue;
            };
            let free = self.engine().is_none_or(|engine| {
                let record = engine.ledger().workers.get(session);
                record.is_none_or(|record| record.allowance == Allowance::Free)
            });
            let said = matches!(wallet.file, AgentFile::Exact | AgentFile::AtLeast) && !free;
            let used = Micros::new(wallet.used * 10_000);
            if said && charged < used {
                return Err(format!("{session} used {used} and is charged {charged}"));
            }
        }
        Ok(())
    }
}

fn total(ledger: &Ledger, now: &Now) -> Micros {
    let balance = purse::balance(ledger, now);
    balance.counted()
}
