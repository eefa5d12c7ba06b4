//! Workers, seen and driven by hand.

use std::collections::BTreeMap;
use std::path::Path;

use looop_core::engine::io::{Reply, Request};
use looop_core::model::goal::parse;
use looop_core::model::letter::AskKind;
use looop_core::model::moves::{Move, Proposal};
use looop_core::model::name::{Name, shown};
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::Author;
use looop_core::purse::paused_text;
use looop_core::world::fleet::{Fleet, Stray, Worker, WorkerState, worker_of};
use looop_core::world::observation::Letters;
use looop_core::world::probe::Health;
use looop_session::Roll;
use looop_store::Reader;
use serde::{Deserialize, Serialize};

use super::place::is_confined;
use super::{Place, named, submit};
use crate::clock;
use crate::config::Loaded;
use crate::failure::{Failure, Result};
use crate::hands::task::Task;
use crate::hands::{fleet, worker, works};
use crate::pulse::open::log_failure;
use crate::setup::limits;

/// The words for what is known of a worker's proof, as the probe has them.
const VERIFY: [&str; 3] = ["pass", "fail", "unchanged"];

/// One worker as it is listed.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) session: String,
    /// `alive`, `exited`, `killed` or `lost`.
    pub(crate) state: &'static str,
    /// The same in full.
    pub(crate) standing: String,
    pub(crate) alive: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) health: &'static str,
    pub(crate) goal: Option<String>,
    pub(crate) runner: Option<String>,
    pub(crate) started_unix: i64,
    pub(crate) ended_unix: Option<i64>,
    /// How long it has run, or ran.
    pub(crate) ran_s: Option<u64>,
    pub(crate) silent_s: Option<u64>,
    /// `pass`, `fail`, or `unchanged` where it changed nothing; nothing where it was not tried.
    pub(crate) verify: Option<&'static str>,
    /// The ask that it waits for.
    pub(crate) waits_on: Option<String>,
    /// Until when it waits for its provider.
    pub(crate) waits_until_unix: Option<i64>,
    /// The branch that has its work, as long as that is neither merged nor discarded.
    pub(crate) branch: Option<String>,
    /// Its processes outside its session.
    pub(crate) strays: Vec<Stray>,
}

/// The workers: the newest session of each, or all that are kept.
pub(crate) fn list(place: &Place, all: bool) -> Result<Vec<Listed>> {
    let (reader, config) = (place.reader()?, place.config()?);
    let fleet = known(fleet::look_around(&reader))?;
    let letters = reader.letters();
    let proofs = proofs(&reader, all)?;
    let waiting = waiting(&letters);
    let (limits, wall) = (limits(&config.config), clock::now().wall);
    let paused = paused(&reader, &fleet)?;
    let has_branch = works::with_branches(&reader);
    let shown: Vec<&Worker> =
        if all { fleet.workers.values().collect() } else { fleet.newest().into_values().collect() };
    let view = |worker: &Worker| {
        let waits_on = waiting.get(worker.session.as_str()).copied().filter(|_| worker.state.is_alive());
        let health = Health::of(worker, waits_on.is_some(), &limits);
        let verify = proofs.get(&worker.session).copied();
        let standing = paused.get(&worker.session).cloned().unwrap_or_else(|| worker.state.text());
        let branch = if has_branch(&worker.session) { branch_of(&reader, &worker.session)? } else { None };
        let limit = waits_on.and_then(|ask| letters.asks.get(ask)?.limit.as_ref());
        let waits_until_unix = limit.map(|limit| limit.until / 1000);
        Ok(Listed { standing, verify, waits_until_unix, branch, ..listed(worker, health, waits_on, wall) })
    };
    shown.into_iter().map(view).collect()
}

/// What is to be said of workers that are paused because they passed their allowance. Only where one is paused the log
/// is read for it.
fn paused(reader: &Reader, fleet: &Fleet) -> Result<BTreeMap<String, String>> {
    let stands = |worker: &&Worker| worker.state == WorkerState::Paused;
    if !fleet.workers.values().any(|worker| stands(&worker)) {
        return Ok(BTreeMap::new());
    }
    let (ledger, now) = (reader.ledger().map_err(|error| log_failure(&error))?, clock::now());
    let text = |worker: &Worker| {
        let record = ledger.workers.get(&worker.session)?;
        Some((worker.session.clone(), paused_text(&worker.session, record, &now)?))
    };
    Ok(fleet.workers.values().filter(stands).filter_map(text).collect())
}

/// The fleet, or why it cannot be seen.
pub(super) fn whole(reader: &Reader) -> Result<Fleet> {
    known(fleet::look(reader, &mut Roll::default()))
}

fn known(fleet: Fleet) -> Result<Fleet> {
    match fleet.fault {
        Some(fault) => Err(Failure::new(fault)),
        None => Ok(fleet),
    }
}

/// Who waits on a person, and for which ask.
fn waiting(letters: &Letters) -> BTreeMap<&str, &str> {
    let open = letters.asks.values().filter(|ask| {
        ask.kind != AskKind::Proposal && !ask.fetched && !letters.answers.contains_key(&ask.id)
    });
    open.map(|ask| (ask.from.as_str(), ask.id.as_str())).collect()
}

/// Whose work was proven, and whose was not, by session. The last beat left this for the newest sessions in a small file;
/// of older ones only the log knows, which takes longer to read.
fn proofs(reader: &Reader, all: bool) -> Result<BTreeMap<String, &'static str>> {
    if all {
        let ledger = reader.ledger().map_err(|error| log_failure(&error))?;
        let known = ledger.workers.iter();
        return Ok(known
            .filter_map(|(session, record)| Some((session.clone(), record.verify_word()?)))
            .collect());
    }
    // A snapshot that cannot be read is as good as none.
    let snapshot = reader.read_snapshot("sys-sessions").value();
    let probe = snapshot.and_then(|(bytes, _)| serde_json::from_slice::<Probe>(&bytes).ok());
    let Some(Probe { signal, mut detail }) = probe else { return Ok(BTreeMap::new()) };
    let rows = signal.workers.into_iter().filter_map(|Proven { id, verify }| {
        let verify = VERIFY.into_iter().find(|word| verify.as_deref() == Some(*word))?;
        Some((detail.sessions.remove(&id)?.session, verify))
    });
    Ok(rows.collect())
}

/// As much of the reading `sys-sessions` as a list shows.
#[derive(Deserialize)]
struct Probe {
    signal: Signal,
    detail: Detail,
}

#[derive(Deserialize)]
struct Signal {
    workers: Vec<Proven>,
}

#[derive(Deserialize)]
struct Proven {
    id: String,
    verify: Option<String>,
}

#[derive(Deserialize)]
struct Detail {
    sessions: BTreeMap<String, Since>,
}

#[derive(Deserialize)]
struct Since {
    session: String,
}

fn listed(worker: &Worker, health: Health, waits_on: Option<&str>, wall: i64) -> Listed {
    // Of one whose host died it is not known when it ended.
    let until = (worker.state != WorkerState::Lost).then(|| worker.ended.unwrap_or(wall));
    let ran = until.and_then(|until| u64::try_from(until.saturating_sub(worker.started)).ok());
    Listed {
        id: worker.id.clone(),
        session: worker.session.clone(),
        state: worker.state.word(),
        standing: worker.state.text(),
        alive: worker.state.is_alive(),
        exit_code: worker.state.exit_code(),
        health: health.word(),
        goal: worker.goal.clone(),
        runner: worker.runner.clone(),
        started_unix: worker.started / 1000,
        ended_unix: worker.ended.map(|ended| ended / 1000),
        ran_s: ran.map(|ran| ran / 1000),
        silent_s: worker.silent_s,
        verify: None,
        waits_on: waits_on.map(str::to_owned),
        waits_until_unix: None,
        branch: None,
        strays: worker.strays.clone(),
    }
}

/// The branch that has the work of a session, as long as that is neither merged nor discarded.
fn branch_of(reader: &Reader, session: &str) -> Result<Option<String>> {
    Ok(works::whereabouts(reader, session).map_err(Failure::new)?.map(|at| at.branch))
}

/// The same for a session that was found.
pub(crate) fn branch(place: &Place, session: &str) -> Result<Option<String>> {
    branch_of(&place.reader()?, session)
}

/// A worker's id from the command line. The prefix of older versions is taken off.
pub(crate) fn worker_id(text: &str) -> Result<Name> {
    named(text.strip_prefix("looop-").unwrap_or(text))
}

/// The live worker that the command line means by an id, or by the name of a session.
pub(crate) fn living(place: &Place, text: &str) -> Result<Name> {
    if !text.contains('~') {
        return worker_id(text);
    }
    let fleet = whole(&place.reader()?)?;
    match fleet.workers.get(text) {
        Some(worker) if worker.state.is_alive() => worker_id(&worker.id),
        Some(worker) => Err(Failure::new(format!("{text} does not run: {}", worker.state.text()))),
        None => Err(Failure::new(format!("there is no session \"{}\"", shown(text)))),
    }
}

/// What a started worker is called.
pub(crate) struct Started {
    pub(crate) session: Option<String>,
    pub(crate) summary: String,
    pub(crate) note: Option<String>,
}

/// The repository and the folder of a worker as the command line names them, in paths that mean the same everywhere. A
/// folder of a worktree is relative to its top.
pub(crate) fn folders(
    place: &Place,
    goal: Option<&Name>,
    repo: Option<&Path>,
    cwd: Option<&Path>,
) -> Result<(Option<String>, Option<String>)> {
    let text = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(format!("{} is not UTF-8", path.display())))
    };
    let whole = |path: &Path| match std::path::absolute(path) {
        Ok(path) => text(&path),
        Err(error) => Err(Failure::new(format!("{} cannot be made absolute: {error}", path.display()))),
    };
    let in_tree = cwd.is_some() && (repo.is_some() || has_repo(place, goal)?);
    let cwd = match cwd {
        Some(cwd) if in_tree && cwd.is_absolute() => {
            let reason = format!("it works in a worktree, and {} is no folder of one", cwd.display());
            return Err(Failure::new(reason).hint("give --cwd relative to the top of the repository"));
        }
        Some(cwd) if in_tree => Some(text(cwd)?),
        Some(cwd) => Some(whole(cwd)?),
        None => None,
    };
    Ok((repo.map(whole).transpose()?, cwd))
}

/// Whether the workers of a goal get a worktree. One that cannot be read is refused later, with the reason.
fn has_repo(place: &Place, goal: Option<&Name>) -> Result<bool> {
    let Some(goal) = goal else { return Ok(false) };
    let text = place.reader()?.read(&format!("goals/{goal}.md")).value();
    Ok(text.is_some_and(|text| parse(&String::from_utf8_lossy(&text)).repo.is_some()))
}

/// Starts a worker. What the configuration cannot run is refused before anything is written.
pub(crate) fn start(place: &Place, action: Move) -> Result<Started> {
    let config = place.config()?;
    if let Move::StartWorker { id, prompt, runner, command, .. } = &action {
        let mut task = Task::new(id.as_str(), prompt, Author::Person);
        (task.runner, task.command) = (runner.clone(), command.clone());
        if let Some(reason) = worker::refusal(&config.config, &task) {
            return Err(Failure::new(format!("worker {id} was not started: {reason}")));
        }
    }
    made((place, config), action, "looop worker list shows the workers")
}

/// Begins a worker's task anew.
pub(crate) fn restart(place: &Place, id: &Name, reason: Option<String>, force: bool) -> Result<Started> {
    let action = Move::RestartSession { id: id.clone(), reason, force };
    made((place, place.config()?), action, "looop restart <id> --force restarts one that waits for you")
}

fn made((place, config): (&Place, Loaded), action: Move, hint: &str) -> Result<Started> {
    let request = Request::Make { proposal: Proposal::of(action) };
    let reply = submit::submit_with((place, config), request, &mut |_| {});
    let reply = reply.map_err(|failure| with_hint(failure, hint))?;
    let Reply::Made { session, summary, outcome, .. } = reply else {
        return Err(Failure::new("the loop gave an answer of another kind"));
    };
    match (outcome, session) {
        (Outcome::Done { note, .. }, session) => Ok(Started { session, summary, note }),
        (Outcome::Failed { reason, .. } | Outcome::Interrupted { reason }, Some(session))
            if place.data.join("sessions").join(&session).exists() =>
        {
            Err(Failure::new(reason).hint(format!("looop log {session} shows what it printed")))
        }
        (Outcome::Failed { reason, .. } | Outcome::Interrupted { reason }, _) => Err(Failure::new(reason)),
    }
}

fn with_hint(failure: Failure, hint: &str) -> Failure {
    if failure.hint.is_none() { failure.hint(hint) } else { failure }
}

/// Ends workers, many at a time, and says of each whether this ended it, and what there is to say of all of them.
pub(crate) fn kill_all(
    place: &Place,
    ids: &[Name],
    force: bool,
) -> Result<(Vec<Result<()>>, Option<String>)> {
    // A confined worker sees itself alone.
    if is_confined(place) {
        return Ok((each(place, ids, force), None));
    }
    let letters = place.reader()?.letters();
    let waits = waiting(&letters);
    let fleet = whole(&place.reader()?)?;
    // What would be refused is asked for by itself, for its own reason.
    let ready = |id: &&Name| {
        let live = fleet
            .live(id.as_str())
            .is_some_and(|worker| force || !waits.contains_key(worker.session.as_str()));
        live && own_session(place, id).is_none()
    };
    let together: Vec<&Name> = ids.iter().filter(ready).collect();
    let [first, rest @ ..] = together.as_slice() else {
        return Ok((each(place, ids, force), None));
    };
    let (id, also) = ((*first).clone(), rest.iter().map(|id| (*id).clone()).collect());
    let ended = submit::make(place, Move::KillWorker { id, also, reason: None, force });
    let (done, note) = match ended {
        Ok(Reply::Made { outcome: Outcome::Done { note, .. }, .. }) => (true, note),
        Ok(_) | Err(_) => (false, None),
    };
    let sessions = |id: &Name| Some(fleet.live(id.as_str())?.session.clone());
    let one = |id: &Name| match sessions(id) {
        Some(session) if together.contains(&id) => {
            if done {
                Ok(())
            } else {
                was_killed(place, id, &session)
            }
        }
        _ => kill(place, id, force),
    };
    Ok((ids.iter().map(one).collect(), note))
}

fn each(place: &Place, ids: &[Name], force: bool) -> Vec<Result<()>> {
    ids.iter().map(|id| kill(place, id, force)).collect()
}

/// How a session stands that was to be ended together with others.
fn was_killed(place: &Place, id: &Name, session: &str) -> Result<()> {
    match whole(&place.reader()?)?.workers.get(session).map(|worker| &worker.state) {
        Some(WorkerState::Killed) => Ok(()),
        Some(state) if state.is_alive() => kill(place, id, true),
        Some(state) => Err(Failure::new(format!("worker \"{id}\" had ended by itself: {}", state.text()))),
        None => Err(Failure::new(format!("worker \"{id}\" is gone"))),
    }
}

/// Ends a worker; it is an error unless this ended it.
pub(crate) fn kill(place: &Place, id: &Name, force: bool) -> Result<()> {
    if let Some(session) = own_session(place, id) {
        return kill_self(place, &session, force);
    }
    let action = Move::KillWorker { id: id.clone(), also: Vec::new(), reason: None, force };
    let failed = |failure: Failure| {
        let letters = place.reader().map(|reader| reader.letters()).unwrap_or_default();
        let waits = waiting(&letters).into_iter().find(|(session, _)| worker_of(session) == id.as_str());
        let hint = match waits.filter(|_| !force) {
            Some((_, ask)) => format!("looop answer {ask}, or looop kill {id} --force"),
            None => "looop worker list shows the workers".to_owned(),
        };
        with_hint(failure, &hint)
    };
    submit::made(place, action).map(drop).map_err(failed)
}

/// The session of the worker that called us, if it is this worker.
fn own_session(place: &Place, id: &Name) -> Option<String> {
    let session = place.env.get("LOOOP_SESSION_ID")?.to_str()?;
    (session.contains('~') && worker_of(session) == id.as_str()).then(|| session.to_owned())
}

/// A worker ends itself by its own host: the loop may be at work on something else, and we end with it.
fn kill_self(place: &Place, session: &str, force: bool) -> Result<()> {
    let reader = place.reader()?;
    let letters = reader.letters();
    if let Some(ask) = waiting(&letters).get(session).filter(|_| !force) {
        return Err(Failure::new(format!("you wait for a person's answer to {ask}, so you are not ended"))
            .hint("end yourself once you have the answer"));
    }
    worker::finish(&reader, session)
}

/// The ids of all live workers.
pub(crate) fn live(place: &Place) -> Result<Vec<Name>> {
    let fleet = whole(&place.reader()?)?;
    let ids = fleet.workers.values().filter(|worker| worker.state.is_alive());
    ids.map(|worker| worker_id(&worker.id)).collect()
}

/// What was removed, and what stays and why.
#[derive(Debug, Serialize)]
pub(crate) struct Pruned {
    pub(crate) sessions: Vec<String>,
    pub(crate) kept: Vec<(String, String)>,
}

/// Removes what is kept of ended workers, or of one.
pub(crate) fn prune(place: &Place, only: Option<String>) -> Result<Pruned> {
    let reply = submit::submit(place, Request::Prune { only }, &mut |_| {})?;
    if let Reply::Pruned { sessions, kept } = reply {
        return Ok(Pruned { sessions, kept });
    }
    Err(Failure::new("the loop gave an answer of another kind"))
}
