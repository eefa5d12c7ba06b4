//! All below a host: the one child it started, and whatever that started.
//!
//! A look at every process there is costs the more the more hosts look, so it is the last resort. The child is reaped
//! by nobody but us, so its group is its own: it is told first, as a whole. Orphans come to us: when we have no child
//! left nothing below us lives, and no look is needed. In between the control group knows who is to be told.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitStatus, test_kill_process_group};

use super::{Ending, Pressed, is_spared, signal, spared};
use crate::cgroup::Cgroup;
use crate::clock;
use crate::hunt;
use crate::proc::{self, Process, Table};
use crate::reaper::{self, Reaped};

/// How long the child may take to end, and to end its own, before we look for them.
const HEADSTART: Duration = Duration::from_millis(20);
/// After a death others mostly follow: so long until the next look.
const SETTLING: Duration = Duration::from_millis(2);
/// How many looks are taken for those that were forked while others were stopped.
const STOP_LOOKS: u32 = 10;
/// How long all of them together may take to stop before we do not wait for each any more.
const STOPPING: Duration = Duration::from_millis(250);

/// All below us. It reaps every child of this process.
#[derive(Debug)]
pub(crate) struct Brood {
    /// The number of the child, which is its group; also when it is reaped.
    home: i32,
    spare: Vec<String>,
    cgroup: Option<Cgroup>,
    /// The child is not reaped yet.
    child: bool,
    /// The last look at our children found none.
    childless: bool,
    ending: Option<Ending>,
    /// Who had been stopped already when all were.
    asleep: HashSet<(i32, u64)>,
    left: Vec<i32>,
}

impl Brood {
    /// The child `home`, which leads a group of its own, and all it will start.
    pub(crate) fn new(home: i32, spare: &[String], cgroup: Option<Cgroup>) -> Self {
        let (child, childless, ending) = (true, false, None);
        let (asleep, left) = (HashSet::new(), Vec::new());
        Self { home, spare: spare.to_vec(), cgroup, child, childless, ending, asleep, left }
    }

    /// Nobody: the child could not be started.
    pub(crate) fn none() -> Self {
        Self { child: false, childless: true, ..Self::new(0, &[], None) }
    }

    /// Reaps all that ended: the child, whose end is returned, and orphans that came to us.
    pub(crate) fn reap(&mut self) -> io::Result<Option<WaitStatus>> {
        let mut ended = None;
        loop {
            match reaper::reap()? {
                Reaped::Child(pid, status) => {
                    // Its number may go to one of its own orphans once it is reaped.
                    if self.child && pid.as_raw_pid() == self.home {
                        self.child = false;
                        ended = Some(status);
                    }
                    continue;
                }
                Reaped::AllAlive => self.childless = false,
                Reaped::NoChildren => self.childless = true,
            }
            return Ok(ended);
        }
    }

    /// Begins the end of all. The child's group is told at once, and continued if it is stopped.
    pub(crate) fn end(&mut self, now: Duration) {
        if self.ending.is_some() {
            return;
        }
        let mut ending = Ending::begin(now);
        if self.child {
            ending.tell_group(self.home, now, HEADSTART);
        }
        self.ending = Some(ending);
    }

    /// When the next look is due, on the boot-time clock.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.ending.as_ref().map(Ending::next)
    }

    /// Goes on with the end if it is due; `nudged` says that somebody died. What the child left when it ended by
    /// itself is ended too. True when nothing lives any more that we could or should end.
    pub(crate) fn turn(&mut self, now: Duration, nudged: bool) -> bool {
        if !self.child && self.is_deserted() {
            return true;
        }
        if self.child && self.ending.is_none() {
            return false;
        }
        let mut ending = self.ending.take().unwrap_or_else(|| Ending::begin(now));
        if nudged && !self.child {
            ending.hasten(now + SETTLING);
        }
        let over = ending.next() <= now && self.look(&mut ending, now);
        self.ending = Some(ending);
        over
    }

    /// What could not be ended; normally nobody.
    pub(crate) fn left(&self) -> Vec<i32> {
        self.left.clone()
    }

    /// Stops all, each before those it started: a shell that saw its job stop would take it for a stopped job.
    pub(crate) fn stop(&mut self) {
        let members = self.members();
        self.asleep = members.iter().filter(|process| process.stopped).map(Process::identity).collect();
        let until = clock::boot() + STOPPING;
        let mut seen = HashSet::new();
        for _ in 0..STOP_LOOKS {
            let mut fresh = self.members();
            fresh.retain(|process| seen.insert(process.identity()));
            fresh.sort_by_key(|process| (process.start, process.pid));
            for process in &fresh {
                signal(process, &[Signal::STOP]);
                await_stop(process, until);
            }
            if fresh.is_empty() {
                return;
            }
        }
    }

    /// Continues all that [`Brood::stop`] stopped, each after those it started.
    pub(crate) fn go_on(&mut self) {
        let asleep = std::mem::take(&mut self.asleep);
        let mut members = self.members();
        members.retain(|process| !asleep.contains(&process.identity()));
        members.sort_by_key(|process| Reverse((process.start, process.pid)));
        for process in &members {
            signal(process, &[Signal::CONT]);
        }
    }

    /// Lets those that are spared out of the control group, and removes it.
    pub(crate) fn close(&mut self) {
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.dissolve();
        }
    }

    /// Whether nothing lives below us, seen without a look at the process table.
    fn is_deserted(&self) -> bool {
        // Where orphans do not come to us they stay in the group, if anywhere.
        self.childless && (reaper::ADOPTS || !self.home_lives())
    }

    fn home_lives(&self) -> bool {
        Pid::from_raw(self.home).is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    /// One look. Says whether there is nothing left that we could end.
    fn look(&mut self, ending: &mut Ending, now: Duration) -> bool {
        let mut pressed = self.look_inside(ending, now).unwrap_or_else(|| self.look_around(ending, now));
        if pressed == Pressed::Gone && self.child {
            // It is dead, and about to be reaped.
            pressed = ending.unseen(now);
        }
        match pressed {
            Pressed::Gone => true,
            Pressed::Again => false,
            Pressed::Stuck(who) => {
                self.left = who;
                true
            }
        }
    }

    /// By the control group alone.
    fn look_inside(&self, ending: &mut Ending, now: Duration) -> Option<Pressed> {
        let (cgroup, members) = (self.cgroup.as_ref()?, self.inside()?);
        let members: Vec<&Process> = members.iter().collect();
        Some(ending.press_by(now, &members, || {
            if cgroup.kill().is_err() {
                for process in &members {
                    signal(process, &[Signal::KILL]);
                }
            }
        }))
    }

    /// By all processes there are.
    fn look_around(&self, ending: &mut Ending, now: Duration) -> Pressed {
        let Ok(table) = Table::scan() else { return self.press_blindly(ending, now) };
        let mut pressed = ending.press(now, &table, &self.around(&table));
        // Only those who were seen and are spared are an excuse for children that are left.
        if pressed == Pressed::Gone && table.below(proc::our_pid()).is_empty() {
            // Children that no look shows forked away while we looked, or are hidden from us.
            pressed = ending.unseen(now);
        }
        if !ending.polite(now) {
            hunt::hunt(&|pid| hunt::strike_child(pid, &|pid| self.is_fair(pid)));
        }
        pressed
    }

    /// Without a process table there are but the two groups.
    fn press_blindly(&self, ending: &mut Ending, now: Duration) -> Pressed {
        if let (false, Some(cgroup)) = (ending.polite(now), &self.cgroup) {
            // If it is not ours to kill, the other group is what is left.
            cgroup.kill().ok();
        }
        ending.press_group(now, self.home)
    }

    /// Who lives, as far as that can be seen.
    fn members(&self) -> Vec<Process> {
        let all = || Table::scan().map(|table| self.around(&table).into_iter().cloned().collect());
        self.inside().unwrap_or_else(|| all().unwrap_or_default())
    }

    /// The living members of the control group; nothing if it has none, or if it cannot be taken as a whole because
    /// somebody in it is spared.
    fn inside(&self) -> Option<Vec<Process>> {
        let cgroup = self.cgroup.as_ref()?;
        let table = Table::of(&cgroup.members());
        // Whoever is a member after it was looked at is the one that was looked at, or has its number from one that is
        // dead by now and cannot be signalled any more.
        let members = cgroup.members().into_iter().filter_map(|pid| table.get(pid));
        let members: Vec<Process> = members.filter(|process| !process.dead).cloned().collect();
        let whole = !members.iter().any(|process| is_spared(process, self.home, &self.spare));
        (whole && !members.is_empty()).then_some(members)
    }

    /// All below us, without those that are spared.
    fn around<'t>(&self, table: &'t Table) -> Vec<&'t Process> {
        let below = table.below(proc::our_pid()).into_iter();
        below
            .filter(|(_, line)| !spared(table, line, self.home, &self.spare))
            .map(|(process, _)| process)
            .collect()
    }

    /// Whether this child of ours is not spared.
    fn is_fair(&self, pid: i32) -> bool {
        self.spare.is_empty()
            || proc::one(pid).is_some_and(|process| !is_spared(&process, self.home, &self.spare))
    }
}

/// A stopped process stops when it runs next, and that may take a moment.
fn await_stop(process: &Process, until: Duration) {
    let runs =
        || proc::one(process.pid).is_some_and(|now| now.start == process.start && !now.stopped && !now.dead);
    while clock::boot() < until && runs() {
        std::thread::sleep(Duration::from_micros(100));
    }
}
