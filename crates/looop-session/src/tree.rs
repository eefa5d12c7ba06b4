//! The total end of a set of processes.
//!
//! Who belongs to the set is the caller's knowledge: all below it, all of one job, all that carry a mark. Here is how
//! they end: SIGHUP and SIGTERM, a short grace, then SIGKILL for whoever is found, again and again, until a look at
//! the process table shows none. A number alone is never signalled: the process is pinned by a descriptor and its
//! start time compared first, so that a reused number cannot hit a stranger.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::cgroup::Cgroup;
use crate::clock;
use crate::hunt::{self, Probe};
use crate::proc::{self, Process, Table};

/// How long the polite signals may take.
const GRACE: Duration = Duration::from_millis(300);
/// How long SIGKILL may take before we say that something cannot be ended by us (another user's process, a process
/// stuck in the kernel).
const PATIENCE: Duration = Duration::from_secs(5);
/// The gaps between two looks grow from the first to the second.
const GAPS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(64));

/// A process in the middle of an exec has no environment to read for an instant: only so many empty looks in a row
/// count, and only when a hunt finds nobody either.
const EMPTY_LOOKS: u32 = 3;

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
}

impl Ending {
    /// Begins now; the first look is due at once.
    pub(crate) fn begin(now: Duration) -> Self {
        Self { since: now, next: now, gap: GAPS.0, told: HashSet::new() }
    }

    /// When the next look is due. A child's death is a good moment too.
    pub(crate) fn next(&self) -> Duration {
        self.next
    }

    /// One look: `members` are those of the set that live.
    pub(crate) fn press(&mut self, now: Duration, table: &Table, members: &[&Process]) -> Pressed {
        if members.is_empty() {
            return Pressed::Gone;
        }
        if self.polite(now) {
            self.ask(members);
        } else {
            force(table, members);
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

    /// Sends the polite signals to whoever has not had them.
    fn ask(&mut self, members: &[&Process]) {
        for process in members {
            if self.told.insert(process.identity()) {
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

/// The groups that hold members only, and whose number cannot be reused meanwhile because a child of ours, which
/// nobody but us can reap, is in them. A group is signalled in one instant, so a member cannot fork away from it.
fn own_groups(table: &Table, members: &[&Process]) -> HashSet<i32> {
    let us = proc::our_pid();
    let ours: HashSet<i32> = members.iter().map(|process| process.pid).collect();
    let mut groups: HashSet<i32> =
        members.iter().map(|process| process.group).filter(|group| *group > 1).collect();
    let pinned: HashSet<i32> =
        table.all().filter(|process| process.parent == us).map(|process| process.group).collect();
    groups.retain(|group| pinned.contains(group));
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

/// Takes out those named in `spare` that left the group they were started in, with all below them.
pub(crate) fn spared(table: &Table, line: &[i32], home: i32, spare: &[String]) -> bool {
    let mut line = line.iter().filter_map(|pid| table.get(*pid));
    !spare.is_empty() && line.any(|process| process.group != home && spare.contains(&process.name))
}

/// A set that is looked for by its marks, because the process which had it below it is dead.
pub(crate) struct Marked<'a> {
    /// Whether this mark is one of theirs.
    pub(crate) carries: &'a dyn Fn(&str) -> bool,
    /// A control group they are in.
    pub(crate) cgroup: Option<&'a Cgroup>,
}

impl Marked<'_> {
    /// Ends them, and all below them. Blocks; returns those that would not die.
    pub(crate) fn end(&self) -> Vec<i32> {
        let mut ending = Ending::begin(clock::boot());
        let mut empty_looks = 0;
        loop {
            let Ok(table) = Table::scan() else { return Vec::new() };
            let found = self.find(&table);
            empty_looks = if found.is_empty() { empty_looks + 1 } else { 0 };
            let now = clock::boot();
            if let (true, Some(cgroup)) = (found.is_empty() || !ending.polite(now), self.cgroup) {
                // One instant for all in it; what it does not reach the look below reaches.
                cgroup.kill().ok();
            }
            let hunting = empty_looks >= EMPTY_LOOKS || !ending.polite(now);
            let hits = if hunting { hunt::hunt(&|pid| self.probe(pid)) } else { 0 };
            if empty_looks >= EMPTY_LOOKS && hits == 0 {
                return Vec::new();
            }
            let members: Vec<&Process> = found.iter().filter_map(|pid| table.get(*pid)).collect();
            if let Pressed::Stuck(who) = ending.press(now, &table, &members) {
                return who;
            }
            std::thread::sleep(ending.next().saturating_sub(clock::boot()).max(GAPS.0));
        }
    }

    /// The living ones, with all below them. Never ourselves.
    fn find(&self, table: &Table) -> HashSet<i32> {
        let inside = self.cgroup.map(Cgroup::members).unwrap_or_default();
        let living = table.all().filter(|process| !process.dead).map(|process| process.pid);
        let heads: HashSet<i32> = living.filter(|pid| inside.contains(pid) || self.bears(*pid)).collect();
        let below = heads.iter().flat_map(|head| table.below(*head)).map(|(process, _)| process.pid);
        let mut found: HashSet<i32> = below.collect();
        found.extend(&heads);
        found.remove(&proc::our_pid());
        found
    }

    /// Ends a process that a hunt came upon, if it carries the mark. It is pinned before that is read.
    fn probe(&self, pid: i32) -> Probe {
        match proc::one(pid) {
            Some(process) if !process.dead && self.bears(pid) => {
                signal(&process, &[Signal::KILL]);
                Probe::Hit
            }
            Some(_) | None => Probe::Miss,
        }
    }

    fn bears(&self, pid: i32) -> bool {
        pid != proc::our_pid() && proc::mark_of(pid).is_some_and(|mark| (self.carries)(&mark))
    }
}
