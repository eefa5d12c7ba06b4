//! Moves that run as hosted children: started once, waited for, found again after a crash.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use looop_core::model::moves::{Move, one_line};
use looop_core::model::outcome::{Outcome, Shell};
use looop_core::model::plan::{Author, BeatId, Plan};
use looop_core::model::rights::Rights;
use looop_session::{Fence, Launched, Spec, Standing, host};
use looop_store::Reader;

use super::{environ, labour, notify, outputs, room, sandbox, stages};
use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::pulse::{Message, Poster, post};
use crate::threads;

/// What is kept of a shell move's output.
const OUTPUT_KEEP: u64 = 64 << 10;
/// How long a notification may take: as long as a channel may, and a little more.
const NOTICE_DEADLINE: Duration = notify::DEADLINE.saturating_add(Duration::from_secs(10));
/// How long settling the work of a worker may take: git may talk to another machine.
const SETTLE_DEADLINE: Duration = Duration::from_mins(10);
/// What is said of a move whose output says what came of it, in characters.
const WORDS: usize = 700;
/// What the next brief shows of it.
const TAIL: u64 = 2 << 10;

/// The folder of a session.
pub(crate) fn folder(reader: &Reader, session: &str) -> PathBuf {
    reader.path("sessions").join(session)
}

/// Starts a hosted move; its outcome comes as a message.
pub(crate) fn start(
    reader: &Reader,
    config: &Config,
    (beat, plan, session): (BeatId, &Plan, &str),
    sender: &Poster,
) -> Result<()> {
    let confined = !plan.rights.is_person();
    if confined && room::is_short(reader.root()) {
        return Err(Failure::new(room::short(reader.root())));
    }
    let spec = spec(reader, config, plan, session)?;
    let folder = folder(reader, session);
    let failed =
        |error: host::HostError| Failure::new(format!("session {session} could not be started: {error}"));
    let waiter = {
        let (reader, session, sender) = (reader.clone(), session.to_owned(), sender.clone());
        let (notice, rights, folder) = (speaks(plan), plan.rights.clone(), folder.clone());
        // What cannot be ended by this is ended at its deadline.
        let end = move || drop(host::end(&folder));
        let watch = confined.then(|| room::watch(reader.root(), end)).transpose()?;
        waiter("move", move |launched| {
            let outcome = match ended(&reader, &session, launched.wait()) {
                Ok(standing) => outcome(&reader, (&session, notice), standing),
                Err(failure) => unknown(&session, &failure.error),
            };
            let outcome = within_room(watch.as_ref(), outcome);
            post(&sender, Message::Acted(beat, brought(&reader, &rights, outcome)));
        })?
    };
    let prepared = host::prepare(&folder, &spec).map_err(failed)?;
    let launched = host::launch(prepared, &environ::image(), &["_host"]).map_err(failed)?;
    hand_over(&waiter, launched)
}

/// Starts the thread that will wait for a host, before there is one: a host that nobody waits for would run, and its
/// move would be taken for failed. If no host is handed over, the thread ends without a word.
pub(super) fn waiter(
    name: &str,
    wait: impl FnOnce(Launched) + Send + 'static,
) -> Result<mpsc::Sender<Launched>> {
    let (sender, launched) = mpsc::channel();
    threads::start(name, move || {
        if let Ok(launched) = launched.recv() {
            wait(launched);
        }
    })?;
    Ok(sender)
}

/// Hands a host to the thread that waits for it.
pub(super) fn hand_over(waiter: &mpsc::Sender<Launched>, launched: Launched) -> Result<()> {
    waiter.send(launched).map_err(|_| Failure::new("the thread that waits for a host ended"))
}

fn spec(reader: &Reader, config: &Config, plan: &Plan, session: &str) -> Result<Spec> {
    let data = reader.root();
    let goal = plan.goal.clone().unwrap_or_default();
    let mut more = vec![("LOOOP_SESSION_ID", session), ("LOOOP_GOAL", goal.as_str())];
    let (argv, deadline) = if let Move::RunShell { cmd, .. } = &plan.action {
        (vec!["bash".into(), "-c".into(), OsString::from(cmd)], config.shell_timeout)
    } else if let Move::SendNotification { message, id } = &plan.action {
        more.extend([("LOOOP_MESSAGE", message.as_str()), ("LOOOP_ID", id.as_deref().unwrap_or(""))]);
        more.push(("LOOOP_KIND", "notification"));
        (vec![environ::image().into_os_string(), "_notify".into(), "all".into()], NOTICE_DEADLINE)
    } else if let Move::SettleWork { session, how, .. } = &plan.action {
        let words = ["_work", how.verb(), session].map(OsString::from);
        (std::iter::once(environ::image().into_os_string()).chain(words).collect(), SETTLE_DEADLINE)
    } else {
        return Err(Failure::new(format!("{} cannot be run as a command", plan.action.action())));
    };
    // A decider's command works in the scratch folder of what is confined, one that was approved in that of what is not,
    // and what a person wrote in the profile, like a Makefile.
    let cwd = match plan.author {
        Author::Decider(_) if !is_notice(plan) && !plan.rights.is_person() => {
            sandbox::workplace(data, config)?
        }
        Author::Decider(_) | Author::Approved(_) if !is_notice(plan) => data.join("scratch"),
        Author::Decider(_) | Author::Approved(_) | Author::Builtin | Author::Person => data.to_owned(),
    };
    let (argv, env) = match &plan.rights {
        Rights::Person => (argv, environ::of_person(data, config, &more)?),
        Rights::Confined(granted) => {
            let command = sandbox::Command { argv, read: Vec::new(), env: &more, goal: &goal };
            sandbox::dress(data, config, granted, command)?
        }
        Rights::Staged(parts) => {
            let command =
                stages::Pipeline { stages: parts, cwd: &cwd, read: Vec::new(), env: &more, goal: &goal };
            stages::dress(data, config, command)?
        }
    };
    let mut spec = Spec::new(argv, cwd, env);
    spec.deadline_ms = Some(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
    spec.output_keep = OUTPUT_KEEP;
    // What outlives a confined command is confined and unknown to anybody: nothing of it is spared.
    if plan.rights.is_person() {
        spec.spare.clone_from(&config.spare);
    }
    Ok(spec)
}

/// Finds out in the background what became of a hosted move that an earlier lock holder began; one that still runs is
/// waited for.
pub(crate) fn recover(
    reader: &Reader,
    (beat, plan, session): (BeatId, &Plan, &str),
    sender: &Poster,
) -> Result<()> {
    let (notice, rights) = (speaks(plan), plan.rights.clone());
    let (reader, session, sender) = (reader.clone(), session.to_owned(), sender.clone());
    threads::start("adopted", move || {
        let folder = folder(&reader, &session);
        let outcome = match stands(&folder, &session) {
            Err(failure) => return post(&sender, Message::Unsettled(failure)),
            Ok(Standing::NeverRan) => return post(&sender, Message::ActNeverRan(beat)),
            Ok(Standing::Live) => {
                let said = format!("{session} of an earlier looop still runs; waiting for it");
                post(&sender, Message::StillRuns(said));
                let outcome = match ended(&reader, &session, host::wait(&folder)) {
                    Ok(standing) => outcome(&reader, (&session, notice), standing),
                    Err(failure) => unknown(&session, &failure.error),
                };
                brought(&reader, &rights, outcome)
            }
            Ok(ended @ (Standing::Absent | Standing::Ended(_) | Standing::Lost | Standing::Corrupt(_))) => {
                outcome(&reader, (&session, notice), ended)
            }
        };
        post(&sender, Message::Acted(beat, outcome));
    })
}

/// Where a session stands, with the fence put up: `NeverRan` means that it never ran and never will.
pub(crate) fn stands(folder: &std::path::Path, session: &str) -> Result<Standing> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("it cannot be known what became of session {session}: {error}"))
            .hint(format!("look at {}", folder.display()))
    };
    let standing = host::standing(folder).map_err(failed)?;
    match standing {
        Standing::Absent | Standing::NeverRan => match host::fence(folder).map_err(failed)? {
            Fence::Mine => Ok(Standing::NeverRan),
            Fence::Already => host::standing(folder).map_err(failed),
        },
        Standing::Lost | Standing::Corrupt(_) => {
            // The host is gone; what it had started may not be.
            host::sweep(folder).map_err(|error| {
                Failure::new(format!(
                    "what session {session} left running cannot be ended: {}",
                    causes(&error)
                ))
            })?;
            Ok(standing)
        }
        Standing::Live | Standing::Ended(_) => Ok(standing),
    }
}

/// An error with all that caused it.
pub(super) fn causes(error: &dyn Error) -> String {
    let chain = std::iter::successors(Some(error), |cause| (*cause).source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// How a session that somebody waited for stands. What a dead host left running is ended before anybody is told.
pub(super) fn ended(reader: &Reader, session: &str, waited: std::io::Result<Standing>) -> Result<Standing> {
    let standing = waited.map_err(|error| Failure::new(error.to_string()))?;
    if matches!(standing, Standing::Lost | Standing::Corrupt(_)) {
        labour::sweep_lost(reader, session)?;
    }
    Ok(standing)
}

/// The outcome of a move that may have been ended for want of room.
fn within_room(watch: Option<&room::Watch>, outcome: Outcome) -> Outcome {
    match (watch.and_then(room::Watch::reason), outcome) {
        (Some(reason), Outcome::Failed { shell, .. }) => Outcome::Failed { reason, shell },
        (_, outcome) => outcome,
    }
}

/// The outcome of a move, once what it made was copied to `reports/`, with what it did not get and what was not copied.
fn brought(reader: &Reader, rights: &Rights, outcome: Outcome) -> Outcome {
    let mut said = Vec::new();
    if !rights.is_person() {
        let withheld: Vec<&str> = rights.withheld().into_iter().collect();
        let refused = outputs::copy(reader.root());
        said.extend(list("not granted", &withheld.join("; ")));
        said.extend(list("not copied to reports/", &refused.join("; ")));
    }
    let said = (!said.is_empty()).then(|| said.join("; "));
    match (outcome, said) {
        (Outcome::Done { note, shell }, Some(said)) => Outcome::Done {
            note: Some(note.map_or_else(|| said.clone(), |note| format!("{note}; {said}"))),
            shell,
        },
        (Outcome::Failed { reason, shell }, Some(said)) => {
            Outcome::Failed { reason: format!("{reason}; {said}"), shell }
        }
        (outcome, _) => outcome,
    }
}

fn list(what: &str, items: &str) -> Option<String> {
    (!items.is_empty()).then(|| format!("{what}: {}", one_line(items, 300)))
}

/// Whether a move tells the person something.
fn is_notice(plan: &Plan) -> bool {
    matches!(plan.action, Move::SendNotification { .. })
}

/// Whether what a move prints says what came of it.
fn speaks(plan: &Plan) -> bool {
    is_notice(plan) || matches!(plan.action, Move::SettleWork { .. })
}

/// What came of a hosted move. What one prints that speaks is the reason, or the note.
fn outcome(reader: &Reader, (session, notice): (&str, bool), standing: Standing) -> Outcome {
    match standing {
        Standing::Ended(receipt) => {
            let ended = super::sense::ended(receipt.ended);
            let tail = host::output_tail(&folder(reader, session), TAIL).unwrap_or_default();
            let tail = String::from_utf8_lossy(&tail).into_owned();
            let words = Some(one_line(&tail, WORDS)).filter(|words| notice && !words.is_empty());
            let shell = Some(Shell { tail, bytes: receipt.output_bytes, ended: ended.clone() });
            if ended.is_success() {
                Outcome::Done { note: words, shell }
            } else {
                Outcome::Failed { reason: words.unwrap_or_else(|| ended.text()), shell }
            }
        }
        Standing::NeverRan | Standing::Absent => Outcome::failed("its host could not start it"),
        Standing::Lost | Standing::Live => Outcome::Interrupted {
            reason: format!("its host died; it may have run; see sessions/{session}/output.log"),
        },
        Standing::Corrupt(what) => unknown(session, &what),
    }
}

fn unknown(session: &str, what: &str) -> Outcome {
    Outcome::Interrupted { reason: format!("its end is not known ({what}); see sessions/{session}") }
}
