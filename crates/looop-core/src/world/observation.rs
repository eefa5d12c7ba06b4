//! The observation: all that one beat saw, taken in one pass.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;

use super::fleet::Fleet;
use super::reading::Reading;
use crate::meter::Metered;
use crate::model::digest::Digest;
use crate::model::letter::{Answer, Ask, AskKind, Claim, Expense, Tell};
use crate::model::outcome::Ended;
use crate::model::work::Work;
use crate::schedule::Schedule;

/// A policy file: absent, whole, and broken are three different things.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Doc {
    /// There is none.
    #[default]
    Absent,
    /// Its text.
    Text {
        /// The text.
        text: String,
        /// Digest of its bytes.
        digest: Digest,
    },
    /// It is there and cannot be used.
    Broken {
        /// What is wrong, with the file's name.
        error: String,
    },
}

impl Doc {
    /// A whole document.
    pub fn of(text: impl Into<String>) -> Self {
        let text = text.into();
        let digest = Digest::of(text.as_bytes());
        Self::Text { text, digest }
    }

    /// The text, where it is whole.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::Absent | Self::Broken { .. } => None,
        }
    }

    /// What the diff compares: nothing for an absent file, the bytes or the error else.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Absent => None,
            Self::Text { digest, .. } => Some(*digest),
            Self::Broken { error } => Some(Digest::of_parts(&[b"broken", error.as_bytes()])),
        }
    }
}

/// The files that moves write and decisions rest on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Docs {
    /// PLAYBOOK.md.
    pub playbook: Doc,
    /// Goals by id.
    pub goals: BTreeMap<String, Doc>,
    /// Files in `goals/` whose names cannot be used, escaped for printing.
    pub odd: Vec<String>,
    /// Sensors by stem: the file name and the digest of its bytes, where it could be read.
    pub sensors: BTreeMap<String, SensorFile>,
    /// Schedules by name.
    pub schedules: BTreeMap<String, ScheduleDoc>,
    /// Stems in `goals/archive/`.
    pub archive: Vec<String>,
    /// Time zones that schedules or the move at hand name, as far as they exist.
    pub zones: BTreeMap<String, TimeZone>,
    /// The workers. Not a file, but what moves touch and decisions rest on all the same.
    pub fleet: Fleet,
    /// Sessions that wait on a person, with the ask that they wait for.
    pub waiting: BTreeMap<String, String>,
    /// Sessions that have not fetched an answer, with the ask that was answered.
    pub unfetched: BTreeMap<String, String>,
    /// The letters that ask for consent to a move, by ask.
    pub proposals: BTreeMap<String, Ask>,
    /// Earlier bodies of files that are kept. Looked up only where something shall be taken back.
    pub kept: BTreeSet<Digest>,
}

/// A sensor's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensorFile {
    /// Name with extension.
    pub file: String,
    /// Digest of its bytes, where it could be read.
    pub digest: Option<Digest>,
}

/// A schedule's file.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleDoc {
    /// A usable schedule.
    Good {
        /// Its parsed form.
        schedule: Schedule,
        /// Digest of its bytes.
        digest: Digest,
    },
    /// It is there and cannot be used.
    Broken {
        /// What is wrong, with the file's name.
        error: String,
        /// Digest of its bytes, where it could be read.
        digest: Option<Digest>,
    },
}

impl ScheduleDoc {
    /// Digest of its bytes.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Good { digest, .. } => Some(*digest),
            Self::Broken { digest, .. } => *digest,
        }
    }
}

/// What a goal's check said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// How it ended: 0 holds, 1 fails, anything else is an error.
    pub ended: Ended,
    /// The end of what it printed.
    pub output: String,
}

/// Letters waiting to be folded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Letters {
    /// Asks by id.
    pub asks: BTreeMap<String, Ask>,
    /// Answers by ask.
    pub answers: BTreeMap<String, Answer>,
    /// Answers that were taken out of the way together with their asks, of asks that the loop still had open.
    pub collected: BTreeMap<String, Answer>,
    /// Answered asks on whose answer somebody blocks.
    pub awaited: BTreeSet<String>,
    /// Claims by name.
    pub claims: BTreeMap<String, Claim>,
    /// Tells that wait, by id.
    pub tells: BTreeMap<String, Tell>,
    /// What sessions say that they have spent, by id.
    pub expenses: BTreeMap<String, Expense>,
    /// Files that are no letters, with what is wrong.
    pub broken: Vec<(String, String)>,
}

impl Letters {
    /// The sessions that wait on a person, each with the ask that it waits for.
    pub fn waiting(&self) -> BTreeMap<String, String> {
        let open = self.asks.iter().filter(|(id, ask)| {
            ask.kind != AskKind::Proposal
                && ask.from != "pulse"
                && !ask.fetched
                && !self.answers.contains_key(*id)
        });
        open.map(|(id, ask)| (ask.from.clone(), id.clone())).collect()
    }

    /// The letters that ask for consent to a move.
    pub fn proposals(&self) -> BTreeMap<String, Ask> {
        let asks = self.asks.iter().filter(|(_, ask)| ask.kind == AskKind::Proposal);
        asks.map(|(id, ask)| (id.clone(), ask.clone())).collect()
    }

    /// The sessions that have not fetched an answer, each with the ask that was answered.
    pub fn unfetched(&self) -> BTreeMap<String, String> {
        let answered = self.asks.iter().filter(|(id, ask)| {
            ask.kind == AskKind::Question
                && ask.from != "pulse"
                && !ask.fetched
                && self.answers.contains_key(*id)
        });
        answered.map(|(id, ask)| (ask.from.clone(), id.clone())).collect()
    }
}

/// How wide a look is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Every sensor is run.
    #[default]
    Full,
    /// The last readings are reused where that can be.
    Quick,
}

/// All that a beat saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// How wide the look was.
    pub scope: Scope,
    /// Whether no sensor has spoken yet: letters and workers are seen to, and nothing is decided upon the rest.
    pub early: bool,
    /// Policy files.
    pub docs: Docs,
    /// Sensors' readings by sensor; probes are added by the engine.
    pub readings: BTreeMap<String, Reading>,
    /// Results of goals' checks.
    pub checks: BTreeMap<String, Checked>,
    /// What the commands said that prove the work of workers which have ended, by session.
    pub proofs: BTreeMap<String, Checked>,
    /// What workers which have ended left in their copies of a repository, by session.
    pub works: BTreeMap<String, Work>,
    /// What the files of their agents say that workers used in all, by session, as far as they were looked at.
    pub spends: BTreeMap<String, Metered>,
    /// Letters.
    pub letters: Letters,
    /// Files whose names cannot be used; shown, and no target of moves.
    pub unusable: Vec<String>,
    /// Folders that could not be looked into. What was seen is not the whole world, so nothing is decided upon it.
    pub broken: Vec<String>,
    /// A fresh secret for the brief's boundaries.
    pub secret: [u8; 16],
}
