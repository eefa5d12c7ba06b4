//! Moves that can be taken back.

use serde::{Deserialize, Serialize};

use super::state::GoalRecord;
use crate::model::digest::Digest;
use crate::model::plan::{Act, Author, BeatId};
use crate::time::Stamp;

/// A move of a file that was done, with what is needed to take it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undoable {
    /// In which beat it was done.
    pub beat: BeatId,
    /// When.
    pub at: Stamp,
    /// What it did, in words.
    pub summary: String,
    /// Who wanted it.
    pub author: Author,
    /// What it did to the file.
    pub act: Act,
    /// Whether a decider had written the bytes that it replaced or archived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decided: bool,
    /// Whether those bytes came from a brief that showed what strangers wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// What was known of the goal before, where the file is a goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalRecord>,
}

impl Undoable {
    /// The file that becomes what it was before.
    pub fn path(&self) -> &str {
        self.act.replaces().map_or("", |(path, _)| path)
    }

    /// Digest of what the file was before; absent where there was none.
    pub fn before(&self) -> Option<Digest> {
        self.act.replaces().and_then(|(_, before)| before)
    }
}
