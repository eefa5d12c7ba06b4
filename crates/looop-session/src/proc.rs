//! The process table, as far as `/proc` shows it.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::PathBuf;

use crate::mark;

/// Most files about a process are smaller,
const ROOM: usize = 8 << 10;
/// and none that matters is larger.
const MOST: u64 = 64 << 20;

/// One process at one moment. Number and start time together name it for ever; the number alone may be reused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// In clock ticks since boot.
    pub(crate) start: u64,
    /// A zombie: it holds its number and nothing else.
    pub(crate) dead: bool,
    /// It was stopped by a signal, or by one who traces it.
    pub(crate) stopped: bool,
    /// The kernel's short name of the program.
    pub(crate) name: String,
}

impl Process {
    /// Number and start time.
    pub(crate) fn identity(&self) -> (i32, u64) {
        (self.pid, self.start)
    }
}

/// All processes that we can see, at about one moment.
#[derive(Debug, Default)]
pub(crate) struct Table(HashMap<i32, Process>);

impl Table {
    /// Looks at all processes. Fails where there is no `/proc`.
    pub(crate) fn scan() -> io::Result<Self> {
        let table: HashMap<i32, Process> =
            numbers()?.filter_map(|pid| one(pid).map(|process| (pid, process))).collect();
        // A `/proc` that does not even show ourselves is no process table.
        if table.contains_key(&our_pid()) { Ok(Self(table)) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    /// Looks at these only, and at ourselves.
    pub(crate) fn of(pids: &[i32]) -> Self {
        let known = pids.iter().copied().chain([our_pid()]).filter_map(one);
        Self(known.map(|process| (process.pid, process)).collect())
    }

    /// The process with this number.
    pub(crate) fn get(&self, pid: i32) -> Option<&Process> {
        self.0.get(&pid)
    }

    /// All processes, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Process> {
        self.0.values()
    }

    /// The living processes below `root`, each with the path of numbers from a child of `root` down to itself.
    pub(crate) fn below(&self, root: i32) -> Vec<(&Process, Vec<i32>)> {
        let living = self.0.values().filter(|process| !process.dead);
        living.filter_map(|process| Some((process, self.line(process, root)?))).collect()
    }

    /// The living among these, and the living below any of them.
    pub(crate) fn under(&self, heads: &HashSet<i32>) -> HashSet<i32> {
        let living = self.0.values().filter(|process| !process.dead);
        living.filter(|process| self.climbs_to(process, heads)).map(|process| process.pid).collect()
    }

    fn climbs_to(&self, process: &Process, heads: &HashSet<i32>) -> bool {
        let line = std::iter::successors(Some(process), |at| self.0.get(&at.parent));
        // The table is not one instant: a reused number could close a circle.
        line.take(self.0.len()).any(|at| heads.contains(&at.pid))
    }

    /// From a child of `root` down to `process`, if it is below.
    fn line(&self, process: &Process, root: i32) -> Option<Vec<i32>> {
        let mut line = vec![process.pid];
        let mut at = process;
        while at.parent != root {
            // The table is not one instant: a reused number could close a circle.
            if line.contains(&at.parent) {
                return None;
            }
            at = self.0.get(&at.parent)?;
            line.push(at.pid);
        }
        line.reverse();
        Some(line)
    }
}

/// The numbers of all processes.
pub(crate) fn numbers() -> io::Result<impl Iterator<Item = i32>> {
    let entries: Vec<std::fs::DirEntry> = std::fs::read_dir("/proc")?.collect::<io::Result<_>>()?;
    Ok(entries.into_iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// The number that was given last, to whomever.
pub(crate) fn last_pid() -> Option<i32> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Our own number.
pub(crate) fn our_pid() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// A moment on the boot-time clock in the unit of [`Process::start`], rounded down.
pub(crate) fn ticks(at: std::time::Duration) -> u64 {
    let second = rustix::param::clock_ticks_per_second();
    at.as_secs() * second + u64::from(at.subsec_nanos()) * second / 1_000_000_000
}

/// One process as it is now.
pub(crate) fn one(pid: i32) -> Option<Process> {
    parse(&file(pid, "stat").ok()?)
}

/// A file about a process. The kernel does not say how long it is, so there is room for most of them from the start.
pub(crate) fn file(pid: i32, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(ROOM);
    std::fs::File::open(format!("/proc/{pid}/{name}"))?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The mark a process was started with. Forks share it; a program that cleared its environment has none.
pub(crate) fn mark_of(pid: i32) -> Option<String> {
    let environ = file(pid, "environ").ok()?;
    mark::within(&environ).map(str::to_owned)
}

/// The working folder of a process, as far as we may see it.
pub(crate) fn folder_of(pid: i32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Reads a `stat` line. The name stands in parentheses and may itself hold any byte.
fn parse(stat: &[u8]) -> Option<Process> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    // A leader that ended before its threads looks like a zombie, and still runs.
    let state = fields.first()?.as_bytes();
    let zombie = matches!(state, b"Z" | b"X" | b"x") && number(17)? <= 1;
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start: fields.get(19)?.parse().ok()?,
        dead: zombie,
        stopped: matches!(state, b"T" | b"t"),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "42 (a) R b) Z 7 40 39 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 987 0 0";

    #[test]
    fn a_name_may_hold_anything() {
        let process = parse(LINE.as_bytes()).unwrap();
        assert_eq!(process.name, "a) R b");
        assert_eq!((process.pid, process.parent, process.group, process.session), (42, 7, 40, 39));
        assert_eq!(process.start, 987);
        assert!(process.dead);
    }

    #[test]
    fn a_leader_whose_threads_run_is_alive() {
        let line = LINE.replace(" 20 0 1 0 ", " 20 0 3 0 ");
        assert!(!parse(line.as_bytes()).unwrap().dead);
    }

    #[test]
    fn a_torn_line_is_nothing() {
        for cut in 0..LINE.len() - 6 {
            assert_eq!(parse(&LINE.as_bytes()[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn lines_lead_down_and_circles_end() {
        let process = |pid, parent| Process { pid, parent, ..parse(LINE.as_bytes()).unwrap() };
        let alive = |pid, parent| Process { dead: false, ..process(pid, parent) };
        let table = Table(
            [alive(2, 1), alive(3, 2), alive(4, 3), process(5, 3), alive(8, 9), alive(9, 8)]
                .map(|process| (process.pid, process))
                .into(),
        );
        let mut below: Vec<_> =
            table.below(2).into_iter().map(|(process, line)| (process.pid, line)).collect();
        below.sort();
        assert_eq!(below, [(3, vec![3]), (4, vec![3, 4])]);
        assert_eq!(table.under(&[3, 9].into()), [3, 4, 8, 9].into());
        assert_eq!(table.under(&[5].into()), [].into());
    }

    #[test]
    fn a_stopped_one_lives() {
        let process = parse(LINE.replace(") Z ", ") T ").as_bytes()).unwrap();
        assert!(process.stopped && !process.dead);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_start_is_a_moment_of_the_boot_time_clock() {
        let now = ticks(crate::clock::boot());
        assert!(one(our_pid()).unwrap().start <= now && one(1).unwrap().start <= now);
        assert_eq!(ticks(std::time::Duration::from_millis(2990)), 299);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_table_of_some_holds_them_and_us() {
        let table = Table::of(&[1, i32::MAX]);
        assert!(table.get(1).is_some() && table.get(our_pid()).is_some());
        assert_eq!(table.all().count(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn we_are_in_the_table() {
        let table = Table::scan().unwrap();
        assert_eq!(table.get(our_pid()), one(our_pid()).as_ref());
    }
}
