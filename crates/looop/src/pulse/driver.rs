//! The driver: feeds the engine what comes in and does what it says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use looop_core::engine::io::{Effect, Event, Reply, Request, RequestId};
use looop_core::engine::machine::Engine;
use looop_core::ledger::entry::{Cause, Entry, Line};
use looop_core::model::moves::Move;
use looop_core::model::plan::{BeatId, Plan};
use looop_core::world::observation::Docs;
use looop_session::{Launched, Roll};
use looop_store::docs::DocsCache;
use looop_store::{AppendError, Log, Reader, Writer};
use serde_json::Value;

use super::control::Control;
use super::inbox::{Inbox, Message, Said};
use super::open::log_failure;
use super::signals;
use crate::clock;
use crate::config::{self, Config, Env, Loaded};
use crate::failure::{Failure, Result};
use crate::hands::fleet;
use crate::hands::sense::Sensed;
use crate::setup::setup;

/// First wait for a log that cannot be written.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest wait between two tries of a log that cannot be written.
const LONGEST_RETRY: Duration = Duration::from_mins(1);

/// The lock holder at work.
pub(crate) struct Driver {
    /// Before the writer, so that the socket is gone before the lock is.
    pub(super) control: Control,
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    pub(super) log: Log,
    pub(super) engine: Engine,
    pub(super) config: Arc<Config>,
    pub(super) inbox: Inbox,
    pub(super) cache: DocsCache,
    /// The sensing pass's own cache; absent while a pass is under way.
    pub(super) sense_cache: Option<DocsCache>,
    /// Sensors whose readings the last pass took anew and that have an interval.
    pub(super) renewed: Vec<String>,
    /// What is known of the sessions of workers.
    pub(super) roll: Roll,
    /// Hosts that we launched, to be reaped.
    pub(super) hosts: Vec<Launched>,
    /// Events of our own making, before the inbox.
    pub(super) events: VecDeque<Event>,
    /// Verbs that wait for a reply.
    pub(super) waiting: BTreeMap<u64, Sender<Said>>,
    pub(super) asked: u64,
    /// The sensor that is being tried.
    pub(super) trying: Option<(BeatId, Box<Plan>)>,
    /// Whether a journal line could not be written.
    pub(super) journal_lags: bool,
    /// How long to wait before the log is tried again: set from the first failed append to the next good one.
    pub(super) retry: Option<Duration>,
    /// What was last said beside the results; the same is not said again and again.
    pub(super) warned: String,
    /// Who sees every line, besides the verbs that wait.
    pub(super) watcher: Option<Sender<Line>>,
    /// Why the loop has ended, if it has.
    pub(super) exited: Option<String>,
}

/// What stops a step: the log cannot be written (nothing was done), or something else failed.
pub(super) enum Halt {
    Log(AppendError),
    Other(Failure),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

fn halt_failure(halt: Halt) -> Failure {
    match halt {
        Halt::Log(AppendError::Write(error)) => {
            let hint = if error.is_full() {
                "make room on the disk, then run it again"
            } else {
                "looop doctor may tell more"
            };
            Failure::new(format!("the log cannot be written, so nothing was done: {}", error.text()))
                .hint(hint)
        }
        Halt::Log(error) => Failure::new(format!("the log cannot be written, so nothing was done: {error}")),
        Halt::Other(failure) => failure,
    }
}

impl Driver {
    /// Runs one request to its end; also serves what others want meanwhile.
    pub(crate) fn request(mut self, request: Request, on_line: &mut dyn FnMut(&Line)) -> Result<Reply> {
        let (watcher, lines) = channel();
        let (said, replies) = channel();
        // What is recovered before our own turn is shown too.
        self.watcher = Some(watcher);
        let mut ours = Some((request, said));
        let mut reply = None;
        loop {
            self.drain().map_err(halt_failure)?;
            if let Some((request, said)) = ours.take() {
                self.receive(Message::Asked(Box::new(request), said)).map_err(halt_failure)?;
                continue;
            }
            for line in lines.try_iter() {
                on_line(&line);
            }
            for said in replies.try_iter() {
                match said {
                    Said::Line(_) | Said::Taken | Said::Again => {}
                    Said::Reply(said) => reply = Some(*said),
                }
            }
            if let Some(reason) = self.exited.clone() {
                self.leave();
                return Err(Failure::new(format!("ended by {reason}")));
            }
            if !self.engine.is_acting()
                && let Some(reply) = reply.take()
            {
                self.leave();
                return Ok(reply);
            }
            if let Some(message) = self.inbox.next(None) {
                self.receive(message).map_err(halt_failure)?;
            }
        }
    }

    /// Runs the loop until it is ended.
    pub(crate) fn forever(
        mut self,
        data: &std::path::Path,
        env: &Env,
        on_line: &mut dyn FnMut(&Line),
    ) -> Result<()> {
        let (watcher, heard) = channel();
        self.watcher = Some(watcher);
        self.events.push_back(Event::Woke(Cause::Start));
        loop {
            match self.turn() {
                Ok(()) => {}
                Err(Halt::Log(error)) => self.reopen(&error)?,
                Err(Halt::Other(failure)) => return Err(failure),
            }
            for line in heard.try_iter() {
                on_line(&line);
            }
            if self.exited.is_some() {
                self.leave();
                return Ok(());
            }
            if self.engine.is_idle() {
                self.reload(data, env);
            }
        }
    }

    /// Lets go of the profile. No move is under way: whoever still waits wants a beat, and can ask the next holder,
    /// which finds the decide under way and waits for it.
    fn leave(self) {
        let Self { inbox, control, writer, waiting, .. } = self;
        for sender in waiting.into_values() {
            drop(sender.send(Said::Again));
        }
        drop(inbox);
        control.leave();
        drop(writer);
    }

    /// One turn: what is at hand, then one message or the end of the interval.
    fn turn(&mut self) -> std::result::Result<(), Halt> {
        self.drain()?;
        if self.exited.is_some() {
            return Ok(());
        }
        let now = clock::now();
        let idle = self.engine.ledger().skipped.is_some();
        let works = self.engine.ledger().workers.values().any(|worker| worker.ended.is_none());
        let interval = match (idle, works) {
            (_, true) => self.config.active_interval,
            (true, false) => self.config.interval,
            (false, false) => self.config.busy_interval,
        };
        self.reap_hosts();
        let wait = self.engine.next_look(interval, &now);
        if let Some(message) = self.inbox.next(Some(wait)) {
            return self.receive(message);
        }
        self.events.push_back(Event::Woke(Cause::Timer));
        self.drain()
    }

    /// After a failed append nothing acts: the log is opened again, with growing gaps, and said once.
    fn reopen(&mut self, error: &AppendError) -> Result<()> {
        if self.retry.is_none() {
            let cause = if let AppendError::Write(error) = error { error.text() } else { error.to_string() };
            self.warn(&format!("the log cannot be written ({cause}); trying again until it can"));
        }
        self.events.clear();
        self.waiting.clear();
        self.trying = None;
        loop {
            // Signals still end the loop while it waits; everything else is found again after the replay.
            let gap = self.retry.unwrap_or(FIRST_RETRY);
            if let Some(Message::Signal(signal)) = self.inbox.next(Some(gap)) {
                self.exited = Some(signals::name(signal).to_owned());
                return Ok(());
            }
            self.retry = Some((gap * 2).min(LONGEST_RETRY));
            match self.log.reopen() {
                Ok((ledger, _)) => {
                    self.engine = Engine::new(ledger, setup(&self.config));
                    self.opened();
                    self.events.push_back(Event::Woke(Cause::Start));
                    return Ok(());
                }
                Err(error) if error.is_passing() => {}
                Err(error) => return Err(log_failure(&error)),
            }
        }
    }

    /// Takes over a changed configuration. A broken one is said, and the last good one is kept.
    fn reload(&mut self, data: &std::path::Path, env: &Env) {
        match config::load(data, env) {
            Ok(Loaded { config, .. }) if config != *self.config => {
                self.engine.configure(setup(&config));
                self.config = Arc::new(config);
            }
            Ok(_) => {}
            Err(error) => self.warn(&format!("{error}; going on with the last good configuration")),
        }
    }

    /// The first event after a replay.
    pub(super) fn opened(&mut self) {
        let docs = self.engine.is_busy().then(|| Box::new(self.docs(None)));
        self.events.push_back(Event::Opened(docs));
    }

    pub(super) fn drain(&mut self) -> std::result::Result<(), Halt> {
        while let Some(event) = self.events.pop_front() {
            self.step(event)?;
        }
        Ok(())
    }

    fn step(&mut self, event: Event) -> std::result::Result<(), Halt> {
        let effects = self.engine.step(event, &clock::now());
        for effect in effects {
            if let Effect::Log(line) = &effect {
                self.append(line)?;
            }
            self.perform(effect)?;
        }
        if self.log.is_full() {
            self.log.rotate(self.engine.ledger()).map_err(Halt::Log)?;
        }
        Ok(())
    }

    fn append(&mut self, line: &Line) -> std::result::Result<(), Halt> {
        self.log.append(line, needs_sync(line)).map_err(Halt::Log)?;
        self.retry = None;
        // A verb that went away is not told any more.
        self.waiting.retain(|_, sender| sender.send(Said::Line(Box::new(line.clone()))).is_ok());
        if let Some(watcher) = &self.watcher {
            drop(watcher.send(line.clone()));
        }
        Ok(())
    }

    fn receive(&mut self, message: Message) -> std::result::Result<(), Halt> {
        match message {
            Message::Sensed(sensed) => self.sensed(*sensed),
            Message::Decided(run, record) => {
                let docs = self.docs(record.decision.as_ref().and_then(zone_of).as_deref());
                self.events.push_back(Event::Decided(run, record, Box::new(docs)));
            }
            Message::RunNeverRan(run) => self.events.push_back(Event::RunNeverRan(run)),
            Message::Acted(beat, outcome) => {
                self.events.push_back(Event::Acted(beat, outcome));
                self.sweep();
            }
            Message::Worked(beat, outcome, launched) => self.worked(beat, outcome, launched),
            Message::Pruned(id, gone, kept) => self.events.push_back(Event::Pruned(id, gone, kept)),
            Message::ActNeverRan(beat) => self.events.push_back(Event::ActNeverRan(beat)),
            Message::Tried(beat, problem) => self.tried(beat, problem),
            Message::Asked(request, sender) => {
                self.asked += 1;
                drop(sender.send(Said::Taken));
                self.waiting.insert(self.asked, sender);
                self.ask(RequestId(self.asked), *request);
            }
            Message::Signal(signal) => {
                self.exited_by(signal);
            }
        }
        self.drain()
    }

    /// Takes in what a pass saw.
    pub(super) fn sensed(&mut self, sensed: Sensed) {
        self.sense_cache = Some(sensed.cache);
        self.renewed = sensed.renewed;
        self.events.push_back(match sensed.seen {
            Ok(seen) => Event::Sensed(Box::new(seen)),
            Err(failure) => Event::Blind(failure.error),
        });
    }

    fn exited_by(&mut self, signal: i32) {
        let name = signals::name(signal).to_owned();
        self.events.push_back(Event::Stop(name));
    }

    /// Hands a request to the engine, with the policy files as they are now.
    pub(super) fn ask(&mut self, id: RequestId, request: Request) {
        let docs = match &request {
            Request::Make { proposal } => {
                let zone = if let Move::WriteSchedule { zone, .. } = &proposal.action {
                    zone.as_deref()
                } else {
                    None
                };
                Some(Box::new(self.docs(zone)))
            }
            Request::Prune { .. } => Some(Box::new(self.docs(None))),
            Request::Beat
            | Request::DryRun
            | Request::Pause { .. }
            | Request::Resume
            | Request::Dismiss { .. } => None,
        };
        self.events.push_back(Event::Asked(id, Box::new(request), docs));
    }

    /// The policy files as they are now, with one more zone resolved.
    pub(super) fn docs(&mut self, zone: Option<&str>) -> Docs {
        let mut docs = self.reader.scan(&mut self.cache, clock::now().wall).docs;
        docs.fleet = fleet::look(&self.reader, &mut self.roll);
        let letters = self.reader.letters();
        (docs.waiting, docs.unfetched) = (letters.waiting(), letters.unfetched());
        if let Some((name, found)) = zone.and_then(|name| Some((name, looop_store::docs::zone(name)?))) {
            docs.zones.insert(name.to_owned(), found);
        }
        docs
    }
}

/// The zone that a decision names.
fn zone_of(decision: &Value) -> Option<String> {
    decision.get("zone")?.as_str().map(str::to_owned)
}

/// What must be on the disk before anything follows. What was merely seen need not be.
fn needs_sync(line: &Line) -> bool {
    line.entries
        .iter()
        .any(|entry| !matches!(entry, Entry::Saw { .. } | Entry::Skipped { .. } | Entry::Flapping { .. }))
}
