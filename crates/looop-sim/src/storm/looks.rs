//! Looking at the world, as the binary does: files and letters at once, sensors and checks in the background.

use std::collections::BTreeSet;

use looop_core::engine::io::Event;
use looop_core::model::digest::Digest;
use looop_core::model::goal;
use looop_core::world::observation::{Doc, Docs, Letters, Observation, Scope};

use super::agenda::Message;
use super::gauges::{Gauge, Taken, check};
use super::pulse::Pulse;
use super::site::Site;

impl Pulse {
    /// Begins a look.
    pub(super) fn sense(&mut self, site: &mut Site, scope: Scope, stale: &BTreeSet<String>) {
        site.tale.count(match scope {
            Scope::Full => "full looks",
            Scope::Quick => "quick looks",
        });
        if scope == Scope::Full {
            self.passes += 1;
            self.full = Some(site.clock.now().stamp());
        }
        let taken = self.begin_pass(site, scope, stale);
        match taken.span {
            None => self.sensed(site, taken),
            Some(span) => site.post(self.life, span, Message::Sensed(Box::new(taken))),
        }
    }

    fn begin_pass(&mut self, site: &mut Site, scope: Scope, stale: &BTreeSet<String>) -> Taken {
        let scan = self.writer.scan(&mut self.cache, site.clock.wall());
        let letters = self.letters();
        let fleet = site.fleet();
        let unproven = self.engine.unproven().into_iter().filter(|(session, _)| !fleet.lives(session));
        let proofs: Vec<(String, String)> = unproven.collect();
        let seen = Observation {
            scope,
            unusable: scan.odd,
            broken: scan.broken,
            docs: Docs {
                fleet,
                waiting: letters.waiting(),
                unfetched: letters.unfetched(),
                proposals: letters.proposals(),
                ..scan.docs
            },
            letters,
            ..Observation::default()
        };
        let full = scope == Scope::Full;
        let sensors = scan.sensors.keys();
        let sensors: Vec<String> =
            sensors.filter(|name| full || !self.known.readings.contains_key(*name)).cloned().collect();
        let checks = self.checks(&seen.docs, full, stale);
        let gauges = sensors.iter().map(|name| site.gauges.get(name).map_or(5, Gauge::span));
        let commands = checks.iter().map(|(_, _, text)| text).chain(proofs.iter().map(|(_, text)| text));
        let longest = gauges.chain(commands.map(|text| check(text, &site.done).1)).max();
        let says = |text: &str| check(text, &site.done).0;
        let checks = checks.into_iter().map(|(id, digest, text)| (id, digest, says(&text))).collect();
        let proofs = proofs.into_iter().map(|(session, text)| (session, says(&text))).collect();
        Taken { scope, seen, sensors, checks, proofs, span: longest }
    }

    fn letters(&self) -> Letters {
        let mut letters = self.writer.letters();
        let asks = self.engine.ledger().asks.keys();
        let gone = asks.filter(|ask| !letters.asks.contains_key(*ask) && !letters.answers.contains_key(*ask));
        let collected = gone.filter_map(|ask| Some((ask.clone(), self.writer.settled_answer(ask).value()?)));
        letters.collected = collected.collect();
        letters
    }

    /// What has come since a look began is in it too: who is there, what was written, and what was spent.
    fn refresh(&self, site: &Site, seen: &mut Observation) {
        let letters = self.letters();
        seen.docs.fleet = site.fleet();
        (seen.docs.waiting, seen.docs.unfetched) = (letters.waiting(), letters.unfetched());
        seen.docs.proposals = letters.proposals();
        seen.letters = letters;
        if let Some(bank) = &site.bank {
            seen.spends = bank.files(|session| site.yard.children.contains_key(session));
        }
    }

    /// The checks that a look runs: all of them, or those that are not known for a goal as it is.
    fn checks(&self, docs: &Docs, full: bool, stale: &BTreeSet<String>) -> Vec<(String, Digest, String)> {
        let mut checks = Vec::new();
        for (id, doc) in &docs.goals {
            let Doc::Text { text, digest } = doc else { continue };
            let Some(command) = goal::parse(text).check else { continue };
            let known = self.known.checks.get(id).is_some_and(|(of, _)| of == digest);
            if full || stale.contains(id) || !known {
                checks.push((id.clone(), *digest, command));
            }
        }
        checks
    }

    /// A look is over.
    pub(super) fn sensed(&mut self, site: &mut Site, taken: Taken) {
        let Taken { scope, mut seen, sensors, checks, proofs, .. } = taken;
        self.passes -= u32::from(scope == Scope::Full);
        let wall = site.clock.wall();
        for name in sensors {
            let reading = site.gauges.entry(name.clone()).or_default().run(wall);
            self.known.readings.insert(name, reading);
        }
        for (id, digest, checked) in checks {
            self.known.checks.insert(id, (digest, checked));
        }
        self.refresh(site, &mut seen);
        seen.proofs.extend(proofs);
        if site.bank.is_none() {
            seen.spends = self.spends(site, scope, &seen.docs.fleet);
        }
        let readings = self.known.readings.iter().filter(|(name, _)| seen.docs.sensors.contains_key(*name));
        seen.readings = readings.map(|(name, reading)| (name.clone(), reading.clone())).collect();
        for (id, doc) in &seen.docs.goals {
            if let (Doc::Text { text, digest }, Some((of, checked))) = (doc, self.known.checks.get(id))
                && of == digest
                && goal::parse(text).check.is_some()
            {
                seen.checks.insert(id.clone(), checked.clone());
            }
        }
        if seen.broken.is_empty() && seen.docs.fleet.fault.is_none() {
            self.seen = Some((seen.clone(), site.clock.now()));
        }
        self.events.push_back(Event::Sensed(Box::new(seen)));
    }
}
