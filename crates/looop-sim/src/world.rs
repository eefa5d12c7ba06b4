//! A world to be broken: the real engine and the real store over a disk in memory, driven as the binary drives them.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;
use looop_core::engine::io::{DecideOrder, Effect, Event, Record, Reply, Request, RequestId};
use looop_core::engine::machine::{Engine, PaidDecider, Setup};
use looop_core::gate::Limits;
use looop_core::ledger::entry::{Cause, FailureKind, Line};
use looop_core::ledger::state::Ledger;
use looop_core::ledger::undo::Undoable;
use looop_core::model::digest::Digest;
use looop_core::model::goal;
use looop_core::model::moves::Move;
use looop_core::model::outcome::{Ended, Outcome};
use looop_core::model::plan::{Act, BeatId, Plan, RunId};
use looop_core::time::Now;
use looop_core::world::observation::{Checked, Observation};
use looop_store::docs::DocsCache;
use looop_store::{AppendError, Log, Reader, Recovered, Writer};

use crate::disk::MemDisk;
use crate::yard::{Stands, Yard};

/// Why a drive ended early: the machine stopped, or a call failed that ends a verb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped(pub String);

type Driven<T> = Result<T, Stopped>;

/// The bounds of a simulated loop.
pub fn limits() -> Limits {
    Limits { decides_per_hour: 0, can_notify: true, config: Digest::of(b"sim"), ..Limits::default() }
}

/// The clock that simulated worlds share.
pub fn clock(wall: i64) -> Now {
    Now { wall, up: u64::try_from(wall).unwrap_or(0), boot: 1, zone: TimeZone::UTC }
}

/// A lock holder over a disk in memory.
pub struct Holder<'a> {
    writer: Writer,
    log: Log,
    engine: Engine,
    yard: &'a mut Yard,
    disk: MemDisk,
    wall: &'a mut i64,
    events: VecDeque<Event>,
    /// What requests were answered.
    pub replies: Vec<Reply>,
    asked: u64,
    journal_lags: bool,
    /// What every hosted session was to run.
    pub commands: BTreeMap<String, String>,
}

impl<'a> Holder<'a> {
    /// Takes the lock and recovers, as a verb does.
    pub fn open(disk: &MemDisk, yard: &'a mut Yard, wall: &'a mut i64, paid: bool) -> Driven<Self> {
        let stopped = |error: String| Stopped(error);
        let reader =
            Reader::on(Arc::new(disk.clone()), Path::new("profile")).map_err(|e| stopped(e.to_string()))?;
        let writer = reader.lock().map_err(|error| stopped(error.to_string()))?;
        writer.layout().map_err(|error| stopped(error.text()))?;
        let (log, ledger, _) = writer.open_log().map_err(|error| stopped(error.to_string()))?;
        mend(&writer, &ledger)?;
        let paid = if paid {
            vec![PaidDecider { name: "m".to_owned(), free: true, tool: false, bound: None }]
        } else {
            Vec::new()
        };
        let engine = Engine::new(ledger, Setup { limits: limits(), builtin: true, paid });
        let (events, commands) = (VecDeque::new(), BTreeMap::new());
        let disk = disk.clone();
        let mut holder = Self {
            writer,
            log,
            engine,
            yard,
            disk,
            wall,
            events,
            replies: Vec::new(),
            asked: 0,
            journal_lags: false,
            commands,
        };
        let docs = holder.writer.scan(&mut DocsCache::default(), *holder.wall).docs;
        holder.events.push_back(Event::Opened(Some(Box::new(docs))));
        holder.drain()?;
        Ok(holder)
    }

    /// What the loop remembers.
    pub fn ledger(&self) -> &Ledger {
        self.engine.ledger()
    }

    /// One beat to its end.
    pub fn beat(&mut self) -> Driven<()> {
        *self.wall += 60_000;
        self.events.push_back(Event::Woke(Cause::Timer));
        self.drain()
    }

    /// One request to its end.
    pub fn ask(&mut self, request: Request) -> Driven<()> {
        self.asked += 1;
        let mut docs = self.writer.scan(&mut DocsCache::default(), *self.wall).docs;
        if let Request::Undo { beat } = request {
            let before = self.engine.ledger().undoable(beat).and_then(Undoable::before);
            docs.kept = self.writer.kept_bodies(before);
        }
        self.events.push_back(Event::Asked(RequestId(self.asked), Box::new(request), Some(Box::new(docs))));
        self.drain()
    }

    /// Posts a person's answer.
    pub fn answer(&mut self, ask: &str, text: &str) -> Driven<()> {
        let posted = self.writer.post_answer(ask, text, *self.wall);
        posted.map(drop).map_err(|error| Stopped(error.to_string()))
    }

    fn drain(&mut self) -> Driven<()> {
        while let Some(event) = self.events.pop_front() {
            *self.wall += 1;
            let now = clock(*self.wall);
            let effects = self.engine.step(event, &now);
            for effect in effects {
                if !self.perform(effect)? {
                    break;
                }
            }
            if self.log.is_full() {
                let ledger = self.engine.ledger().clone();
                if let Err(error) = self.log.rotate(&ledger) {
                    self.reopen(&error)?;
                }
            }
        }
        Ok(())
    }

    /// Does one effect; false if the log failed and the rest of the step is dropped.
    fn perform(&mut self, effect: Effect) -> Driven<bool> {
        match effect {
            Effect::Log(line) => {
                if let Err(error) = self.log.append(&line, true) {
                    self.reopen(&error)?;
                    return Ok(false);
                }
            }
            Effect::Sense(..) => {
                let seen = self.sense();
                self.events.push_back(Event::Sensed(Box::new(seen)));
            }
            // Snapshots are a convenience: the binary warns and goes on.
            Effect::Snapshots(readings) => {
                for (name, reading) in &readings {
                    drop(self.writer.write_snapshot(name, &serde_json::to_vec(reading).unwrap_or_default()));
                }
            }
            Effect::Decide(order) => self.decide(&order),
            Effect::Adopt(run, session) => self.adopt(run, &session),
            Effect::Act(beat, plan) => self.act(beat, &plan),
            Effect::Recover(beat, plan) => self.recover(beat, &plan),
            Effect::Journal(line) => {
                let written = if self.journal_lags {
                    self.writer.mend_journal(self.engine.ledger())
                } else {
                    self.writer.append_journal(&line)
                };
                self.journal_lags = written.is_err();
            }
            Effect::Settle(ask) => drop(self.writer.settle(&ask, *self.wall)),
            Effect::Post(ask) => drop(self.writer.post_own(&ask)),
            Effect::Rule(ask, _) => self.events.push_back(Event::RuleWritten(ask, None)),
            Effect::Again(id, request) => {
                let docs = self.writer.scan(&mut DocsCache::default(), *self.wall).docs;
                self.events.push_back(Event::Asked(id, request, Some(Box::new(docs))));
            }
            Effect::Notify(notice) => {
                // Every other notice is lost on its way.
                let error = (notice.message.len() % 2 == 0).then(|| "nobody is there".to_owned());
                self.events.push_back(Event::Notified(notice.key, vec![("command".to_owned(), error)]));
            }
            Effect::Reply(_, reply) => self.replies.push(*reply),
            Effect::Counted(letter) => drop(self.writer.counted(&letter, *self.wall)),
            // No world here has workers.
            Effect::Freeze(_)
            | Effect::Thaw(_)
            | Effect::Reap
            | Effect::Prune(..)
            | Effect::Clean(_)
            | Effect::End(_)
            | Effect::Clear
            | Effect::Exit => {}
        }
        Ok(true)
    }

    /// As the binary does after a failed append: nothing acts, the log is opened again, the ledger comes from it.
    fn reopen(&mut self, _error: &AppendError) -> Driven<()> {
        self.events.clear();
        self.journal_lags = false;
        let (ledger, _) = self.log.reopen().map_err(|error| Stopped(error.to_string()))?;
        mend(&self.writer, &ledger)?;
        let setup = Setup {
            limits: limits(),
            builtin: true,
            paid: vec![PaidDecider { name: "m".to_owned(), free: true, tool: false, bound: None }],
        };
        self.engine = Engine::new(ledger, setup);
        let docs = self.writer.scan(&mut DocsCache::default(), *self.wall).docs;
        self.events.push_back(Event::Opened(Some(Box::new(docs))));
        Ok(())
    }

    fn sense(&mut self) -> Observation {
        let scan = self.writer.scan(&mut DocsCache::default(), *self.wall);
        let mut seen = Observation {
            docs: scan.docs,
            letters: self.writer.letters(),
            broken: scan.broken,
            ..Observation::default()
        };
        // A check is `ran <command>`: it holds once that command has run.
        for (id, doc) in &seen.docs.goals {
            let Some(check) = doc.text().and_then(|text| goal::parse(text).check) else { continue };
            let holds = check.strip_prefix("ran ").is_some_and(|command| self.yard.ran.contains_key(command));
            let ended = Ended::Exited(i32::from(!holds));
            seen.checks.insert(id.clone(), Checked { ended, output: String::new() });
        }
        seen
    }

    /// Nothing is done before its intention is on the disk: a loss of power at this very moment must not undo it.
    fn assert_intended(&self, found: impl Fn(&Ledger) -> bool) {
        for seed in 0..2 {
            let disk = self.disk.crash(seed);
            let reader = Reader::on(Arc::new(disk), Path::new("profile")).expect("a profile");
            let ledger = reader.ledger().expect("a log");
            assert!(found(&ledger), "something was done before it was on the disk");
        }
    }

    fn decide(&mut self, order: &DecideOrder) {
        self.assert_intended(|ledger| ledger.deciding.as_ref().is_some_and(|d| d.run == order.run));
        if let Err(error) = self.writer.make_run(order.run, order.brief.as_bytes()) {
            let failure = Some((FailureKind::Runner, error.text()));
            let ended = *self.wall;
            return self.decided(order.run, Record { failure, ..Record::empty(order.run, ended) });
        }
        self.yard.launch(&order.session);
        let record = self.yard.run_decide(&order.session, order.run, *self.wall);
        self.decided(order.run, record);
    }

    fn decided(&mut self, run: RunId, record: Record) {
        let docs = self.writer.scan(&mut DocsCache::default(), *self.wall).docs;
        self.events.push_back(Event::Decided(run, Box::new(record), Box::new(docs)));
    }

    fn adopt(&mut self, run: RunId, session: &str) {
        match self.yard.stands(session) {
            Stands::NeverRan => self.events.push_back(Event::RunNeverRan(run)),
            Stands::Live | Stands::Ended => {
                let record = self.yard.run_decide(session, run, *self.wall);
                self.decided(run, record);
            }
            Stands::Lost => {
                let failure = Some((FailureKind::Lost, "the decide died without a record".to_owned()));
                let ended = *self.wall;
                self.decided(run, Record { failure, ..Record::empty(run, ended) });
            }
        }
    }

    fn act(&mut self, beat: BeatId, plan: &Plan) {
        self.assert_intended(|ledger| ledger.acting.as_ref().is_some_and(|acting| acting.beat == beat));
        let outcome = match &plan.act {
            Act::Hosted { session } => {
                let command = command(plan);
                self.commands.insert(session.clone(), command.clone());
                self.yard.launch(session);
                self.yard.run_shell(session, &command)
            }
            Act::Nothing | Act::File { .. } | Act::Archive { .. } => match self.writer.bytes_for(plan) {
                Ok(bytes) => self.writer.perform(plan, bytes.as_deref(), 20),
                Err(reason) => Outcome::failed(reason),
            },
            Act::Worker { .. } | Act::Typed { .. } | Act::Ended { .. } | Act::Again { .. } => {
                Outcome::failed("there are no workers in this world")
            }
        };
        self.events.push_back(Event::Acted(beat, outcome));
    }

    fn recover(&mut self, beat: BeatId, plan: &Plan) {
        if let Act::Hosted { session } = &plan.act {
            let event = match self.yard.stands(session) {
                Stands::NeverRan => Event::ActNeverRan(beat),
                Stands::Live | Stands::Ended => {
                    Event::Acted(beat, self.yard.run_shell(session, &command(plan)))
                }
                Stands::Lost => {
                    Event::Acted(beat, Outcome::Interrupted { reason: "its host died".to_owned() })
                }
            };
            return self.events.push_back(event);
        }
        match self.writer.recover(plan) {
            Recovered::Done => self.events.push_back(Event::Acted(beat, Outcome::done())),
            Recovered::Todo => self.act(beat, plan),
            Recovered::Conflict(reason) => {
                self.events.push_back(Event::Acted(beat, Outcome::Interrupted { reason }));
            }
        }
    }
}

fn command(plan: &Plan) -> String {
    if let Move::RunShell { cmd, .. } = &plan.action { cmd.clone() } else { plan.action.summary() }
}

fn mend(writer: &Writer, ledger: &Ledger) -> Driven<()> {
    writer.mend_journal(ledger).map_err(|error| Stopped(error.text()))
}

/// The whole log of a disk.
pub fn all_lines(disk: &MemDisk) -> Vec<Line> {
    let reader = Reader::on(Arc::new(disk.clone()), Path::new("profile")).expect("a profile");
    let mut lines = Vec::new();
    reader.replay_all(&mut |line| lines.push(line.clone())).expect("a whole log");
    lines
}
