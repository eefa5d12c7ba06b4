//! What a person sees who attaches, and that it is what `looop shot` shows.

use std::process::Command;
use std::time::Instant;

use looop_sim::waiting::HANGS;

use crate::desk::Desk;
use crate::person::Person;

/// The person's window, which is not the size that a worker starts with.
const COLS: u16 = 110;
const ROWS: u16 = 36;
/// Ctrl-\ twice.
const DETACH: &str = "\x1c\x1c";

/// A person opens tmux, attaches in it, and detaches again. While they look on, tmux shows what `shot` shows; it is an
/// emulator that shares nothing with ours. `mark` is something on the screen that stays.
#[track_caller]
pub(crate) fn agree(desk: &Desk, mark: &str) {
    let tmux = Tmux::new(desk);
    let attach = format!("exec '{}' attach {}", desk.profile().binary().display(), desk.id());
    let mut person = Person::running(&tmux.command(&["new-session", &attach]), COLS, ROWS);
    person.sees(mark);
    let (shot, seen) = within(|| (desk.shot(), tmux.shows()), |(shot, seen)| shot.lines == *seen);
    assert_eq!(shot.lines, seen, "shot:\n{}\ntmux:\n{}", shot.text(), seen.join("\n"));
    assert_eq!((&shot.value["cols"], &shot.value["rows"]), (&COLS.into(), &ROWS.into()));
    person.types(DETACH);
    // How tmux leaves the terminal is its own business.
    assert!(person.waits().success());
}

/// A person attaches with nothing between, makes the window larger, types, and detaches; the terminal is left as it
/// was. `mark` is on the screen at first; each of `typed` is typed and makes something appear.
#[track_caller]
pub(crate) fn attach(desk: &Desk, mark: &str, typed: &[(&str, &str)]) {
    let mut person = Person::running(&desk.profile().command(&["attach", desk.id()]), COLS, ROWS);
    person.sees(mark);
    person.resizes(COLS + 10, ROWS + 4);
    let shot = within(|| desk.shot(), |shot| shot.value["cols"] == COLS + 10);
    assert_eq!((&shot.value["cols"], &shot.value["rows"]), (&(COLS + 10).into(), &(ROWS + 4).into()));
    person.sees(mark);
    for (text, seen) in typed {
        // Some programs take an Enter for a part of the text that came just before it, and people are not that quick.
        desk.verb("wait-idle", &["--settle", "300ms", "--timeout", "5m"]).ok();
        person.types(text);
        person.sees(seen);
    }
    person.types(DETACH);
    assert!(person.gets_it_back().success());
}

/// A person watches in a window that is smaller than the worker's, types in vain, and leaves; the terminal is left as it
/// was. `mark` is in the part that they see, `part` on the row that says how large it is.
#[track_caller]
pub(crate) fn watch(desk: &Desk, mark: &str, part: &str) {
    let before = desk.shot();
    let mut person = Person::running(&desk.profile().command(&["watch", desk.id()]), 60, 15);
    person.sees(part);
    person.sees(mark);
    person.types("xyzq");
    assert!(person.gets_it_back().success());
    assert_eq!(desk.shot().lines, before.lines);
}

/// Looks again and again until what is seen is as it should be, or it is clear that it never will be.
fn within<T>(look: impl Fn() -> T, is_good: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + HANGS;
    loop {
        let seen = look();
        if is_good(&seen) || Instant::now() > deadline {
            return seen;
        }
    }
}

/// A tmux server of the test's own.
struct Tmux<'a> {
    desk: &'a Desk,
    socket: String,
}

impl<'a> Tmux<'a> {
    fn new(desk: &'a Desk) -> Self {
        Self { desk, socket: desk.profile().outside().join("tmux").to_string_lossy().into_owned() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let profile = self.desk.profile();
        let mut command = Command::new("tmux");
        command.args(["-u", "-S", &self.socket, "-f", "/dev/null"]);
        command.args(["start-server", ";", "set-option", "-g", "status", "off", ";"]).args(args);
        let settings = profile.command::<&str>(&[]);
        command.env_clear().envs(settings.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // Not every user's own shell can run something.
        command.env("SHELL", "/bin/sh").current_dir(profile.outside());
        command
    }

    /// The lines of its one pane.
    fn shows(&self) -> Vec<String> {
        let output = self.command(&["capture-pane", "-p"]).output().expect("tmux runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        lines.resize(ROWS.into(), String::new());
        lines
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        // The server has ended with its one session, unless the test failed.
        drop(self.command(&["kill-server"]).output());
    }
}
