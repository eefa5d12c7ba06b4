//! Letters: asks, answers, tells, claims and expenses, one file each.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::digest::Digest;
use super::money::Used;
use crate::meter::Micros;

/// What an ask wants of the person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// An answer in words.
    #[default]
    Question,
    /// That they attach to the session. Whoever attaches has settled it.
    Flag,
    /// Their consent to a move.
    Proposal,
}

impl AskKind {
    /// Whether it is a question, which most asks are.
    pub fn is_question(&self) -> bool {
        *self == Self::Question
    }
}

/// Something that only a person can settle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Version of the stored form.
    pub v: u32,
    /// Its id, also the file's stem.
    pub id: String,
    /// Who asks: `pulse`, or a worker's session.
    pub from: String,
    /// What it wants.
    #[serde(default, skip_serializing_if = "AskKind::is_question")]
    pub kind: AskKind,
    /// The question, the reason of a flag, or what a proposed move would do.
    pub prompt: String,
    /// Answers to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Whether nothing but one of the options is an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// What it refers to.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The goal that waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The move that a proposal proposes, as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Value>,
    /// When, in milliseconds since the epoch.
    pub asked: i64,
    /// Whether its asker is done with it and could not put it away itself, because it is confined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// The limit of its provider that a worker waits for, where it is a flag raised for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// A limit of a provider, as the screen of an agent states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// When it ends, in milliseconds since the epoch.
    pub until: i64,
    /// The program of the agent.
    pub program: String,
}

/// Digest of a question with the answers to choose from: what a person sees of it.
pub fn question_digest(prompt: &str, options: &[String]) -> Digest {
    Digest::of_json(&serde_json::json!([prompt, options]))
}

impl Ask {
    /// The answer that a text stands for: itself, or where only the options count, the one that it names in full or by
    /// its beginning.
    pub fn choice<'a>(&'a self, text: &'a str) -> Option<&'a str> {
        if !self.closed {
            return Some(text);
        }
        let said = text.trim().to_lowercase();
        let begins = |option: &&String| !said.is_empty() && option.to_lowercase().starts_with(&said);
        let exact = self.options.iter().find(|option| option.to_lowercase() == said);
        let mut near = self.options.iter().filter(begins);
        exact.or_else(|| near.next().filter(|_| near.next().is_none())).map(String::as_str)
    }
}

/// What a question of the loop's own is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// A goal that still fails after its recipe was tried.
    StillFails,
    /// Whether the owner of a fresh profile wants to be interviewed.
    Interview,
    /// Whether a worker that passed its allowance may go on.
    Allowance,
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

/// What a person tells a worker, unasked. It is for one session and no later one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tell {
    /// Version of the stored form.
    pub v: u32,
    /// Its id, also the file's stem.
    pub id: String,
    /// The session that it is for.
    pub to: String,
    /// The message.
    pub text: String,
    /// When, in milliseconds since the epoch.
    pub sent: i64,
}

/// What a session has taken for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Version of the stored form.
    pub v: u32,
    /// What is claimed, also the file's stem.
    pub name: String,
    /// The session that holds it.
    pub session: String,
    /// Since when, in milliseconds since the epoch.
    pub ts: i64,
    /// Tells this lease from every other one of that name.
    pub nonce: String,
}

/// What a session says that it has spent, besides what it said before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expense {
    /// Version of the stored form.
    pub v: u32,
    /// Its id, also the file's stem.
    pub id: String,
    /// Who spent it.
    pub session: String,
    /// Dollars.
    pub usd: f64,
    /// Tokens read.
    #[serde(default)]
    pub tokens_in: u64,
    /// Tokens written.
    #[serde(default)]
    pub tokens_out: u64,
    /// Tokens read from a cache.
    #[serde(default)]
    pub tokens_cached: u64,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// The goal that it was spent for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Whether it was spent besides what the session's agent itself spends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extra: bool,
    /// When, in milliseconds since the epoch.
    pub recorded: i64,
}

impl Expense {
    /// Most dollars that one letter may say.
    pub const MOST_USD: f64 = 1e6;

    /// What it says was used.
    pub fn used(&self) -> Used {
        Used {
            usd: Micros::from_dollars(self.usd).unwrap_or_default(),
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            tokens_cached: self.tokens_cached,
        }
    }
}
