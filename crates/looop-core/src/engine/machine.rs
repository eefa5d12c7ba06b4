//! The engine itself: its state, and the way an event takes through it.

use std::collections::{BTreeMap, VecDeque};

use super::ending::Ending;
use super::io::{Effect, Event, Numbers, Reply, Request, RequestId};
use super::limits::Waiters;
use super::looks::{Look, Looks};
use super::wake::Timetable;
use crate::bounds::{SENTENCE, cut};
use crate::gate::Limits;
use crate::ledger::entry::{Cause, Entry, Line};
use crate::ledger::fold::apply;
use crate::ledger::state::Ledger;
use crate::meter::CallBound;
use crate::model::digest::Digest;
use crate::model::plan::BeatId;
use crate::time::Now;
use crate::world::observation::{Doc, Docs};

/// Beats that are passed over after the log has lost its end: an input that was typed in one of them keeps its number.
const BEATS_PASSED_OVER: u64 = 1000;

/// What the engine is set up with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Bounds.
    pub limits: Limits,
    /// Whether the built-in decider is asked.
    pub builtin: bool,
    /// The paid deciders, in the order in which they are tried.
    pub paid: Vec<PaidDecider>,
}

/// A decider that runs as a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidDecider {
    /// The runner's name.
    pub name: String,
    /// Whether it costs nothing.
    pub free: bool,
    /// Whether it gets the moves as a schema, so that its brief need not list them.
    pub tool: bool,
    /// What a call of it costs at most, where it is one call of a model that has a price.
    pub bound: Option<CallBound>,
}

/// The loop as a state machine.
#[derive(Debug)]
pub struct Engine {
    pub(super) ledger: Ledger,
    pub(super) setup: Setup,
    /// The looks that are wanted and under way.
    pub(super) looks: Looks,
    /// When the loop last came to rest after a full look or a move, by the boot-time clock.
    pub(super) rested: Option<u64>,
    /// Whether there was a move since the last full look.
    pub(super) moved: bool,
    /// When the last full look was over, by the boot-time clock.
    pub(super) looked_at: Option<u64>,
    /// How many full looks there were.
    pub(super) looked: u64,
    /// The schedules that the last look saw.
    pub(super) timetable: Timetable,
    pub(super) waiters: Waiters,
    /// Requests that wait for a beat to end.
    pub(super) beat_waiters: Vec<RequestId>,
    /// Those of them whose beat has decided: they wait for what came of it.
    pub(super) decided_waiters: Vec<RequestId>,
    /// Requests that wait for the move under way.
    pub(super) queue: VecDeque<(RequestId, Request)>,
    /// Who wants to know about the move under way.
    pub(super) act_waiter: Option<RequestId>,
    /// Whether the decide under way was begun by an earlier lock holder.
    pub(super) adopted: bool,
    /// How to fetch a decision that came while a move was under way.
    pub(super) late: Option<Effect>,
    /// Digest of policy files and configuration when they were last seen.
    pub(super) policy: Digest,
    /// Beats that did the same nothing since the last append.
    pub(super) idle: u32,
    /// Beats without a changed reading since the last one with.
    pub(super) quiet: u32,
    /// Whether the last beat failed, and why it did nothing.
    pub(super) last_failed: bool,
    pub(super) last_why: Option<String>,
    /// Set once the loop is ending.
    pub(super) stop: Option<Ending>,
    /// Who waits for a removal, with what they are told to be kept.
    pub(super) prunings: BTreeMap<RequestId, Vec<(String, String)>>,
    pub(super) out: Out,
}

/// What one step collects.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) entries: Vec<Entry>,
    pub(super) effects: Vec<Effect>,
}

impl Engine {
    /// An engine over a ledger that was just replayed.
    pub fn new(ledger: Ledger, setup: Setup) -> Self {
        Self {
            policy: setup.limits.config,
            ledger,
            setup,
            looks: Looks::default(),
            rested: None,
            moved: false,
            looked_at: None,
            looked: 0,
            timetable: Timetable::default(),
            waiters: Waiters::default(),
            beat_waiters: Vec::new(),
            decided_waiters: Vec::new(),
            queue: VecDeque::new(),
            act_waiter: None,
            adopted: false,
            late: None,
            idle: 0,
            quiet: 0,
            last_failed: false,
            last_why: None,
            stop: None,
            prunings: BTreeMap::new(),
            out: Out::default(),
        }
    }

    /// What the loop remembers.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Takes one event and says what must be done. The log effect, if there is one, comes first.
    pub fn step(&mut self, event: Event, now: &Now) -> Vec<Effect> {
        match event {
            Event::Opened(docs) => self.opened(docs.as_deref()),
            Event::Seeded(files) => self.log(Entry::Seeded { files }, now),
            Event::Numbered(found) => self.numbered(found, now),
            // A look that is wanted and never begun would keep the loop from its end.
            Event::Began { .. } | Event::Woke(_) if self.is_stopping() => {}
            Event::Began { by_person } => {
                self.looks.want(Look { begun: by_person, ..Look::by(Cause::Start) });
            }
            Event::Woke(cause) => self.looks.want(Look::by(cause)),
            Event::Configured(error) => self.configured(error, now),
            Event::Sensed(seen) => self.sensed(&seen, now),
            Event::Blind(error, scope) => self.blind(error, scope, now),
            Event::Decided(run, record, docs) => self.decided(run, *record, &docs, now),
            Event::RunNeverRan(run) => self.run_never_ran(run, now),
            Event::Acted(beat, outcome) => self.acted(beat, outcome, now),
            Event::ActNeverRan(beat) => self.act_never_ran(beat, now),
            Event::RuleWritten(ask, error) => self.log(Entry::RuleWritten { ask, error }, now),
            Event::Reaped(claims) => {
                for (claim, session) in claims {
                    self.log(Entry::ClaimReaped { claim, session }, now);
                }
            }
            Event::Pruned(id, sessions, failed) => self.pruned(id, sessions, failed, now),
            Event::Notified(key, results) => self.notified(&key, results, now),
            Event::Asked(id, request, docs) => self.asked(id, *request, docs.as_deref(), now),
            Event::Cleared(fleet, problems) => self.cleared(&fleet, problems, now),
            Event::Stop { reason, keep_workers } => self.stop(reason, keep_workers, now),
        }
        self.go_on();
        self.take(now)
    }

    /// Counts on from the highest numbers of log and disk. A log that was cut knows less than there is.
    fn numbered(&mut self, found: Numbers, now: &Now) {
        if found.are_ahead_of(&self.ledger) {
            let Numbers { runs, sessions, asks } = found;
            let beats = self.ledger.beats.saturating_add(BEATS_PASSED_OVER);
            self.log(Entry::Renumbered { runs, sessions, asks, beats }, now);
        }
    }

    /// Says that the configuration is broken, or whole again, once.
    fn configured(&mut self, error: Option<String>, now: &Now) {
        let error = error.map(|mut error| {
            cut(&mut error, SENTENCE, "");
            error
        });
        match error {
            Some(error) if self.ledger.config_error.as_ref() != Some(&error) => {
                self.log(Entry::ConfigError { error }, now);
            }
            None if self.ledger.config_error.is_some() => self.log(Entry::ConfigMended, now),
            Some(_) | None => {}
        }
    }

    /// Takes over a changed configuration.
    pub fn configure(&mut self, setup: Setup) {
        self.setup = setup;
    }

    /// Whether a decide or a move is under way.
    pub fn is_busy(&self) -> bool {
        !self.is_still()
    }

    /// Whether a move is under way.
    pub fn is_acting(&self) -> bool {
        self.ledger.acting.is_some()
    }

    /// Whether nothing is under way and nobody waits.
    pub fn is_idle(&self) -> bool {
        self.looks.is_empty() && self.is_still() && self.queue.is_empty()
    }

    /// Whether a request waits for the move under way and was not begun.
    pub fn is_queued(&self, id: RequestId) -> bool {
        self.queue.iter().any(|(queued, _)| *queued == id)
    }

    /// How many times the whole world was looked at.
    pub fn looked(&self) -> u64 {
        self.looked
    }

    pub(super) fn is_still(&self) -> bool {
        self.ledger.acting.is_none() && self.ledger.deciding.is_none()
    }

    pub(super) fn log(&mut self, mut entry: Entry, now: &Now) {
        entry.bound();
        if self.out.entries.is_empty() {
            self.ledger.seq += 1;
            self.ledger.at = Some(now.stamp());
        }
        apply(&mut self.ledger, &now.stamp(), &entry);
        self.out.entries.push(entry);
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }

    pub(super) fn reply(&mut self, id: RequestId, reply: Reply) {
        self.push(Effect::Reply(id, Box::new(reply)));
    }

    fn take(&mut self, now: &Now) -> Vec<Effect> {
        let Out { entries, effects } = std::mem::take(&mut self.out);
        if entries.is_empty() {
            return effects;
        }
        let idle = std::mem::take(&mut self.idle);
        let line = Line { seq: self.ledger.seq, at: now.stamp(), idle, entries };
        std::iter::once(Effect::Log(line)).chain(effects).collect()
    }

    /// After every event: begin what waited, and answer who waits for quiet.
    fn go_on(&mut self) {
        if self.ledger.acting.is_none()
            && let Some((id, request)) = self.queue.pop_front()
        {
            self.push(Effect::Again(id, Box::new(request)));
        }
        if self.is_stopping() {
            // Whoever wakes a loop that is ending wakes nobody.
            self.looks = Looks::default();
        } else {
            if self.is_still() && !self.is_early() {
                self.looks.repay();
            }
            self.begin_looks();
        }
        if self.is_idle() {
            self.decided_waiters.clear();
            let (waiters, reply) = (std::mem::take(&mut self.beat_waiters), self.beat_reply());
            for id in waiters {
                self.reply(id, reply.clone());
            }
            self.end();
        }
    }

    /// What the last beat says to whoever asked for it.
    pub(super) fn beat_reply(&self) -> Reply {
        let failing = self.ledger.failing.iter().filter(|(_, record)| record.works.is_none());
        let failing = failing.map(|(name, record)| (name.clone(), record.reason.clone())).collect();
        Reply::Beat { why: self.last_why.clone(), failed: self.last_failed, failing }
    }

    /// Another beat decides after all that came of those before it is over: whoever waits for one of them is answered.
    pub(super) fn end_beats_before(&mut self, reply: &Reply) {
        for id in std::mem::take(&mut self.decided_waiters) {
            self.beat_waiters.retain(|waiter| *waiter != id);
            self.reply(id, reply.clone());
        }
    }

    fn opened(&mut self, docs: Option<&Docs>) {
        if let Some(docs) = docs {
            self.note_policy(docs);
        }
        if let Some(deciding) = &self.ledger.deciding {
            let effect = Effect::Adopt(deciding.run, deciding.session.clone());
            self.adopted = true;
            self.push(effect);
        }
        for (ask, rule) in self.ledger.rules_due.clone() {
            self.push(Effect::Rule(ask, rule));
        }
        if let Some(acting) = &self.ledger.acting {
            let effect = Effect::Recover(acting.beat, acting.plan.clone());
            self.push(effect);
        }
    }

    pub(super) fn next_beat(&self) -> BeatId {
        BeatId(self.ledger.beats.saturating_add(1))
    }

    /// Remembers what an edit of would cut the backoff: PLAYBOOK, goals, configuration.
    pub(super) fn note_policy(&mut self, docs: &Docs) {
        let mut bytes = self.setup.limits.config.bytes().to_vec();
        let mut add = |id: &str, doc: &Doc| {
            bytes.extend_from_slice(&(id.len() as u64).to_le_bytes());
            bytes.extend_from_slice(id.as_bytes());
            bytes.push(u8::from(doc.digest().is_some()));
            bytes.extend(doc.digest().iter().flat_map(Digest::bytes));
        };
        add("PLAYBOOK", &docs.playbook);
        docs.goals.iter().for_each(|(id, doc)| add(id, doc));
        self.policy = Digest::of(&bytes);
    }
}
