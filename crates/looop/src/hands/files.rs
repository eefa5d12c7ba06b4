//! Policy files, letters and workers, read in one pass.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use looop_core::world::fleet::Fleet;
use looop_core::world::observation::{Docs, Letters, Observation, Scope};
use looop_session::Roll;
use looop_store::Reader;
use looop_store::docs::{DocsCache, Scan, Sensor};

use super::sense::{Known, Open, Pass};
use super::{awaited, fleet};
use crate::clock;
use crate::config::Config;
use crate::failure::Result;

/// What earlier passes read and need not read again.
#[derive(Default)]
pub(crate) struct Caches {
    docs: DocsCache,
    roll: Roll,
}

/// What is to be read.
pub(crate) enum Order {
    /// What a request or a decision rests on.
    Docs,
    /// What a look begins with.
    Begin { config: Arc<Config>, scope: Scope, known: Arc<Known>, open: Box<Open> },
    /// What a look sees once its sensors and checks have been run. The asks are those that wait.
    Fresh { asks: Vec<String> },
}

/// What was read.
pub(crate) enum Found {
    Docs(Docs),
    Pass(Result<Pass>),
    Fresh(Observation),
}

/// Reads what is wanted. Blocks for as long as thousands of files may take.
pub(crate) fn read(reader: &Reader, caches: &Mutex<Caches>, order: Order) -> Found {
    let mut caches = caches.lock().unwrap_or_else(PoisonError::into_inner);
    match order {
        Order::Docs => Found::Docs(caches.docs(reader)),
        Order::Begin { config, scope, known, open } => {
            Found::Pass(Pass::begin((reader, &mut caches), &config, (scope, &known), &open))
        }
        Order::Fresh { asks } => Found::Fresh(caches.observe(reader, clock::now().wall, &asks).0),
    }
}

impl Caches {
    /// The policy files, with what else a move may rest on.
    fn docs(&mut self, reader: &Reader) -> Docs {
        let fleet = fleet::look(reader, &mut self.roll);
        let docs = reader.scan(&mut self.docs, clock::now().wall).docs;
        with(docs, fleet, &reader.letters())
    }

    /// Files, letters and workers as an observation, and the sensors. Workers are looked at first: of one that has ended
    /// every letter is there.
    pub(super) fn observe(
        &mut self,
        reader: &Reader,
        wall: i64,
        asks: &[String],
    ) -> (Observation, BTreeMap<String, Sensor>) {
        let fleet = fleet::look(reader, &mut self.roll);
        let Scan { docs, sensors, odd: unusable, broken } = reader.scan(&mut self.docs, wall);
        let letters = letters((reader, wall), asks);
        let docs = with(docs, fleet, &letters);
        (Observation { docs, letters, unusable, broken, ..Observation::default() }, sensors)
    }
}

fn with(docs: Docs, fleet: Fleet, letters: &Letters) -> Docs {
    let (waiting, unfetched, proposals) = (letters.waiting(), letters.unfetched(), letters.proposals());
    Docs { fleet, waiting, unfetched, proposals, ..docs }
}

/// All letters, and what became of asks that wait and whose letters are gone.
fn letters((reader, wall): (&Reader, i64), asks: &[String]) -> Letters {
    let mut letters = reader.letters_at(wall);
    let gone =
        asks.iter().filter(|ask| !letters.asks.contains_key(*ask) && !letters.answers.contains_key(*ask));
    let collected = gone.filter_map(|ask| Some((ask.clone(), reader.settled_answer(ask).value()?)));
    letters.collected = collected.collect();
    let unfetched = awaited::unfetched(&letters).map(|(ask, _)| ask.id.clone());
    letters.awaited = unfetched.filter(|ask| awaited::is_awaited(reader, ask)).collect();
    letters
}
