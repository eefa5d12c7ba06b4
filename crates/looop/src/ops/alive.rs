//! Which sessions live. Alive means that the session's lock is held, and nothing else.

use looop_core::world::fleet::{generation, worker_of};
use looop_session::{Standing, host};
use looop_store::{Reader, Stored};
use serde_json::Value;

use crate::failure::{Failure, Result};

/// The session of a worker that lives.
pub(crate) fn live_session(reader: &Reader, worker: &str) -> Result<Option<String>> {
    let unreadable = |error| Failure::new(format!("sessions/ cannot be read: {error}"));
    let entries = match std::fs::read_dir(reader.path("sessions")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(unreadable)?,
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let name = entry.map_err(unreadable)?.file_name();
        sessions.extend(name.into_string().ok().filter(|name| is_of(name, worker)));
    }
    // The newest is the likeliest.
    sessions.sort_by_key(|session| std::cmp::Reverse(generation(session)));
    for session in sessions {
        if stands(reader, &session).map_err(unreadable)? {
            return Ok(Some(session));
        }
    }
    Ok(None)
}

fn is_of(session: &str, worker: &str) -> bool {
    session.contains('~') && worker_of(session) == worker
}

/// Whether a session lives, or one of a worker where only the worker is named, as in letters of older versions. What
/// cannot be known counts as alive.
pub(crate) fn is_alive(reader: &Reader, session: &str) -> bool {
    if session.contains('~') {
        return stands(reader, session).unwrap_or(true);
    }
    live_session(reader, session).map_or(true, |live| live.is_some()) || older_lives(reader, session)
}

fn stands(reader: &Reader, session: &str) -> std::io::Result<bool> {
    Ok(host::standing(&reader.path("sessions").join(session))? == Standing::Live)
}

/// Whether a session of an older looop goes on: its status does not say that it ended, and its process is there.
fn older_lives(reader: &Reader, worker: &str) -> bool {
    [worker.to_owned(), format!("looop-{worker}")].iter().any(|folder| {
        let file = |name: &str| match reader.read(&format!("sessions/{folder}/{name}.json")) {
            Stored::Absent => None,
            Stored::Value(bytes) => Some(serde_json::from_slice::<Value>(&bytes).unwrap_or_default()),
            Stored::Unreadable(_) | Stored::Corrupt(_) => Some(Value::Null),
        };
        let Some(status) = file("status") else { return false };
        let ended = matches!(status["state"].as_str(), Some("exited" | "killed"));
        let pid = file("meta").and_then(|meta| meta["babysit_pid"].as_i64());
        !ended && pid.is_none_or(is_process)
    })
}

fn is_process(pid: i64) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
