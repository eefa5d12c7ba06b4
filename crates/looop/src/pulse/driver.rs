//! The driver: feeds the engine what comes in and does what it says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use looop_core::engine::io::{Effect, Event, PulseView, Reply, Request, RequestId};
use looop_core::engine::machine::Engine;
use looop_core::engine::wake::Alarm;
use looop_core::ledger::entry::{Cause, Entry, Line};
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{BeatId, Plan, RunId};
use looop_session::{Launched, Roll};
use looop_store::{AppendError, Log, Reader, SnapshotCache, Writer};

use super::control::Control;
use super::ear::Ear;
use super::guest::Guest;
use super::inbox::{Message, Said};
use super::open::Manner;
use super::release::Release;
use super::scans::{Scans, Want};
use super::settings::Source;
use super::workers::Following;
use crate::clock;
use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::hands::brakes::Brakes;
use crate::hands::proofs::Unproven;
use crate::hands::screens::Screens;
use crate::hands::sense::{Known, Open};
use crate::hands::usage::Usages;

/// The lock holder at work.
pub(crate) struct Driver {
    /// Before the writer, so that the socket is gone before the lock is.
    pub(super) control: Control,
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    pub(super) log: Log,
    pub(super) engine: Engine,
    pub(super) config: Arc<Config>,
    /// Where it is read from.
    pub(super) source: Source,
    pub(super) ear: Ear,
    pub(super) manner: Manner,
    /// Ends batches early.
    pub(super) brakes: Brakes,
    /// What waits for a pass over the policy files.
    pub(super) scans: Scans,
    pub(super) snapshots: SnapshotCache,
    /// What the last looks found out.
    pub(super) known: Arc<Known>,
    /// Sensors whose readings the last pass took anew and that have an interval.
    pub(super) renewed: Vec<String>,
    /// What is known of the sessions of workers.
    pub(super) roll: Roll,
    /// What the files of agents say that workers used.
    pub(super) usages: Arc<Mutex<Usages>>,
    /// Workers whose files are watched as they grow.
    pub(super) following: Following,
    /// What the screens of workers show.
    pub(super) screens: Arc<Mutex<Screens>>,
    /// Sessions with a dead host of which a thread ends what they left running.
    pub(super) sweeping: BTreeSet<String>,
    /// Whether upkeep is under way, and when it last began, by the boot-time clock.
    pub(super) upkeep: (bool, Option<u64>),
    /// Hosts that we launched, to be reaped.
    pub(super) hosts: Vec<Launched>,
    /// Events of our own making, before the inbox.
    pub(super) events: VecDeque<Event>,
    /// Messages that came while the log could not be written.
    pub(super) deferred: VecDeque<Message>,
    /// Effects for which no thread could be started, and when they are done, by the boot-time clock.
    pub(super) postponed: Vec<(u64, Effect)>,
    /// How often the log was opened again. A look that began before that is not taken in.
    pub(super) epoch: u64,
    /// The request whose step is not on the disk yet.
    pub(super) stepping: Option<RequestId>,
    /// The move and the decide whose end a thread of ours will report.
    pub(super) begun: Option<BeatId>,
    pub(super) awaited: Option<RunId>,
    /// Why it cannot be known what became of what an earlier lock holder began.
    pub(super) unsettled: Option<Failure>,
    /// Verbs that wait for a reply.
    pub(super) waiting: BTreeMap<u64, Sender<Said>>,
    pub(super) asked: u64,
    /// Notices that are being sent, and workers that are being stopped or let go on.
    pub(super) sending: usize,
    /// The sensor that is being tried.
    pub(super) trying: Option<(BeatId, Box<Plan>)>,
    /// Passes under way. A sensor is run by its path, so none is put in place meanwhile: it would run with the rights of
    /// the one that it replaces.
    pub(super) passes: usize,
    /// The sensor that was tried and waits for them.
    pub(super) held: Option<BeatId>,
    /// Whether a journal line could not be written.
    pub(super) journal_lags: bool,
    /// How long to wait before the log is tried again: set from the first failed append to the next good one.
    pub(super) retry: Option<Duration>,
    /// What was last said beside the results; the same is not said again and again.
    pub(super) warned: String,
    /// Who sees every line, besides the verbs that wait.
    pub(super) watcher: Option<Sender<Line>>,
    /// When the loop looks next by itself.
    pub(super) alarm: Alarm,
    /// Since when it runs, and when it last looked at the whole world.
    pub(super) since: i64,
    pub(super) looked: Option<i64>,
    /// Who wants to know once the world has been looked at.
    pub(super) curious: Vec<Sender<Said>>,
    /// Set once the loop is ending.
    pub(super) ending: Option<Ending>,
    /// When the first of two interrupts came, by the boot-time clock.
    pub(super) interrupted: Option<u64>,
    /// What is to be released at the next long rest.
    pub(super) release: Release,
    /// Whether a spinner stands on the terminal's line.
    pub(super) spins: bool,
    /// Which lock file is ours.
    pub(super) lock: Option<(u64, u64)>,
    /// Why the loop has ended, if it has.
    pub(super) exited: Option<String>,
}

/// The loop is ending.
pub(super) struct Ending {
    /// Since when, by the boot-time clock.
    pub(super) since: u64,
    pub(super) keep_workers: bool,
    /// Verbs that ended it.
    pub(super) waiters: Vec<Sender<Said>>,
}

/// What stops a step: the log cannot be written, or something else failed.
pub(super) enum Halt {
    /// The step's entries could not be written. Nothing of the step was done.
    Log(AppendError),
    /// The same for a step that only writes down what came of something: that was done.
    Unrecorded(AppendError),
    Other(Failure),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

pub(super) fn halt_failure(halt: Halt) -> Failure {
    let (what, error) = match halt {
        Halt::Log(error) => ("so nothing was done", error),
        Halt::Unrecorded(error) => ("and what was done is recorded by the next looop", error),
        Halt::Other(failure) => return failure,
    };
    let AppendError::Write(error) = error else {
        return Failure::new(format!("the log cannot be written, {what}: {error}"));
    };
    let hint = if error.is_full() {
        "make room on the disk, then run it again"
    } else {
        "looop doctor may tell more"
    };
    Failure::new(format!("the log cannot be written, {what}: {}", error.text())).hint(hint)
}

impl Driver {
    /// The first events after a replay.
    pub(super) fn opened(&mut self) {
        match self.reader.highest_numbers() {
            Ok(found) if found.are_ahead_of(self.engine.ledger()) => {
                self.events.push_back(Event::Numbered(found));
            }
            Ok(_) => {}
            Err(error) => self.warn(&error.text()),
        }
        if self.engine.is_busy() {
            self.want(Want::Open);
            self.scan_next();
        } else {
            self.events.push_back(Event::Opened(None));
        }
    }

    pub(super) fn drain(&mut self) -> std::result::Result<(), Halt> {
        self.settled()?;
        while let Some(event) = self.events.pop_front() {
            self.step(event)?;
        }
        Ok(())
    }

    /// Fails where it cannot be known what became of what an earlier lock holder began.
    pub(super) fn settled(&mut self) -> Result<()> {
        self.unsettled.take().map_or(Ok(()), Err)
    }

    pub(super) fn step(&mut self, event: Event) -> std::result::Result<(), Halt> {
        // After a move the loop looks again at once, as far as that costs nothing.
        let mut next = matches!(event, Event::Acted(..)).then_some(Cause::Followup);
        self.stepping = if let Event::Asked(id, ..) = &event { Some(*id) } else { None };
        let fact = is_fact(&event).then(|| event.clone());
        let result = matches!(event, Event::Acted(..) | Event::Decided(..) | Event::Cleared(..));
        let effects = self.engine.step(event, &clock::now());
        for effect in effects {
            if let Effect::Log(line) = &effect
                && let Err(error) = self.append(line)
            {
                self.events.extend(fact);
                let halt = if result { Halt::Unrecorded } else { Halt::Log };
                // One that is too long would be as long the next time.
                let lasts = matches!(error, AppendError::TooLong(_));
                return Err(if lasts { Halt::Other(halt_failure(halt(error))) } else { halt(error) });
            }
            if matches!(&effect, Effect::Log(line) if line.entries.contains(&Entry::Resumed)) {
                next = Some(Cause::Person);
            }
            self.perform(effect)?;
        }
        self.stepping = None;
        self.events.extend(next.filter(|_| self.manner.loops).map(Event::Woke));
        self.scan_next();
        let problem = if self.log.is_full() {
            self.log.rotate(self.engine.ledger()).map_err(Halt::Unrecorded)?
        } else {
            self.log.keep_fold(self.engine.ledger())
        };
        if let Some(problem) = problem {
            self.warn(&problem.text());
        }
        Ok(())
    }

    fn append(&mut self, line: &Line) -> std::result::Result<(), AppendError> {
        self.log.append(line, line.needs_sync())?;
        self.retry = None;
        // A verb that went away is not told any more.
        self.waiting.retain(|_, sender| sender.send(Said::Line(Box::new(line.clone()))).is_ok());
        if let Some(watcher) = &self.watcher {
            drop(watcher.send(line.clone()));
        }
        Ok(())
    }

    /// Takes a message in and does all that comes of it.
    pub(super) fn receive(&mut self, message: Message) -> std::result::Result<(), Halt> {
        self.take_in(message);
        self.drain()
    }

    /// Takes a message in; what comes of it waits with the other events.
    pub(super) fn take_in(&mut self, message: Message) {
        match message {
            Message::Sensed(sensed, epoch) => {
                self.passes = self.passes.saturating_sub(1);
                if epoch == self.epoch {
                    self.sensed(*sensed);
                }
                if let Some(beat) = self.held.take() {
                    self.tried(beat, None);
                }
            }
            Message::Metered(sensed, epoch, problem) => {
                self.warn_of(problem);
                if epoch == self.epoch {
                    self.sensed(*sensed);
                }
            }
            Message::Grown => {
                self.following.grown = true;
                self.events.push_back(Event::Woke(Cause::Session));
            }
            Message::Swept(sessions, problems) => {
                self.sweeping.retain(|session| !sessions.contains(session));
                self.warn_of(problems);
            }
            Message::Upkept(said) => {
                self.upkeep.0 = false;
                self.warn_of(said);
            }
            Message::Scanned(number, found) => self.scanned(number, *found),
            Message::Cleared(fleet, problems) => self.events.push_back(Event::Cleared(fleet, problems)),
            Message::Decided(run, record) => {
                self.awaited.take_if(|awaited| *awaited == run);
                self.want(Want::Decided(run, record));
                self.keep_up();
            }
            Message::RunNeverRan(run) => self.never_ran(Event::RunNeverRan(run)),
            Message::Acted(beat, outcome) => self.acted(beat, outcome),
            Message::Worked(beat, outcome, launched) => self.worked(beat, outcome, launched),
            Message::Pruned(id, gone, kept) => self.events.push_back(Event::Pruned(id, gone, kept)),
            Message::ActNeverRan(beat) => self.never_ran(Event::ActNeverRan(beat)),
            Message::StillRuns(text) => self.warn(&text),
            Message::Unsettled(failure) => self.unsettled = Some(failure),
            Message::Sent(key, results) => {
                self.sending = self.sending.saturating_sub(1);
                self.events.push_back(Event::Notified(key, results));
            }
            Message::Restrained(problem) => {
                self.sending = self.sending.saturating_sub(1);
                self.warn_of(problem);
            }
            Message::Tried(beat, problem) => self.tried(beat, problem),
            Message::Asked(request, sender, guest) => self.asked(*request, sender, &guest),
        }
        self.scan_next();
    }

    /// A hosted move has ended.
    fn acted(&mut self, beat: BeatId, outcome: Outcome) {
        self.begun.take_if(|begun| *begun == beat);
        // It may have changed files.
        self.scans.moved();
        self.events.push_back(Event::Acted(beat, outcome));
        self.keep_up();
    }

    /// What an earlier lock holder began never ran: no thread of ours waits for it any more.
    fn never_ran(&mut self, event: Event) {
        self.awaited.take_if(|run| matches!(event, Event::RunNeverRan(of) if of == *run));
        self.begun.take_if(|beat| matches!(event, Event::ActNeverRan(of) if of == *beat));
        self.events.push_back(event);
    }

    /// What the loop has open and wants to hear about.
    pub(super) fn open(&self, stale: BTreeSet<String>) -> Open {
        let ledger = self.engine.ledger();
        let running = ledger.workers.iter().filter(|(_, record)| record.ended.is_none());
        let running = running.filter_map(|(session, record)| Some((session.clone(), record.goal.clone()?)));
        let rights = |session: &str| ledger.workers.get(session).map(|record| record.rights.clone());
        let unproven = self.engine.unproven().into_iter().map(|(session, command)| {
            let rights = rights(&session).unwrap_or_default();
            let record = ledger.workers.get(&session);
            let in_copy = record.is_some_and(|record| record.repo.is_some());
            let work = record.and_then(|record| record.work.as_ref());
            let gathered = work.is_some_and(|work| work.problem.is_none());
            Unproven { session, command, rights, in_copy, gathered }
        });
        let goal = |session: &String| ledger.workers.get(session).and_then(|record| record.goal.clone());
        let unseen = self.engine.unseen().into_iter().map(|session| {
            let goal = goal(&session).unwrap_or_default();
            (session, goal)
        });
        Open {
            unproven: unproven.collect(),
            unseen: unseen.collect(),
            written: ledger.written.clone(),
            running: running.collect(),
            asks: ledger.asks.keys().cloned().collect(),
            stale,
            early: false,
            dry: false,
        }
    }

    /// A verb wants something.
    fn asked(&mut self, request: Request, sender: Sender<Said>, guest: &Guest) {
        drop(sender.send(Said::Taken));
        if let Some(reason) = guest.refusal(&request, self.engine.ledger()) {
            return drop(sender.send(Said::Reply(Box::new(Reply::Refused { reason }))));
        }
        self.refresh(&request);
        if let Request::Pulse { seen } = request {
            self.curious.push(sender);
            return self.introduce(!seen);
        }
        if let Request::Down { keep_workers } = request {
            self.brake(keep_workers).waiters.push(sender.clone());
        }
        self.asked += 1;
        self.waiting.insert(self.asked, sender);
        self.ask(RequestId(self.asked), request);
    }

    /// Says who holds the lock to those who want to know, once there is something to say.
    pub(super) fn introduce(&mut self, at_once: bool) {
        if self.curious.is_empty() || !at_once && self.engine.looked() == 0 {
            return;
        }
        let now = clock::now();
        let view = PulseView {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            loops: self.manner.loops,
            detached: self.manner.detached,
            since: self.since,
            looked: self.looked,
            next: self.alarm.next(&now),
        };
        let last = if at_once { self.curious.len() - 1 } else { 0 };
        for sender in self.curious.drain(last..) {
            drop(sender.send(Said::Reply(Box::new(Reply::Pulse(view.clone())))));
        }
    }

    /// Hands a request to the engine, with the policy files as they are now where it needs them.
    pub(super) fn ask(&mut self, id: RequestId, request: Request) {
        match &request {
            Request::Make { .. }
            | Request::Consent(_)
            | Request::Prune { .. }
            | Request::Repark { .. }
            | Request::TakeUp { .. }
            | Request::Undo { .. } => self.want(Want::Request(id, Box::new(request))),
            Request::Beat
            | Request::DryRun
            | Request::Pause { .. }
            | Request::Resume
            | Request::Wake
            | Request::Pulse { .. }
            | Request::Down { .. }
            | Request::Dismiss { .. }
            | Request::Trust { .. } => self.events.push_back(Event::Asked(id, Box::new(request), None)),
        }
    }
}

/// Whether an event says what was done and can be found out in no other way. It is kept until it is on the disk.
pub(super) fn is_fact(event: &Event) -> bool {
    match event {
        Event::Seeded(_) | Event::Reaped(_) | Event::Pruned(..) | Event::Notified(..) => true,
        Event::Opened(_)
        | Event::Numbered(_)
        | Event::Began { .. }
        | Event::Woke(_)
        | Event::Configured(_)
        | Event::Sensed(_)
        | Event::Blind(..)
        | Event::Decided(..)
        | Event::RunNeverRan(_)
        | Event::Acted(..)
        | Event::ActNeverRan(_)
        | Event::RuleWritten(..)
        | Event::Asked(..)
        | Event::Cleared(..)
        | Event::Stop { .. } => false,
    }
}
