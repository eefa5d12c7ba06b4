//! The fleet: every worker's session that is kept, alive or ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::outcome::Ended;

/// Names that no worker can have: sessions of the loop itself are called so.
const RESERVED: [&str; 3] = ["pulse", "move", "decide"];

/// All sessions of workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// By session, `<id>~<n>`.
    pub workers: BTreeMap<String, Worker>,
    /// Why the fleet is not known, if it is not. An unknown fleet is not an empty one: nothing is started or taken from
    /// anybody then.
    pub fault: Option<String>,
}

/// One session of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// The worker's id.
    pub id: String,
    /// The session, `<id>~<n>`.
    pub session: String,
    /// How it stands.
    pub state: WorkerState,
    /// The goal that it serves.
    pub goal: Option<String>,
    /// The runner that it was started with.
    pub runner: Option<String>,
    /// When it was started, in milliseconds since the epoch.
    pub started: i64,
    /// When it ended, in milliseconds since the epoch.
    pub ended: Option<i64>,
    /// For how long a live one has printed nothing, in seconds.
    pub silent_s: Option<u64>,
    /// Its processes outside its session: of a live one those that run now, where they were looked for; of an ended one
    /// those that ran when it ended by itself.
    pub strays: Vec<Stray>,
}

/// A process of a worker outside its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    /// Its number.
    pub pid: i32,
    /// The program, safe to print.
    pub program: String,
    /// Whether it carries the mark of the session. Without it, only its working folder is the session's: it may be a
    /// person's.
    pub marked: bool,
    /// Whether it was ended with the session.
    pub ended: bool,
}

impl Stray {
    /// What there is to say of it, after the name of its worker.
    pub fn text(&self) -> String {
        let Self { pid, program, .. } = self;
        match (self.marked, self.ended) {
            (true, true) => format!("{program} (pid {pid}) ran outside its session and was ended"),
            (true, false) => format!("{program} (pid {pid}) runs outside its session"),
            (false, _) => format!("{program} (pid {pid}) runs in its folder, outside its session"),
        }
    }

    /// The same of several.
    pub fn texts(strays: &[Self]) -> String {
        strays.iter().map(Self::text).collect::<Vec<_>>().join(", ")
    }
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// It runs.
    Alive,
    /// It is stopped and can go on.
    Paused,
    /// It exited with a code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It passed its deadline.
    TimedOut,
    /// It was ended on request.
    Killed,
    /// It could not be started.
    Spawn(String),
    /// Its host died.
    Lost,
}

impl WorkerState {
    /// Whether its host lives.
    pub fn is_alive(&self) -> bool {
        matches!(self, Self::Alive | Self::Paused)
    }

    /// The ending, as far as there is one that a receipt tells.
    pub fn of(ended: &Ended) -> Self {
        match ended {
            Ended::Exited(code) => Self::Exited(*code),
            Ended::Signalled(signal) => Self::Signalled(*signal),
            Ended::TimedOut => Self::TimedOut,
            Ended::Killed => Self::Killed,
            Ended::Spawn(error) => Self::Spawn(error.clone()),
        }
    }

    /// One of `alive`, `exited`, `killed`, `lost`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Alive | Self::Paused => "alive",
            Self::Exited(_) | Self::Signalled(_) | Self::Spawn(_) => "exited",
            Self::TimedOut | Self::Killed => "killed",
            Self::Lost => "lost",
        }
    }

    /// The exit code as a shell counts it.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(*code),
            Self::Signalled(signal) => Some(128 + signal),
            Self::Spawn(_) => Some(127),
            Self::Alive | Self::Paused | Self::TimedOut | Self::Killed | Self::Lost => None,
        }
    }

    /// The standing in words.
    pub fn text(&self) -> String {
        match self {
            Self::Alive => "alive".to_owned(),
            Self::Paused => "paused".to_owned(),
            Self::Exited(code) => Ended::Exited(*code).text(),
            Self::Signalled(signal) => Ended::Signalled(*signal).text(),
            Self::TimedOut => Ended::TimedOut.text(),
            Self::Killed => "killed".to_owned(),
            Self::Spawn(error) => Ended::Spawn(error.clone()).text(),
            Self::Lost => "lost: its host died".to_owned(),
        }
    }
}

impl Fleet {
    /// The newest session of a worker.
    pub fn latest(&self, id: &str) -> Option<&Worker> {
        self.workers
            .values()
            .filter(|worker| worker.id == id)
            .max_by_key(|worker| generation(&worker.session))
    }

    /// The live session of a worker.
    pub fn live(&self, id: &str) -> Option<&Worker> {
        self.workers.values().find(|worker| worker.id == id && worker.state.is_alive())
    }

    /// How many live.
    pub fn live_count(&self) -> usize {
        self.workers.values().filter(|worker| worker.state.is_alive()).count()
    }

    /// Whether a session lives. What is not known counts as alive.
    pub fn lives(&self, session: &str) -> bool {
        self.fault.is_some() || self.workers.get(session).is_some_and(|worker| worker.state.is_alive())
    }

    /// Whether the holder of a claim lives: a session, or any session of a worker.
    pub fn holds(&self, holder: &str) -> bool {
        self.lives(holder) || self.live(holder).is_some()
    }

    /// The newest session of each worker, by id.
    pub fn newest(&self) -> BTreeMap<&str, &Worker> {
        let mut newest: BTreeMap<&str, &Worker> = BTreeMap::new();
        for worker in self.workers.values() {
            let known = newest.entry(worker.id.as_str()).or_insert(worker);
            if generation(&worker.session) > generation(&known.session) {
                *known = worker;
            }
        }
        newest
    }
}

/// The number of a session: `3` of `ship~3`, 0 where there is none.
pub fn generation(session: &str) -> u64 {
    session.rsplit_once('~').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// The worker of a session: `ship` of `ship~3`, and of `ship`.
pub fn worker_of(session: &str) -> &str {
    session.rsplit_once('~').map_or(session, |(id, _)| id)
}

/// Whether a worker may be called so.
pub fn is_worker_id(id: &str) -> bool {
    !RESERVED.contains(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(session: &str, state: WorkerState) -> (String, Worker) {
        let worker = Worker {
            id: worker_of(session).to_owned(),
            session: session.to_owned(),
            state,
            goal: None,
            runner: None,
            started: 0,
            ended: None,
            silent_s: None,
            strays: Vec::new(),
        };
        (session.to_owned(), worker)
    }

    #[test]
    fn the_newest_session_is_the_one_with_the_highest_number() {
        let fleet = Fleet {
            workers: [
                worker("a~9", WorkerState::Exited(0)),
                worker("a~10", WorkerState::Alive),
                worker("b~1", WorkerState::Lost),
            ]
            .into(),
            fault: None,
        };
        assert_eq!(fleet.latest("a").map(|worker| worker.session.as_str()), Some("a~10"));
        assert_eq!(
            fleet.newest().values().map(|worker| worker.session.as_str()).collect::<Vec<_>>(),
            ["a~10", "b~1"]
        );
        assert_eq!((fleet.live_count(), fleet.lives("a~9"), fleet.lives("a~10")), (1, false, true));
        assert!(fleet.live("b").is_none() && fleet.latest("c").is_none());
    }

    #[test]
    fn an_unknown_fleet_counts_as_alive() {
        let fleet = Fleet { fault: Some("sessions/ cannot be read".to_owned()), ..Fleet::default() };
        assert!(fleet.lives("anybody~1"));
    }

    #[test]
    fn sessions_have_a_worker_and_a_number() {
        for (session, id, number) in [("a~1", "a", 1), ("a-b.c~12", "a-b.c", 12), ("old", "old", 0)] {
            assert_eq!((worker_of(session), generation(session)), (id, number));
        }
    }
}
