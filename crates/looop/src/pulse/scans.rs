//! What needs the policy files waits here while a thread reads them: with thousands of them that takes a while, in which
//! signals and other requests are served.
//!
//! One pass is made at a time, and the next one begins after what rests on the last one was done. So a request sees all
//! that came before it: what a person edited, and what an earlier request wrote.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use looop_core::engine::io::{Event, Record, Request, RequestId};
use looop_core::ledger::undo::Undoable;
use looop_core::model::moves::Move;
use looop_core::model::plan::RunId;
use looop_core::world::observation::{Docs, Observation, Scope};
use serde_json::Value;

use super::driver::Driver;
use super::inbox::{Message, post};
use crate::clock;
use crate::hands::files::{self, Caches, Found, Order};
use crate::hands::sense::{Open, Pass, Sensed};
use crate::threads;

/// What the files are read for.
pub(super) enum Want {
    /// To settle what was under way when the log was opened.
    Open,
    /// To serve a request.
    Request(RequestId, Box<Request>),
    /// To take in what a decide left.
    Decided(RunId, Box<Record>),
    /// To begin a look, which checks these goals anew.
    Look(Scope, BTreeSet<String>),
    /// To end a look whose sensors and checks have been run.
    Sensed(Box<Sensed>),
}

/// The passes over the files that are wanted, and the one that is being made.
#[derive(Default)]
pub(super) struct Scans {
    caches: Arc<Mutex<Caches>>,
    /// The thread that reads, from the first pass on.
    thread: Option<Sender<(u64, Order)>>,
    wanted: VecDeque<Want>,
    under_way: Option<UnderWay>,
    /// The number of the last pass.
    begun: u64,
}

struct UnderWay {
    number: u64,
    want: Want,
    /// Whether we changed files since it began.
    stale: bool,
}

impl Scans {
    /// Files were changed by the lock holder itself: what is being read may be from before that.
    pub(super) fn moved(&mut self) {
        if let Some(under_way) = &mut self.under_way {
            under_way.stale = true;
        }
    }

    /// Forgets what is wanted: the log is opened again, and what matters is found there.
    pub(super) fn clear(&mut self) {
        self.wanted.clear();
        self.under_way = None;
    }

    /// Whether this request waits for its pass.
    pub(super) fn serves(&self, id: RequestId) -> bool {
        self.all().any(|want| matches!(want, Want::Request(of, _) if *of == id))
    }

    /// Whether what was under way when the log was opened is still to be settled.
    pub(super) fn is_opening(&self) -> bool {
        self.all().any(|want| matches!(want, Want::Open))
    }

    fn all(&self) -> impl Iterator<Item = &Want> {
        self.under_way.iter().map(|under_way| &under_way.want).chain(&self.wanted)
    }
}

impl Driver {
    /// Has the files read for something, once all that is to be done at the moment is done.
    pub(super) fn want(&mut self, want: Want) {
        self.scans.wanted.push_back(want);
    }

    /// Begins the next pass, unless one is under way or something that rests on the last one is still to be done. Called
    /// after each step and after each message.
    pub(super) fn scan_next(&mut self) {
        if self.scans.under_way.is_some() || self.events.iter().any(rests_on_files) {
            return;
        }
        let Some(want) = self.scans.wanted.pop_front() else { return };
        let order = match &want {
            Want::Open | Want::Request(..) | Want::Decided(..) => Order::Docs,
            Want::Look(scope, stale) => {
                let early = *scope == Scope::Quick && self.engine.is_early();
                let dry = self.engine.is_dry(*scope);
                let open = Box::new(Open { early, dry, ..self.open(stale.clone()) });
                let (config, known) = (self.config.clone(), self.known.clone());
                Order::Begin { config, scope: *scope, known, open }
            }
            Want::Sensed(_) => Order::Fresh { asks: self.engine.ledger().asks.keys().cloned().collect() },
        };
        self.scans.begun += 1;
        let number = self.scans.begun;
        self.scans.under_way = Some(UnderWay { number, want, stale: false });
        if let Err(order) = self.hand_out(number, order) {
            // It takes longer than it should, which is better than never.
            let found = files::read(&self.reader, &self.scans.caches, order);
            self.scanned(number, found);
            self.scan_next();
        }
    }

    /// Gives an order to the thread that reads; gives it back where there is none and none can be started.
    fn hand_out(&mut self, number: u64, order: Order) -> Result<(), Order> {
        if self.scans.thread.is_none() {
            let (sender, orders) = channel();
            let (reader, caches, poster) =
                (self.reader.clone(), self.scans.caches.clone(), self.ear.poster());
            let started = threads::start("scan", move || {
                for (number, order) in orders {
                    let found = files::read(&reader, &caches, order);
                    post(&poster, Message::Scanned(number, Box::new(found)));
                }
            });
            match started {
                Ok(()) => self.scans.thread = Some(sender),
                Err(failure) => self.warn(&failure.error),
            }
        }
        let Some(thread) = &self.scans.thread else { return Err(order) };
        thread.send((number, order)).map_err(|unsent| {
            self.scans.thread = None;
            unsent.0.1
        })
    }

    /// A pass is over: what it was made for goes on. Its event is the next, so that nothing comes in between.
    pub(super) fn scanned(&mut self, number: u64, found: Found) {
        let is_it = |under_way: &mut UnderWay| under_way.number == number;
        let Some(UnderWay { want, stale, .. }) = self.scans.under_way.take_if(is_it) else { return };
        if stale {
            return self.scans.wanted.push_front(want);
        }
        match (want, found) {
            (Want::Open, Found::Docs(docs)) => self.events.push_front(Event::Opened(Some(Box::new(docs)))),
            (Want::Request(id, request), Found::Docs(docs)) => {
                let docs = self.docs_for(&request, docs);
                self.events.push_front(Event::Asked(id, request, Some(Box::new(docs))));
            }
            (Want::Decided(run, record), Found::Docs(docs)) => {
                let docs = zoned(docs, record.decision.as_ref().and_then(zone_of).as_deref());
                self.events.push_front(Event::Decided(run, record, Box::new(docs)));
            }
            (Want::Look(..), Found::Pass(Ok(pass))) => self.look(pass),
            (Want::Look(scope, _), Found::Pass(Err(failure))) => {
                self.events.push_front(Event::Blind(failure.error, scope));
            }
            (Want::Sensed(sensed), Found::Fresh(fresh)) => self.seen(*sensed, Some(fresh)),
            // An order is made from what is wanted, and what is found is what was ordered.
            (_, Found::Docs(_) | Found::Pass(_) | Found::Fresh(_)) => {}
        }
    }

    /// What a request needs besides the policy files.
    fn docs_for(&self, request: &Request, docs: Docs) -> Docs {
        match request {
            Request::Make { proposal } => {
                let zone = if let Move::WriteSchedule { zone, .. } = &proposal.action {
                    zone.as_deref()
                } else {
                    None
                };
                zoned(docs, zone)
            }
            Request::Consent(consent) => {
                let parked = self.engine.ledger().parked.get(&consent.ask);
                zoned(docs, parked.and_then(|parked| zone_of(&parked.move_json())).as_deref())
            }
            Request::Undo { beat } => {
                let before = self.engine.ledger().undoable(*beat).and_then(Undoable::before);
                Docs { kept: self.reader.kept_bodies(before), ..docs }
            }
            Request::Prune { .. }
            | Request::Repark { .. }
            | Request::TakeUp { .. }
            | Request::Beat
            | Request::DryRun
            | Request::Pause { .. }
            | Request::Resume
            | Request::Wake
            | Request::Pulse { .. }
            | Request::Down { .. }
            | Request::Dismiss { .. }
            | Request::Trust { .. } => docs,
        }
    }

    /// Goes on with a look, unless the loop is ending. What it has to run is run in the background.
    fn look(&mut self, pass: Pass) {
        if self.ending.is_some() {
            return;
        }
        if !pass.is_dry() {
            self.sweep_lost(pass.fleet());
        }
        let (reader, config, brakes) = (self.reader.clone(), self.config.clone(), self.brakes.clone());
        if pass.is_quiet() {
            return self.sensed(pass.run(&reader, &config, &brakes));
        }
        let (sender, epoch, scope) = (self.ear.poster(), self.epoch, pass.scope());
        let started = threads::start("sense", move || {
            post(&sender, Message::Sensed(Box::new(pass.run(&reader, &config, &brakes)), epoch));
        });
        match started {
            Ok(()) => self.passes += 1,
            Err(failure) => self.events.push_back(Event::Blind(failure.error, scope)),
        }
    }

    /// Takes in what a look has run. Where nothing was run no time has passed, and the files are as they were.
    pub(super) fn sensed(&mut self, sensed: Sensed) {
        if sensed.is_still() {
            return self.seen(sensed, None);
        }
        if sensed.metered.is_none() {
            let fleet = sensed.fleet().clone();
            if let Some(sensed) = self.metered(sensed, &fleet) {
                self.want(Want::Sensed(Box::new(sensed)));
            }
            return;
        }
        self.want(Want::Sensed(Box::new(sensed)));
    }

    /// Ends a look with the files as they are now.
    fn seen(&mut self, sensed: Sensed, fresh: Option<Observation>) {
        let fleet = fresh.as_ref().map_or_else(|| sensed.fleet(), |fresh| &fresh.docs.fleet).clone();
        let Some(sensed) = self.metered(sensed, &fleet) else { return };
        let looked = sensed.conclude(&self.reader, fresh, &self.config);
        if looked.scope == Scope::Full {
            self.renewed = looked.renewed;
            self.looked = Some(clock::now().wall);
        }
        self.known = looked.known.map_or_else(|| self.known.clone(), Arc::new);
        self.events.push_front(match looked.seen {
            Ok(seen) => Event::Sensed(Box::new(seen)),
            Err(failure) => Event::Blind(failure.error, looked.scope),
        });
    }
}

/// Whether something was read for an event.
fn rests_on_files(event: &Event) -> bool {
    matches!(
        event,
        Event::Opened(Some(_)) | Event::Asked(_, _, Some(_)) | Event::Decided(..) | Event::Sensed(_)
    )
}

/// The policy files with one more zone resolved.
fn zoned(mut docs: Docs, zone: Option<&str>) -> Docs {
    if let Some((name, found)) = zone.and_then(|name| Some((name, looop_store::docs::zone(name)?))) {
        docs.zones.insert(name.to_owned(), found);
    }
    docs
}

/// The zone that a decision names.
fn zone_of(decision: &Value) -> Option<String> {
    decision.get("zone")?.as_str().map(str::to_owned)
}
