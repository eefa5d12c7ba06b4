//! Doing what the engine says.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use looop_core::admit::content;
use looop_core::engine::io::{Effect, Event};
use looop_core::model::moves::Move;
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{Act, BeatId, Plan, RunId};
use looop_core::notice::Notice;
use looop_core::shown::Shown;
use looop_core::world::reading::Reading;
use looop_session::{Roll, host};
use looop_store::{Reader, Recovered};

use super::driver::{Driver, Halt};
use super::inbox::{Message, Poster, Said, post};
use super::scans::Want;
use crate::failure::{Failure, Result};
use crate::hands::notify::{self, Said as Told};
use crate::hands::{act, decide, fleet, labour, rules, trial, upkeep};
use crate::threads;

/// How often upkeep is done at most, in milliseconds.
const UPKEEP_GAP: u64 = 60_000;
/// How long an effect waits for which no thread could be started, in milliseconds.
const POSTPONED: u64 = 1000;

impl Driver {
    pub(super) fn perform(&mut self, effect: Effect) -> std::result::Result<(), Halt> {
        match effect {
            // The driver has appended it before.
            Effect::Log(_) => {}
            Effect::Sense(scope, stale) => self.want(Want::Look(scope, stale)),
            Effect::Snapshots(readings) => self.snapshots(&readings),
            Effect::Decide(order) => {
                self.awaited = Some(order.run);
                decide::start(&self.writer, &self.config, &order, &self.ear.poster());
            }
            Effect::Adopt(run, session) => self.adopt(run, &session)?,
            Effect::Act(beat, plan) => self.act(beat, plan),
            Effect::Recover(beat, plan) => self.recover(beat, plan)?,
            Effect::Journal(line) => self.journal(&line),
            Effect::Settle(ask) => {
                self.scans.moved();
                if let Err(error) = self.writer.settle(&ask, crate::clock::now().wall) {
                    self.warn(&format!("{ask}: {error}"));
                }
            }
            Effect::Post(ask) => {
                self.scans.moved();
                if let Err(error) = self.writer.post_own(&ask) {
                    self.warn(&format!("{}: {}", ask.id, error.text()));
                }
            }
            Effect::Rule(ask, rule) => {
                let error = rules::append(&self.writer, &rule).err().map(|failure| failure.error);
                self.events.push_back(Event::RuleWritten(ask, error));
            }
            Effect::Counted(letter) => {
                self.scans.moved();
                if let Err(error) = self.writer.counted(&letter, crate::clock::now().wall) {
                    self.warn(&format!("{letter}: {error}"));
                }
            }
            Effect::Freeze(session) => self.restrain(session, true),
            Effect::Thaw(session) => self.restrain(session, false),
            Effect::End(session) => self.end(&session),
            Effect::Clear => self.clear(),
            Effect::Reap => self.reap(),
            Effect::Prune(id, sessions) => self.prune(id, sessions),
            Effect::Clean(session) => self.clean(session),
            Effect::Notify(notice) => self.notify(*notice),
            Effect::Again(id, request) => self.ask(id, *request),
            Effect::Reply(id, reply) => {
                // A verb that went away is not told any more.
                if let Some(sender) = self.waiting.remove(&id.0) {
                    drop(sender.send(Said::Reply(reply)));
                }
            }
            Effect::Exit => self.exited = Some("a signal".to_owned()),
        }
        Ok(())
    }

    /// Sends a notice in the background; what came of it is heard later.
    fn notify(&mut self, notice: Notice) {
        self.sending += 1;
        let (reader, config, sender) = (self.reader.clone(), self.config.clone(), self.ear.poster());
        let brakes = self.brakes.clone();
        let Notice { key, kind, id, message } = notice;
        let (told, of) = (Told { kind: kind.word().to_owned(), id, message }, key.clone());
        let started = threads::start("notify", move || {
            let results = notify::send(reader.root(), &config, &told, &brakes);
            post(&sender, Message::Sent(of, results));
        });
        if let Err(failure) = started {
            let results = notify::unsent(&self.config, &failure.error);
            post(&self.ear.poster(), Message::Sent(key, results));
        }
    }

    /// Writes a journal line. After one that could not be written, the journal is mended from the ledger, which has
    /// this line too.
    fn journal(&mut self, line: &str) {
        let written = if self.journal_lags {
            self.writer.mend_journal(self.engine.ledger())
        } else {
            self.writer.append_journal(line)
        };
        self.journal_lags = written.is_err();
        if let Err(error) = written {
            self.warn(&error.text());
        }
    }

    /// Catches up with journal lines that could not be written.
    pub(super) fn mend_journal(&mut self) {
        if self.journal_lags {
            self.journal_lags = self.writer.mend_journal(self.engine.ledger()).is_err();
        }
    }

    /// Ends all workers in the background.
    fn clear(&mut self) {
        let (reader, sender) = (self.reader.clone(), self.ear.poster());
        let clear = |reader: &Reader, sender: &Poster| {
            let problems = labour::clear(reader);
            let fleet = Box::new(fleet::look(reader, &mut Roll::default()));
            post(sender, Message::Cleared(fleet, problems));
        };
        if threads::start("clear", move || clear(&reader, &sender)).is_err() {
            // Nothing else is left to be done: the loop is ending.
            clear(&self.reader, &self.ear.poster());
        }
    }

    fn snapshots(&mut self, readings: &BTreeMap<String, Reading>) {
        let mut names = BTreeSet::new();
        let mut problems = Vec::new();
        let mut snapshots = self.writer.snapshots(&mut self.snapshots, crate::clock::now().wall);
        for (name, reading) in readings {
            let file = if name.starts_with("sys-") { name.clone() } else { format!("sensor-{name}") };
            let Ok(mut bytes) = serde_json::to_vec(reading) else { continue };
            bytes.push(b'\n');
            let written = snapshots.write(&file, &bytes).and_then(|changed| {
                let date = !changed && self.renewed.contains(name);
                if date { self.writer.touch_snapshot(&file, crate::clock::now().wall) } else { Ok(()) }
            });
            problems.extend(written.err());
            names.insert(file);
        }
        problems.extend(snapshots.keep(names).err());
        for problem in problems {
            self.warn(&problem.text());
        }
    }

    fn act(&mut self, beat: BeatId, plan: Box<Plan>) {
        if let Some(reason) = self.shifted(&plan) {
            return self.events.push_back(Event::Acted(beat, Outcome::failed(reason)));
        }
        match (&plan.act, &plan.action) {
            (Act::Hosted { session }, _) => {
                let session = session.clone();
                let started =
                    act::start(&self.reader, &self.config, (beat, &plan, &session), &self.ear.poster());
                match started {
                    Ok(()) => self.begun = Some(beat),
                    Err(failure) => {
                        self.events.push_back(Event::Acted(beat, Outcome::failed(failure.error)));
                    }
                }
            }
            (Act::File { .. }, Move::WriteSensor { .. }) => self.try_sensor(beat, plan),
            (Act::Worker { .. } | Act::Typed { .. } | Act::Ended { .. } | Act::Again { .. }, _) => {
                self.act_on_worker(beat, plan);
            }
            _ => self.write(beat, &plan),
        }
    }

    /// What a person's consent rests on and is no longer so, right before it would be acted upon.
    fn shifted(&mut self, plan: &Plan) -> Option<String> {
        if plan.ground.is_empty() {
            return None;
        }
        let mut docs = self.reader.docs_at(plan.ground.keys().map(String::as_str));
        if plan.ground.keys().any(|name| name.starts_with("worker/")) {
            docs.fleet = fleet::look(&self.reader, &mut self.roll);
        }
        let name = looop_core::approval::shifted(&plan.ground, &docs)?;
        Some(format!("not done: {name} changed since it was asked for"))
    }

    fn write(&mut self, beat: BeatId, plan: &Plan) {
        self.scans.moved();
        let keep = usize::try_from(self.config.playbook_keep).unwrap_or(usize::MAX);
        let outcome = match self.reader.bytes_for(plan) {
            Ok(bytes) => self.writer.perform(plan, bytes.as_deref(), keep),
            Err(reason) => Outcome::failed(reason),
        };
        self.events.push_back(Event::Acted(beat, outcome));
    }

    fn try_sensor(&mut self, beat: BeatId, plan: Box<Plan>) {
        let (reader, config, sender) = (self.reader.clone(), self.config.clone(), self.ear.poster());
        let brakes = self.brakes.clone();
        let (script, rights) = (content(&plan).unwrap_or_default(), plan.rights.clone());
        self.trying = Some((beat, plan));
        let tried = threads::start("trial", move || {
            let problem = trial::problem(&reader, &config, (&script, beat.0, &rights), &brakes);
            post(&sender, Message::Tried(beat, problem));
        });
        if let Err(failure) = tried {
            self.tried(beat, Some(failure.error));
        }
    }

    pub(super) fn tried(&mut self, beat: BeatId, problem: Option<String>) {
        if problem.is_none() && self.passes > 0 {
            self.held = Some(beat);
            return;
        }
        let Some((_, plan)) = self.trying.take().filter(|(trying, _)| *trying == beat) else { return };
        match problem {
            Some(problem) => self.events.push_back(Event::Acted(beat, Outcome::failed(problem))),
            // A trial takes its time, in which a person may have changed their mind.
            None => match self.shifted(&plan) {
                Some(reason) => self.events.push_back(Event::Acted(beat, Outcome::failed(reason))),
                None => self.write(beat, &plan),
            },
        }
    }

    /// Does an effect a moment later, because no thread could be started for it. A verb does not wait: what it leaves is
    /// taken up by the next lock holder.
    pub(super) fn postpone(&mut self, effect: Effect, failure: Failure) -> Result<()> {
        if !self.manner.loops {
            return Err(failure);
        }
        self.warn(&failure.error);
        self.postponed.push((crate::clock::up() + POSTPONED, effect));
        Ok(())
    }

    /// Does what was postponed and is due.
    pub(super) fn resume_postponed(&mut self) -> std::result::Result<(), Halt> {
        let now = crate::clock::up();
        while let Some(at) = self.postponed.iter().position(|(due, _)| *due <= now) {
            let (_, effect) = self.postponed.swap_remove(at);
            self.perform(effect)?;
        }
        Ok(())
    }

    /// Waits for a decide that is under way, or finds what an ended one left.
    fn adopt(&mut self, run: RunId, session: &str) -> Result<()> {
        // After the log was opened again: the thread that waits for it still does.
        if self.awaited == Some(run) {
            return Ok(());
        }
        match decide::adopt(&self.reader, run, session, &self.ear.poster()) {
            Ok(()) => {
                self.awaited = Some(run);
                Ok(())
            }
            Err(failure) => self.postpone(Effect::Adopt(run, session.to_owned()), failure),
        }
    }

    /// What became of a move that an earlier lock holder began, or that was under way when the log was opened again.
    fn recover(&mut self, beat: BeatId, plan: Box<Plan>) -> Result<()> {
        let trying = self.trying.as_ref().is_some_and(|(trying, _)| *trying == beat);
        if trying || self.begun == Some(beat) {
            // A thread of ours works on it, and says what came of it.
            return Ok(());
        }
        match &plan.act {
            Act::Hosted { session } => {
                match act::recover(&self.reader, (beat, &plan, session), &self.ear.poster()) {
                    Ok(()) => self.begun = Some(beat),
                    Err(failure) => return self.postpone(Effect::Recover(beat, plan), failure),
                }
            }
            Act::Worker { .. } | Act::Typed { .. } | Act::Ended { .. } | Act::Again { .. } => {
                self.recover_worker(beat, plan)?;
            }
            Act::Nothing => self.events.push_back(Event::Acted(beat, Outcome::done())),
            Act::File { .. } | Act::Archive { .. } => match self.writer.recover(&plan) {
                Recovered::Done => self.events.push_back(Event::Acted(beat, Outcome::done())),
                Recovered::Todo => self.act(beat, plan),
                Recovered::Conflict(reason) => {
                    self.events.push_back(Event::Acted(beat, Outcome::Interrupted { reason }));
                }
            },
        }
        Ok(())
    }

    /// Ends a hosted session in the background; whoever waits for it sees its end.
    fn end(&mut self, session: &str) {
        let folder = act::folder(&self.reader, session);
        let ours = folder.clone();
        // The one who waits for the session reports what came of it.
        if threads::start("end", move || drop(host::end(&folder))).is_err() {
            // The loop is ending, and waits for nothing but this.
            drop(host::end(&ours));
        }
    }

    /// Removes in the background what is older than it has to be kept: after a move or a decide, and not after each of many.
    pub(super) fn keep_up(&mut self) {
        let now = crate::clock::up();
        let (busy, last) = self.upkeep;
        if busy || last.is_some_and(|last| now < last + UPKEEP_GAP) {
            return;
        }
        if last.is_none()
            && let Err(error) = self.writer.sweep()
        {
            // What a crash left half written. Later there is none, and what looks like it is being written just now.
            self.warn(&error.to_string());
        }
        let (writer, config, brakes) = (self.writer.clone(), self.config.clone(), self.brakes.clone());
        let (sender, under_way) =
            (self.ear.poster(), self.engine.ledger().deciding.as_ref().map(|it| it.run));
        let started = threads::start("upkeep", move || {
            let over = brakes.enter();
            let said = over.as_ref().map(|_| upkeep::sweep(&writer, &config, under_way, &brakes));
            // The lock is let go of before it is over, which the end of the loop waits for.
            drop(writer);
            drop(over);
            post(&sender, Message::Upkept(said.unwrap_or_default()));
        });
        match started {
            Ok(()) => self.upkeep = (true, Some(now)),
            Err(failure) => self.warn(&failure.error),
        }
    }

    /// Says what went wrong in the background.
    pub(super) fn warn_of(&mut self, problems: impl IntoIterator<Item = String>) {
        for problem in problems {
            self.warn(&problem);
        }
    }

    /// Says something that is no result, once. If stderr is gone, nobody is left to tell.
    pub(super) fn warn(&mut self, text: &str) {
        if self.warned != text {
            let clean = if self.spins { "\r\u{1b}[K" } else { "" };
            drop(writeln!(std::io::stderr().lock(), "{clean}looop: {}", Shown::block(text)));
            text.clone_into(&mut self.warned);
        }
    }
}
