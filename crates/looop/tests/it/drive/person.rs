//! A person at a terminal: a real one, in which the real binary runs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use looop_session::Size;
use looop_session::client::replayed;
use looop_sim::terminal;
use looop_sim::waiting::{self, HANGS};
use rustix::termios::{Termios, tcgetattr};

use super::ground::Ground;

/// What a terminal has shown so far.
#[derive(Default)]
struct Shown {
    text: Mutex<(String, bool)>,
    more: Condvar,
}

/// A terminal with a program in it.
pub(crate) struct Person {
    ours: OwnedFd,
    /// Keeps the terminal's settings when the program is gone.
    theirs: OwnedFd,
    child: Option<Child>,
    shown: Arc<Shown>,
    /// How the terminal was set before.
    before: Termios,
    read: usize,
}

impl Person {
    /// Calls the binary in a terminal of this size, as a shell would.
    pub(crate) fn at_terminal(ground: &Ground, args: &[&str], cols: u16, rows: u16) -> Self {
        let (ours, theirs) = terminal::pair(cols, rows);
        let before = tcgetattr(&theirs).unwrap();
        let stdio = || Stdio::from(theirs.try_clone().unwrap());
        let call = ground.profile.command(args);
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(call.get_program()).args(call.get_args()).env_clear();
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm-256color");
        let child = Some(command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap());
        let shown = Arc::new(Shown::default());
        let (screen, seen) = (File::from(ours.try_clone().unwrap()), Arc::clone(&shown));
        std::thread::spawn(move || look(screen, &seen));
        Self { ours, theirs, child, shown, before, read: 0 }
    }

    /// Waits until the terminal shows this, after what was waited for before; gives all up to there.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) -> String {
        let shown = self.shown.text.lock().unwrap();
        let from = self.read;
        let (shown, late) = self
            .shown
            .more
            .wait_timeout_while(shown, HANGS, |(shown, _)| !shown[from..].contains(text))
            .unwrap();
        assert!(!late.timed_out(), "{text:?} is not in {:?}", &shown.0[from..]);
        let end = from + shown.0[from..].find(text).unwrap() + text.len();
        self.read = end;
        shown.0[from..end].to_owned()
    }

    /// Waits until a terminal of this size that was shown all of it has these lines.
    #[track_caller]
    pub(crate) fn shows(&self, size: Size, expected: &[String]) {
        let lines = |shown: &str| replayed(shown.as_bytes(), Some(size)).lines;
        let shown = self.shown.text.lock().unwrap();
        let differs = |shown: &mut (String, bool)| lines(&shown.0) != expected;
        let (shown, late) = self.shown.more.wait_timeout_while(shown, HANGS, differs).unwrap();
        if late.timed_out() {
            assert_eq!(lines(&shown.0), expected, "{:?}", shown.0);
        }
    }

    /// All that was shown.
    pub(crate) fn all(&self) -> String {
        self.shown.text.lock().unwrap().0.clone()
    }

    pub(crate) fn types(&self, keys: &str) {
        File::from(self.ours.try_clone().unwrap()).write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resizes(&self, cols: u16, rows: u16) {
        terminal::resize(&self.ours, cols, rows);
    }

    pub(crate) fn signals(&self, name: &str) {
        waiting::signal(self.child.as_ref().unwrap(), name);
    }

    /// Waits for the program to end by itself; gives its exit code.
    #[track_caller]
    pub(crate) fn leaves(&mut self) -> i32 {
        let child = self.child.take().unwrap();
        waiting::finish(child).code
    }

    /// Whether the terminal is set as it was before.
    pub(crate) fn is_restored(&self) -> bool {
        let now = tcgetattr(&self.theirs).unwrap();
        format!("{now:?}") == format!("{:?}", self.before)
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended just now.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn look(mut screen: File, shown: &Shown) {
    let (mut chunk, mut rest) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = screen.read(&mut chunk) {
        rest.extend_from_slice(&chunk[..count]);
        // A character that is cut in two waits for its end.
        let whole = match std::str::from_utf8(&rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8(rest.drain(..whole).collect()).unwrap();
        shown.text.lock().unwrap().0.push_str(&text);
        shown.more.notify_all();
    }
}
