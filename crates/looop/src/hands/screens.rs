//! Workers that stand at a dialog: their screens are looked at, and a flag is raised in their name.

use std::collections::BTreeMap;

use looop_core::agents::{Halt, halt};
use looop_core::model::letter::{Ask, AskKind};
use looop_core::world::fleet::{Fleet, Worker, WorkerState};
use looop_session::Client;
use looop_store::Reader;
use looop_store::mail::NewAsk;

use super::act::folder;
use super::adapt::base;
use super::runner::{agent, program};
use super::task::task_of;
use crate::clock;
use crate::config::Config;

/// After so many seconds without output a worker is silent.
const QUIET: u64 = 5;
/// What such a flag refers to, by which it is told from one that the worker raised itself.
const ABOUT: &str = "screen";

/// What is known of the screens.
#[derive(Debug, Default)]
pub(crate) struct Screens {
    looked: BTreeMap<String, Looked>,
}

/// The last look at a screen.
#[derive(Debug, Default)]
struct Looked {
    /// When, on the boot clock in milliseconds.
    at: u64,
    /// Whether it was silent then.
    silent: bool,
    /// What the person was told. It is not told again while it stays the same, also when they dismissed it.
    told: Option<String>,
}

impl Screens {
    /// The sessions whose screens are to be looked at: those that have printed something since the last look, and those
    /// that have become silent since.
    pub(crate) fn due(&self, fleet: &Fleet) -> Vec<(String, bool)> {
        let up = clock::now().up;
        let due = |worker: &&Worker| {
            let Some(looked) = self.looked.get(&worker.session) else { return true };
            let since = up.saturating_sub(looked.at);
            silent(worker) != looked.silent || worker.silent_s.unwrap_or(0).saturating_mul(1000) < since
        };
        let alive = fleet.workers.values().filter(|worker| worker.state == WorkerState::Alive);
        alive.filter(due).map(|worker| (worker.session.clone(), silent(worker))).collect()
    }

    /// Looks at these screens. Says what went wrong.
    pub(crate) fn look(
        &mut self,
        reader: &Reader,
        config: &Config,
        sessions: &[(String, bool)],
    ) -> Vec<String> {
        self.looked.retain(|session, _| folder(reader, session).exists());
        sessions.iter().filter_map(|due| self.look_at(reader, config, due).err()).collect()
    }

    fn look_at(
        &mut self,
        reader: &Reader,
        config: &Config,
        (session, silent): &(String, bool),
    ) -> Result<(), String> {
        let looked = self.looked.entry(session.clone()).or_default();
        (looked.at, looked.silent) = (clock::now().up, *silent);
        // One that ends meanwhile has no screen any more.
        let Ok(mut client) = Client::connect(&folder(reader, session)) else { return Ok(()) };
        let Ok(shot) = client.screen(false) else { return Ok(()) };
        let found = halt(program_of(reader, config, session).as_deref(), &shot.lines, *silent);
        let said = found.map(|halt| text(&halt));
        withdraw(reader, session, said.as_deref())?;
        if let Some(said) = said.as_deref().filter(|said| looked.told.as_deref() != Some(*said)) {
            let reference = Some(ABOUT);
            let new =
                NewAsk { from: session, kind: AskKind::Flag, prompt: said, reference, ..NewAsk::default() };
            // One that says the same and waits is found again.
            let posted = reader.post_ask(&new, clock::now().wall);
            posted
                .map_err(|error| format!("{session} stands at a dialog, and nobody can be told: {error}"))?;
        }
        looked.told = said;
        Ok(())
    }
}

fn silent(worker: &Worker) -> bool {
    worker.silent_s.is_some_and(|silent| silent >= QUIET)
}

/// What the person is told.
fn text(halt: &Halt) -> String {
    format!("it {}\n{}", halt.what, halt.screen)
}

/// Takes back what was said of a screen before, unless it is still so.
fn withdraw(reader: &Reader, session: &str, said: Option<&str>) -> Result<(), String> {
    let letters = reader.letters();
    let ours = |ask: &&Ask| {
        let of_screen = ask.kind == AskKind::Flag && ask.reference.as_deref() == Some(ABOUT);
        of_screen && ask.from == session && Some(ask.prompt.as_str()) != said
    };
    let open = letters.asks.values().filter(ours).filter(|ask| !letters.answers.contains_key(&ask.id));
    for ask in open {
        let gone = reader.withdraw(&ask.id, clock::now().wall);
        gone.map_err(|error| format!("{} could not be taken back: {error}", ask.id))?;
    }
    Ok(())
}

/// The program that a worker runs, where its command shows it.
fn program_of(reader: &Reader, config: &Config, session: &str) -> Option<String> {
    let task = task_of(reader, session).ok()?;
    let agent = agent(config, &task).ok()?;
    program(agent.command.as_str()).map(|program| base(program).to_owned())
}
