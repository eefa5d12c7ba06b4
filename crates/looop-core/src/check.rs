//! Invariants over the log, for tests, simulation and `doctor`.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

use crate::ledger::entry::{Entry, Line};
use crate::ledger::fold::apply_each;
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
        apply_each(&mut ledger, line, |ledger, entry| {
            seen.look(line.seq, entry, &mut found);
            found.extend(hasty(ledger, line, entry));
        });
    }
    found
}

/// Says that a notice was sent again before its gap was over, if it was.
fn hasty(ledger: &Ledger, line: &Line, entry: &Entry) -> Option<String> {
    let Entry::Notified { key, .. } = entry else { return None };
    let now = Now { wall: line.at.wall, up: line.at.up, boot: line.at.boot, zone: TimeZone::UTC };
    let told = ledger.notices.get(key)?;
    let early = !now.left(&told.last, gap(told.count)).is_zero();
    early.then(|| format!("line {}: {key} is told again too early", line.seq))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::entry::SensorState;
    use crate::notice::NoticeKind;
    use crate::time::Stamp;

    const HOUR: i64 = 3_600_000;

    fn line(seq: u64, hours: i64, entries: Vec<Entry>) -> Line {
        let up = u64::try_from(hours * HOUR).unwrap_or_default();
        Line { seq, at: Stamp { wall: hours * HOUR, up, boot: 1 }, idle: 0, entries }
    }

    fn told() -> Entry {
        let (key, message) = ("sensor:a".to_owned(), "sensor a fails".to_owned());
        Entry::Notified { key, kind: NoticeKind::Sensor, id: String::new(), message }
    }

    fn sensor(state: SensorState) -> Entry {
        Entry::SensorChanged { sensor: "a".to_owned(), state }
    }

    fn failing() -> SensorState {
        SensorState::Failing { reason: "no".to_owned() }
    }

    #[test]
    fn a_notice_is_early_only_while_its_need_lasts() {
        let twice = vec![line(1, 1, vec![sensor(failing()), told(), told()])];
        assert_eq!(violations(&twice), ["line 1: sensor:a is told again too early"]);
        // After it worked for long, another failure is another need: it is forgotten in the very line that tells of it.
        let later = |works: Entry| {
            let first = line(1, 1, vec![sensor(failing()), told()]);
            let again = [line(2, 2, vec![told()]), line(3, 4, vec![told(), works])];
            let last = line(4, 6, vec![sensor(failing()), told()]);
            [vec![first], again.into(), vec![last]].concat()
        };
        assert_eq!(violations(&later(sensor(SensorState::Works))), [""; 0]);
        let lasting = violations(&later(Entry::ConfigMended));
        assert_eq!(lasting, ["line 4: sensor:a is told again too early"], "two hours of four");
    }
}
