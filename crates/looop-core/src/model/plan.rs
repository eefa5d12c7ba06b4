//! Plans: an admitted move with everything fixed that must not differ when it is done again after a crash.

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::letter::Topic;
use super::money::Allowance;
use super::moves::Move;
use super::rights::Rights;
use super::work::Last;
use crate::approval::Ground;
use crate::meter::Micros;
use crate::time::Stamp;

/// Number of a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BeatId(pub u64);

/// Number of a decide; its folder is `runs/<six digits>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u64);

impl std::fmt::Display for BeatId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:06}", self.0)
    }
}

/// Who wanted the move. Authorship gives rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The built-in decider, from a goal's recipe.
    Builtin,
    /// A decider of the configuration, by name.
    Decider(String),
    /// A person, through a verb.
    Person,
    /// A decider or a worker, by name, and a person approved it.
    Approved(String),
}

impl Author {
    /// A word for tables and lines.
    pub fn word(&self) -> &str {
        match self {
            Self::Builtin => "builtin",
            Self::Decider(name) | Self::Approved(name) => name,
            Self::Person => "you",
        }
    }
}

/// How a plan is carried out, so that it happens once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Act {
    /// Nothing outside the log changes.
    Nothing,
    /// A hosted child; the session's fence and receipt decide what a crash means.
    Hosted {
        /// The session, `<id>~<n>`.
        session: String,
    },
    /// One file is put in place, or removed where `after` is absent.
    File {
        /// Path below the profile.
        path: String,
        /// Digest of the file before, if there was one.
        before: Option<Digest>,
        /// Digest of the file after.
        after: Option<Digest>,
    },
    /// A worker's session is started; its fence decides what a crash means.
    Worker {
        /// The session, `<id>~<n>`.
        session: String,
        /// The command that proves its work done: the move's own, else the goal's check.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verify: Option<String>,
        /// The repository that it gets a worktree of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repo: Option<String>,
        /// Whether a decider wrote the goal that names the repository.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        foreign: bool,
        /// What it may cost.
        #[serde(default, skip_serializing_if = "Allowance::is_nothing")]
        allowance: Allowance,
        /// The runner that it is started with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<String>,
        /// The model that its goal names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What it is told of the last worker that served its goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<Box<Last>>,
    },
    /// Something is typed into a session. Its host remembers the input, so that it is typed once.
    Typed {
        /// The session.
        session: String,
        /// The id of the input.
        input: String,
        /// The ask whose answer it is, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<String>,
        /// The flag that says that the worker waits for its provider, where this lets it go on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wakes: Option<String>,
    },
    /// Sessions are ended. To do it again does no harm.
    Ended {
        /// The session.
        session: String,
        /// Others that are ended at the same time.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        also: Vec<String>,
    },
    /// A session is ended, if it lives, and its task is begun anew in another.
    Again {
        /// The session whose task it is.
        from: String,
        /// The new session.
        session: String,
        /// The answered asks that the new session is told of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asks: Vec<String>,
        /// What the new session may cost.
        #[serde(default, skip_serializing_if = "Allowance::is_nothing")]
        allowance: Allowance,
        /// The runner that it is started with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<String>,
    },
    /// A goal moves to the archive.
    Archive {
        /// Path below the profile.
        from: String,
        /// The target, which did not exist when this was fixed.
        to: String,
        /// Digest of the body.
        body: Digest,
    },
}

impl Act {
    /// The session that this starts, if it starts one.
    pub fn starts(&self) -> Option<&str> {
        match self {
            Self::Hosted { session } | Self::Worker { session, .. } | Self::Again { session, .. } => {
                Some(session)
            }
            Self::Nothing
            | Self::Typed { .. }
            | Self::Ended { .. }
            | Self::File { .. }
            | Self::Archive { .. } => None,
        }
    }

    /// The session of a worker that this starts, and what that may cost.
    pub fn spends(&self) -> Option<(&str, Allowance)> {
        match self {
            Self::Worker { session, allowance, .. } | Self::Again { session, allowance, .. } => {
                Some((session, *allowance))
            }
            Self::Nothing
            | Self::Hosted { .. }
            | Self::Typed { .. }
            | Self::Ended { .. }
            | Self::File { .. }
            | Self::Archive { .. } => None,
        }
    }

    /// The runner that a worker is started with, where one is.
    pub fn runner(&self) -> Option<&str> {
        match self {
            Self::Worker { runner, .. } | Self::Again { runner, .. } => runner.as_deref(),
            Self::Nothing
            | Self::Hosted { .. }
            | Self::Typed { .. }
            | Self::Ended { .. }
            | Self::File { .. }
            | Self::Archive { .. } => None,
        }
    }

    /// Whether this works with a session.
    pub fn touches(&self, name: &str) -> bool {
        match self {
            Self::Hosted { session } | Self::Worker { session, .. } | Self::Typed { session, .. } => {
                session == name
            }
            Self::Ended { session, also } => session == name || also.iter().any(|other| other == name),
            Self::Again { from, session, .. } => from == name || session == name,
            Self::Nothing | Self::File { .. } | Self::Archive { .. } => false,
        }
    }

    /// The file that this changes and its digest before, where it changes one.
    pub fn replaces(&self) -> Option<(&str, Option<Digest>)> {
        match self {
            Self::File { path, before, .. } => Some((path, *before)),
            Self::Archive { from, body, .. } => Some((from, Some(*body))),
            Self::Nothing
            | Self::Hosted { .. }
            | Self::Worker { .. }
            | Self::Typed { .. }
            | Self::Ended { .. }
            | Self::Again { .. } => None,
        }
    }

    /// What takes this back, where it changes a file.
    pub fn reversed(&self) -> Option<Self> {
        match self.clone() {
            Self::File { path, before, after } => Some(Self::File { path, before: after, after: before }),
            Self::Archive { from, to, body } => Some(Self::Archive { from: to, to: from, body }),
            Self::Nothing
            | Self::Hosted { .. }
            | Self::Worker { .. }
            | Self::Typed { .. }
            | Self::Ended { .. }
            | Self::Again { .. } => None,
        }
    }

    /// Names what is typed after the beat that it is typed in: no other input has that name.
    pub fn typed_in(&mut self, beat: BeatId) {
        if let Self::Typed { input, .. } = self {
            *input = format!("beat-{beat}");
        }
    }

    /// The same in another session, because it never ran in the first.
    pub fn moved(&mut self, to: &str) {
        match self {
            Self::Hosted { session } | Self::Worker { session, .. } | Self::Again { session, .. } => {
                to.clone_into(session);
            }
            Self::Nothing
            | Self::Typed { .. }
            | Self::Ended { .. }
            | Self::File { .. }
            | Self::Archive { .. } => {}
        }
    }
}

/// An admitted move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The move.
    #[serde(rename = "move")]
    pub action: Move,
    /// Who wanted it.
    pub author: Author,
    /// How it is carried out.
    pub act: Act,
    /// The goal it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The journal line it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
    /// A wish for the time of the next beat, within bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_interval_s: Option<u64>,
    /// The budget that a person gave the goal which it rewrites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Micros>,
    /// With whose rights its command, its trial, or the worker's own command and proof run.
    #[serde(default, skip_serializing_if = "Rights::is_person")]
    pub rights: Rights,
    /// Whether the brief that it comes from showed what strangers wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// What a person's consent to it rests on; nothing of it may have changed when it is carried out.
    #[serde(default, skip_serializing_if = "Ground::is_empty")]
    pub ground: Ground,
    /// What a question of the loop's own is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    /// Digest of the recipe that the goal had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Digest>,
    /// When it was fixed; what is written carries this time, also when it is written after a crash.
    pub at: Stamp,
}

impl Plan {
    /// A bare plan with a person's rights, that serves no goal and says nothing of its own.
    pub fn new(action: Move, (author, act): (Author, Act), at: Stamp) -> Self {
        let (goal, journal, next_interval_s, budget) = (None, None, None, None);
        let (rights, tainted, ground) = (Rights::Person, false, Ground::new());
        let (topic, recipe) = (None, None);
        Self {
            action,
            author,
            act,
            goal,
            journal,
            next_interval_s,
            budget,
            rights,
            tainted,
            ground,
            topic,
            recipe,
            at,
        }
    }
}
