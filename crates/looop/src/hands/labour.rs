//! What the moves that touch workers do.

use std::path::Path;
use std::thread::ScopedJoinHandle;

use looop_core::model::moves::{Move, one_line};
use looop_core::model::outcome::Outcome;
use looop_core::model::plan::{Act, Plan};
use looop_core::model::work::{Answered, Last};
use looop_core::world::fleet::{Fleet, WorkerState, worker_of};
use looop_session::client::{Client, ClientError};
use looop_session::kernel::Delivery;
use looop_session::{Ended, Launched, Roll, Shot, Standing, host};
use looop_store::Reader;

use super::act::{causes, folder};
use super::awaited::{self, Claim};
use super::screens::{self, GoesNot};
use super::task::{Task, Told};
use super::worker::Found;
use super::{dialog, worker, works};
use crate::clock;
use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::threads;

/// How often live workers are looked for when all are to end.
const ROUNDS: usize = 3;
/// Questions of an earlier worker that a worker is told of.
const ANSWERS: usize = 5;
/// So many sessions are ended at a time.
const AT_ONCE: usize = 16;

/// So many rows of a screen are shown where a text was not typed, of so many columns each.
const MOST_ROWS: usize = 16;
const MOST_COLUMNS: usize = 120;
/// So much of them is said in an outcome.
const MOST_SCREEN: usize = 600;

/// Carries out a worker move. Blocks; what was launched is the caller's to reap.
pub(crate) fn perform(reader: &Reader, config: &Config, plan: &Plan) -> (Outcome, Option<Launched>) {
    match &plan.act {
        Act::Worker { session, verify, repo, foreign, model, last, .. } => match task(plan, session) {
            Some(task) => {
                let (verify, repo, model) = (verify.clone(), repo.clone(), model.clone());
                let last = last.clone().map(|last| Box::new(with_answers(reader, *last)));
                worker::start(reader, config, &Task { verify, repo, model, foreign: *foreign, last, ..task })
            }
            None => (mismatch(plan), None),
        },
        Act::Again { from, session, asks, .. } => again(reader, config, plan, (from, session, asks)),
        Act::Typed { session, input, answers: None, wakes: None } => {
            (typed(reader, plan, session, input), None)
        }
        Act::Typed { session, input, answers: None, wakes: Some(_) } => {
            (wake(reader, config, plan, (session, input)), None)
        }
        Act::Typed { session, input, answers: Some(ask), .. } => {
            (type_answer(reader, plan, (session, input), ask), None)
        }
        Act::Ended { session, also } => (end_all(reader, session, also), None),
        Act::Nothing | Act::Hosted { .. } | Act::File { .. } | Act::Archive { .. } => (mismatch(plan), None),
    }
}

/// What became of a worker move that an earlier lock holder began; `None` if it never ran and never will. To type what
/// was typed, or to end what has ended, does no harm. Blocks; what was launched is the caller's to reap.
pub(crate) fn recover(
    reader: &Reader,
    config: &Config,
    plan: &Plan,
) -> Result<Option<(Outcome, Option<Launched>)>> {
    Ok(match &plan.act {
        Act::Worker { session, .. } | Act::Again { session, .. } => {
            match worker::recover(reader, config, session)? {
                Found::Done(outcome) => Some((outcome, None)),
                Found::NeverRan => None,
            }
        }
        Act::Ended { session, also } if were_killed(reader, session, also)? => Some((Outcome::done(), None)),
        Act::Ended { .. }
        | Act::Typed { .. }
        | Act::Nothing
        | Act::Hosted { .. }
        | Act::File { .. }
        | Act::Archive { .. } => Some(perform(reader, config, plan)),
    })
}

/// What a worker is told of the last one, with what that one asked. Of what was answered between two looks only the
/// letters know.
fn with_answers(reader: &Reader, mut last: Last) -> Last {
    if last.answers.is_empty() {
        let told = reader.settled_of(&last.session, worker_of(&last.session), ANSWERS);
        last.answers = told.iter().map(|(ask, answer)| Answered::new(&ask.prompt, &answer.text)).collect();
    }
    last
}

fn mismatch(plan: &Plan) -> Outcome {
    Outcome::failed(format!("{} is no move that touches a worker", plan.action.action()))
}

/// Ends sessions, many at a time, and what they have running elsewhere. It is done if each was ended by this.
fn end_all(reader: &Reader, session: &str, also: &[String]) -> Outcome {
    let all: Vec<&str> = std::iter::once(session).chain(also.iter().map(String::as_str)).collect();
    let outcome = end_each(reader, &all);
    match (worker::end_strays(reader, &all), outcome) {
        (Ok(None), outcome) => outcome,
        (Ok(Some(said)), Outcome::Done { note, shell }) => {
            let note = note.map_or_else(|| said.clone(), |note| format!("{note}; {said}"));
            Outcome::Done { note: Some(note), shell }
        }
        (Ok(Some(said)) | Err(said), Outcome::Failed { reason, .. } | Outcome::Interrupted { reason }) => {
            Outcome::failed(format!("{reason}; {said}"))
        }
        (Err(reason), Outcome::Done { .. }) => Outcome::failed(reason),
    }
}

fn end_each(reader: &Reader, all: &[&str]) -> Outcome {
    if let [session] = all {
        return worker::end(reader, session);
    }
    let share = all.len().div_ceil(AT_ONCE);
    let problems: Vec<String> = std::thread::scope(|scope| {
        let end =
            |part: &[&str]| -> Vec<String> { part.iter().filter_map(|one| problem(reader, one)).collect() };
        // What no thread can be started for is ended here.
        let ends: Vec<_> = all
            .chunks(share)
            .map(|part| threads::scoped("ending", scope, move || end(part)).map_err(|_| end(part)))
            .collect();
        let join = |ending: std::result::Result<ScopedJoinHandle<'_, _>, _>| match ending {
            Ok(ending) => ending.join().unwrap_or_default(),
            Err(problems) => problems,
        };
        ends.into_iter().flat_map(join).collect()
    });
    if problems.is_empty() { Outcome::done() } else { Outcome::failed(problems.join("; ")) }
}

/// Ends all workers; says what could not be ended. Those that ended by themselves meanwhile are no problem.
pub(crate) fn clear(reader: &Reader) -> Vec<String> {
    let mut problems = Vec::new();
    // One round ends those that were there. A worker that was about to start is met by the next.
    for _ in 0..ROUNDS {
        let fleet = super::fleet::look(reader, &mut Roll::default());
        if let Some(fault) = fleet.fault {
            return vec![fault];
        }
        let live: Vec<String> = fleet
            .workers
            .into_values()
            .filter(|worker| worker.state.is_alive())
            .map(|worker| worker.session)
            .collect();
        let Some((session, also)) = live.split_first() else { return Vec::new() };
        problems = match end_all(reader, session, also) {
            Outcome::Done { .. } => Vec::new(),
            Outcome::Failed { reason, .. } | Outcome::Interrupted { reason } => vec![reason],
        };
    }
    problems
}

/// Ends a session; says why it was not ended by this, if it was not.
fn problem(reader: &Reader, session: &str) -> Option<String> {
    match worker::end(reader, session) {
        Outcome::Done { .. } => None,
        Outcome::Failed { reason, .. } | Outcome::Interrupted { reason } => {
            Some(format!("{session}: {reason}"))
        }
    }
}

/// The task that a start is about.
fn task(plan: &Plan, session: &str) -> Option<Task> {
    let Move::StartWorker { prompt, runner, command, sandbox, cwd, .. } = &plan.action else { return None };
    Some(Task {
        goal: plan.goal.clone(),
        runner: runner.clone(),
        command: command.clone(),
        sandbox: *sandbox,
        cwd: cwd.clone(),
        rights: plan.rights.clone(),
        ..Task::new(session, prompt, plan.author.clone())
    })
}

/// Ends a session, if it lives, and begins its task anew, with the answer that it did not live to see.
fn again(
    reader: &Reader,
    config: &Config,
    plan: &Plan,
    (from, session, asks): (&str, &str, &[String]),
) -> (Outcome, Option<Launched>) {
    let task = worker::task_of(reader, from).and_then(|task| {
        let mut task = task.again(session);
        task.author = plan.author.clone();
        // What is known of the session besides its branch stands in its answers.
        let before = works::whereabouts(reader, from).map_err(Failure::new)?;
        task.last = before.map(|at| {
            let (session, ended, branch) = (from.to_owned(), "restarted".to_owned(), Some(at.branch));
            Box::new(Last { session, ended, branch, ..Last::default() })
        });
        for ask in asks {
            task.answers.push(told(reader, ask)?);
        }
        Ok(task)
    });
    let task = match task {
        Ok(task) => task,
        Err(failure) => return (Outcome::failed(failure.error), None),
    };
    if let Some(reason) = worker::refusal(config, &task) {
        return (Outcome::failed(reason), None);
    }
    if let Err(error) = host::end(&folder(reader, from)) {
        return (Outcome::failed(format!("{from} could not be ended: {error}")), None);
    }
    if let Err(reason) = worker::end_strays(reader, &[from]) {
        return (Outcome::failed(reason), None);
    }
    worker::start(reader, config, &task)
}

/// Question and answer of an ask.
fn told(reader: &Reader, ask: &str) -> Result<Told> {
    let letters = reader.letters();
    match (letters.asks.get(ask), letters.answers.get(ask)) {
        (Some(asked), Some(answer)) => {
            Ok(Told { ask: ask.to_owned(), question: asked.prompt.clone(), answer: answer.text.clone() })
        }
        _ => Err(Failure::new(format!("the letters of {ask} are gone"))),
    }
}

/// Types an answer into the worker that asked, unless it has it by now. Nobody else hands it out meanwhile.
fn type_answer(reader: &Reader, plan: &Plan, (session, input): (&str, &str), ask: &str) -> Outcome {
    let _held = match awaited::claim(reader, ask) {
        Ok(Claim::Ours(held)) => held,
        Ok(Claim::Theirs) => {
            return Outcome::failed(format!("not typed: {session} fetches it by itself now"));
        }
        Ok(Claim::Gone) => {
            let note = format!("{session} has fetched it by itself; nothing was typed");
            return Outcome::Done { note: Some(note), shell: None };
        }
        Err(error) => return Outcome::failed(format!("asks/{ask}.json cannot be read: {error}")),
    };
    let outcome = typed(reader, plan, session, input);
    looop_session::point("answer.typed");
    if outcome.is_done()
        && let Err(error) = reader.typed(ask, clock::now().wall)
    {
        // It is known to be typed; the letters go at the next look.
        let note = format!("its letters could not be put away: {error}");
        return Outcome::Done { note: Some(note), shell: None };
    }
    outcome
}

/// Types into a session. What its host has typed before under the same name is not typed again.
fn typed(reader: &Reader, plan: &Plan, session: &str, input: &str) -> Outcome {
    if let Err(failure) = sweep_all(reader.root()) {
        return Outcome::failed(failure.error);
    }
    let typed = Client::connect(&folder(reader, session)).and_then(|mut client| {
        if let Move::SteerSession { input: text, .. } = &plan.action {
            let shot = client.screen(false)?;
            if dialog::is_open(&folder(reader, session), &shot) {
                return Ok(delivered(Delivery::NotTyped, &rows(&shot)));
            }
            let sent = client.send(Some(input), text, true)?;
            let screen =
                if sent.delivery == Delivery::NotTyped { rows(&client.screen(false)?) } else { Vec::new() };
            Ok(delivered(sent.delivery, &screen))
        } else if let Move::SendKey { keys, .. } = &plan.action {
            client.key(Some(input), keys).map(|_| Outcome::done())
        } else {
            Ok(mismatch(plan))
        }
    });
    match typed {
        Ok(outcome) => outcome,
        Err(ClientError::Absent) if was_typed(reader, session, input) => {
            let note = format!("it was typed before {session} ended");
            Outcome::Done { note: Some(note), shell: None }
        }
        Err(ClientError::Absent) => Outcome::failed(format!("{session} has ended")),
        Err(error) => Outcome::failed(format!("{session}: {error}")),
    }
}

/// Whether the receipt of a session says that an input was typed into it: whoever had it typed may have died before that
/// was noted.
fn was_typed(reader: &Reader, session: &str, input: &str) -> bool {
    let standing = host::standing(&folder(reader, session));
    matches!(standing, Ok(Standing::Ended(receipt)) if receipt.inputs.iter().any(|typed| typed == input))
}

/// Tells a worker to go on, if it still waits for its provider and nothing stands in its composer.
fn wake(reader: &Reader, config: &Config, plan: &Plan, (session, input): (&str, &str)) -> Outcome {
    match screens::may_go_on(reader, config, session) {
        Ok(()) => typed(reader, plan, session, input),
        Err(GoesNot::Over) => {
            let note = "nothing was typed: it does not wait for its provider any more".to_owned();
            Outcome::Done { note: Some(note), shell: None }
        }
        Err(GoesNot::Full) => Outcome::failed(format!(
            "not typed: its composer is not seen to be empty; looop attach {} shows it",
            worker_of(session)
        )),
    }
}

/// Stops all of a session, or lets it go on. One that has ended meanwhile needs neither.
pub(crate) fn restrain(reader: &Reader, session: &str, stop: bool) -> Result<()> {
    let asked = Client::connect(&folder(reader, session))
        .and_then(|mut client| if stop { client.pause() } else { client.go_on() });
    let what = if stop { "stopped" } else { "continued" };
    match asked {
        Ok(()) | Err(ClientError::Absent | ClientError::Gone) => Ok(()),
        Err(error) => Err(Failure::new(format!("{session} could not be {what}: {error}"))),
    }
}

/// What the receipt of a text means. A text that may have been taken is not typed again by a decider that was told of a
/// failure, so that doubt is no failure.
fn delivered(delivery: Delivery, screen: &[String]) -> Outcome {
    match delivery {
        Delivery::Typed | Delivery::Taken => Outcome::done(),
        Delivery::Unseen => {
            let note = "nothing on its screen followed; it may not have been taken".to_owned();
            Outcome::Done { note: Some(note), shell: None }
        }
        Delivery::Left => Outcome::failed("it was typed and not taken: it still stands in the composer"),
        Delivery::NotTyped => Outcome::failed(format!(
            "not typed: no composer has the keyboard, so Enter was not pressed; its screen shows: {}",
            one_line(&screen.join(" | "), MOST_SCREEN)
        )),
    }
}

/// The last rows of a screen that are not blank, as much as a person wants to read of it.
pub(crate) fn rows(shot: &Shot) -> Vec<String> {
    let rows: Vec<&String> = shot.lines.iter().filter(|row| !row.trim().is_empty()).collect();
    rows[rows.len().saturating_sub(MOST_ROWS)..]
        .iter()
        .map(|row| row.chars().take(MOST_COLUMNS).collect())
        .collect()
}

/// Sessions whose host died and of which it is not known yet that nothing of them lives.
pub(crate) fn unswept(reader: &Reader, fleet: &Fleet) -> Vec<String> {
    let lost = fleet.workers.values().filter(|worker| worker.state == WorkerState::Lost);
    // One that cannot be judged is swept, and says then what is wrong with it.
    let open = lost.filter(|worker| host::is_unswept(&folder(reader, &worker.session)).unwrap_or(true));
    open.map(|worker| worker.session.clone()).collect()
}

/// Ends what a dead host left behind, and notes that nothing is left, so that it is not looked for again. Says how many
/// processes were ended.
pub(crate) fn sweep_lost(reader: &Reader, session: &str) -> Result<usize> {
    host::sweep(&folder(reader, session)).map_err(|error| {
        Failure::new(format!("what {session} left running could not be ended: {}", causes(&error)))
    })
}

/// Ends what all dead hosts of workers left behind in the profile `data`. Where none died this is a short look.
pub(crate) fn sweep_all(data: &Path) -> Result<()> {
    let root = data.join("sessions");
    let unreadable = |error: std::io::Error| Failure::new(format!("sessions/ cannot be read: {error}"));
    for session in looop_session::lost(&root).map_err(unreadable)? {
        host::sweep(&root.join(&session)).map_err(|error| {
            Failure::new(format!("what {session} left running could not be ended: {}", causes(&error)))
        })?;
    }
    Ok(())
}

/// Whether sessions have been ended on request.
fn were_killed(reader: &Reader, session: &str, also: &[String]) -> Result<bool> {
    for session in std::iter::once(session).chain(also.iter().map(String::as_str)) {
        let standing = host::standing(&folder(reader, session));
        let standing =
            standing.map_err(|error| Failure::new(format!("how {session} stands is not known: {error}")))?;
        if !matches!(standing, Standing::Ended(receipt) if receipt.ended == Ended::Killed) {
            return Ok(false);
        }
    }
    Ok(true)
}
