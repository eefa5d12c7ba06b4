//! What must be true of the log, the commands and the journal, whatever happened.

use std::collections::BTreeMap;

use looop_core::check::violations;
use looop_core::ledger::entry::{Entry, Line};
use looop_core::ledger::fold::apply_line;
use looop_core::ledger::state::Ledger;
use looop_core::model::outcome::{Ended, Outcome};
use looop_core::model::plan::BeatId;

use super::run::Storm;
use crate::world::all_lines;

/// The kind of an entry, to be counted. A move that is intended counts under its own name.
pub fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Intended { plan, .. } => plan.action.action(),
        Entry::Seeded { .. } => "entry seeded",
        Entry::Saw { .. } => "entry saw",
        Entry::SensorChanged { .. } => "entry sensor_changed",
        Entry::Flapping { .. } => "entry flapping",
        Entry::Skipped { .. } => "entry skipped",
        Entry::DecideStarted { .. } => "entry decide_started",
        Entry::Decided { .. } => "entry decided",
        Entry::Failed { .. } => "entry failed",
        Entry::Rejected { .. } => "entry rejected",
        Entry::Overtaken { .. } => "entry overtaken",
        Entry::Parked { .. } => "entry parked",
        Entry::Approved { .. } => "entry approved",
        Entry::Declined { .. } => "entry declined",
        Entry::Lapsed { .. } => "entry lapsed",
        Entry::Reparked { .. } => "entry reparked",
        Entry::RuleWritten { .. } => "entry rule_written",
        Entry::Restarted { .. } => "entry restarted",
        Entry::Finished { .. } => "entry finished",
        Entry::Asked { .. } => "entry asked",
        Entry::Answered { .. } => "entry answered",
        Entry::Dismissed { .. } => "entry dismissed",
        Entry::Withdrawn { .. } => "entry withdrawn",
        Entry::Trusted { .. } => "entry trusted",
        Entry::WorkerStarted { .. } => "entry worker_started",
        Entry::WorkerEnded { .. } => "entry worker_ended",
        Entry::Verified { .. } => "entry verified",
        Entry::WorkFound { .. } => "entry work_found",
        Entry::GoalsHold { .. } => "entry goals_hold",
        Entry::WorkerNoted { .. } => "entry worker_noted",
        Entry::ClaimReaped { .. } => "entry claim_reaped",
        Entry::Told { .. } => "entry told",
        Entry::Pruned { .. } => "entry pruned",
        Entry::ScheduleDue { .. } => "entry schedule_due",
        Entry::ConfigError { .. } => "entry config_error",
        Entry::ConfigMended => "entry config_mended",
        Entry::Spent { .. } => "entry spent",
        Entry::Granted { .. } => "entry granted",
        Entry::Notified { .. } => "entry notified",
        Entry::Undelivered { .. } => "entry undelivered",
        Entry::Delivered { .. } => "entry delivered",
        Entry::Paused { .. } => "entry paused",
        Entry::Resumed => "entry resumed",
        Entry::Forgot { .. } => "entry forgot",
        Entry::Renumbered { .. } => "entry renumbered",
        Entry::Dropped { .. } => "entry dropped",
        Entry::Stopped { .. } => "entry stopped",
    }
}

/// One intended move, with the sessions that it was given and what came of it.
#[derive(Debug)]
struct Deed {
    sessions: Vec<String>,
    outcome: Option<Outcome>,
}

impl Storm {
    /// The whole log.
    pub fn lines(&self) -> Vec<Line> {
        all_lines(&self.site.disk)
    }

    /// The size of the log in bytes.
    pub fn log_bytes(&self) -> usize {
        let names = self.site.disk.names("log");
        names.iter().map(|name| self.site.disk.size(&format!("log/{name}"))).sum()
    }

    /// The rules that hold whatever happened.
    pub fn audit(&self) -> Result<(), String> {
        let lines = self.lines();
        let broken = violations(&lines);
        if !broken.is_empty() {
            return Err(format!("the log breaks rules: {broken:?}"));
        }
        let mut replayed = Ledger::default();
        for line in &lines {
            apply_line(&mut replayed, line);
        }
        if let Some(engine) = self.engine()
            && *engine.ledger() != replayed
        {
            return Err(format!(
                "the ledger is not the fold of the log: {:?} and {replayed:?}",
                engine.ledger()
            ));
        }
        self.audit_deeds(&lines)?;
        self.audit_money(&lines)?;
        self.audit_journal(&lines)
    }

    /// Every command ran as often as it was meant to: once where its end is known, at most once where it is not.
    fn audit_deeds(&self, lines: &[Line]) -> Result<(), String> {
        for (beat, deed) in deeds(lines) {
            let ran: u32 = deed
                .sessions
                .iter()
                .filter_map(|name| self.site.yard.children.get(name))
                .map(|child| child.ran)
                .sum();
            let exactly = match &deed.outcome {
                Some(outcome) => outcome.shell().is_some_and(|shell| shell.ended != Ended::Killed),
                None => return Err(format!("beat {beat} was intended and has no end")),
            };
            if ran > 1 || exactly && ran != 1 {
                return Err(format!("beat {beat} ran {ran} times: {deed:?}"));
            }
        }
        Ok(())
    }

    /// Every line that was meant for the journal is there, no more often than it was meant.
    fn audit_journal(&self, lines: &[Line]) -> Result<(), String> {
        let journal =
            String::from_utf8_lossy(&self.site.disk.get("journal.md").unwrap_or_default()).into_owned();
        let mut meant: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in lines.iter().flat_map(|line| &line.entries) {
            if let Entry::Finished { journal: Some(line), .. } | Entry::WorkerNoted { journal: line, .. } =
                entry
            {
                *meant.entry(line).or_default() += 1;
            }
        }
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for line in journal.lines() {
            *found.entry(line).or_default() += 1;
        }
        // What a failed sync dropped is still shown, and taken for written, until the power goes.
        let tale = &self.site.tale;
        let dropped = tale.counted("broken disks") > 0 && tale.counted("power losses") > 0;
        for (line, times) in &meant {
            let have = found.get(line).copied().unwrap_or(0);
            if have == 0 && !dropped || have > *times {
                return Err(format!("the journal has {have} × {line:?}, meant {times} times"));
            }
        }
        Ok(())
    }
}

fn deeds(lines: &[Line]) -> BTreeMap<BeatId, Deed> {
    let mut deeds: BTreeMap<BeatId, Deed> = BTreeMap::new();
    for entry in lines.iter().flat_map(|line| &line.entries) {
        let deed = entry.beat().and_then(|beat| deeds.get_mut(&beat));
        if let Entry::Intended { beat, plan, .. } = entry {
            let sessions = plan.act.starts().map(str::to_owned).into_iter().collect();
            deeds.insert(*beat, Deed { sessions, outcome: None });
        } else if let (Entry::Restarted { session, .. }, Some(deed)) = (entry, deed) {
            deed.sessions.push(session.clone());
        } else if let Entry::Finished { beat, outcome, .. } = entry
            && let Some(deed) = deeds.get_mut(beat)
        {
            deed.outcome = Some(outcome.clone());
        }
    }
    deeds
}
