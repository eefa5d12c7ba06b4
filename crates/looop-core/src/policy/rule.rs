//! Rules, as `policy.toml` says them.

use serde::{Deserialize, Serialize};

use super::grant::Grant;

/// The built-in list that decides where no rule of the person's does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Every well-formed move is admitted.
    Open,
    /// What cannot be taken back, or rests on what strangers wrote, waits for a person.
    #[default]
    Guarded,
    /// Everything but noops, notices and questions waits for a person.
    Locked,
}

impl Level {
    /// Every level, the loosest first.
    pub const ALL: [Self; 3] = [Self::Open, Self::Guarded, Self::Locked];

    /// Its name in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Guarded => "guarded",
            Self::Locked => "locked",
        }
    }
}

/// What becomes of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// It is carried out.
    Allow,
    /// It waits for a person.
    Ask,
    /// It is refused.
    Deny,
}

impl Then {
    /// Its name in `policy.toml`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// What becomes of the move, after its name.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Allow => "is allowed",
            Self::Ask => "asks",
            Self::Deny => "is denied",
        }
    }
}

/// When a rule applies: all that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// Whether the brief showed what strangers wrote.
    pub tainted: Option<bool>,
    /// What it runs reaches nothing outside: it runs in a box, or it carries no shell text.
    pub plain: Option<bool>,
    /// To allow: its shell text is a plain pipeline that runs one of these, and what else it runs is boxed. To ask or to
    /// deny: its shell text names one of these.
    pub program: Vec<String>,
    /// Its command is one of these, letter by letter.
    pub command: Vec<String>,
    /// It serves one of these goals; `*` stands for anything.
    pub goal: Vec<String>,
    /// The worker runs on one of these runners; `*` stands for any. A worker with a command of its own runs on none.
    pub runner: Vec<String>,
    /// The file that it writes matches one of these; `*` stands for anything but `/`.
    pub path: Vec<String>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The move: a value of `action`, or `*`.
    #[serde(rename = "move")]
    pub action: String,
    /// When it applies.
    #[serde(default)]
    pub when: When,
    /// What becomes of the move.
    pub then: Then,
    /// What the person and the decider are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The whole policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The built-in list.
    pub level: Level,
    /// The person's rules, which come first.
    pub rules: Vec<Rule>,
    /// What commands of deciders get.
    pub grants: Vec<Grant>,
}
