//! A person at a terminal, in which the loop runs in the foreground.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use looop_sim::profile::Profile;
use looop_sim::terminal;
use looop_sim::waiting::{HANGS, finish, within};
use rustix::termios::{Termios, tcgetattr};

use super::looping::{Den, IDLE};

/// What a terminal has shown so far.
type Shown = Arc<(Mutex<String>, Condvar)>;

/// A terminal with a program in it.
struct Terminal {
    ours: OwnedFd,
    /// Keeps the terminal's settings when the program is gone.
    theirs: OwnedFd,
    child: Option<Child>,
    shown: Shown,
    before: Termios,
    read: usize,
    cols: u16,
}

impl Terminal {
    fn new(profile: &Profile, args: &[&str]) -> Self {
        Self::of_width(profile, args, 80)
    }

    fn of_width(profile: &Profile, args: &[&str], cols: u16) -> Self {
        let (ours, theirs) = terminal::pair(cols, 24);
        let before = tcgetattr(&theirs).unwrap();
        let stdio = || Stdio::from(theirs.try_clone().unwrap());
        let call = profile.command(args);
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(call.get_program()).args(call.get_args()).env_clear();
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("TERM", "xterm-256color").env("LOOOP_INTERVAL", "3600");
        let child = Some(command.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap());
        let shown = Shown::default();
        let (screen, seen) = (File::from(ours.try_clone().unwrap()), Arc::clone(&shown));
        std::thread::spawn(move || look(screen, &seen));
        Self { ours, theirs, child, shown, before, read: 0, cols }
    }

    /// Waits until the terminal shows this, after what was waited for before; gives all up to there.
    #[track_caller]
    fn sees(&mut self, text: &str) -> String {
        let (shown, from) = (self.shown.0.lock().unwrap(), self.read);
        let waits = |shown: &mut String| !shown[from..].contains(text);
        let (shown, late) = self.shown.1.wait_timeout_while(shown, HANGS, waits).unwrap();
        assert!(!late.timed_out(), "{text:?} is not in {:?}", &shown[from..]);
        let end = from + shown[from..].find(text).unwrap() + text.len();
        self.read = end;
        shown[from..end].to_owned()
    }

    fn types(&self, keys: &str) {
        File::from(self.ours.try_clone().unwrap()).write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the program to end by itself. Gives its exit code and the screen as it is then.
    #[track_caller]
    fn left(&mut self) -> (i32, String) {
        let code = finish(self.child.take().unwrap()).code;
        let now = tcgetattr(&self.theirs).unwrap();
        assert_eq!(format!("{now:?}"), format!("{:?}", self.before), "the terminal is not as it was");
        // What the program wrote is read before this.
        let mark = "~the end~";
        File::from(self.theirs.try_clone().unwrap()).write_all(mark.as_bytes()).unwrap();
        self.sees(mark);
        let (rows, cols) = (NonZero::new(200).unwrap(), NonZero::new(self.cols).unwrap());
        let mut screen = vt100::Parser::new(rows, cols, 0);
        screen.process(self.shown.0.lock().unwrap().as_bytes());
        (code, screen.screen().contents())
    }
}

impl Drop for Terminal {
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
        let whole = std::str::from_utf8(&rest).map_or_else(|error| error.valid_up_to(), str::len);
        let text = String::from_utf8(rest.drain(..whole).collect()).unwrap();
        shown.0.lock().unwrap().push_str(&text);
        shown.1.notify_all();
    }
}

#[test]
fn without_workers_the_first_interrupt_ends_it() {
    let den = Den::new();
    let mut terminal = Terminal::new(&den, &[]);
    terminal.sees("there are no goals");
    terminal.types("\x03");
    let (code, screen) = terminal.left();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("again within"), "{screen}");
    den.no_survivors();
}

#[test]
fn with_workers_the_first_interrupt_says_so_and_the_second_ends_them() {
    let den = Den::new();
    for id in ["a", "b"] {
        den.call(&["worker", "start", id, "--command", IDLE]).ok();
    }
    let mut terminal = Terminal::new(&den, &[]);
    terminal.sees("there are no goals");
    terminal.types("\x03");
    terminal.sees("2 workers are running: Ctrl-C again within 3 s ends them too");
    terminal.types("\x03");
    let (code, screen) = terminal.left();
    assert_eq!(code, 0, "{screen}");
    den.no_survivors();
}

#[test]
fn with_workers_one_interrupt_ends_the_loop_and_leaves_them() {
    let den = Den::new();
    den.call(&["worker", "start", "a", "--command", IDLE]).ok();
    let mut terminal = Terminal::new(&den, &[]);
    terminal.sees("there are no goals");
    terminal.types("\x03");
    terminal.sees("1 worker is running");
    let (code, screen) = terminal.left();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("--keep-workers"), "it can no longer be started in another way: {screen}");
    assert_eq!(den.call(&["worker", "list", "--json"]).ok().json()[0]["alive"], true);
}

#[test]
fn with_kept_workers_the_first_interrupt_ends_the_loop_alone() {
    let den = Den::new();
    den.call(&["worker", "start", "a", "--command", IDLE]).ok();
    let mut terminal = Terminal::new(&den, &["--keep-workers"]);
    terminal.sees("there are no goals");
    terminal.types("\x03");
    assert_eq!(terminal.left().0, 0);
    assert_eq!(den.call(&["worker", "list", "--json"]).ok().json()[0]["alive"], true);
}

/// Waits until nobody holds the profile.
fn wait_for_lock(profile: &Profile) {
    let lock = profile.data().join("lock");
    within("the end of the loop", move || File::open(lock).unwrap().lock().unwrap());
}

#[test]
fn a_closed_terminal_ends_the_loop_and_leaves_the_workers() {
    let den = Den::new();
    den.call(&["worker", "start", "a", "--command", IDLE]).ok();
    let call = den.command::<&str>(&[]);
    let mut command = Command::new("script");
    // Without a shell between them: the terminal tells its session's leader, and a shell may be deaf to it.
    let line = format!("exec '{}'", call.get_program().to_string_lossy());
    command.args(["-qfc", &line, "/dev/null"]).env_clear();
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let stdio = command.env("LOOOP_INTERVAL", "3600").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut window = stdio.spawn().unwrap();
    let mut lines = BufReader::new(window.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("there are no goals")));
    window.kill().unwrap();
    window.wait().unwrap();
    wait_for_lock(&den);
    assert!(!den.data().join("sock").exists());
    assert_eq!(den.call(&["worker", "list", "--json"]).ok().json()[0]["alive"], true);
}

#[test]
fn a_spinner_shows_who_decides_for_how_long_and_what_the_day_cost() {
    let den = Den::new();
    let (here, decision) = den.gated();
    let mut terminal = Terminal::new(&den, &[]);
    assert_eq!(here.hear(), "there\n");
    terminal.sees("fake decides · 1s · $0.00 today");
    terminal.sees("fake decides · 2s");
    // What is said meanwhile stands on lines of its own.
    den.call(&["goal", "write", "ship", "Ship it."]).ok();
    terminal.sees("wrote goal ship");
    terminal.sees("fake decides");
    decision.say("{\"action\":\"noop\"}");
    terminal.sees("decided noop");
    terminal.types("\x03");
    let (code, screen) = terminal.left();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("decides ·"), "{screen}");
    assert!(screen.lines().any(|line| line.ends_with("→ wrote goal ship")), "{screen}");
    den.no_survivors();
}

#[test]
fn an_interrupt_during_a_decide_leaves_no_spinner_on_a_narrow_terminal() {
    let den = Den::new();
    let (here, _decision) = den.gated();
    let mut terminal = Terminal::of_width(&den, &[], 12);
    assert_eq!(here.hear(), "there\n");
    terminal.sees("fake deci");
    terminal.types("\x03");
    let (code, screen) = terminal.left();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("decides") && !screen.contains("today"), "{screen}");
    den.no_survivors();
}

#[test]
fn there_is_no_spinner_for_machines() {
    for args in [&["--json"][..], &[]] {
        let den = Den::new();
        let (here, decision) = den.gated();
        let said = if args.is_empty() {
            let looping = super::looping::Looping::start(&den, args, &[("LOOOP_INTERVAL", "3600")]);
            assert_eq!(here.hear(), "there\n");
            den.call(&["goal", "write", "a", "Do it."]).ok();
            decision.say("{\"action\":\"noop\"}");
            let ran = looping.ends("TERM");
            ran.stdout + &ran.stderr
        } else {
            let mut terminal = Terminal::new(&den, args);
            assert_eq!(here.hear(), "there\n");
            den.call(&["goal", "write", "a", "Do it."]).ok();
            decision.say("{\"action\":\"noop\"}");
            terminal.sees("decided");
            terminal.types("\x03");
            assert_eq!(terminal.left().0, 0);
            let shown = terminal.shown.0.lock().unwrap();
            shown.clone()
        };
        assert!(!said.contains("decides ·") && !said.contains("\u{1b}[K"), "{said:?}");
    }
}
