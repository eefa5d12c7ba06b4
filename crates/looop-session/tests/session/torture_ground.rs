//! What the tortures of sessions stand on: scripts that leave something behind, and neighbours that must not notice.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use looop_session::{Launched, Size, Spec, host};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use crate::support::{Ground, await_death, is_alive, is_stopped};

/// How often each torture is done; `LOOOP_TORTURE` says otherwise.
pub(crate) fn rounds() -> u32 {
    std::env::var("LOOOP_TORTURE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Sends a signal to one process.
pub(crate) fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// A ground whose processes are known also when they left their folder and cleared their environment.
pub(crate) struct Chamber {
    pub(crate) ground: Ground,
    /// All who stay behind sleep for exactly as long as nobody else does.
    pub(crate) sleep: String,
}

impl Chamber {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let ground = Ground::new();
        let nap = format!("1000.{}{:04}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let chamber = Self { ground, sleep: format!("sleep {nap}") };
        for fifo in ["up", "go"] {
            chamber.ground.fifo(fifo);
        }
        chamber.script("stay.sh", "echo $$ >> @/pids; echo > @/up; exec @sleep");
        chamber
    }

    /// Writes a script; `@sleep` stands for the long sleep and `@` for the folder.
    pub(crate) fn script(&self, name: &str, body: &str) {
        self.ground.script(name, &self.text(body));
    }

    /// A shell text with its places filled in.
    pub(crate) fn text(&self, body: &str) -> String {
        body.replace("@sleep", &self.sleep).replace('@', &self.ground.path().display().to_string())
    }

    /// A session in a terminal that runs this text in bash.
    pub(crate) fn spec(&self, body: &str) -> Spec {
        let mut spec = self.ground.spec(&self.text(body));
        spec.argv[0] = "/bin/bash".into();
        spec.env.push(("TERM".into(), "xterm-256color".into()));
        spec.in_terminal(Size::default())
    }

    /// Launches it, and waits until it says that it is ready.
    pub(crate) fn launch(&self, spec: &Spec) -> (PathBuf, Launched) {
        let launched = self.ground.launch("s", spec);
        await_line(&self.ground.at("go"));
        launched
    }

    /// Everybody of it who lives, the host included.
    pub(crate) fn alive(&self) -> Vec<(i32, String)> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter_map(|pid| Some((pid, self.line_of(pid)?))).collect()
    }

    /// The command line of a process, if it is of it and lives.
    fn line_of(&self, pid: i32) -> Option<String> {
        let here = self.ground.path();
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let inside = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&here));
        let named = line.contains(here.to_str().unwrap()) || line.contains(&self.sleep);
        ((inside || named) && is_alive(pid)).then_some(line)
    }

    /// Stops everybody of it who can be caught: each is pinned before it is looked at again, for its number may be
    /// somebody else's by then.
    pub(crate) fn stop_all(&self) {
        for (pid, _) in self.alive() {
            let Ok(pinned) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) else { continue };
            if self.line_of(pid).is_some() {
                // It may have ended by now.
                pidfd_send_signal(&pinned, Signal::STOP).ok();
            }
        }
    }
}

/// Waits until somebody writes into this FIFO, and not for ever.
fn await_line(fifo: &Path) {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(fifo);
    let minutes = Timespec { tv_sec: 300, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&file.unwrap(), PollFlags::IN)], Some(&minutes)).unwrap();
    assert_eq!(ready, 1, "nobody wrote into {}", fifo.display());
}

/// A process beside the session that writes down every signal it gets.
pub(crate) struct Neighbour {
    ground: Ground,
    child: Option<Child>,
}

/// All that can be caught.
const SIGNALS: &str = "HUP INT QUIT USR1 USR2 ALRM TERM CONT TSTP TTIN TTOU WINCH URG PIPE";

impl Neighbour {
    fn script() -> Ground {
        let ground = Ground::new();
        for fifo in ["up", "never"] {
            ground.fifo(fifo);
        }
        let traps = format!("for s in {SIGNALS}; do trap \"echo $s >> signals\" $s; done");
        ground.script(
            "count.sh",
            &format!("{traps}\necho > up\nwhile :; do read _ < never; done 2> /dev/null"),
        );
        ground
    }

    /// One that leads a session of its own, with this mark in its environment.
    pub(crate) fn marked(mark: &str) -> Self {
        let ground = Self::script();
        let mut command = Command::new("setsid");
        command
            .args(["sh", "count.sh"])
            .current_dir(ground.path())
            .env("LOOOP_MARK", mark)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        // It leads no group yet, so that it becomes the one who counts and leaves nobody behind who looks like it.
        let child = Some(command.spawn().unwrap());
        await_line(&ground.at("up"));
        Self { ground, child }
    }

    /// One in a session of the yard, beside the other.
    pub(crate) fn hosted() -> (Self, PathBuf) {
        let ground = Self::script();
        let (folder, launched) = ground.launch("n", &ground.spec("exec sh count.sh"));
        drop(launched);
        await_line(&ground.at("up"));
        (Self { ground, child: None }, folder)
    }

    /// The number of the one who counts.
    pub(crate) fn pid(&self) -> i32 {
        let counting = |(_, line): &&(i32, String)| line.contains("count.sh");
        self.ground.alive().iter().find(counting).unwrap().0
    }

    /// Fails if it noticed anything.
    pub(crate) fn check(&self, what: &str) {
        let alive = self.ground.alive();
        assert!(!alive.is_empty(), "a neighbour died of {what}");
        assert_eq!(self.ground.read("signals"), "", "a neighbour was signalled by {what}");
        for (pid, line) in alive {
            assert!(!is_stopped(pid), "{line:?} was stopped by {what}");
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let group = Pid::from_child(child);
            kill_process_group(group, Signal::KILL).ok();
            for (pid, _) in self.ground.alive() {
                kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).ok();
            }
            child.wait().unwrap();
        } else {
            host::end(&self.ground.at("n")).unwrap();
        }
    }
}

/// All neighbours of a session: strangers whose marks only look like its own, and another session.
pub(crate) struct Neighbours(Vec<Neighbour>);

impl Neighbours {
    /// They move in beside this session.
    pub(crate) fn of(folder: &Path) -> Self {
        let mark = mark(folder);
        let alike = [mark[1..].to_owned(), format!("{mark}0"), format!("{mark}-1"), mark.to_uppercase()];
        let strangers = alike.iter().filter(|other| **other != mark).map(|other| Neighbour::marked(other));
        Self(strangers.chain([Neighbour::hosted().0]).collect())
    }

    /// They are there before there is a session.
    pub(crate) fn new() -> Self {
        Self(vec![Neighbour::marked("0123456789abcdef0123456789abcdef"), Neighbour::hosted().0])
    }

    /// Fails if one of them noticed anything.
    pub(crate) fn check(&self, what: &str) {
        self.0.iter().for_each(|neighbour| neighbour.check(what));
    }
}

/// The mark of a session.
pub(crate) fn mark(folder: &Path) -> String {
    let text = fs::read(folder.join("spec.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_slice(&text).unwrap();
    spec["mark"].as_str().unwrap().to_owned()
}

/// Ends a host as nothing else does, and waits until it is gone.
pub(crate) fn kill_host(launched: &Launched) {
    let pid = i32::try_from(launched.pid()).unwrap();
    signal(pid, Signal::KILL);
    assert!(await_death(pid));
}

/// Whether a program is there. Where all tests must run it has to be.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    assert!(found || std::env::var_os("LOOOP_TEST_ALL").is_none(), "{program} is missing");
    found
}
