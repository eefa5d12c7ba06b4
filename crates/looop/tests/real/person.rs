//! A person at a terminal: a PTY, what is typed into it, and an emulator that shows what stands on it.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use looop_sim::terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::termios::{Termios, tcgetattr};
use vt100::{MouseProtocolMode, Parser, Screen};

/// After this long what is waited for does not come.
const NEVER: Duration = Duration::from_mins(5);
/// After this long a person presses a key again.
const A_WHILE: Duration = Duration::from_secs(10);

/// A person whose terminal runs one program.
pub(crate) struct Person {
    terminal: File,
    // The other side stays open while the program runs and is not looked at.
    side: Option<File>,
    program: Child,
    sight: Parser,
    modes: Termios,
}

impl Person {
    /// Runs a program in a terminal of this size, as its session leader.
    pub(crate) fn running(program: &Command, cols: u16, rows: u16) -> Self {
        let (terminal, side) = terminal::pair(cols, rows);
        let modes = tcgetattr(&terminal).unwrap();
        let open = || side.try_clone().unwrap();
        let mut leader = Command::new("setsid");
        leader.args(["--ctty", "--wait"]).arg(program.get_program()).args(program.get_args()).env_clear();
        leader.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        leader.current_dir(program.get_current_dir().unwrap()).env("TERM", "xterm-256color");
        let program = leader.stdin(open()).stdout(open()).stderr(open()).spawn().expect("setsid runs");
        Self {
            terminal: File::from(terminal),
            side: Some(File::from(side)),
            program,
            sight: Parser::new(count(rows), count(cols), 0),
            modes,
        }
    }

    /// What stands on the terminal now.
    fn screen(&self) -> &Screen {
        self.sight.screen()
    }

    /// Waits until the person sees this text.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) {
        let deadline = Instant::now() + NEVER;
        while !self.screen().contents().contains(text) {
            let goes_on = self.waits_for_more(deadline);
            assert!(goes_on, "no {text:?} on the terminal:\n{}", self.screen().contents());
        }
    }

    /// Presses a key until the person sees this text: again when nothing came of it for a while. gemini loses an Enter that
    /// comes after it has drawn a text and before it has taken it in.
    #[track_caller]
    pub(crate) fn presses_until(&mut self, key: &str, text: &str) {
        let deadline = Instant::now() + NEVER;
        while !self.screen().contents().contains(text) {
            assert!(Instant::now() < deadline, "no {text:?} on the terminal:\n{}", self.screen().contents());
            self.types(key);
            let next = deadline.min(Instant::now() + A_WHILE);
            while !self.screen().contents().contains(text) && self.waits_for_more(next) {}
        }
    }

    /// Types.
    pub(crate) fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Makes the window larger or smaller.
    pub(crate) fn resizes(&mut self, cols: u16, rows: u16) {
        terminal::resize(&self.terminal, cols, rows);
        self.sight.screen_mut().set_size(count(rows), count(cols));
    }

    /// Waits until the program has ended, and checks that it left the terminal as it was.
    #[track_caller]
    pub(crate) fn gets_it_back(mut self) -> ExitStatus {
        let status = self.waits();
        let screen = self.screen();
        let left = [
            ("the alternate screen", screen.alternate_screen()),
            ("a hidden cursor", screen.hide_cursor()),
            ("bracketed paste", screen.bracketed_paste()),
            ("application keys", screen.application_cursor() || screen.application_keypad()),
            ("reports of the mouse", screen.mouse_protocol_mode() != MouseProtocolMode::None),
        ];
        let left: Vec<&str> = left.iter().filter(|(_, is_on)| *is_on).map(|(what, _)| *what).collect();
        assert_eq!(left, Vec::<&str>::new(), "{}", screen.contents());
        let modes = tcgetattr(&self.terminal).unwrap();
        assert_eq!(format!("{modes:?}"), format!("{:?}", self.modes));
        status
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub(crate) fn waits(&mut self) -> ExitStatus {
        let deadline = Instant::now() + NEVER;
        while self.waits_for_more(deadline) {}
        let status = self.program.try_wait().unwrap();
        status.unwrap_or_else(|| panic!("it does not end:\n{}", self.screen().contents()))
    }

    /// Waits until more is on the terminal. False: the program has ended and all that it printed has been read, or
    /// nothing came until the deadline.
    fn waits_for_more(&mut self, deadline: Instant) -> bool {
        let end = pidfd_open(Pid::from_child(&self.program), PidfdFlags::empty());
        let Ok(end) = end.as_ref().map(AsFd::as_fd) else { return false };
        let happened = wait(&[self.terminal.as_fd(), end], deadline);
        if wait(&[end], Instant::now()) {
            // All that was printed has been read when nobody has the other side open any more.
            drop(self.side.take());
            while wait(&[self.terminal.as_fd()], deadline) && self.reads() {}
            return false;
        }
        self.reads();
        happened
    }

    /// Reads what is there. False: there is nothing, and nothing will come.
    fn reads(&mut self) -> bool {
        let mut piece = [0; 1 << 14];
        if !wait(&[self.terminal.as_fd()], Instant::now()) {
            return true;
        }
        let Ok(length) = self.terminal.read(&mut piece) else { return false };
        self.sight.process(&piece[..length]);
        true
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // A failed test leaves nobody at the terminal; one that passed has waited for the end.
        if self.program.try_wait().is_ok_and(|ended| ended.is_none()) {
            drop(self.program.kill());
            drop(self.program.wait());
        }
    }
}

/// Waits until something can be read, or has ended. False: nothing happened until the deadline.
fn wait(on: &[BorrowedFd<'_>], deadline: Instant) -> bool {
    let mut ready: Vec<PollFd<'_>> =
        on.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs().try_into().unwrap(), tv_nsec: left.subsec_nanos().into() };
    poll(&mut ready, Some(&left)).unwrap() > 0
}

fn count(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).expect("a screen has a size")
}
