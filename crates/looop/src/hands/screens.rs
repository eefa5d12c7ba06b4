//! Workers that stand at a dialog: their screens are looked at, and a flag is raised in their name.

use std::collections::BTreeMap;

use looop_core::agents::{halt, is_composer_empty};
use looop_core::model::letter::{Ask, AskKind, Limit};
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
        let Some(lines) = lines_of(reader, session) else { return Ok(()) };
        let (program, now) = (program_of(reader, config, session), clock::now());
        let Some(halt) = halt(program.as_deref(), &lines, *silent, &now) else {
            looked.told = None;
            return withdraw(reader, session, None);
        };
        // A length of time on the screen is counted from the first look: what was said then stands.
        let open = flags(reader, session);
        let until = |ask: &Ask| ask.limit.as_ref().map(|limit| limit.until);
        if let Some(said) = open.iter().find(|ask| ask.prompt == halt.text(until(ask), &now)) {
            looked.told = Some(halt.text(None, &now));
            return withdraw(reader, session, Some(&said.prompt));
        }
        withdraw(reader, session, None)?;
        let known = halt.text(None, &now);
        if looked.told.as_ref() != Some(&known) {
            let until = halt.limit.and_then(|reset| reset.until);
            let limit = program.zip(until).map(|(program, until)| Limit { until, program });
            let (reference, limit, prompt) = (Some(ABOUT), limit.as_ref(), halt.text(until, &now));
            let kind = AskKind::Flag;
            let new = NewAsk { from: session, kind, prompt: &prompt, reference, limit, ..NewAsk::default() };
            let posted = reader.post_ask(&new, now.wall);
            posted
                .map_err(|error| format!("{session} stands at a dialog, and nobody can be told: {error}"))?;
        }
        looked.told = Some(known);
        Ok(())
    }
}

/// The lines of the screen of a session that runs.
fn lines_of(reader: &Reader, session: &str) -> Option<Vec<String>> {
    let mut client = Client::connect(&folder(reader, session)).ok()?;
    Some(client.screen(false).ok()?.lines)
}

/// Whether a worker still waits for its provider, and what is typed into it goes into its empty composer.
pub(crate) fn may_go_on(reader: &Reader, config: &Config, session: &str) -> Result<(), GoesNot> {
    let (Some(lines), Some(program)) = (lines_of(reader, session), program_of(reader, config, session))
    else {
        return Err(GoesNot::Over);
    };
    let waits = halt(Some(&program), &lines, false, &clock::now()).is_some_and(|halt| halt.limit.is_some());
    match (waits, is_composer_empty(&program, &lines)) {
        (false, _) => Err(GoesNot::Over),
        (true, false) => Err(GoesNot::Full),
        (true, true) => Ok(()),
    }
}

/// Why a worker is not told to go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GoesNot {
    /// It does not wait any more, or has ended.
    Over,
    /// Something stands in its composer, or something else has the keyboard.
    Full,
}

fn silent(worker: &Worker) -> bool {
    worker.silent_s.is_some_and(|silent| silent >= QUIET)
}

/// What is said of the screen of a session and waits.
fn flags(reader: &Reader, session: &str) -> Vec<Ask> {
    let letters = reader.letters();
    let ours = |ask: &&Ask| {
        let of_screen = ask.kind == AskKind::Flag && ask.reference.as_deref() == Some(ABOUT);
        of_screen && ask.from == session && !letters.answers.contains_key(&ask.id)
    };
    letters.asks.values().filter(ours).cloned().collect()
}

/// Takes back what was said of a screen before, unless it is still so.
fn withdraw(reader: &Reader, session: &str, said: Option<&str>) -> Result<(), String> {
    for ask in flags(reader, session).iter().filter(|ask| Some(ask.prompt.as_str()) != said) {
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
