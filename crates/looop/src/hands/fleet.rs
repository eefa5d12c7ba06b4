//! The fleet: all workers, as the yard knows them.

use looop_core::model::name::shown;
use looop_core::world::fleet::{Fleet, Stray, Worker, WorkerState, is_worker_id, worker_of};
use looop_session::{Roll, Row, Sign, State};
use looop_store::Reader;

use super::sense;

/// Looks at every worker's session. A fleet that cannot be seen is not an empty one.
pub(crate) fn look(reader: &Reader, roll: &mut Roll) -> Fleet {
    roll.read(&reader.path("sessions"), &is_workers).map_or_else(|error| unseen(&error), |rows| of(&rows))
}

/// The same, with what live workers have running outside their sessions: all processes are looked at for it.
pub(crate) fn look_around(reader: &Reader) -> Fleet {
    let root = reader.path("sessions");
    let rows = match Roll::default().read(&root, &is_workers) {
        Ok(rows) => rows,
        Err(error) => return unseen(&error),
    };
    let mut fleet = of(&rows);
    // Where the processes cannot be listed there is nothing to say of them.
    for (session, found) in looop_session::strays(&root, &rows).unwrap_or_default() {
        if let Some(worker) = fleet.workers.get_mut(&session) {
            worker.strays = strays(&found);
        }
    }
    fleet
}

fn of(rows: &[Row]) -> Fleet {
    let workers = rows.iter().filter_map(worker).map(|worker| (worker.session.clone(), worker)).collect();
    Fleet { workers, fault: None }
}

fn unseen(error: &std::io::Error) -> Fleet {
    Fleet { fault: Some(format!("sessions/ cannot be read: {error}")), ..Fleet::default() }
}

/// Processes outside a session, for the log and for people.
pub(crate) fn strays(found: &[looop_session::Stray]) -> Vec<Stray> {
    let stray = |stray: &looop_session::Stray| Stray {
        pid: stray.pid,
        program: shown(&stray.program),
        marked: stray.by == Sign::Mark,
        ended: stray.ended,
    };
    found.iter().map(stray).collect()
}

/// How many sessions of workers are kept, and what is wrong with the files of some. Nothing is written.
pub(crate) fn inspect(reader: &Reader) -> Result<(usize, Vec<String>), String> {
    let rows = Roll::default().inspect(&reader.path("sessions"), &is_workers);
    let rows = rows.map_err(|error| format!("sessions/ cannot be read: {error}"))?;
    Ok((rows.len(), rows.into_iter().filter_map(|row| row.fault).collect()))
}

/// Whether a session is a worker's, by its name.
pub(crate) fn is_workers(session: &str) -> bool {
    is_worker_id(worker_of(session))
}

/// The worker of a session, if one ran in it.
pub(crate) fn worker(row: &Row) -> Option<Worker> {
    let status = &row.status;
    let note = |name: &str| status.notes.get(name).cloned();
    Some(Worker {
        id: note("worker").unwrap_or_else(|| worker_of(&row.session).to_owned()),
        session: row.session.clone(),
        state: state(row)?,
        goal: note("goal"),
        runner: note("runner"),
        started: millis(status.started_ms),
        ended: status.ended_ms.map(millis),
        silent_s: row.silent_ms.map(|silent| silent / 1000),
        strays: strays(&status.strays),
    })
}

/// How it stands. `None`: it was prepared and never started.
fn state(row: &Row) -> Option<WorkerState> {
    if row.alive {
        let paused = row.status.state == State::Paused;
        return Some(if paused { WorkerState::Paused } else { WorkerState::Alive });
    }
    if row.lost {
        return Some(WorkerState::Lost);
    }
    let ended = row.status.ended.clone()?;
    Some(WorkerState::of(&sense::ended(ended)))
}

fn millis(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}
