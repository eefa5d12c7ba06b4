//! The socket of a live host and its callers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::rc::Rc;

use rustix::event::PollFlags;

use super::caller::{Caller, Role, Said};
use super::folder::{self, Folder};
use super::frame;
use super::words::Reply;

/// More callers than this are turned away.
const MOST_CALLERS: usize = 64;
/// More viewers than this are turned away, so that there is always a place for whoever wants the end.
pub(super) const MOST_VIEWERS: usize = 32;

/// The listening socket and its callers.
#[derive(Debug)]
pub(super) struct Door {
    listener: UnixListener,
    callers: Vec<Caller>,
    next: u64,
}

impl Door {
    /// Listens in the folder.
    pub(super) fn open(folder: &Folder) -> io::Result<Self> {
        let listener = UnixListener::bind(folder.path_of(folder::SOCK))?;
        folder.make_private(folder::SOCK)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, callers: Vec::new(), next: 0 })
    }

    /// What to poll, and for what: the listener first, then the callers in order.
    pub(super) fn fds(&self, hear_viewers: bool) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let callers = self.callers.iter().filter(|caller| !caller.is_gone());
        let callers = callers.map(move |caller| (caller.as_fd(), caller.interest(hear_viewers)));
        std::iter::once((self.listener.as_fd(), PollFlags::IN)).chain(callers)
    }

    /// Hears those that are ready; `found` is in the order of [`Door::fds`].
    pub(super) fn hear(&mut self, found: &[PollFlags]) {
        let callers = self.callers.iter_mut().filter(|caller| !caller.is_gone());
        for (caller, found) in callers.zip(found.iter().skip(1)) {
            caller.hear(*found);
        }
        if found.first().is_some_and(|found| !found.is_empty()) {
            self.admit();
        }
    }

    fn admit(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.callers.len() < MOST_CALLERS && stream.set_nonblocking(true).is_ok() {
                self.callers.push(Caller::new(self.next, stream));
                self.next += 1;
            }
        }
    }

    /// The next whole thing that somebody said.
    pub(super) fn take(&mut self, hear_viewers: bool) -> Option<(u64, Said)> {
        let mut heard = self.callers.iter_mut().filter(|caller| hear_viewers || !caller.is_viewer());
        heard.find_map(|caller| Some((caller.number, caller.take()?)))
    }

    fn caller(&mut self, number: u64) -> Option<&mut Caller> {
        self.callers.iter_mut().find(|caller| caller.number == number)
    }

    /// What this caller is to us.
    pub(super) fn role(&mut self, number: u64) -> Option<Role> {
        self.caller(number).map(|caller| caller.role())
    }

    /// The process of a caller, as far as the kernel tells.
    pub(super) fn peer(&mut self, number: u64) -> Option<i32> {
        self.caller(number)?.peer()
    }

    pub(super) fn set_role(&mut self, number: u64, role: Role) {
        if let Some(caller) = self.caller(number) {
            caller.set_role(role);
        }
    }

    /// Answers a caller. One that has hung up is no matter.
    pub(super) fn reply(&mut self, number: u64, words: &Reply) {
        self.send(number, words.line().into());
    }

    /// Sends a caller something.
    pub(super) fn send(&mut self, number: u64, piece: Rc<[u8]>) {
        if let Some(caller) = self.caller(number) {
            caller.send(piece);
        }
    }

    fn viewers(&self) -> impl Iterator<Item = &Caller> {
        self.callers.iter().filter(|caller| caller.is_viewer() && !caller.is_gone())
    }

    fn viewers_mut(&mut self) -> impl Iterator<Item = &mut Caller> {
        self.callers.iter_mut().filter(|caller| caller.is_viewer() && !caller.is_gone())
    }

    /// How many viewers there are.
    pub(super) fn count_viewers(&self) -> usize {
        self.viewers().count()
    }

    /// Whether a viewer's own terminal answers what programs ask a terminal.
    pub(super) fn has_terminal(&self) -> bool {
        self.viewers().any(|caller| matches!(caller.role(), Role::Viewing { watch: false, .. }))
    }

    /// Shows all viewers what was printed.
    pub(super) fn show(&mut self, bytes: &[u8]) {
        if self.count_viewers() > 0 {
            let piece = frame::frame(frame::OUTPUT, bytes);
            self.viewers_mut().for_each(|caller| caller.show(&piece));
        }
    }

    /// Tells all viewers but one the size, and shows the screen as it is in it to those who want to see it.
    pub(super) fn show_size(&mut self, but: Option<u64>, size: &Rc<[u8]>, repaint: &str) {
        let piece = frame::frame(frame::REPAINT, repaint.as_bytes());
        for caller in self.viewers_mut().filter(|caller| Some(caller.number) != but) {
            caller.show(size);
            if matches!(caller.role(), Role::Viewing { repaint: true, .. }) {
                caller.show(&piece);
            }
        }
    }

    /// Whether a viewer lost its backlog and can take a repaint now.
    pub(super) fn wants_repaint(&self) -> bool {
        self.viewers().any(Caller::wants_repaint)
    }

    /// Shows the whole screen to those who lost their backlog.
    pub(super) fn repaint(&mut self, text: &str) {
        let piece = frame::frame(frame::REPAINT, text.as_bytes());
        for caller in self.viewers_mut().filter(|caller| caller.wants_repaint()) {
            caller.repaint(Rc::clone(&piece));
        }
    }

    /// Sends all viewers away; says how many there were.
    pub(super) fn detach(&mut self) -> usize {
        let piece = frame::frame(frame::DETACHED, &[]);
        let mut count = 0;
        for caller in self.viewers_mut() {
            caller.repaint(Rc::clone(&piece));
            caller.set_role(Role::Leaving);
            count += 1;
        }
        count
    }

    /// Tells all viewers how it ended; those who lost something see the last screen first.
    pub(super) fn farewell(&mut self, ended: &[u8], repaint: &str) {
        let piece = frame::frame(frame::REPAINT, repaint.as_bytes());
        let end = frame::frame(frame::END, ended);
        for caller in self.viewers_mut() {
            if caller.is_stale() {
                caller.repaint(Rc::clone(&piece));
            }
            caller.send(Rc::clone(&end));
            caller.set_role(Role::Leaving);
        }
    }

    /// Sends what callers take now, and forgets those who are over.
    pub(super) fn flush(&mut self) {
        self.callers.iter_mut().for_each(Caller::flush);
        self.callers.retain(|caller| !caller.is_over());
    }

    /// Those who still have to get something.
    pub(super) fn with_mail(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.callers.iter().filter(|caller| caller.has_mail()).map(AsFd::as_fd)
    }
}
