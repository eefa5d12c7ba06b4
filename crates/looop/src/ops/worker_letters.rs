//! The worker's side of letters: it asks and waits, raises a flag, hears what it was told.

use std::fs::File;
use std::time::Duration;

use looop_core::model::letter::{AskKind, Tell};
use looop_core::model::moves::one_line;
use looop_core::model::name::shown;
use looop_core::world::fleet::worker_of;
use looop_store::mail::{AskError, NewAsk, PostError, Posted, SettleError, Taken, TellError, is_session};
use looop_store::{Reader, Stored};

use super::Place;
use super::alive::{is_alive, live_session};
use crate::clock;
use crate::failure::{Failure, Kind, Result};
use crate::hands::await_file::Watch;
use crate::hands::awaited::{self, Claim};
use crate::hands::contract;
use crate::pulse::guest::Guest;

/// Who calls, where it is a worker that does.
const CALLER: [&str; 2] = ["LOOOP_SESSION_ID", "BABYSIT_SESSION_ID"];
/// An answer that makes no sense may be in the middle of being written by hand. After this long it is not.
const GRACE: Duration = Duration::from_secs(1);

/// The session that this process belongs to, if it is a worker's.
pub(super) fn own_session(place: &Place) -> Option<String> {
    let set = |name: &str| place.env.get(name).and_then(|value| value.to_str()).map(str::to_owned);
    CALLER.into_iter().filter_map(set).find(|session| !session.is_empty())
}

/// The session that is meant: the given one, the live one of the given worker, the worker by name where none lives, or
/// the caller's own.
pub(super) fn caller(place: &Place, reader: &Reader, given: Option<&str>) -> Result<Option<String>> {
    let meant = meant(place, reader, given)?;
    // Whoever runs in a session speaks for its worker alone, whatever its environment or its arguments say.
    if let (Some(meant), Guest::Session(own)) = (&meant, Guest::myself(&place.data))
        && worker_of(meant) != worker_of(&own)
    {
        let error = format!("this comes from inside session {own}, which cannot speak for {meant}");
        return Err(Failure::new(error).hint("leave the other session out"));
    }
    Ok(meant)
}

fn meant(place: &Place, reader: &Reader, given: Option<&str>) -> Result<Option<String>> {
    let own = own_session(place);
    let Some(given) = given else { return Ok(own) };
    let worker = checked(given)?;
    if worker.contains('~') {
        return Ok(Some(worker.to_owned()));
    }
    if let Some(own) = own.filter(|own| worker_of(own) == worker) {
        return Ok(Some(own));
    }
    Ok(Some(live_session(reader, worker)?.unwrap_or_else(|| worker.to_owned())))
}

/// A worker or a session as the command line names it, without the prefix that early versions gave to sessions.
pub(super) fn checked(given: &str) -> Result<&str> {
    if !is_session(given) {
        return Err(Failure::usage(format!("\"{}\" is not a worker's session", shown(given))));
    }
    let bare = given.strip_prefix("looop-").filter(|_| !given.contains('~'));
    Ok(bare.unwrap_or(given))
}

/// The session that is meant; there must be one.
pub(super) fn whoever(place: &Place, reader: &Reader, given: Option<&str>, how: &str) -> Result<String> {
    caller(place, reader, given)?.ok_or_else(|| {
        Failure::usage("this is a worker's verb: LOOOP_SESSION_ID is not set, and no worker is named")
            .hint(how)
    })
}

/// A question to the person.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) worker: Option<&'a str>,
    pub(crate) prompt: &'a str,
    pub(crate) reference: Option<&'a str>,
    pub(crate) options: &'a [String],
    pub(crate) timeout: Option<Duration>,
}

/// An answer that came.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) ask: String,
    pub(crate) session: String,
    pub(crate) text: String,
    /// Says that we block on it.
    _blocks: Option<File>,
}

/// Asks and waits for the answer. `on_asked` gets the id once the ask waits.
pub(crate) fn ask(place: &Place, question: &Question<'_>, on_asked: &mut dyn FnMut(&str)) -> Result<Heard> {
    let reader = place.reader()?;
    let how = "looop ask <worker> --prompt …; to say something to a worker: looop tell <worker> …";
    let session = whoever(place, &reader, question.worker, how)?;
    let goal = own_goal(place, &session);
    let new = NewAsk {
        from: &session,
        prompt: question.prompt,
        options: question.options,
        reference: question.reference,
        goal: goal.as_deref(),
        ..NewAsk::default()
    };
    let ask = posted(&reader, &new)?.ask.id;
    // Whoever answers sees that somebody blocks on it, until we are done with its letters or end.
    let blocks = awaited::block(&reader, &ask);
    on_asked(&ask);
    let bound = question.timeout.or_else(|| patience(place, &session));
    let text = wait(&reader, &ask, bound).map_err(|failure| match (failure.kind, question.timeout) {
        (Kind::TimedOut, None) => unanswered(&ask),
        _ => failure,
    })?;
    Ok(Heard { ask, session, text, _blocks: blocks })
}

/// How long the shell of this worker's agent lets a command run.
fn patience(place: &Place, session: &str) -> Option<Duration> {
    let own = own_session(place).is_some_and(|own| own == session);
    let seconds = place.env.get(contract::WAIT).and_then(|value| value.to_str()).filter(|_| own)?;
    seconds.parse().ok().map(Duration::from_secs)
}

/// There is no answer yet, and the agent's shell would not wait longer.
fn unanswered(ask: &str) -> Failure {
    Failure::timed_out(format!("{ask} is not answered yet, and stays open"))
        .hint("do not ask again: end your turn now and wait; the answer will be typed into this terminal")
}

/// The goal that a session serves, if it is the caller's own.
pub(super) fn own_goal(place: &Place, session: &str) -> Option<String> {
    let goal = place.env.get("LOOOP_GOAL").and_then(|goal| goal.to_str());
    let own = own_session(place).is_some_and(|own| own == session);
    goal.filter(|goal| own && !goal.is_empty()).map(str::to_owned)
}

/// What one look found.
enum Look {
    Answered(String),
    Waiting,
    Corrupt(String),
    Unreadable(String),
    Gone,
}

fn wait(reader: &Reader, ask: &str, timeout: Option<Duration>) -> Result<String> {
    let letter = format!("{ask}.json");
    let other = reader.path("asks").join(&letter);
    let mut watch = Watch::new(reader.path("answers"), letter, other);
    let begun = clock::now().up;
    let waited = || Duration::from_millis(clock::now().up.saturating_sub(begun));
    // Since when the answer makes no sense.
    let mut senseless: Option<Duration> = None;
    let mut said = false;
    loop {
        let mut pause = Duration::MAX;
        match look(reader, ask) {
            Look::Answered(text) => return Ok(text),
            Look::Gone => return Err(dismissed(ask)),
            Look::Waiting => senseless = None,
            Look::Corrupt(error) => {
                let since = *senseless.get_or_insert_with(waited);
                if waited().saturating_sub(since) < GRACE {
                    pause = GRACE;
                } else if reader.set_aside(ask).map_err(|error| Failure::new(error.to_string()))? {
                    senseless = None;
                    say_once(&mut said, &format!("{error}; it was set aside, and the ask goes on waiting"));
                }
            }
            Look::Unreadable(error) => say_once(&mut said, &format!("{error}; the ask goes on waiting")),
        }
        let left = timeout.map(|timeout| timeout.saturating_sub(waited()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Failure::timed_out(format!("nobody has answered {ask}"))
                .hint("it goes on waiting; ask the same again to wait for it"));
        }
        watch.wait(pause.min(left.unwrap_or(Duration::MAX)));
    }
}

fn say_once(said: &mut bool, text: &str) {
    if !std::mem::replace(said, true) {
        crate::cli::warn(text);
    }
}

/// Answer and ask move to `mail.d/` one after the other and never back, so whoever looks in that order sees them.
fn look(reader: &Reader, ask: &str) -> Look {
    match reader.answer_of(ask) {
        Stored::Value(answer) => return Look::Answered(answer.text),
        Stored::Corrupt(what) => return Look::Corrupt(format!("answers/{ask}.json {what}")),
        Stored::Unreadable(error) => {
            return Look::Unreadable(format!("answers/{ask}.json cannot be read: {error}"));
        }
        Stored::Absent => {}
    }
    if reader.is_asked(ask) {
        return Look::Waiting;
    }
    // It was settled; if it had been answered meanwhile, the answer is on its way after the ask.
    let answer = reader.answer_of(ask).value().or_else(|| reader.settled_answer(ask).value());
    answer.map_or(Look::Gone, |answer| Look::Answered(answer.text))
}

fn dismissed(ask: &str) -> Failure {
    Failure::new(format!("ask {ask} was dismissed: nobody will answer it"))
        .hint("go on without an answer, or ask something else")
}

/// The answer was handed over: puts ask and answer away, and gives what the session was told meanwhile.
pub(crate) fn heard(place: &Place, heard: &Heard) -> Result<Vec<Tell>> {
    let reader = place.reader()?;
    reader.collect(&heard.ask, clock::now().wall).map_err(|error| settle_failure(&error))?;
    Ok(taken(&reader, &heard.session))
}

/// Raises a flag, and gives its id.
pub(crate) fn flag(place: &Place, worker: Option<&str>, reason: Option<&str>) -> Result<String> {
    let reader = place.reader()?;
    let session = whoever(place, &reader, worker, "looop flag <worker>")?;
    if own_session(place).is_none() && !is_alive(&reader, &session) {
        let worker = worker_of(&session);
        return Err(Failure::new(format!(
            "worker \"{worker}\" is not running, so there is no terminal to attach to"
        ))
        .hint("looop worker list shows who is"));
    }
    let prompt = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let goal = own_goal(place, &session);
    let new = NewAsk {
        from: &session,
        kind: AskKind::Flag,
        prompt: prompt.unwrap_or("wants you to attach"),
        goal: goal.as_deref(),
        ..NewAsk::default()
    };
    Ok(posted(&reader, &new)?.ask.id)
}

/// Takes the flags of a session back, and says which they were.
pub(crate) fn unflag(place: &Place, worker: Option<&str>) -> Result<Vec<String>> {
    let reader = place.reader()?;
    let session = whoever(place, &reader, worker, "looop unflag <worker>")?;
    reader.unflag(&session, clock::now().wall).map_err(|error| settle_failure(&error))
}

/// Somebody attached to a session: its flags are settled, and these are their ids.
pub(crate) fn attached(place: &Place, session: &str) -> Result<Vec<String>> {
    let settled = place.reader()?.attached(session, clock::now().wall);
    settled.map_err(|error| match error {
        PostError::Write(error) => Failure::new(error.text()),
        PostError::NoSuchAsk(_)
        | PostError::AlreadyAnswered { .. }
        | PostError::Flag { .. }
        | PostError::Proposal(_)
        | PostError::NoOption { .. }
        | PostError::BrokenAsk(_)
        | PostError::Busy(_) => Failure::new(error.to_string()),
    })
}

/// Takes what a session was told, oldest first. Each message is given once.
pub(crate) fn told(place: &Place, worker: Option<&str>) -> Result<Vec<Tell>> {
    let reader = place.reader()?;
    let session = whoever(place, &reader, worker, "looop told <worker>")?;
    Ok(taken(&reader, &session))
}

/// What a session was told, after the answers that it has not fetched. What cannot be read is said, and does not keep
/// the rest back.
fn taken(reader: &Reader, session: &str) -> Vec<Tell> {
    let mut told = answers(reader, session);
    let Taken { tells, problems } = reader.take_tells(session);
    for problem in problems {
        crate::cli::warn(&problem);
    }
    told.extend(tells);
    told
}

/// The answers to what a session asked, on which nobody blocks and which nobody has handed out.
pub(crate) fn answers(reader: &Reader, session: &str) -> Vec<Tell> {
    let letters = reader.asks();
    let mut answers = Vec::new();
    for (ask, answer) in awaited::unfetched(&letters).filter(|(ask, _)| ask.from == session) {
        match awaited::claim(reader, &ask.id) {
            Ok(Claim::Ours(_held)) => match reader.collect(&ask.id, clock::now().wall) {
                Ok(()) => answers.push(Tell {
                    v: 1,
                    id: ask.id.clone(),
                    to: session.to_owned(),
                    text: format!(
                        "answer to {} (\"{}\"): {}",
                        ask.id,
                        one_line(&ask.prompt, 300),
                        answer.text
                    ),
                    sent: answer.answered,
                }),
                Err(error) => crate::cli::warn(&error.to_string()),
            },
            Ok(Claim::Theirs | Claim::Gone) => {}
            Err(error) => crate::cli::warn(&format!("asks/{}.json cannot be read: {error}", ask.id)),
        }
    }
    answers
}

/// What a session that asks has not fetched yet, apart from what it asks now.
pub(crate) fn missed(place: &Place, session: Option<&str>) -> Result<Vec<Tell>> {
    let reader = place.reader()?;
    let session = whoever(place, &reader, session, "looop ask <worker> --prompt …")?;
    Ok(answers(&reader, &session))
}

pub(super) fn posted(reader: &Reader, new: &NewAsk<'_>) -> Result<Posted> {
    reader.post_ask(new, clock::now().wall).map_err(|error| ask_failure(&error))
}

pub(super) fn ask_failure(error: &AskError) -> Failure {
    match error {
        AskError::NotASession(_) => Failure::usage(error.to_string()),
        AskError::TooMany(_) => Failure::new(error.to_string()).hint("looop asks dismiss <ask>"),
        AskError::TooLong { .. } | AskError::Busy(_) => Failure::new(error.to_string()),
        AskError::Write(error) => Failure::new(error.text()),
    }
}

pub(super) fn tell_failure(error: &TellError) -> Failure {
    match error {
        TellError::NotASession(_) => Failure::usage(error.to_string()),
        TellError::TooLong(_) | TellError::TooMany(_) | TellError::Busy(_) => Failure::new(error.to_string()),
        TellError::Write(error) => Failure::new(error.text()),
    }
}

pub(super) fn settle_failure(error: &SettleError) -> Failure {
    match error {
        SettleError::NoSuchAsk(_) | SettleError::Busy(_) => Failure::new(error.to_string()),
        SettleError::Write(error) => Failure::new(error.text()),
    }
}
