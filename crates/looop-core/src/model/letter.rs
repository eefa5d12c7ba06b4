//! Letters: asks and answers, one file each.

use serde::{Deserialize, Serialize};

/// A question that only a person can settle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Version of the stored form.
    pub v: u32,
    /// Its id, also the file's stem.
    pub id: String,
    /// Who asks: `pulse`, or a worker's session.
    pub from: String,
    /// The question.
    pub prompt: String,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What it refers to.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The goal that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// When, in milliseconds since the epoch.
    pub asked: i64,
}

/// A person's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Version of the stored form.
    pub v: u32,
    /// Which ask.
    pub ask: String,
    /// The reply.
    pub text: String,
    /// When, in milliseconds since the epoch.
    pub answered: i64,
}
