//! Waiting without sleeping: for a FIFO, for a child, for processes to be gone.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::profile::{Profile, Ran, ran};

/// After this long something hangs for good, and the test fails instead of hanging with it.
const HANGS: Duration = Duration::from_mins(1);

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

    /// The processes that belong to this profile and do not end: their environment or arguments name it. What is on its
    /// way out is waited for.
    #[cfg(target_os = "linux")]
    pub fn survivors(&self) -> Vec<String> {
        let name = self.outside().to_string_lossy().into_owned();
        let alive = move || -> Vec<String> {
            let processes = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
            processes.filter_map(|process| belongs(&process, &name)).collect()
        };
        for _ in 0..1000 {
            if alive().is_empty() {
                return Vec::new();
            }
            thread::yield_now();
        }
        alive()
    }
}

/// The command line of a process that belongs to the profile of this name. A zombie has none.
#[cfg(target_os = "linux")]
fn belongs(process: &Path, name: &str) -> Option<String> {
    let id: u32 = process.file_name()?.to_str()?.parse().ok()?;
    let read = |file: &str| {
        fs::read(process.join(file)).map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " ")).ok()
    };
    let (environment, arguments) = (read("environ")?, read("cmdline")?);
    let ours = environment.contains(name) || arguments.contains(name);
    (ours && id != std::process::id()).then(|| format!("{id} {arguments}"))
}
