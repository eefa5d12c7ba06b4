//! One ground for all tests: a folder, scripts in it, and a look at who still lives there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use looop_session::{Batch, Done, Job, Launched, Order, Spec, host};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;

/// After this long something hangs for good, on the slowest machine, and the test fails instead of hanging with it.
const HANGS: Duration = Duration::from_mins(5);
/// How often one looks although nothing was heard: not everything has an event.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The binary that answers `_host` and `_batch`.
pub(crate) fn image() -> PathBuf {
    env!("CARGO_BIN_EXE_looop-yard").into()
}

/// A folder in which scripts run. Whoever has it as working directory is one of theirs.
pub(crate) struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// Writes an executable shell script.
    pub(crate) fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A job without limits that runs this shell text.
    pub(crate) fn job(&self, body: &str) -> Job {
        Job {
            argv: vec!["/bin/sh".into(), "-c".into(), body.into()],
            cwd: self.path(),
            stdout_cap: Some(8192),
            stderr_cap: Some(65536),
            ..Job::default()
        }
    }

    /// A spec that runs this shell text.
    pub(crate) fn spec(&self, body: &str) -> Spec {
        let env = vec![("PATH".to_owned(), std::env::var("PATH").unwrap())];
        Spec::new(vec!["/bin/sh".into(), "-c".into(), body.into()], self.path(), env)
    }

    /// Prepares and launches a session in the folder `name`.
    pub(crate) fn launch(&self, name: &str, spec: &Spec) -> (PathBuf, Launched) {
        let folder = self.at(name);
        let prepared = host::prepare(&folder, spec).unwrap();
        let launched = host::launch(prepared, &image(), &["_host"]).unwrap();
        (folder, launched)
    }

    /// Everybody alive whose working directory is here.
    pub(crate) fn alive(&self) -> Vec<(i32, String)> {
        let here = self.path();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let inside = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&here));
            if inside && is_alive(pid) {
                found.push((pid, fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default()));
            }
        }
        found
    }

    /// Waits for the death of everybody alive here, until there is nobody.
    pub(crate) fn await_nobody(&self) {
        loop {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            for (pid, command) in alive {
                assert!(await_death(pid), "{pid} {command:?} lives on");
            }
        }
    }

    /// Waits until a line is written into the FIFO `name`, which is made here.
    pub(crate) fn fifo(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.at(name)).status().unwrap();
        assert!(made.success());
    }

    /// Blocks until somebody writes into the FIFO.
    pub(crate) fn await_fifo(&self, name: &str) {
        fs::read(self.at(name)).unwrap();
    }
}

/// Whatever runs here ends with the ground, also with that of a test that fails. A host that was told not to start may still
/// be on its way: without the word, which goes with the folder, it would.
impl Drop for Ground {
    fn drop(&mut self) {
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            if folder.join("spec.json").exists() {
                // A test may have left files there that nobody understands: then nothing was started from them.
                host::end(&folder).ok();
                host::wait(&folder).ok();
                continue;
            }
            let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(
                inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()),
            );
        }
    }
}

/// A process that is none of theirs and must not be touched.
pub(crate) struct Stranger(Child);

impl Stranger {
    pub(crate) fn new() -> Self {
        let mut command = Command::new("sleep");
        command.arg("1000").env("LOOOP_MARK", "0123456789abcdef0123456789abcdef-0").stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }

    pub(crate) fn untouched(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Runs a whole pass and returns the results in the order of the jobs.
pub(crate) fn run_all(order: &Order) -> Vec<Done> {
    let mut results = vec![None; order.jobs.len()];
    let left = Batch::run(&image(), &["_batch"], order, &mut |index, done| {
        assert!(results[index].replace(done).is_none(), "job {index} was reported twice");
    });
    assert_eq!(left.unwrap(), Vec::<i32>::new());
    results.into_iter().map(Option::unwrap).collect()
}

/// Zombies are dead.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")) else {
        return false;
    };
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Waits until something can be had, which is looked for whenever a file in the folder changes.
#[track_caller]
pub(crate) fn until<T>(folder: &Path, what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
    let changes = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::DELETE;
    inotify::add_watch(&events, folder, changes).unwrap();
    loop {
        if let Some(found) = is() {
            return found;
        }
        assert!(begun.elapsed() < HANGS, "{what} never happened");
        poll(&mut [PollFd::new(&events, PollFlags::IN)], Some(&LOOK_AGAIN)).unwrap();
        while rustix::io::read(&events, &mut [0_u8; 4096]).is_ok_and(|count| count > 0) {}
    }
}

/// Waits until a process is stopped, or no longer is. Only its parent is told of that, so that it is looked at; its death
/// is heard, and fails the test.
#[track_caller]
pub(crate) fn await_stopped(pid: i32, stopped: bool) {
    let begun = Instant::now();
    let fd = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    while is_stopped(pid) != stopped {
        assert!(begun.elapsed() < HANGS, "{pid} stopped: {stopped} never happened");
        let dead = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&LOOK_AGAIN)).unwrap() == 1;
        assert!(!dead, "{pid} died instead");
    }
}

/// Whether a process is stopped.
pub(crate) fn is_stopped(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 't']))
}

/// Waits five minutes at most for the death of a process.
pub(crate) fn await_death(pid: i32) -> bool {
    let Ok(fd) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) else { return true };
    let most = Timespec { tv_sec: 300, tv_nsec: 0 };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&most)).unwrap() == 1
}

/// Ever longer time-outs, for a script whose preparations must be over before its time is.
pub(crate) fn growing() -> impl Iterator<Item = Duration> {
    (0..7).map(|step| Duration::from_millis(250 << step))
}
