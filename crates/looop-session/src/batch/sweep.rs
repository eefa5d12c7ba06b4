//! Who of those below us belongs to which job, and the end of those whose job is over.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process_group};

use crate::batch::job::Order;
use crate::clock;
use crate::hunt;
use crate::proc::{self, Process, Table};
use crate::tree::{self, Ending, Pressed};

/// While a pass goes on, a look for strays nobody pointed at happens at most this often ...
const PACE: Duration = Duration::from_millis(100);
/// ... and takes at most one part in this many of the time.
const SHARE: u32 = 40;

/// To whom a process belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The job with this index.
    Job(usize),
    /// It is below us and cannot be told; it ends with the pass.
    Nobody,
}

/// What may be ended at this look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// What belongs to jobs that are over or being ended.
    Ended,
    /// Everything below us.
    All,
}

/// What a look found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Somebody in the scope lives.
    Somebody,
    /// Nobody does.
    Nobody,
    /// Nobody does but those that are spared or do not die.
    Exempt,
    /// There is no process table to look at.
    Blind,
}

/// The endings under way.
#[derive(Debug)]
pub(super) struct Sweep {
    /// The mark of the pass with its dash; the index of the job follows.
    mark: String,
    spare: Vec<String>,
    /// The jobs that spare nobody.
    strict: HashSet<usize>,
    /// Which job was started as this process, and so as this group.
    homes: HashMap<i32, usize>,
    /// The jobs whose own process lives, by it.
    live: HashMap<i32, usize>,
    endings: HashMap<Owner, Ending>,
    /// What does not die.
    left: HashSet<i32>,
    look_at: Option<Duration>,
    last_look: Duration,
    cost: Duration,
}

impl Sweep {
    pub(super) fn new(mark: &str, order: &Order) -> Self {
        let strict = order.jobs.iter().enumerate().filter(|(_, job)| job.strict).map(|(index, _)| index);
        Self {
            mark: format!("{mark}-"),
            spare: order.spare.clone(),
            strict: strict.collect(),
            homes: HashMap::new(),
            live: HashMap::new(),
            endings: HashMap::new(),
            left: HashSet::new(),
            look_at: None,
            last_look: clock::boot(),
            cost: Duration::ZERO,
        }
    }

    /// The mark a job's children carry.
    pub(super) fn mark_of(&self, job: usize) -> String {
        format!("{}{job}", self.mark)
    }

    /// A job was started.
    pub(super) fn started(&mut self, job: usize, pid: i32) {
        self.homes.insert(pid, job);
        self.live.insert(pid, job);
    }

    /// A job must end, with all it started.
    pub(super) fn end(&mut self, job: usize, now: Duration) {
        self.endings.entry(Owner::Job(job)).or_insert_with(|| Ending::begin(now));
    }

    /// A job's own process ended and is reaped. `held` says that somebody still has one of its pipes.
    pub(super) fn ended(&mut self, pid: i32, held: bool, now: Duration) {
        self.live.remove(&pid);
        // Those who stayed in its group are seen at once; those who left it, by a look from time to time.
        if held || group_lives(pid) {
            self.look_at = Some(now);
        } else if self.look_at.is_none() {
            self.look_at = Some(now.max(self.last_look + PACE.max(self.cost * SHARE)));
        }
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> Option<Duration> {
        self.endings.values().map(Ending::next).chain(self.look_at).min()
    }

    /// Whether nothing is under way.
    pub(super) fn idle(&self) -> bool {
        self.endings.is_empty()
    }

    /// Those that could not be ended.
    pub(super) fn left(&self) -> Vec<i32> {
        let mut left: Vec<i32> = self.left.iter().copied().collect();
        left.sort_unstable();
        left
    }

    /// Looks at all below us and presses on.
    pub(super) fn look(&mut self, scope: Scope, now: Duration) -> Sight {
        self.look_at = None;
        let found = if let Ok(table) = Table::scan() {
            self.press(&table, scope, now)
        } else {
            self.press_groups(now);
            Sight::Blind
        };
        self.last_look = clock::boot();
        self.cost = self.last_look.saturating_sub(now);
        found
    }

    fn press(&mut self, table: &Table, scope: Scope, now: Duration) -> Sight {
        if self.endings.values().any(|ending| !ending.polite(now)) {
            self.hunt(scope);
        }
        let (members, exempt) = self.members(table, scope);
        for owner in members.keys() {
            self.endings.entry(*owner).or_insert_with(|| Ending::begin(now));
        }
        let mut stuck = Vec::new();
        self.endings.retain(|owner, ending| {
            match ending.press(now, table, members.get(owner).map_or(&[], Vec::as_slice)) {
                Pressed::Gone => false,
                Pressed::Again => true,
                Pressed::Stuck(who) => {
                    stuck.extend(who);
                    false
                }
            }
        });
        self.left.extend(stuck);
        // A look that shows nobody at all may have missed somebody who forked meanwhile: only those who were seen are
        // an excuse for children that are left.
        match (members.is_empty(), exempt) {
            (false, _) => Sight::Somebody,
            (true, false) => Sight::Nobody,
            (true, true) => Sight::Exempt,
        }
    }

    /// Goes after orphans that fork faster than we look.
    pub(super) fn hunt(&self, scope: Scope) {
        let wanted = |pid| {
            let owner = if scope == Scope::All { None } else { marked(&self.mark, pid).map(Owner::Job) };
            !self.live.contains_key(&pid)
                && (scope == Scope::All || owner.is_some_and(|owner| self.is_over(owner)))
        };
        if self.spare.is_empty() {
            hunt::hunt(&|pid| hunt::strike_child(pid, &wanted));
        }
    }

    /// Without a process table a job is its group.
    fn press_groups(&mut self, now: Duration) {
        let groups: HashMap<usize, i32> = self.homes.iter().map(|(pid, job)| (*job, *pid)).collect();
        for (job, group) in &groups {
            if !self.live.contains_key(group) && group_lives(*group) {
                self.endings.entry(Owner::Job(*job)).or_insert_with(|| Ending::begin(now));
            }
        }
        self.endings.retain(|owner, ending| match owner {
            Owner::Job(job) => {
                groups.get(job).is_some_and(|group| ending.press_group(now, *group) == Pressed::Again)
            }
            Owner::Nobody => false,
        });
    }

    /// The living ones below us that are to be ended, by owner, and whether there are some that are not.
    fn members<'a>(&self, table: &'a Table, scope: Scope) -> (HashMap<Owner, Vec<&'a Process>>, bool) {
        let mut members: HashMap<Owner, Vec<&Process>> = HashMap::new();
        let mut any_exempt = false;
        for (process, line) in table.below(proc::our_pid()) {
            let (owner, home) = self.owner(table, &line);
            let wanted = scope == Scope::All || self.is_over(owner);
            let spared = !self.is_strict(owner) && tree::spared(table, &line, home, &self.spare);
            let exempt = self.left.contains(&process.pid) || spared;
            any_exempt |= wanted && exempt;
            if wanted && !exempt {
                members.entry(owner).or_default().push(process);
            }
        }
        (members, any_exempt)
    }

    fn is_strict(&self, owner: Owner) -> bool {
        match owner {
            Owner::Job(job) => self.strict.contains(&job),
            Owner::Nobody => false,
        }
    }

    /// Whether what belongs to this owner has to go.
    fn is_over(&self, owner: Owner) -> bool {
        match owner {
            Owner::Job(job) => {
                self.endings.contains_key(&owner) || !self.live.values().any(|live| *live == job)
            }
            Owner::Nobody => false,
        }
    }

    /// The owner of the last in this line, and the group that owner was started in. Below a job's own process it is
    /// that job. An orphan is told by its mark, or its parent's; one that has none, by group or session.
    fn owner(&self, table: &Table, line: &[i32]) -> (Owner, i32) {
        let by_parent = line.first().and_then(|top| self.live.get(top)).copied();
        let marked = |pid: &i32| marked(&self.mark, *pid);
        let housed = |pid: &i32| {
            let process = table.get(*pid)?;
            self.homes.get(&process.group).or_else(|| self.homes.get(&process.session)).copied()
        };
        let orphan = || line.iter().rev().find_map(marked).or_else(|| line.iter().rev().find_map(housed));
        match by_parent.or_else(orphan) {
            Some(job) => (Owner::Job(job), self.home(job)),
            None => (Owner::Nobody, 0),
        }
    }

    fn home(&self, job: usize) -> i32 {
        self.homes.iter().find(|(_, index)| **index == job).map_or(0, |(pid, _)| *pid)
    }
}

/// The job whose mark a process carries.
fn marked(prefix: &str, pid: i32) -> Option<usize> {
    proc::mark_of(pid)?.strip_prefix(prefix)?.parse().ok()
}

/// Whether anybody is in the group. Only a hint: the number may have been reused.
fn group_lives(group: i32) -> bool {
    Pid::from_raw(group).is_some_and(|group| test_kill_process_group(group) != Err(rustix::io::Errno::SRCH))
}
