//! The life of a lock holder: one request, or the loop until it is ended.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use looop_core::engine::io::{Event, Reply, Request};
use looop_core::engine::wake::{Alarm, Cadence, Ring};
use looop_core::ledger::entry::{Cause, Line};
use looop_core::time::Now;

use super::driver::{Driver, Ending, Halt, halt_failure};
use super::ear::Heard;
use super::guest::Guest;
use super::inbox::{Message, Said};
use super::open::lock_file;
use super::release::AtRest;
use super::show::{Doing, Show};
use super::signals;
use crate::clock;
use crate::failure::{Failure, Result};

/// Beyond so many events of our own messages wait.
const FEW: usize = 8;
/// Within this many milliseconds a second interrupt means it.
const TWICE: u64 = 3000;
/// Within this many milliseconds all that is in flight must have ended.
const END: u64 = 5000;
/// How often files are looked at where no events can be had, in milliseconds.
const PEEK: u64 = 2000;
/// A rest of so many milliseconds is worth releasing code for.
const LONG_REST: i64 = 10_000;

type Step = std::result::Result<(), Halt>;

impl Driver {
    /// Runs one request to its end; also serves what others want meanwhile.
    pub(crate) fn request(mut self, request: Request, on_line: &mut dyn FnMut(&Line)) -> Result<Reply> {
        let (watcher, lines) = channel();
        let (said, replies) = channel();
        // What is recovered before our own turn is shown too.
        self.watcher = Some(watcher);
        // Who wants the end is answered by it; for everybody else it came before the answer.
        let ends = matches!(request, Request::Down { .. });
        let mut ours = Some((request, said));
        let mut reply = None;
        loop {
            self.drain().map_err(halt_failure)?;
            if let Some((request, said)) = ours.take() {
                let guest = Guest::myself(self.writer.root());
                let asked = Message::Asked(Box::new(request), said, guest);
                self.receive(asked).map_err(halt_failure)?;
                continue;
            }
            for line in lines.try_iter() {
                on_line(&line);
            }
            for said in replies.try_iter() {
                match said {
                    Said::Line(_) | Said::Taken | Said::Again | Said::Failed(_) => {}
                    Said::Reply(said) => reply = Some(*said),
                }
            }
            if let Some(reason) = self.exited.clone().filter(|_| !ends) {
                self.leave();
                return Err(Failure::new(format!("ended by {reason}")));
            }
            let chores = self.sending > 0 || !self.sweeping.is_empty() || self.upkeep.0;
            let busy = self.engine.is_acting() || self.scans.is_opening() || chores;
            if let Some(reply) = reply.take_if(|_| !busy) {
                self.leave();
                return Ok(reply);
            }
            match self.ear.next(&self.control, &Alarm::default(), None)? {
                Heard::Message(message) => self.receive(message).map_err(halt_failure)?,
                Heard::Signal(signal) => self.stop(signals::name(signal), true),
                Heard::Files(_)
                | Heard::Deaf(_)
                | Heard::Uprooted
                | Heard::Caller
                | Heard::Time
                | Heard::Stepped => {}
            }
        }
    }

    /// Runs the loop until it is ended.
    pub(crate) fn forever(mut self, data: &Path, show: &mut Show<'_>) -> Result<()> {
        if let Err(error) = self.ear.watch(data) {
            self.deaf(&error.to_string());
        }
        let (watcher, heard) = channel();
        self.watcher = Some(watcher);
        self.events.push_back(Event::Began { by_person: self.manner.by_person });
        loop {
            let turned = self.turn(data, show);
            for line in heard.try_iter() {
                show.line(&line);
            }
            match turned {
                Ok(()) => {}
                Err(Halt::Log(error) | Halt::Unrecorded(error)) => self.reopen(&error)?,
                Err(Halt::Other(failure)) => return Err(failure),
            }
            if self.exited.is_some() {
                show.doing(None);
                self.leave();
                return Ok(());
            }
        }
    }

    /// Lets go of the profile. No move is under way: whoever still waits wants a beat, and can ask the next holder,
    /// which finds the decide under way and waits for it.
    fn leave(self) {
        let Self { ear, control, writer, waiting, curious, brakes, ending, .. } = self;
        brakes.pull();
        // Everybody whose request is still open is waited for, so nobody is forgotten here.
        for sender in waiting.into_values().chain(curious) {
            drop(sender.send(Said::Again));
        }
        drop((ear, ending));
        control.leave();
        brakes.wait();
        drop(writer);
    }

    /// One turn: one thing that is at hand, or else the next thing that happens. Signals and callers have their turn
    /// between any two of them.
    fn turn(&mut self, data: &Path, show: &mut Show<'_>) -> Step {
        self.settled()?;
        self.give_up_waiting();
        if let Some(event) = self.events.pop_front() {
            if let Some(signal) = self.ear.aside(&self.control)? {
                self.signalled(signal);
            }
            self.step(event)?;
            // What one event leads to may never end, so that the inbox is not left for later.
            if self.events.len() < FEW
                && let Some(message) = self.ear.message()
            {
                self.take_in(message);
            }
            // What comes of it is shown before anything is waited for.
            return Ok(());
        }
        if let Some(message) = self.deferred.pop_front() {
            self.take_in(message);
            return Ok(());
        }
        self.introduce(false);
        if self.exited.is_some() {
            return Ok(());
        }
        self.reap_hosts();
        self.resume_postponed()?;
        let now = clock::now();
        if let Some(cause) = self.alarm.rings(&now) {
            self.alarm = Alarm::default();
            return Ok(self.wake(cause, data)?);
        }
        self.alarm = self.engine.alarm(&self.cadence(), &now);
        let unreleased = self.release_code(&now);
        if !self.ear.hears_files() {
            self.peek(now.up);
        }
        let doing = Doing::of(self.engine.ledger(), &now);
        self.spins = show.doing(doing.as_ref());
        let most = self.spins.then_some(Show::PACE).into_iter().chain(self.left_to_end(now.up)?);
        let postponed =
            self.postponed.iter().map(|(due, _)| Duration::from_millis(due.saturating_sub(now.up)));
        let chosen = self.interrupted.map(|at| Duration::from_millis((at + TWICE).saturating_sub(now.up)));
        let most = most.chain(postponed).chain(chosen).chain(unreleased).min();
        let heard = self.ear.next(&self.control, &self.alarm, most)?;
        if matches!(heard, Heard::Message(_) | Heard::Caller | Heard::Signal(_)) {
            self.release.talk(clock::up());
        }
        match heard {
            Heard::Message(message) => self.take_in(message),
            Heard::Signal(signal) => self.signalled(signal),
            Heard::Files(cause) => self.wake(cause, data)?,
            Heard::Deaf(error) => {
                self.deaf(&error);
                self.wake(Cause::Files, data)?;
            }
            Heard::Stepped => self.wake(Cause::Clock, data)?,
            Heard::Uprooted => self.check_place(data)?,
            Heard::Caller | Heard::Time => {}
        }
        Ok(())
    }

    /// Releases the code that was needed where the next look is far away: it comes back from the file when it runs, and
    /// until then the loop takes less memory. Gives how long to wait at most where it is too early for that.
    fn release_code(&mut self, now: &Now) -> Option<Duration> {
        let rests = self.engine.looked() > 0 && self.engine.is_idle();
        let long = self.alarm.next(now).is_none_or(|next| next.at.saturating_sub(now.wall) >= LONG_REST);
        if !(rests && long) {
            return None;
        }
        match self.release.rest(now.up) {
            AtRest::Release => looop_session::let_go_of_code(),
            AtRest::Within(left) => return Some(left),
            AtRest::Nothing => {}
        }
        None
    }

    /// What is left of the time in which everything must have ended, if the loop is ending.
    fn left_to_end(&self, up: u64) -> Result<Option<Duration>> {
        let Some(ending) = &self.ending else { return Ok(None) };
        match (ending.since + END).checked_sub(up).filter(|left| *left > 0) {
            Some(left) => Ok(Some(Duration::from_millis(left))),
            None => Err(Failure::new("not everything could be ended within 5 s")
                .hint("the next looop takes up what is left; looop down ends it")),
        }
    }

    fn cadence(&self) -> Cadence {
        let config = &self.config;
        Cadence { idle: config.interval, busy: config.busy_interval, active: config.active_interval }
    }

    /// Says that files are looked at every now and then from here on.
    fn deaf(&mut self, error: &str) {
        self.warn(&format!("file events cannot be had ({error}); looking every few seconds instead"));
    }

    /// Watches the files again where no events could be had: the kernel has watches again once others need theirs no
    /// longer. The look that follows sees what came before. That they cannot be had was said when it began.
    fn listen_again(&mut self, data: &Path) {
        if !self.ear.hears_files() && self.ear.watch(data).is_ok() {
            self.warn("file events can be had again");
        }
    }

    /// Without events the files are looked at every now and then.
    fn peek(&mut self, up: u64) {
        let at = up + PEEK;
        if self.alarm.up.as_ref().is_none_or(|ring| ring.at > at) {
            let why = "files are looked at every few seconds".to_owned();
            self.alarm.up = Some(Ring { at, cause: Cause::Files, why });
        }
    }

    fn wake(&mut self, cause: Cause, data: &Path) -> Result<()> {
        self.release.look();
        self.check_place(data)?;
        self.listen_again(data);
        self.reload();
        self.mend_journal();
        self.events.push_back(Event::Woke(cause));
        Ok(())
    }

    /// A profile that was moved or removed takes its lock with it: somebody else may hold another one by now.
    fn check_place(&self, data: &Path) -> Result<()> {
        if lock_file(data) == self.lock {
            return Ok(());
        }
        Err(Failure::new(format!("{} was moved, removed or replaced while the loop ran", data.display()))
            .hint("what it had started goes on; looop up starts the loop where the profile is now"))
    }

    /// A signal ends the loop. What it means for the workers depends on the signal.
    fn signalled(&mut self, signal: i32) {
        let live = self.engine.ledger().workers.values().filter(|worker| worker.ended.is_none()).count();
        let by_hand =
            signal == signal_hook::consts::SIGINT && self.manner.terminal && !self.manner.keep_workers;
        let now = clock::up();
        let again = self.interrupted.take().is_some();
        if by_hand && live > 0 && !again {
            self.interrupted = Some(now);
            let (who, them, keep) = if live == 1 {
                ("1 worker is running".to_owned(), "it", "it keeps running")
            } else {
                (format!("{live} workers are running"), "them", "they keep running")
            };
            self.warned.clear();
            return self.warn(&format!(
                "{who}: Ctrl-C again within 3 s ends {them} too, else the loop ends and {keep} (looop kill --all ends {them} later)"
            ));
        }
        // A terminal that was closed is an accident more often than a wish to lose the work of hours.
        let hung_up = signal == signal_hook::consts::SIGHUP;
        self.stop(signals::name(signal), self.manner.keep_workers || hung_up);
    }

    /// After an interrupt that was not followed by a second one the loop ends alone.
    fn give_up_waiting(&mut self) {
        if self.interrupted.take_if(|at| clock::up() >= *at + TWICE).is_some() {
            self.stop(signals::name(signal_hook::consts::SIGINT), true);
        }
    }

    /// Ends the loop: what is in flight, sensors included, and the workers unless they are kept.
    pub(super) fn stop(&mut self, reason: &str, keep_workers: bool) {
        self.brake(keep_workers);
        self.events.push_back(Event::Stop { reason: reason.to_owned(), keep_workers });
    }

    /// From here on nothing new is begun, and there is not for ever time to end the rest.
    pub(super) fn brake(&mut self, keep_workers: bool) -> &mut Ending {
        self.brakes.pull();
        let begin = || Ending { since: clock::up(), keep_workers, waiters: Vec::new() };
        let ending = self.ending.get_or_insert_with(begin);
        ending.keep_workers &= keep_workers;
        ending
    }
}
