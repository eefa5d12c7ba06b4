//! The host process: one thread, one poll loop, no wake-up while nothing happens.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::door::Door;
use super::folder::{self, Folder};
use super::receipt::Reserve;
use super::setup::{self, Ground};
use super::spec::{Receipt, Spec, VERSION};
use super::tail::Tail;
use crate::cgroup::Cgroup;
use crate::clock::{self, Alarm};
use crate::hunt;
use crate::proc::{self, Process, Table};
use crate::reaper::{self, Bell, Reaped};
use crate::spawn::Plan;
use crate::tree::{self, Ending, Pressed};
use crate::{Ended, point};

/// How much is read at once.
const SCRATCH: usize = 64 << 10;
/// A child that lives as long as this gets a control group.
const GROUPING: Duration = Duration::from_millis(25);

/// What `looop _host <folder>` does: runs the session in this folder, whose lock is standard input.
///
/// It makes the process a subreaper and reaps every child: call it in a process that does nothing else.
pub fn main(folder: &Path) -> ExitCode {
    // Nobody listens to a host; the folder says how far it came.
    if run(folder).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(path: &Path) -> io::Result<()> {
    let ground = setup::detach(path)?;
    let tools = Tools::gather(&ground.folder, &ground.stored.spec)?;
    let reserve = Reserve::take(&ground.folder)?;
    point("host.reserved");
    let started_ms = clock::wall_ms();
    let claim = format!("host {}\n", proc::our_pid());
    if !ground.folder.claim_start(&claim)? {
        reserve.release(&ground.folder);
        ground.folder.remove(folder::SOCK)?;
        return Ok(());
    }
    point("host.started");
    let mut host = Host::start(&ground, tools);
    point("host.execed");
    let ended = host.live()?;
    point("host.ended");
    let receipt = Receipt {
        v: VERSION,
        ended,
        started_ms,
        ended_ms: clock::wall_ms().max(started_ms),
        output_bytes: host.tools.tail.total(),
        left: host.left,
    };
    let kept = reserve.fill(&ground.folder, receipt);
    point("host.receipt");
    // The folder may be gone, and the socket with it.
    ground.folder.remove(folder::SOCK).ok();
    kept
}

/// All that can fail before the start, so that nothing of it can fail after.
struct Tools {
    children: Bell,
    stopping: Bell,
    alarm: Alarm,
    door: Door,
    tail: Tail,
    pipe: PipeReader,
    writers: Option<[io::PipeWriter; 2]>,
}

impl Tools {
    fn gather(folder: &Folder, spec: &Spec) -> io::Result<Self> {
        reaper::adopt_orphans()?;
        reaper::survive_broken_pipes()?;
        let (pipe, writer) = io::pipe()?;
        Ok(Self {
            children: Bell::of_children()?,
            stopping: Bell::of_stopping()?,
            alarm: Alarm::new()?,
            door: Door::open(folder)?,
            tail: Tail::new(folder, spec.output_keep)?,
            pipe,
            writers: Some([writer.try_clone()?, writer]),
        })
    }
}

/// A host with its child.
struct Host<'a> {
    ground: &'a Ground,
    tools: Tools,
    /// The child, until it is reaped; it is reaped by number.
    child: Option<Child>,
    /// Its number, which is its group, also afterwards.
    home: i32,
    deadline: Option<Duration>,
    /// Why we are ending it, or how it ended.
    verdict: Option<Ended>,
    ending: Option<Ending>,
    cgroup: Option<Cgroup>,
    /// When it gets its control group.
    grouping: Option<Duration>,
    piped: bool,
    childless: bool,
    left: Vec<i32>,
    scratch: Vec<u8>,
}

/// What poll said.
#[derive(Default)]
struct Ready {
    child: bool,
    stop: bool,
    pipe: bool,
    door: Vec<bool>,
}

impl<'a> Host<'a> {
    /// Starts the child. If that fails the verdict says so.
    fn start(ground: &'a Ground, mut tools: Tools) -> Self {
        let (spec, mark) = (&ground.stored.spec, &ground.stored.mark);
        let plan = Plan { argv: &spec.argv, cwd: &spec.cwd, env: None, mark };
        let (child, verdict) = match spawn(&plan, &mut tools) {
            Ok(child) => (Some(child), None),
            Err(reason) => (None, Some(Ended::Spawn(reason))),
        };
        Self {
            ground,
            tools,
            home: child.as_ref().map_or(0, |child| rustix::process::Pid::from_child(child).as_raw_pid()),
            child,
            deadline: spec.deadline_ms.map(|span| clock::boot().saturating_add(Duration::from_millis(span))),
            verdict,
            ending: None,
            cgroup: None,
            grouping: spec.spare.is_empty().then(|| clock::boot() + GROUPING),
            piped: true,
            childless: false,
            left: Vec::new(),
            scratch: vec![0; SCRATCH],
        }
    }

    /// Until nothing of it lives.
    fn live(&mut self) -> io::Result<Ended> {
        self.reap()?;
        while !self.is_over() {
            let ready = self.wait()?;
            self.handle(&ready)?;
        }
        self.drain()?;
        self.tools.tail.show(&self.ground.folder, clock::boot());
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.remove();
        }
        Ok(self.verdict.clone().unwrap_or(Ended::Killed))
    }

    /// Whether the child is reaped and all below us is gone; if only the former, its end begins.
    fn is_over(&mut self) -> bool {
        if self.child.is_some() {
            return false;
        }
        let deserted = self.cgroup.as_ref().is_none_or(|cgroup| cgroup.members().is_empty());
        if self.childless && deserted {
            return true;
        }
        let now = clock::boot();
        let mut ending = self.ending.take().unwrap_or_else(|| Ending::begin(now));
        let over = ending.next() <= now && self.press(&mut ending, now);
        self.ending = Some(ending);
        over
    }

    fn handle(&mut self, ready: &Ready) -> io::Result<()> {
        let now = clock::boot();
        if ready.pipe {
            self.read(now)?;
        }
        if ready.child {
            self.reap()?;
        }
        let asked = self.tools.door.answer(&ready.door) || ready.stop;
        if asked {
            self.end(Ended::Killed, now);
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.end(Ended::TimedOut, now);
        }
        if self.tools.tail.due().is_some_and(|due| due <= now) {
            self.tools.tail.show(&self.ground.folder, now);
        }
        if self.grouping.is_some_and(|due| due <= now) && self.ending.is_none() && self.child.is_some() {
            self.grouping = None;
            self.cgroup = group(&self.ground.folder, &self.ground.stored.mark);
        }
        if self.child.is_some() {
            self.press_if_due(now, ready.child);
        }
        Ok(())
    }

    /// Begins the end of the child, for this reason unless there is one.
    fn end(&mut self, why: Ended, now: Duration) {
        (self.deadline, self.grouping) = (None, None);
        self.verdict.get_or_insert(why);
        self.ending.get_or_insert_with(|| Ending::begin(now));
    }

    fn press_if_due(&mut self, now: Duration, nudged: bool) {
        if let Some(mut ending) = self.ending.take() {
            if nudged || ending.next() <= now {
                self.press(&mut ending, now);
            }
            self.ending = Some(ending);
        }
    }

    /// One look at all below us. Says whether there is nothing left that we could end.
    fn press(&mut self, ending: &mut Ending, now: Duration) -> bool {
        if let (false, Some(cgroup)) = (ending.polite(now), &self.cgroup) {
            // What it does not reach the look below reaches.
            cgroup.kill().ok();
        }
        let Ok(table) = Table::scan() else {
            return ending.press_group(now, self.home) != Pressed::Again;
        };
        let mut pressed = ending.press(now, &table, &self.members(&table));
        // Only those who were seen and are spared are an excuse for children that are left.
        if pressed == Pressed::Gone && table.below(proc::our_pid()).is_empty() {
            // Children that no look shows forked away while we looked, or are hidden from us.
            pressed = ending.unseen(now);
        }
        if !ending.polite(now) && self.ground.stored.spec.spare.is_empty() {
            hunt::hunt(&|pid| hunt::strike_child(pid, &|_| true));
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

    /// All below us and all in the control group, without those that are spared.
    fn members<'t>(&self, table: &'t Table) -> Vec<&'t Process> {
        let spare = &self.ground.stored.spec.spare;
        let below = table.below(proc::our_pid());
        let below = below.into_iter().filter(|(_, line)| !tree::spared(table, line, self.home, spare));
        let mut members: Vec<&Process> = below.map(|(process, _)| process).collect();
        for pid in self.cgroup.iter().flat_map(Cgroup::members) {
            let known = members.iter().any(|process| process.pid == pid);
            members.extend(table.get(pid).filter(|process| !known && !process.dead));
        }
        members
    }

    /// Reaps all that ended: the child, and orphans that came to us.
    fn reap(&mut self) -> io::Result<()> {
        loop {
            match reaper::reap()? {
                Reaped::AllAlive => self.childless = false,
                Reaped::NoChildren => self.childless = true,
                Reaped::Child(pid, status) => {
                    if pid.as_raw_pid() == self.home {
                        self.child = None;
                        (self.deadline, self.grouping) = (None, None);
                        self.verdict.get_or_insert_with(|| Ended::of(status));
                    }
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// Reads once from a pipe that is readable.
    fn read(&mut self, now: Duration) -> io::Result<usize> {
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.tools.pipe, &mut self.scratch[..]))?;
        self.piped = count > 0;
        self.tools.tail.push(&self.scratch[..count], now);
        Ok(count)
    }

    /// Takes what is in the pipe now: whoever is spared may hold it open for ever.
    fn drain(&mut self) -> io::Result<()> {
        let mut waiting = rustix::io::ioctl_fionread(&self.tools.pipe)?;
        while self.piped && waiting > 0 {
            waiting = waiting.saturating_sub(self.read(clock::boot())? as u64);
        }
        Ok(())
    }

    /// Polls all that may have news.
    fn wait(&mut self) -> io::Result<Ready> {
        let ending = self.ending.as_ref().map(Ending::next);
        self.tools
            .alarm
            .set([self.deadline, ending, self.tools.tail.due(), self.grouping].into_iter().flatten().min())?;
        let tools = &self.tools;
        let mut fds = vec![reading(tools.children.as_fd()), reading(tools.stopping.as_fd())];
        fds.extend(self.piped.then(|| reading(tools.pipe.as_fd())));
        let door_at = fds.len();
        fds.extend(tools.door.fds().map(reading));
        let alarm_at = fds.len();
        fds.extend(tools.alarm.fd().map(reading));
        match rustix::event::poll(&mut fds, tools.alarm.timeout().as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Ready { child: tools.children.take(), ..Ready::default() }),
            Err(error) => return Err(error.into()),
        }
        let hot: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        Ok(Ready {
            child: hot[0] && tools.children.take(),
            stop: hot[1] && tools.stopping.take(),
            pipe: hot[2..door_at].contains(&true),
            door: hot[door_at..alarm_at].to_vec(),
        })
    }
}

/// Starts the child.
fn spawn(plan: &Plan<'_>, tools: &mut Tools) -> Result<Child, String> {
    let [stdout, stderr] = tools.writers.take().ok_or("started twice")?;
    plan.start(Stdio::null(), stdout.into(), stderr.into())
}

/// Makes a control group with all below us in it. First of all there is a note for whoever finds us dead.
fn group(folder: &Folder, mark: &str) -> Option<Cgroup> {
    let cgroup = Cgroup::planned(mark)?;
    if note(folder, &cgroup).and_then(|()| cgroup.gather()).is_ok() {
        return Some(cgroup);
    }
    // Half of it would be worse than none.
    cgroup.dissolve();
    folder.remove(folder::CGROUP).ok();
    None
}

fn note(folder: &Folder, cgroup: &Cgroup) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut file = folder.create(folder::CGROUP, rustix::fs::OFlags::TRUNC)?;
    file.write_all(cgroup.path().as_os_str().as_bytes())
}

/// Poll this for reading.
fn reading(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}
