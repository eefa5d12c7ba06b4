//! Waiting without sleeping: for a FIFO, for a child, for a file, for processes to be gone.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::model::Model;
use crate::profile::{Profile, Ran, ran};

/// After this long something hangs for good, on the slowest machine, and the test fails instead of hanging with it.
pub const HANGS: Duration = Duration::from_mins(5);
/// How often one looks although no file has changed: what a process is does not show in files.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Does something that may block; fails the test if it never ends.
#[track_caller]
pub fn within<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let worker = thread::spawn(move || drop(sender.send(work())));
    receiver.recv_timeout(HANGS).unwrap_or_else(|error| {
        let how = if worker.is_finished() { "it panicked" } else { "nothing happened" };
        panic!("{what}: {how} ({error})")
    })
}

/// A FIFO beside the profile: a child blocks on it until the test lets it go on, or tells the test that it got there.
#[derive(Clone, Debug)]
pub struct Fifo(PathBuf);

impl Fifo {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Waits until somebody has written to it and closed it, and gives what they wrote.
    #[track_caller]
    pub fn hear(&self) -> String {
        let path = self.0.clone();
        within(&format!("hearing {}", path.display()), move || {
            let mut text = String::new();
            fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)).expect("a FIFO");
            text
        })
    }

    /// Waits until somebody reads it, and lets them go on.
    #[track_caller]
    pub fn say(&self, text: &str) {
        let (path, text) = (self.0.clone(), text.to_owned());
        within(&format!("speaking into {}", path.display()), move || {
            let opened = fs::OpenOptions::new().write(true).open(path);
            opened.and_then(|mut file| file.write_all(text.as_bytes())).expect("a FIFO");
        });
    }
}

/// Waits for a child to end by itself.
#[track_caller]
pub fn finish(child: Child) -> Ran {
    let id = child.id();
    within(&format!("waiting for process {id}"), move || ran(&child.wait_with_output().expect("it ends")))
}

/// Sends a signal, such as `TERM`.
pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success(), "kill -s {name} {}", child.id());
}

impl Profile {
    /// Makes a FIFO beside the data folder.
    pub fn fifo(&self, name: &str) -> Fifo {
        let path = self.outside().join(name);
        let made = Command::new("mkfifo").arg("-m").arg("600").arg(&path).status().expect("mkfifo runs");
        assert!(made.success(), "mkfifo {}", path.display());
        Fifo(path)
    }

    /// The brief of the last decide.
    pub fn last_brief(&self) -> String {
        let mut runs: Vec<PathBuf> = fs::read_dir(self.data().join("runs"))
            .expect("runs")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        runs.sort();
        fs::read_to_string(runs.last().expect("a run").join("prompt.md")).expect("a brief")
    }

    /// What the loop would do by itself now. Unlike `beat`, which a person asks for, this is not forced.
    pub fn verdict(&self) -> String {
        let dry = self.run(&["beat", "--dry-run", "--json"]).ok().json();
        dry["verdict"].as_str().expect("a verdict").to_owned()
    }

    /// Waits until another process has done something, which is looked for whenever something below the data folder
    /// changes.
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut is: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        let mut changes = Changes::below(&self.data());
        loop {
            if let Some(found) = is() {
                return found;
            }
            assert!(begun.elapsed() < HANGS, "{what} never happened");
            changes.wait(LOOK_AGAIN);
        }
    }

    /// The same for what is so or not.
    #[track_caller]
    pub fn until_is(&self, what: &str, is: impl Fn() -> bool) {
        self.until(what, || is().then_some(()));
    }

    /// The processes that belong to this profile now: their environment or arguments name it.
    #[cfg(target_os = "linux")]
    pub fn processes(&self) -> Vec<String> {
        let name = self.outside().to_string_lossy().into_owned();
        belonging(&name).into_iter().map(|(pid, arguments)| format!("{pid} {arguments}")).collect()
    }

    /// Those of them that do not end. What is on its way out is waited for.
    #[cfg(target_os = "linux")]
    pub fn survivors(&self) -> Vec<String> {
        let name = self.outside().to_string_lossy().into_owned();
        let begun = Instant::now();
        loop {
            let left = HANGS.saturating_sub(begun.elapsed());
            match belonging(&name).first() {
                Some((pid, _)) if !left.is_zero() => await_end(*pid, left),
                _ => return self.processes(),
            }
        }
    }
}

impl Model {
    /// Waits until what was asked of the server is as it should be, which is looked at with each request.
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut is: impl FnMut(&[Value]) -> Option<T>) -> T {
        let begun = Instant::now();
        let mut changes = Changes::below(self.folder());
        loop {
            let requests = self.requests();
            if let Some(found) = is(&requests) {
                return found;
            }
            assert!(begun.elapsed() < HANGS, "{what} never happened: {requests:#?}");
            changes.wait(LOOK_AGAIN);
        }
    }
}

/// The processes that belong to the profile of this name, with their arguments.
#[cfg(target_os = "linux")]
fn belonging(name: &str) -> Vec<(i32, String)> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    processes.filter_map(|process| belongs(&process, name)).collect()
}

/// Waits until a process has ended, or for this long.
#[cfg(target_os = "linux")]
fn await_end(pid: i32, most: Duration) {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    // Where it cannot be opened it has ended.
    let pid = Pid::from_raw(pid).expect("a number");
    if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
        ready_within(&process, most);
    }
}

/// Waits until there is something to read, or for this long.
#[cfg(target_os = "linux")]
fn ready_within(file: impl std::os::fd::AsFd, most: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let most = Timespec::try_from(most).expect("a time");
    poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&most)).expect("poll");
}

/// Changes of files below a folder.
#[cfg(target_os = "linux")]
struct Changes {
    root: PathBuf,
    events: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Changes {
    fn below(root: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, init};
        let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("inotify");
        let changes = Self { root: root.to_owned(), events };
        changes.watch(root);
        changes
    }

    /// Watches a folder and all below it; what is watched already stays so.
    fn watch(&self, folder: &Path) {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        let what = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
        let what = what | WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ONLYDIR;
        // It may be gone by now.
        if add_watch(&self.events, folder, what).is_err() {
            return;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.watch(&entry.path());
            }
        }
    }

    /// Blocks until something changed, or for this long.
    fn wait(&mut self, most: Duration) {
        ready_within(&self.events, most);
        let mut buffer = [0; 4096];
        while rustix::io::read(&self.events, &mut buffer).is_ok_and(|count| count > 0) {}
        self.watch(&self.root);
    }
}

/// Elsewhere one looks again.
#[cfg(not(target_os = "linux"))]
struct Changes;

#[cfg(not(target_os = "linux"))]
impl Changes {
    fn below(_root: &Path) -> Self {
        Self
    }

    fn wait(&mut self, _most: Duration) {
        thread::yield_now();
    }
}

/// The command line of a process that belongs to the profile of this name. A zombie has none.
#[cfg(target_os = "linux")]
fn belongs(process: &Path, name: &str) -> Option<(i32, String)> {
    let id: i32 = process.file_name()?.to_str()?.parse().ok()?;
    let read = |file: &str| {
        fs::read(process.join(file)).map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " ")).ok()
    };
    let (environment, arguments) = (read("environ")?, read("cmdline")?);
    let ours = environment.contains(name) || arguments.contains(name);
    (ours && id.cast_unsigned() != std::process::id()).then_some((id, arguments))
}
