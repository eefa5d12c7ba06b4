//! The loop of a host: one thread, one poll, no wake-up while nothing happens.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::body::Body;
use super::caller::Role;
use super::door::Door;
use super::publisher::Publisher;
use super::setup::Ground;
use super::tools::Tools;
use super::words::Reply;
use crate::kernel::{Action, Answer, Input, Kernel};
use crate::tree::Brood;
use crate::{Ended, Size, clock};

/// How long viewers may take to get the last of it.
const FAREWELL: Duration = Duration::from_millis(250);

/// A host with its child.
pub(super) struct Keeper<'a> {
    pub(super) ground: &'a Ground,
    pub(super) tools: Tools,
    pub(super) body: Body,
    pub(super) door: Door,
    pub(super) kernel: Kernel,
    pub(super) brood: Brood,
    pub(super) publisher: Publisher,
    /// The child's number.
    pub(super) child: Option<i32>,
    /// How it ended, once it is over.
    pub(super) over: Option<Ended>,
    /// The size that the terminal had before viewers gave it theirs.
    pub(super) lent: Option<Size>,
}

/// What poll said.
struct Ready {
    child: bool,
    stop: bool,
    body: PollFlags,
    door: Vec<PollFlags>,
}

impl Keeper<'_> {
    /// Until nothing of it lives.
    pub(super) fn live(&mut self) -> io::Result<Ended> {
        // The child may have ended before we listened.
        self.reap(clock::boot())?;
        loop {
            self.round_off(clock::boot(), false);
            if let Some(ended) = self.over.clone() {
                return Ok(ended);
            }
            let ready = self.wait()?;
            self.handle(&ready)?;
        }
    }

    fn handle(&mut self, ready: &Ready) -> io::Result<()> {
        let now = clock::boot();
        if ready.body.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            let bytes = self.body.read(&self.ground.folder, &mut self.door, now)?;
            if bytes > 0 {
                self.tell(Input::Output { bytes }, now);
            }
        }
        if ready.body.intersects(PollFlags::OUT) {
            self.type_on();
        }
        if ready.child {
            self.reap(now)?;
        }
        if ready.stop {
            self.tell(Input::StopSignal, now);
        }
        self.door.hear(&ready.door);
        self.round_off(now, ready.child);
        Ok(())
    }

    /// What is done in every turn, whoever woke us.
    fn round_off(&mut self, now: Duration, nudged: bool) {
        if self.kernel.next().is_some_and(|due| due <= now) {
            self.tell(Input::Timer, now);
        }
        while let Some((caller, said)) = self.door.take(self.body.takes_input()) {
            self.answer(caller, said, now);
        }
        if self.brood.turn(now, nudged) {
            self.tell(Input::TreeGone, now);
        }
        if self.body.due().is_some_and(|due| due <= now) {
            self.body.show(&self.ground.folder, now);
        }
        self.door.flush();
        self.take_back();
        if self.door.wants_repaint() {
            self.door.repaint(&self.body.repaint());
            self.door.flush();
        }
    }

    fn reap(&mut self, now: Duration) -> io::Result<()> {
        if let Some(status) = self.brood.reap()? {
            self.tell(Input::ChildEnded(Ended::of(status)), now);
        }
        Ok(())
    }

    /// Tells the machine what happened, and does what it says.
    pub(super) fn tell(&mut self, input: Input, now: Duration) {
        for action in self.kernel.step(input, now) {
            self.act(action, now);
        }
    }

    fn act(&mut self, action: Action, now: Duration) {
        match action {
            Action::BeginEnd => self.brood.end(now),
            Action::Freeze => self.brood.stop(),
            Action::Thaw => self.brood.go_on(),
            Action::Paste(text) => self.type_into(|terminal| terminal.paste(&text)),
            Action::Press(name) => self.type_into(|terminal| terminal.press(&name)),
            Action::Write(bytes) => self.type_into(|terminal| terminal.write(&bytes)),
            Action::Look { token, tail } => {
                let look = self.body.terminal().map(|terminal| terminal.look(&tail)).unwrap_or_default();
                self.tell(Input::Looked { token, look }, now);
            }
            Action::Reply { caller, answer } => self.pass_on(caller, answer),
            Action::Publish(state) => self.publisher.say(&self.ground.folder, state),
            Action::Over(ended) => self.over = Some(ended),
        }
    }

    /// A terminal that cannot be typed into has ended; that is found out otherwise.
    pub(super) fn type_into(&mut self, write: impl FnOnce(&mut super::terminal::Terminal) -> io::Result<()>) {
        self.body.terminal().and_then(|terminal| write(terminal).ok());
    }

    fn type_on(&mut self) {
        self.type_into(super::terminal::Terminal::flush);
    }

    /// Gives the machine's answer to whoever waits for it.
    fn pass_on(&mut self, caller: u64, answer: Answer) {
        if let Some(Role::Waiting { version, echo }) = self.door.role(caller) {
            self.door.reply(caller, &Reply::answered(version, answer, echo));
            self.door.set_role(caller, Role::Asking);
        }
    }

    /// Gives the terminal another size, for whoever asked.
    pub(super) fn resize(&mut self, size: Size, caller: Option<u64>) -> io::Result<()> {
        let Some(terminal) = self.body.terminal() else { return Ok(()) };
        if terminal.size() != size {
            terminal.resize(size, &mut self.door, caller)?;
            self.publisher.say_size(&self.ground.folder, size);
        }
        Ok(())
    }

    /// A viewer is about to give the terminal its own size: the one from before comes back when the last has left.
    pub(super) fn lend(&mut self) {
        let size = self.body.terminal().map(|terminal| terminal.size());
        self.lent = self.lent.or(size);
    }

    /// Gives the terminal the size back that it had before viewers came.
    fn take_back(&mut self) {
        if !self.door.has_terminal()
            && let Some(size) = self.lent.take()
        {
            // A terminal that does not take it has ended.
            self.resize(size, None).ok();
        }
    }

    /// Lets viewers have the last of it, for a moment.
    pub(super) fn take_leave(&mut self, ended: &Ended) {
        let text = serde_json::to_vec(ended).unwrap_or_default();
        self.door.farewell(&text, &self.body.repaint());
        let until = clock::boot() + FAREWELL;
        loop {
            self.door.flush();
            let left = until.saturating_sub(clock::boot());
            let mut fds: Vec<PollFd<'_>> =
                self.door.with_mail().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)).collect();
            let rest = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
            if fds.is_empty() || left.is_zero() || rustix::event::poll(&mut fds, Some(&rest)).is_err() {
                return;
            }
        }
    }

    /// Polls all that may have news.
    fn wait(&mut self) -> io::Result<Ready> {
        let timers = [self.kernel.next(), self.brood.next(), self.body.due()];
        self.tools.alarm.set(timers.into_iter().flatten().min())?;
        let tools = &self.tools;
        let mut fds = vec![reading(tools.children.as_fd()), reading(tools.stopping.as_fd())];
        fds.extend(tools.alarm.fd().map(reading));
        let body_at = fds.len();
        fds.extend(self.body.fd().map(polled));
        let door_at = fds.len();
        fds.extend(self.door.fds(self.body.takes_input()).map(polled));
        match rustix::event::poll(&mut fds, tools.alarm.timeout().as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Ready { child: tools.children.take(), ..Ready::default() }),
            Err(error) => return Err(error.into()),
        }
        let found: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        Ok(Ready {
            child: !found[0].is_empty() && tools.children.take(),
            stop: !found[1].is_empty() && tools.stopping.take(),
            body: found[body_at..door_at].first().copied().unwrap_or(PollFlags::empty()),
            door: found[door_at..].to_vec(),
        })
    }
}

impl Default for Ready {
    fn default() -> Self {
        Self { child: false, stop: false, body: PollFlags::empty(), door: Vec::new() }
    }
}

/// Poll this for reading.
fn reading(fd: BorrowedFd<'_>) -> PollFd<'_> {
    polled((fd, PollFlags::IN))
}

/// Poll this for that.
fn polled((fd, flags): (BorrowedFd<'_>, PollFlags)) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, flags)
}
