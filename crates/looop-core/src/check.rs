//! Invariants over the log, for tests, simulation and `doctor`.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use crate::ledger::entry::{Entry, Line};
use crate::ledger::fold::apply_line;
use crate::ledger::state::Ledger;
use crate::notice::gap;
use crate::time::Now;

/// Looks for broken invariants in a log that begins with an empty ledger. Each line says one.
pub fn violations(lines: &[Line]) -> Vec<String> {
    let mut found = Vec::new();
    let mut ledger = Ledger::default();
    let mut seen = Seen::default();
    for line in lines {
        if line.seq != ledger.seq + 1 {
            found.push(format!("line {} follows line {}", line.seq, ledger.seq));
        }
        for entry in &line.entries {
            seen.look(line.seq, entry, &mut found);
        }
        found.extend(hasty(&ledger, line));
        apply_line(&mut ledger, line);
    }
    found
}

/// Notices of a line that were sent again before their gap was over.
fn hasty(ledger: &Ledger, line: &Line) -> Vec<String> {
    let now = Now { wall: line.at.wall, up: line.at.up, boot: line.at.boot, zone: TimeZone::UTC };
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for entry in &line.entries {
        let Entry::Notified { key, .. } = entry else { continue };
        let early =
            ledger.notices.get(key).is_some_and(|told| !now.left(&told.last, gap(told.count)).is_zero());
        if !told.insert(key) || early {
            found.push(format!("line {}: {key} is told again too early", line.seq));
        }
    }
    found
}

#[derive(Default)]
struct Seen {
    runs: BTreeSet<u64>,
    open_run: Option<u64>,
    open_beat: Option<u64>,
    sessions: BTreeSet<String>,
}

impl Seen {
    fn look(&mut self, seq: u64, entry: &Entry, found: &mut Vec<String>) {
        match entry {
            Entry::DecideStarted { run, session, .. } => {
                self.fresh_session(seq, session, found);
                if let Some(open) = self.open_run.replace(run.0) {
                    found.push(format!("line {seq}: decide {} starts while {open} is under way", run.0));
                }
                if !self.runs.insert(run.0) {
                    found.push(format!("line {seq}: decide {} starts twice", run.0));
                }
            }
            Entry::Decided { run, .. } | Entry::Failed { run, .. } => {
                if self.open_run.take() != Some(run.0) {
                    found.push(format!("line {seq}: decide {} ends, which is not under way", run.0));
                }
            }
            Entry::Overtaken { .. } => self.open_run = None,
            Entry::Intended { beat, plan, .. } => {
                if let Some(session) = plan.act.starts() {
                    self.fresh_session(seq, session, found);
                }
                if let Some(open) = self.open_beat.replace(beat.0) {
                    found.push(format!("line {seq}: beat {} acts while {open} is acting", beat.0));
                }
            }
            Entry::Restarted { beat, session } => {
                self.fresh_session(seq, session, found);
                if self.open_beat != Some(beat.0) {
                    found.push(format!("line {seq}: beat {} restarts, which is not acting", beat.0));
                }
            }
            Entry::Finished { beat, .. } => {
                if self.open_beat.take() != Some(beat.0) {
                    found.push(format!("line {seq}: beat {} finishes, which is not acting", beat.0));
                }
            }
            Entry::Seeded { .. }
            | Entry::Saw { .. }
            | Entry::SensorChanged { .. }
            | Entry::Flapping { .. }
            | Entry::Skipped { .. }
            | Entry::ScheduleDue { .. }
            | Entry::ConfigError { .. }
            | Entry::ConfigMended
            | Entry::Rejected { .. }
            | Entry::Parked { .. }
            | Entry::Approved { .. }
            | Entry::Declined { .. }
            | Entry::Lapsed { .. }
            | Entry::Reparked { .. }
            | Entry::RuleWritten { .. }
            | Entry::Asked { .. }
            | Entry::Answered { .. }
            | Entry::Dismissed { .. }
            | Entry::Withdrawn { .. }
            | Entry::Trusted { .. }
            | Entry::WorkerStarted { .. }
            | Entry::WorkerEnded { .. }
            | Entry::Spent { .. }
            | Entry::Granted { .. }
            | Entry::Verified { .. }
            | Entry::ClaimReaped { .. }
            | Entry::Told { .. }
            | Entry::Pruned { .. }
            | Entry::WorkFound { .. }
            | Entry::GoalsHold { .. }
            | Entry::WorkerNoted { .. }
            | Entry::Notified { .. }
            | Entry::Undelivered { .. }
            | Entry::Delivered { .. }
            | Entry::Forgot { .. }
            | Entry::Renumbered { .. }
            | Entry::Paused { .. }
            | Entry::Resumed
            | Entry::Dropped { .. }
            | Entry::Stopped { .. } => {}
        }
    }

    fn fresh_session(&mut self, seq: u64, session: &str, found: &mut Vec<String>) {
        if !self.sessions.insert(session.to_owned()) {
            found.push(format!("line {seq}: session {session} is used twice"));
        }
    }
}
