//! What reaches the lock holder.

use looop_core::engine::io::{Event, Record, Request, RequestId};
use looop_core::ledger::entry::FailureKind;
use looop_core::ledger::undo::Undoable;
use looop_core::model::moves::Move;
use looop_core::model::plan::RunId;
use looop_core::world::observation::Docs;

use super::agenda::Message;
use super::pulse::{Halt, Pulse};
use super::site::Site;
use super::yard::{Job, Stage};

impl Pulse {
    /// Takes in a message.
    pub(super) fn receive(&mut self, site: &mut Site, message: Message) -> Result<(), Halt> {
        if self.closed {
            // Everything else is found again after the replay, and must not make the wait shorter: each try of a log
            // that cannot be written would bring the messages that make for the next.
            self.exited |= matches!(message, Message::Signal { .. });
            return Ok(());
        }
        match message {
            Message::Sensed(taken) => self.sensed(site, *taken),
            Message::Decided(run, session) => self.decided(site, run, &session),
            Message::RunNeverRan(run) => self.events.push_back(Event::RunNeverRan(run)),
            Message::Hosted(beat, session) => {
                let outcome = site.yard.stands(&session).outcome();
                self.acted(site, beat, outcome);
            }
            Message::Acted(beat, outcome) => self.acted(site, beat, outcome),
            Message::ActNeverRan(beat) => self.events.push_back(Event::ActNeverRan(beat)),
            Message::Tried(beat, problem) => self.tried(beat, problem),
            Message::Pruned(id, gone, kept) => {
                self.events.push_back(Event::Pruned(id.map(RequestId), gone, kept));
            }
            Message::Cleared(problems) => {
                self.events.push_back(Event::Cleared(Box::new(site.fleet()), problems));
            }
            Message::Asked(request) => {
                self.asked += 1;
                self.ending |= matches!(*request, Request::Down { .. });
                self.waiting.insert(self.asked, word(&request));
                site.tale.count(word(&request));
                self.ask(site, RequestId(self.asked), *request);
            }
            Message::Noise(cause) => self.events.push_back(Event::Woke(cause)),
            Message::Signal { keep_workers } => {
                self.ending = true;
                self.events.push_back(Event::Stop { reason: "SIGTERM".to_owned(), keep_workers });
            }
        }
        self.turn(site)
    }

    /// Hands a request to the engine, with the policy files as they are now.
    pub(super) fn ask(&mut self, site: &mut Site, id: RequestId, request: Request) {
        let docs = match &request {
            Request::Make { proposal } => {
                let zone =
                    if let Move::WriteSchedule { zone, .. } = &proposal.action { zone.clone() } else { None };
                Some(Box::new(self.docs(site, zone.as_deref())))
            }
            Request::Prune { .. } | Request::Consent(_) | Request::TakeUp { .. } | Request::Repark { .. } => {
                Some(Box::new(self.docs(site, None)))
            }
            Request::Undo { beat } => {
                let before = self.engine.ledger().undoable(*beat).and_then(Undoable::before);
                let kept = self.writer.kept_bodies(before);
                Some(Box::new(Docs { kept, ..self.docs(site, None) }))
            }
            Request::Beat
            | Request::DryRun
            | Request::Pause { .. }
            | Request::Resume
            | Request::Dismiss { .. }
            | Request::Trust { .. }
            | Request::Wake
            | Request::Pulse { .. }
            | Request::Down { .. } => None,
        };
        self.events.push_back(Event::Asked(id, Box::new(request), docs));
    }

    /// The policy files as they are now, with one more zone resolved.
    pub(super) fn docs(&mut self, site: &Site, zone: Option<&str>) -> Docs {
        let mut docs = self.writer.scan(&mut self.cache, site.clock.wall()).docs;
        docs.fleet = site.fleet();
        let letters = self.writer.letters();
        (docs.waiting, docs.unfetched) = (letters.waiting(), letters.unfetched());
        docs.proposals = letters.proposals();
        if let Some((name, found)) = zone.and_then(|name| Some((name, looop_store::docs::zone(name)?))) {
            docs.zones.insert(name.to_owned(), found);
        }
        docs
    }

    /// The record of a decide, as it was left.
    pub(super) fn decided(&mut self, site: &mut Site, run: RunId, session: &str) {
        let child = site.yard.stands(session).clone();
        let record = match (&child.stage, child.job) {
            (Stage::Ended(_), Job::Decide(_, Some(record))) => *record,
            (Stage::Fenced, _) => {
                let failure = (FailureKind::Runner, "it could not be started".to_owned());
                Record::uncalled(run, site.clock.wall(), failure)
            }
            _ => super::effects::lost(run, site.clock.wall()),
        };
        let zone = record.decision.as_ref().and_then(|said| said.get("zone")?.as_str()).map(str::to_owned);
        let docs = self.docs(site, zone.as_deref());
        self.events.push_back(Event::Decided(run, Box::new(record), Box::new(docs)));
    }
}

fn word(request: &Request) -> &'static str {
    match request {
        Request::Beat => "asked for a beat",
        Request::DryRun => "asked for a dry run",
        Request::Make { .. } => "asked for a move",
        Request::Pause { .. } => "asked for a pause",
        Request::Resume => "asked to resume",
        Request::Dismiss { .. } => "asked to dismiss",
        Request::Trust { .. } => "asked to trust",
        Request::Wake => "asked to wake",
        Request::Pulse { .. } => "asked who it is",
        Request::Down { .. } => "asked to go down",
        Request::Prune { .. } => "asked to prune",
        Request::Consent(_) => "asked to agree or refuse",
        Request::Repark { .. } => "asked to ask anew",
        Request::TakeUp { .. } => "asked to take up a proposal",
        Request::Undo { .. } => "asked to undo",
    }
}
