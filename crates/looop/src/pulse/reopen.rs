//! A log that cannot be written: nothing acts until it can, nothing that happens meanwhile is lost, and whoever waits
//! is told.

use std::time::Duration;

use looop_core::engine::io::{Event, Reply, Request, RequestId};
use looop_core::engine::machine::Engine;
use looop_core::engine::wake::Alarm;
use looop_core::ledger::entry::Cause;
use looop_core::model::plan::Act;
use looop_session::host;
use looop_store::AppendError;

use super::driver::{Driver, is_fact};
use super::ear::Heard;
use super::inbox::{Message, Said};
use super::open::{log_failure, setup_of};
use crate::clock;
use crate::failure::Result;
use crate::hands::{act, labour};

/// First wait for a log that cannot be written.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest wait between two tries of a log that cannot be written.
const LONGEST_RETRY: Duration = Duration::from_mins(1);

impl Driver {
    /// After a failed append nothing acts: the log is opened again, with growing gaps, and said once. What threads of
    /// ours report meanwhile is taken in after that; everything else is found again by the replay.
    pub(super) fn reopen(&mut self, error: &AppendError) -> Result<()> {
        let closed = Closed::by(error);
        if self.retry.is_none() {
            self.warn(&format!("the log cannot be written ({}); trying again until it can", closed.error));
        }
        self.tell_waiting(&closed);
        self.events.retain(is_fact);
        self.scans.clear();
        self.alarm = Alarm::default();
        loop {
            self.tell_deferred(&closed);
            self.wait_closed()?;
            if self.exited.is_some() {
                return Ok(());
            }
            match self.log.reopen() {
                Ok((ledger, _)) => {
                    self.epoch += 1;
                    self.stepping = None;
                    self.engine = Engine::new(ledger, setup_of(&self.config));
                    let facts = std::mem::take(&mut self.events);
                    self.opened();
                    self.events.extend(facts);
                    self.events.push_back(Event::Woke(Cause::Start));
                    return Ok(());
                }
                Err(error) if error.is_passing() => {}
                Err(error) => return Err(log_failure(&error)),
            }
        }
    }

    /// Waits before the next try: until the gap is over, or until a verb wants something, since whoever calls may have
    /// made room. Signals and `down` end the loop.
    fn wait_closed(&mut self) -> Result<()> {
        let gap = self.retry.unwrap_or(FIRST_RETRY);
        let until = clock::up() + u64::try_from(gap.as_millis()).unwrap_or(u64::MAX >> 1);
        loop {
            if let Some(ending) = &self.ending {
                let keep_workers = ending.keep_workers;
                self.cut_short(keep_workers);
                return Ok(());
            }
            let Some(left) = until.checked_sub(clock::up()).filter(|left| *left > 0) else {
                self.retry = Some((gap * 2).min(LONGEST_RETRY));
                return Ok(());
            };
            let left = Duration::from_millis(left);
            match self.ear.next(&self.control, &Alarm::default(), Some(left))? {
                Heard::Signal(signal) => {
                    let hung_up = signal == signal_hook::consts::SIGHUP;
                    self.brake(self.manner.keep_workers || hung_up);
                }
                Heard::Message(message) => {
                    if self.hear_closed(message) {
                        self.retry = Some(gap);
                        return Ok(());
                    }
                }
                Heard::Files(_)
                | Heard::Deaf(_)
                | Heard::Uprooted
                | Heard::Caller
                | Heard::Time
                | Heard::Stepped => {}
            }
        }
    }

    /// Takes a message while nothing can be written. Says whether the log is worth a try now.
    fn hear_closed(&mut self, message: Message) -> bool {
        let Message::Asked(request, sender, guest) = message else {
            self.deferred.push_back(message);
            return false;
        };
        match *request {
            Request::Pulse { .. } => {
                self.take_in(Message::Asked(request, sender, guest));
                false
            }
            Request::Down { keep_workers } if guest.refusal(&request, self.engine.ledger()).is_none() => {
                drop(sender.send(Said::Taken));
                self.brake(keep_workers).waiters.push(sender);
                false
            }
            Request::Down { .. }
            | Request::Beat
            | Request::DryRun
            | Request::Make { .. }
            | Request::Undo { .. }
            | Request::Pause { .. }
            | Request::Resume
            | Request::Dismiss { .. }
            | Request::Consent(_)
            | Request::TakeUp { .. }
            | Request::Repark { .. }
            | Request::Trust { .. }
            | Request::Wake
            | Request::Prune { .. } => {
                self.deferred.push_back(Message::Asked(request, sender, guest));
                true
            }
        }
    }

    /// Tells the verbs that came while the log could not be written, and for whose sake it was tried in vain.
    fn tell_deferred(&mut self, closed: &Closed) {
        let tell = |message: Message| {
            let Message::Asked(_, sender, _) = message else { return Some(message) };
            drop(sender.send(Said::Failed(closed.nothing_done())));
            None
        };
        self.deferred = std::mem::take(&mut self.deferred).into_iter().filter_map(tell).collect();
    }

    /// Tells everybody who waits for a reply how their request stands.
    fn tell_waiting(&mut self, closed: &Closed) {
        let asked = |event: &Event| if let Event::Asked(id, ..) = event { Some(*id) } else { None };
        let in_events: Vec<RequestId> = self.events.iter().filter_map(asked).collect();
        for (id, sender) in std::mem::take(&mut self.waiting) {
            let id = RequestId(id);
            let waits = in_events.contains(&id) || self.scans.serves(id) || self.engine.is_queued(id);
            let begun = self.stepping != Some(id) && !waits;
            let text = if begun { closed.begun() } else { closed.nothing_done() };
            drop(sender.send(Said::Failed(text)));
        }
    }

    /// Ends what is in flight although nothing can be written down: whoever opens the log next finds out.
    fn cut_short(&mut self, keep_workers: bool) {
        self.brakes.pull();
        let ledger = self.engine.ledger();
        let deciding = ledger.deciding.iter().map(|deciding| deciding.session.clone());
        let acting = ledger.acting.iter().filter_map(|acting| {
            if let Act::Hosted { session } = &acting.plan.act { Some(session.clone()) } else { None }
        });
        for session in deciding.chain(acting).collect::<Vec<_>>() {
            // One that was never started has no folder.
            drop(host::end(&act::folder(&self.reader, &session)));
        }
        let problems = if keep_workers { Vec::new() } else { labour::clear(&self.reader) };
        for problem in &problems {
            self.warn(problem);
        }
        let reply =
            if problems.is_empty() { Reply::Done } else { Reply::Refused { reason: problems.join("; ") } };
        for waiter in self.ending.iter_mut().flat_map(|ending| ending.waiters.drain(..)) {
            drop(waiter.send(Said::Reply(Box::new(reply.clone()))));
        }
        self.exited = Some("a signal".to_owned());
    }
}

/// Why the log cannot be written.
struct Closed {
    error: String,
    /// Whether the disk is full.
    full: bool,
}

impl Closed {
    fn by(error: &AppendError) -> Self {
        if let AppendError::Write(error) = error {
            return Self { error: error.text(), full: error.is_full() };
        }
        Self { error: error.to_string(), full: false }
    }

    /// What a verb is told whose request was not begun.
    fn nothing_done(&self) -> String {
        let hint = if self.full { "; make room on the disk, then run it again" } else { "" };
        format!("the log cannot be written, so nothing was done: {}{hint}", self.error)
    }

    /// What a verb is told whose request was begun.
    fn begun(&self) -> String {
        let hint = if self.full { "; make room on the disk" } else { "" };
        format!(
            "the log cannot be written: {}{hint}; what was begun goes on, and looop events shows what came of it once the log can be written",
            self.error
        )
    }
}
