//! The total end of a set of processes.
//!
//! Who belongs to the set is the caller's knowledge: all below it ([`Brood`]), all of one job, all that carry a mark
//! ([`Marked`]). Here is how they end: SIGHUP and SIGTERM, a short grace, then SIGKILL for whoever is found, again and
//! again, until a look at the process table shows none. A number alone is never signalled: the process is pinned by a
//! descriptor and its start time compared first, so that a reused number cannot hit a stranger.

mod brood;
mod marked;

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::{Pid, Signal};

pub(crate) use self::brood::Brood;
pub(crate) use self::marked::{Marked, Remains};
use crate::proc::{self, Process, Table};

/// How long the polite signals may take.
const GRACE: Duration = Duration::from_millis(300);
/// How long SIGKILL may take before we say that something cannot be ended by us (another user's process, a process
/// stuck in the kernel).
const PATIENCE: Duration = Duration::from_secs(5);
/// The gaps between two looks grow from the first to the second.
const GAPS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(64));

/// What came of a look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// None of them lives.
    Gone,
    /// Some live; look again when it is due.
    Again,
    /// These do not die of SIGKILL.
    Stuck(Vec<i32>),
}

/// The end of one set, under way.
#[derive(Debug)]
pub(crate) struct Ending {
    since: Duration,
    next: Duration,
    gap: Duration,
    told: HashSet<(i32, u64)>,
    /// A group that was told as a whole, and when, in ticks.
    told_group: Option<(i32, u64)>,
}

impl Ending {
    /// Begins now; the first look is due at once.
    pub(crate) fn begin(now: Duration) -> Self {
        Self { since: now, next: now, gap: GAPS.0, told: HashSet::new(), told_group: None }
    }

    /// When the next look is due.
    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    /// Sends the polite signals to a group, which must be the set's own, and gives it time until the first look.
    fn tell_group(&mut self, group: i32, now: Duration, headstart: Duration) {
        for signal in POLITE {
            if let Some(group) = Pid::from_raw(group) {
                // A group that has meanwhile ended is what we want.
                rustix::process::kill_process_group(group, signal).ok();
            }
        }
        self.told_group = Some((group, proc::ticks(now)));
        self.next = now + headstart;
    }

    /// The next look is due by then.
    fn hasten(&mut self, by: Duration) {
        self.next = self.next.min(by);
    }

    /// One look: `members` are those of the set that live.
    pub(crate) fn press(&mut self, now: Duration, table: &Table, members: &[&Process]) -> Pressed {
        self.press_by(now, members, || force(table, members))
    }

    /// The same, with a way of one's own to end them by force.
    fn press_by(&mut self, now: Duration, members: &[&Process], force: impl FnOnce()) -> Pressed {
        if members.is_empty() {
            return Pressed::Gone;
        }
        if self.polite(now) {
            self.ask(members);
        } else {
            force();
        }
        self.verdict(now, || members.iter().map(|process| process.pid).collect())
    }

    /// One look where there is no process table: the set is a process group.
    pub(crate) fn press_group(&mut self, now: Duration, group: i32) -> Pressed {
        let Some(leader) = Pid::from_raw(group) else { return Pressed::Gone };
        let signals: &[Signal] = match (self.polite(now), self.told.insert((group, 0))) {
            (true, true) => &POLITE,
            (true, false) => &[],
            (false, _) => &[Signal::KILL],
        };
        let gone = signals.iter().any(|signal| rustix::process::kill_process_group(leader, *signal).is_err());
        if gone || rustix::process::test_kill_process_group(leader).is_err() {
            return Pressed::Gone;
        }
        self.verdict(now, || vec![group])
    }

    /// One look that found nobody although there must be somebody.
    pub(crate) fn unseen(&mut self, now: Duration) -> Pressed {
        self.verdict(now, Vec::new)
    }

    /// Whether the grace lasts.
    pub(crate) fn polite(&self, now: Duration) -> bool {
        now < self.since + GRACE
    }

    /// Sends the polite signals to whoever has not had them. Who was born since the end began was started in answer to
    /// them, and to ask those as well would make some programs multiply: they are ended when the grace is over.
    fn ask(&mut self, members: &[&Process]) {
        let begun = proc::ticks(self.since);
        for process in members.iter().filter(|process| process.start <= begun) {
            // Whoever joined the group, or was born in the same tick, may have missed it, and is told again.
            let told =
                self.told_group.is_some_and(|(group, at)| process.group == group && process.start < at);
            if self.told.insert(process.identity()) && !told {
                signal(process, &POLITE);
            }
        }
    }

    /// Gives up, or sets the time of the next look.
    fn verdict(&mut self, now: Duration, who: impl FnOnce() -> Vec<i32>) -> Pressed {
        if now >= self.since + GRACE + PATIENCE {
            return Pressed::Stuck(who());
        }
        let grace_over = self.since + GRACE;
        self.next = now + self.gap;
        if self.polite(now) {
            self.next = self.next.min(grace_over);
            self.gap = if self.next == grace_over { GAPS.0 } else { (self.gap * 2).min(GAPS.1) };
        } else {
            self.gap = (self.gap * 2).min(GAPS.1);
        }
        Pressed::Again
    }
}

/// A stopped process acts on the first two only when it is continued.
const POLITE: [Signal; 3] = [Signal::HUP, Signal::TERM, Signal::CONT];

/// SIGKILL to whole groups where that is safe, and to each member.
fn force(table: &Table, members: &[&Process]) {
    for group in own_groups(table, members) {
        if let Some(group) = Pid::from_raw(group) {
            // A group that has meanwhile ended is what we want.
            rustix::process::kill_process_group(group, Signal::KILL).ok();
        }
    }
    for process in members {
        signal(process, &[Signal::KILL]);
    }
}

/// The groups that hold members only, and whose number cannot be reused meanwhile because it is that of a child of
/// ours, which nobody but us can reap. A group is signalled in one instant, so a member cannot fork away from it.
fn own_groups(table: &Table, members: &[&Process]) -> HashSet<i32> {
    let us = proc::our_pid();
    let ours: HashSet<i32> = members.iter().map(|process| process.pid).collect();
    let mut groups: HashSet<i32> =
        members.iter().map(|process| process.group).filter(|group| *group > 1).collect();
    // A child that is only in a group may leave it before we signal.
    groups.retain(|group| table.get(*group).is_some_and(|leader| leader.parent == us));
    for process in table.all() {
        let zombie_child = process.dead && process.parent == us;
        if !zombie_child && !ours.contains(&process.pid) {
            groups.remove(&process.group);
        }
    }
    groups
}

/// Signals exactly this process, and nobody if it has ended meanwhile.
#[cfg(target_os = "linux")]
pub(crate) fn signal(process: &Process, signals: &[Signal]) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(pinned) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if proc::one(process.pid).is_some_and(|now| now.start == process.start) {
        for signal in signals {
            // It has ended, or it is another user's: the next look tells.
            pidfd_send_signal(&pinned, *signal).ok();
        }
    }
}

/// Signals this process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn signal(process: &Process, signals: &[Signal]) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    if proc::one(process.pid).is_some_and(|now| now.start == process.start) {
        for signal in signals {
            rustix::process::kill_process(pid, *signal).ok();
        }
    }
}

/// Whether one of this line is named in `spare` and left the group it was started in: it is left alone, with all
/// below it. What was started as `home` is never spared itself.
pub(crate) fn spared(table: &Table, line: &[i32], home: i32, spare: &[String]) -> bool {
    !spare.is_empty()
        && line.iter().filter_map(|pid| table.get(*pid)).any(|process| is_spared(process, home, spare))
}

pub(crate) fn is_spared(process: &Process, home: i32, spare: &[String]) -> bool {
    process.group != home && process.pid != home && spare.contains(&process.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Duration = Duration::from_secs(100);

    #[test]
    fn looks_grow_rarer_and_one_falls_on_the_end_of_the_grace() {
        let mut ending = Ending::begin(BEGIN);
        let mut looks = vec![ending.next()];
        while ending.unseen(ending.next()) == Pressed::Again {
            looks.push(ending.next());
        }
        let gaps: Vec<Duration> = looks.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        assert!(gaps.iter().all(|gap| (GAPS.0..=GAPS.1).contains(gap)), "{gaps:?}");
        assert!(looks.contains(&(BEGIN + GRACE)), "{looks:?}");
        assert!(looks.iter().all(|look| *look <= BEGIN + GRACE + PATIENCE + GAPS.1), "{looks:?}");
        assert_eq!(ending.unseen(BEGIN + GRACE + PATIENCE), Pressed::Stuck(Vec::new()));
    }

    #[test]
    fn the_grace_is_counted_from_the_beginning() {
        let ending = Ending::begin(BEGIN);
        assert!(ending.polite(BEGIN) && ending.polite(BEGIN + GRACE / 2) && !ending.polite(BEGIN + GRACE));
    }

    #[test]
    fn a_look_can_be_hastened_and_never_put_off() {
        let mut ending = Ending::begin(BEGIN);
        ending.unseen(BEGIN + GRACE / 2);
        let due = ending.next();
        ending.hasten(due + GAPS.1);
        assert_eq!(ending.next(), due);
        ending.hasten(BEGIN + GRACE / 2);
        assert_eq!(ending.next(), BEGIN + GRACE / 2);
    }

    #[test]
    fn only_who_left_its_group_is_spared() {
        let us = proc::one(proc::our_pid()).unwrap();
        let daemon = |pid, group| Process { pid, group, name: "daemon".into(), ..us.clone() };
        let spare = ["daemon".to_owned()];
        assert!(is_spared(&daemon(12, 12), 10, &spare));
        assert!(!is_spared(&daemon(12, 10), 10, &spare));
        assert!(!is_spared(&daemon(10, 11), 10, &spare), "what was started as the home is never spared");
        assert!(!is_spared(&daemon(12, 12), 10, &["other".to_owned()]));
    }
}
