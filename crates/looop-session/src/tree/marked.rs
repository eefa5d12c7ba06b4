//! What a dead process had below it, found by what it gave them: a mark, and a control group.

use std::collections::HashSet;
use std::io;

use rustix::process::Signal;

use super::{Ending, GAPS, Pressed, is_spared, signal};
use crate::cgroup::Cgroup;
use crate::clock;
use crate::hunt::{self, Probe};
use crate::proc::{self, Process, Table};

/// A process in the middle of an exec has no environment to read for an instant: only so many empty looks in a row
/// count, and only when a hunt finds nobody either.
const EMPTY_LOOKS: u32 = 3;

/// No line of parents is longer; a reused number could make it a circle.
const DEEPEST: usize = 1000;

/// A set that is looked for by its marks, because the process which had it below it is dead.
pub(crate) struct Marked<'a> {
    /// Whether this mark is one of theirs.
    pub(crate) carries: &'a dyn Fn(&str) -> bool,
    /// A control group they are in.
    pub(crate) cgroup: Option<&'a Cgroup>,
    /// The group in which the first of them was started; 0 if that is not known.
    pub(crate) home: i32,
    /// The names of those that are left alone once they left their group.
    pub(crate) spare: &'a [String],
    /// Sessions that were made for them, if one who carries the mark is in them.
    pub(crate) sessions: &'a [i32],
}

/// What came of the end of a set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Remains {
    /// How many were found alive.
    pub(crate) found: usize,
    /// Those that would not die.
    pub(crate) left: Vec<i32>,
}

impl<'a> Marked<'a> {
    /// Nothing but the mark is known, and nobody is spared.
    pub(crate) fn by(carries: &'a dyn Fn(&str) -> bool) -> Self {
        Self { carries, cgroup: None, home: 0, spare: &[], sessions: &[] }
    }
}

impl Marked<'_> {
    /// Ends them, and all below them. Blocks. Where the processes cannot be listed it is an error: nobody can tell whether
    /// one of them runs.
    pub(crate) fn end(&self) -> io::Result<Remains> {
        let mut ending = Ending::begin(clock::boot());
        let mut seen = HashSet::new();
        let mut empty_looks = 0;
        loop {
            let table = match Table::scan() {
                Ok(table) => table,
                Err(error) => return self.end_blindly(error),
            };
            let found = self.find(&table);
            seen.extend(found.members.iter().map(|process| process.identity()));
            empty_looks = if found.members.is_empty() { empty_looks + 1 } else { 0 };
            let now = clock::boot();
            let ripe = found.members.is_empty() || !ending.polite(now);
            if let (true, Some(cgroup)) = (found.whole && ripe, self.cgroup) {
                // One instant for all in it; what it does not reach the look below reaches.
                cgroup.kill().ok();
            }
            let hunting = empty_looks >= EMPTY_LOOKS || !ending.polite(now);
            let hits = if hunting { hunt::hunt(&|pid| self.probe(pid)) } else { 0 };
            if empty_looks >= EMPTY_LOOKS && hits == 0 {
                return Ok(Remains { found: seen.len(), left: Vec::new() });
            }
            if let Pressed::Stuck(left) = ending.press(now, &table, &found.members) {
                return Ok(Remains { found: seen.len(), left });
            }
            // Their ends could be waited for, but not who is born meanwhile: no event tells that of strangers' children.
            std::thread::sleep(ending.next().saturating_sub(clock::boot()).max(GAPS.0));
        }
    }

    /// Without a process table there is but the control group, which knows all of them if they were born in it.
    fn end_blindly(&self, error: io::Error) -> io::Result<Remains> {
        match self.cgroup {
            Some(cgroup) => cgroup.kill().map(|()| Remains::default()),
            // Where there never is one, nothing else can be done.
            None if cfg!(not(target_os = "linux")) => Ok(Remains::default()),
            None => Err(error),
        }
    }

    /// The living ones, with all below them. Never ourselves.
    fn find<'t>(&self, table: &'t Table) -> Found<'t> {
        let mut kin = table.under(&self.heads(table));
        kin.remove(&proc::our_pid());
        let within = |pid| table.get(pid).filter(|process| kin.contains(&process.pid)).cloned();
        let fair = kin.iter().filter(|pid| !self.is_spared(**pid, &within));
        let members: Vec<&Process> = fair.filter_map(|pid| table.get(*pid)).collect();
        Found { whole: members.len() == kin.len(), members }
    }

    /// Those that carry the mark or are in a session of theirs, and the members of the control group.
    fn heads(&self, table: &Table) -> HashSet<i32> {
        let living = || table.all().filter(|process| !process.dead);
        let marked: Vec<&Process> = living().filter(|process| self.bears(process.pid)).collect();
        let sessions = self.sessions(&marked);
        let inside: HashSet<i32> = self.cgroup.map(Cgroup::members).unwrap_or_default().into_iter().collect();
        let ours = |process: &&Process| sessions.contains(&process.session) || inside.contains(&process.pid);
        marked.iter().copied().chain(living().filter(ours)).map(|process| process.pid).collect()
    }

    /// The sessions that hold nobody but them: those we know of, and those that one of them leads. Whoever cleared its
    /// environment is known by them.
    fn sessions(&self, marked: &[&Process]) -> HashSet<i32> {
        let made =
            |process: &&&Process| process.session == process.pid || self.sessions.contains(&process.session);
        marked.iter().filter(made).map(|process| process.session).collect()
    }

    /// Ends a process that a hunt came upon, if it carries the mark.
    fn probe(&self, pid: i32) -> Probe {
        let near = |pid| proc::one(pid).filter(|_| self.bears(pid));
        match proc::one(pid) {
            Some(process) if !process.dead && self.bears(pid) && !self.is_spared(pid, &near) => {
                // It is signalled only if it is still the one that was looked at before its mark was read.
                signal(&process, &[Signal::KILL]);
                Probe::Hit
            }
            Some(_) | None => Probe::Miss,
        }
    }

    fn bears(&self, pid: i32) -> bool {
        pid != proc::our_pid() && proc::mark_of(pid).is_some_and(|mark| (self.carries)(&mark))
    }

    /// Whether it is spared, or below one that is; `ours` knows those that are ours.
    fn is_spared(&self, pid: i32, ours: &dyn Fn(i32) -> Option<Process>) -> bool {
        if self.spare.is_empty() {
            return false;
        }
        let line = std::iter::successors(ours(pid), |process| ours(process.parent));
        line.take(DEEPEST).any(|process| is_spared(&process, self.home, self.spare))
    }
}

/// What a look found.
struct Found<'t> {
    members: Vec<&'t Process>,
    /// Nobody of theirs is spared.
    whole: bool,
}
