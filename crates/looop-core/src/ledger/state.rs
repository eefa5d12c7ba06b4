//! The ledger: what the entries so far add up to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::entry::{Cause, Force};
use crate::gate::Why;
use crate::model::digest::Digest;
use crate::model::letter::AskKind;
use crate::model::outcome::Ended;
use crate::model::plan::{Author, BeatId, Plan, RunId};
use crate::time::Stamp;
use crate::world::baseline::{Delta, Items};
use crate::world::fleet::WorkerState;

/// All that the loop remembers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// Number of the last append.
    pub seq: u64,
    /// When that was.
    pub at: Option<Stamp>,
    /// Number of the last beat that left an entry.
    pub beats: u64,
    /// Number of the last decide.
    pub runs: u64,
    /// Number of the last hosted session that is no worker's.
    pub sessions: u64,
    /// Number of the last ask of the loop's own.
    pub asks_made: u64,
    /// Whether the starter files were put in place.
    pub seeded: bool,
    /// The world as the last model decision saw it.
    pub baseline: Items,
    /// The decide under way.
    pub deciding: Option<Deciding>,
    /// The move under way.
    pub acting: Option<Acting>,
    /// Failures in a row.
    pub failures: Option<Failures>,
    /// The decider's wish for the next beat.
    pub nudge: Option<Nudge>,
    /// Decides in a row that only our own doing forced.
    pub chain: u32,
    /// When the last decide started.
    pub last_decide: Option<Stamp>,
    /// Starts of the decides of the last hour.
    pub decides: Vec<Stamp>,
    /// The last decision, if it was to do nothing.
    pub noop: Option<Stamp>,
    /// When an overdue goal last forced a decide.
    pub overdue: BTreeMap<String, Stamp>,
    /// What is known of each goal.
    pub goals: BTreeMap<String, GoalRecord>,
    /// Readings as the last beat saw them, and how often each changed in a row.
    pub readings: BTreeMap<String, ReadingRecord>,
    /// Asks that wait for a person.
    pub asks: BTreeMap<String, AskRecord>,
    /// Asks that were settled lately, by the time they were asked: their letters may still be there after a crash.
    pub settled: BTreeMap<String, i64>,
    /// What the next brief must show once.
    pub notes: Vec<Note>,
    /// Bytes that moves of a decider wrote, by path.
    pub written: BTreeMap<String, Digest>,
    /// The last journal lines.
    pub journal: Vec<String>,
    /// Whether deciding is paused.
    pub paused: Option<Paused>,
    /// Why the last beat did nothing, if it did nothing.
    pub skipped: Option<Skip>,
    /// Dollars by local day, the newest days.
    pub spend: BTreeMap<String, DaySpend>,
    /// Sessions of workers, as long as something of them is kept.
    pub workers: BTreeMap<String, WorkerRecord>,
    /// The highest number that a session of each worker had, also of those of which nothing is kept.
    pub generations: BTreeMap<String, u64>,
    /// Answers that were brought to a worker which had died, by ask: the session that was told.
    pub redelivered: BTreeMap<String, String>,
    /// Tells that were noted lately.
    pub tells: BTreeMap<String, i64>,
    /// Schedules by name: the last time that each was noticed to be due, in milliseconds since the epoch.
    pub due: BTreeMap<String, i64>,
    /// What is wrong with the configuration, if something is; the last good one is in use.
    pub config_error: Option<String>,
    /// What the person was told of that waits for them, by need.
    pub notices: BTreeMap<String, NoticeRecord>,
    /// Channels that did not take the last notice.
    pub undelivered: BTreeMap<String, UndeliveredRecord>,
}

/// What the person was told of one need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeRecord {
    /// When first.
    pub first: Stamp,
    /// When last.
    pub last: Stamp,
    /// How often.
    pub count: u32,
}

/// A channel that did not take a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndeliveredRecord {
    /// When the last one was not taken.
    pub at: Stamp,
    /// Why.
    pub error: String,
    /// How many in a row.
    pub count: u32,
}

/// A session of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// The goal that it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The command that proves its work done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// Who wanted it.
    pub author: Author,
    /// When it was started.
    pub at: Stamp,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<WorkerState>,
    /// Whether its work was proven, if that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<bool>,
    /// The answered ask that it was started to be told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether a person was asked about its death.
    #[serde(default)]
    pub mourned: bool,
    /// Whether a move ended it: nobody waits for the answers to what it asked.
    #[serde(default)]
    pub discharged: bool,
}

/// A decide under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deciding {
    /// In which beat.
    pub beat: BeatId,
    /// Its number.
    pub run: RunId,
    /// The hosted session that it runs in.
    pub session: String,
    /// Who decides.
    pub decider: String,
    /// When it started.
    pub at: Stamp,
    /// The append that started it: notes up to here are in its brief.
    pub seq: u64,
    /// What let it through, if the world is unchanged.
    pub forced: Option<Force>,
    /// The world it is shown.
    pub sees: Delta,
    /// Digests of sensors and schedules by path.
    pub files: BTreeMap<String, Digest>,
    /// Dollars set aside for it.
    pub reserved_usd: f64,
}

/// A move under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acting {
    /// In which beat.
    pub beat: BeatId,
    /// What is fixed about it.
    pub plan: Box<Plan>,
    /// The world that its decision saw, committed if it is done.
    pub sees: Option<Delta>,
    /// When it was intended.
    pub at: Stamp,
}

/// Failures in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failures {
    /// How many.
    pub count: u32,
    /// When the last was.
    pub at: Stamp,
    /// What it was.
    pub reason: String,
    /// The policy files and configuration then.
    pub policy: Digest,
}

/// A wish for another look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nudge {
    /// When it was made.
    pub at: Stamp,
    /// Seconds after that.
    pub seconds: u64,
}

/// What is known of a goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GoalRecord {
    /// When a move for it last ended.
    pub served: Option<Stamp>,
    /// Since when it is ready, if it is.
    pub ready: Option<Stamp>,
    /// Moves for it since it last held.
    pub attempts: u32,
    /// Workers in a row for it that ended without proof of their work.
    pub fruitless: u32,
    /// How the last move for it ended.
    pub last: Option<String>,
    /// The ask that it waits for.
    pub ask: Option<String>,
}

/// What is known of a reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadingRecord {
    /// Digest of its signal in the last beat.
    pub digest: Digest,
    /// In how many beats in a row it changed; quiet beats count back.
    pub streak: u32,
}

/// An ask that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskRecord {
    /// Who asks.
    pub from: String,
    /// The question.
    pub prompt: String,
    /// The goal that waits for it.
    pub goal: Option<String>,
    /// What is wanted.
    #[serde(default)]
    pub kind: AskKind,
    /// Since when.
    pub at: Stamp,
    /// When it was asked, as its letter says, in milliseconds since the epoch.
    pub asked: i64,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when.
    pub at: Stamp,
    /// Until when, in milliseconds since the epoch.
    pub until: Option<i64>,
}

/// A beat that did nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skip {
    /// Which beat.
    pub beat: BeatId,
    /// When.
    pub at: Stamp,
    /// Why it looked.
    pub cause: Cause,
    /// Why it did nothing.
    pub why: Why,
}

/// Spend of a day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaySpend {
    /// Dollars.
    pub usd: f64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Decides.
    pub decides: u64,
}

/// What the next brief must show once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The append that it belongs to.
    pub seq: u64,
    /// What it is.
    #[serde(flatten)]
    pub what: NoteKind,
}

/// Kinds of notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum NoteKind {
    /// Output of a shell move.
    Shell {
        /// The command.
        cmd: String,
        /// How it ended.
        ended: Ended,
        /// The end of its output.
        tail: String,
        /// Whether the loop's own decider wanted it.
        own: bool,
    },
    /// A decide or a move failed.
    Failure {
        /// What happened.
        reason: String,
    },
    /// A proposal was refused.
    Refused {
        /// Why.
        reason: String,
    },
    /// A proposal came too late.
    Overtaken {
        /// What it was and what changed.
        reason: String,
    },
    /// A move may or may not have happened.
    Interrupted {
        /// Which, and what is known.
        reason: String,
    },
    /// A person answered.
    Answer {
        /// Which ask.
        ask: String,
        /// The question.
        prompt: String,
        /// The answer.
        text: String,
    },
    /// The last decision had fields that mean nothing here.
    Unknown {
        /// Their names.
        fields: Vec<String>,
    },
}

impl Ledger {
    /// What is known of a goal.
    pub fn goal(&self, id: &str) -> GoalRecord {
        self.goals.get(id).cloned().unwrap_or_default()
    }
}
