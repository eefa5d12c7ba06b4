//! What a host answers to its callers.

use std::time::Duration;

use super::body::Body;
use super::caller::{Role, Said};
use super::door::MOST_VIEWERS;
use super::frame;
use super::keeper::Keeper;
use super::typing::MOST;
use super::words::{self, Reply, Wish};
use crate::kernel::{Input, Refusal};
use crate::{Size, proc};

/// Who we are.
const PROGRAM: &str = concat!("looop ", env!("CARGO_PKG_VERSION"));

/// How somebody wants to see a session.
struct View {
    size: Option<Size>,
    watch: bool,
    repaint: bool,
}

impl Keeper<'_> {
    /// Handles what a caller said.
    pub(super) fn answer(&mut self, caller: u64, said: Said, now: Duration) {
        match said {
            Said::Line(line) => match words::parse(&line) {
                (version, Ok(wish)) => self.grant(caller, version, wish, now),
                (version, Err(why)) => self.door.reply(caller, &Reply::refused(version, &why)),
            },
            Said::Frame(kind, payload) => self.take_frame(caller, kind, &payload),
        }
    }

    fn grant(&mut self, caller: u64, version: u32, wish: Wish, now: Duration) {
        if wish.takes_a_person()
            && let Some(who) = self.stranger(caller)
        {
            return self.door.reply(caller, &Reply::refused(version, &who));
        }
        let waits = Role::Waiting { version, echo: false };
        match wish {
            Wish::Hello => self.door.reply(caller, &self.greeting(version)),
            Wish::Kill { done } => {
                self.door.reply(caller, &Reply::done(version));
                self.tell(if done { Input::Finish } else { Input::Kill }, now);
            }
            Wish::Screen { ansi } => {
                let reply = self.show_screen(version, ansi, now);
                self.door.reply(caller, &reply);
            }
            Wish::Send { id, text, submit, echo } => {
                let length = text.len();
                let role = Role::Waiting { version, echo };
                self.pass_in(caller, (version, role), length, Input::Send { caller, id, text, submit }, now);
            }
            Wish::Key { id, keys } => {
                self.pass_in(caller, (version, waits), keys.len(), Input::Key { caller, id, keys }, now);
            }
            Wish::Pause => self.pass_in(caller, (version, waits), 0, Input::Pause { caller }, now),
            Wish::GoOn => self.pass_in(caller, (version, waits), 0, Input::GoOn { caller }, now),
            Wish::Resize(size) => {
                let reply = self.grant_size(version, size);
                if reply.ok == Some(true) {
                    // What was asked for outlasts the viewers.
                    self.lent = self.lent.map(|_| size);
                }
                self.door.reply(caller, &reply);
            }
            Wish::Detach => {
                let viewers = Some(self.door.detach());
                self.door.reply(caller, &Reply { viewers, ..Reply::done(version) });
            }
            Wish::Attach { cols, rows, watch, repaint } => {
                let size = cols.zip(rows).map(|(cols, rows)| Size { cols, rows });
                self.attach(caller, version, &View { size, watch, repaint }, now);
            }
        }
    }

    /// Why a caller may only look: it runs in another session. Whoever types there does not speak for a person.
    fn stranger(&mut self, caller: u64) -> Option<String> {
        let unknown = |why: &str| Some(format!("it cannot be told who asks: {why}"));
        let Some(pid) = self.door.peer(caller) else {
            return unknown("the kernel does not name its process").filter(|_| cfg!(target_os = "linux"));
        };
        let own = self.ground.folder.place();
        let Some((own, root)) = own.as_deref().and_then(|own| Some((own, own.parent()?))) else {
            return unknown("it cannot be seen where this session is");
        };
        match crate::inside(pid, root) {
            Ok(None) => match crate::lost(root) {
                Ok(lost) if lost.is_empty() => None,
                Ok(lost) => {
                    unknown(&format!("the host of {} died and what it left may run", lost.join(", ")))
                }
                Err(error) => unknown(&error.to_string()),
            },
            Ok(Some(session)) if own.file_name() == Some(std::ffi::OsStr::new(&session)) => None,
            Ok(Some(session)) => Some(format!("{session} is a session too, and only a person may do that")),
            Err(error) => unknown(&error.to_string()),
        }
    }

    /// Version 1 has no words for more than our number.
    fn greeting(&self, version: u32) -> Reply {
        let pid = Some(proc::our_pid());
        if version == 1 {
            return Reply { v: 1, pid, ..Reply::default() };
        }
        Reply { pid, child: self.child, program: Some(PROGRAM), echo: Some(true), ..Reply::done(version) }
    }

    fn show_screen(&mut self, version: u32, ansi: bool, now: Duration) -> Reply {
        match &self.body {
            Body::Pipe(_) => Reply::refused(version, &Refusal::NoTerminal),
            Body::Terminal(terminal) => {
                Reply { shot: Some(terminal.shot(ansi, &self.door, now)), ..Reply::done(version) }
            }
        }
    }

    /// Hands an input to the machine, which answers when it knows what became of it.
    fn pass_in(
        &mut self,
        caller: u64,
        (version, role): (u32, Role),
        length: usize,
        input: Input,
        now: Duration,
    ) {
        let has_room = self.body.terminal().is_none_or(|terminal| terminal.has_room(length));
        if has_room && length <= MOST {
            self.door.set_role(caller, role);
            self.tell(input, now);
        } else {
            self.door.reply(caller, &Reply::refused(version, &Refusal::Full));
        }
    }

    fn grant_size(&mut self, version: u32, size: Size) -> Reply {
        if self.body.terminal().is_none() {
            return Reply::refused(version, &Refusal::NoTerminal);
        }
        if !size.is_possible() {
            return Reply::refused(version, &"a terminal has 2 to 1000 columns and rows");
        }
        match self.resize(size, None) {
            Ok(()) => Reply::done(version),
            Err(error) => Reply::refused(version, &error),
        }
    }

    /// Makes a viewer of a caller: from `at` on it gets all that is printed.
    fn attach(&mut self, caller: u64, version: u32, view: &View, now: Duration) {
        if let Some(refusal) = self.admit_viewer(version, view) {
            self.door.reply(caller, &refusal);
            return;
        }
        // What was printed before can be read in the files.
        self.body.show(&self.ground.folder, now);
        let (at, size) = (Some(self.body.total()), self.body.terminal().map(|terminal| terminal.size()));
        self.door.reply(caller, &Reply { at, size, ..Reply::done(version) });
        if view.repaint {
            self.door.send(caller, frame::frame(frame::REPAINT, self.body.repaint().as_bytes()));
        }
        let watch = view.watch || self.body.terminal().is_none();
        self.door.set_role(caller, Role::Viewing { watch, repaint: view.repaint });
    }

    /// Gives the terminal the viewer's size; says why there is no place for it.
    fn admit_viewer(&mut self, version: u32, view: &View) -> Option<Reply> {
        if self.door.count_viewers() >= MOST_VIEWERS {
            return Some(Reply::refused(version, &"there are too many viewers"));
        }
        let size = view.size.filter(|_| !view.watch && self.body.terminal().is_some())?;
        self.lend();
        let reply = self.grant_size(version, size);
        (reply.ok != Some(true)).then_some(reply)
    }

    /// What a viewer typed, or its size. One who only watches has nothing to say.
    fn take_frame(&mut self, caller: u64, kind: u8, payload: &[u8]) {
        if !matches!(self.door.role(caller), Some(Role::Viewing { watch: false, .. })) {
            return;
        }
        match kind {
            frame::INPUT => self.type_into(|terminal| terminal.write(payload)),
            frame::SIZE => {
                self.lend();
                // A size that the terminal does not take stays what it was.
                frame::size_in(payload).and_then(|size| self.resize(size, Some(caller)).ok());
            }
            _ => {}
        }
    }
}
