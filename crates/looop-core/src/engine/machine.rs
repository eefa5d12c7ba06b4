//! The engine itself: its state, and the way an event takes through it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::io::{Effect, Event, Reply, Request, RequestId};
use crate::gate::Limits;
use crate::ledger::entry::{Cause, Entry, Line};
use crate::ledger::fold::apply;
use crate::ledger::state::Ledger;
use crate::model::digest::Digest;
use crate::model::plan::{Act, BeatId};
use crate::time::Now;
use crate::world::observation::{Doc, Docs};

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
}

/// A beat that is looking at the world.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) cause: Cause,
    pub(super) by_person: bool,
    /// Whether something may come of it; a dry run changes nothing.
    pub(super) wet: bool,
    pub(super) dry: Vec<RequestId>,
}

/// The loop as a state machine.
#[derive(Debug)]
pub struct Engine {
    pub(super) ledger: Ledger,
    pub(super) setup: Setup,
    /// The look under way.
    pub(super) look: Option<Look>,
    /// The look that is wanted next.
    pub(super) wanted: Option<Look>,
    /// Requests that wait for a beat to end.
    pub(super) beat_waiters: Vec<RequestId>,
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
    pub(super) stopping: bool,
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
            look: None,
            wanted: None,
            beat_waiters: Vec::new(),
            queue: VecDeque::new(),
            act_waiter: None,
            adopted: false,
            late: None,
            idle: 0,
            quiet: 0,
            last_failed: false,
            last_why: None,
            stopping: false,
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
            Event::Woke(cause) => self.want(Look { cause, by_person: false, wet: true, dry: Vec::new() }),
            Event::Sensed(seen) => self.sensed(&seen, now),
            Event::Blind(error) => self.blind(error, now),
            Event::Decided(run, record, docs) => self.decided(run, *record, &docs, now),
            Event::RunNeverRan(run) => self.run_never_ran(run, now),
            Event::Acted(beat, outcome) => self.acted(beat, outcome, now),
            Event::ActNeverRan(beat) => self.act_never_ran(beat, now),
            Event::Reaped(claims) => {
                for (claim, session) in claims {
                    self.log(Entry::ClaimReaped { claim, session }, now);
                }
            }
            Event::Pruned(id, sessions, failed) => self.pruned(id, sessions, failed, now),
            Event::Asked(id, request, docs) => self.asked(id, *request, docs.as_deref(), now),
            Event::Stop(reason) => self.stop(reason, now),
        }
        self.go_on();
        self.take(now)
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
        self.look.is_none() && self.wanted.is_none() && self.is_still() && self.queue.is_empty()
    }

    fn is_still(&self) -> bool {
        self.ledger.acting.is_none() && self.ledger.deciding.is_none()
    }

    /// How long until the loop has to look again by itself: the interval, or a nudge that comes earlier.
    pub fn next_look(&self, interval: Duration, now: &Now) -> Duration {
        let nudge = self.ledger.nudge.as_ref().map(|n| now.left(&n.at, Duration::from_secs(n.seconds)));
        // A nudge that is past due and was not served is held back by a gate; it must not make the loop spin.
        nudge.filter(|left| !left.is_zero()).map_or(interval, |left| left.min(interval))
    }

    pub(super) fn log(&mut self, entry: Entry, now: &Now) {
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

    pub(super) fn want(&mut self, look: Look) {
        match &mut self.wanted {
            Some(wanted) => {
                wanted.by_person |= look.by_person;
                wanted.wet |= look.wet;
                wanted.dry.extend(look.dry);
            }
            None => self.wanted = Some(look),
        }
    }

    /// After every event: begin what waited, and answer who waits for quiet.
    fn go_on(&mut self) {
        if self.ledger.acting.is_none()
            && let Some((id, request)) = self.queue.pop_front()
        {
            self.push(Effect::Again(id, Box::new(request)));
        }
        if self.ledger.acting.is_none()
            && self.look.is_none()
            && let Some(look) = self.wanted.take()
            && !self.stopping
        {
            self.look = Some(look);
            self.push(Effect::Sense);
        }
        if self.is_idle() {
            let reply = Reply::Beat { why: self.last_why.clone(), failed: self.last_failed };
            for id in std::mem::take(&mut self.beat_waiters) {
                self.reply(id, reply.clone());
            }
            if self.stopping {
                self.push(Effect::Exit);
            }
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
        if let Some(acting) = &self.ledger.acting {
            let effect = Effect::Recover(acting.beat, acting.plan.clone());
            self.push(effect);
        }
    }

    fn stop(&mut self, reason: String, now: &Now) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        self.look = None;
        self.wanted = None;
        for (id, _) in std::mem::take(&mut self.queue) {
            self.reply(id, Reply::Refused { reason: "the loop is ending".to_owned() });
        }
        if !self.is_still() {
            self.log(Entry::Stopped { reason }, now);
        }
        let deciding = self.ledger.deciding.as_ref().map(|deciding| deciding.session.clone());
        let acting = self.ledger.acting.as_ref().and_then(|acting| match &acting.plan.act {
            Act::Hosted { session } => Some(session.clone()),
            Act::Nothing
            | Act::Worker { .. }
            | Act::Typed { .. }
            | Act::Ended { .. }
            | Act::Again { .. }
            | Act::File { .. }
            | Act::Archive { .. } => None,
        });
        for session in deciding.into_iter().chain(acting) {
            self.push(Effect::End(session));
        }
    }

    pub(super) fn next_beat(&self) -> BeatId {
        BeatId(self.ledger.beats + 1)
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
