//! Rights: authorship gives them. What a person wrote runs as the person, what a decider wrote runs confined.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// With whose rights something runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// With the person's, in their environment.
    #[default]
    Person,
    /// In one box, with a listed environment and what was granted.
    Confined(Granted),
    /// As a plain pipeline, without a shell: each command in a box of its own, with what was granted to it alone.
    Staged(Vec<Stage>),
}

/// One command of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Its words.
    pub argv: Vec<String>,
    /// The pattern of the grant that applies to it, if one does. Such a command works in an empty folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// What it gets.
    #[serde(default)]
    pub granted: Granted,
}

impl Rights {
    /// Confined, with nothing granted.
    pub fn none() -> Self {
        Self::Confined(Granted::default())
    }

    /// Whether they are the person's.
    pub fn is_person(&self) -> bool {
        *self == Self::Person
    }

    /// What a command gets that is no part of a pipeline; none where it is the person's.
    pub fn of_command(&self) -> Option<Granted> {
        match self {
            Self::Person => None,
            Self::Confined(granted) => Some(granted.clone()),
            Self::Staged(_) => Some(Granted::default()),
        }
    }

    /// The grants that a command did not get although it names their program, each with the reason.
    pub fn withheld(&self) -> BTreeSet<&str> {
        let all: Vec<&Granted> = match self {
            Self::Person => Vec::new(),
            Self::Confined(granted) => vec![granted],
            Self::Staged(stages) => stages.iter().map(|stage| &stage.granted).collect(),
        };
        all.into_iter().flat_map(|granted| &granted.withheld).map(String::as_str).collect()
    }
}

/// What a confined command gets besides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Granted {
    /// Variables of the person's environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Files and folders of the person that it may read; `~` is the person's home.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Folders and files of the person that it may write, but for a `.git` in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Whether it reaches the network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub net: bool,
    /// The hosts that it was granted; none where `net` is open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The grants that it does not get although its text names their program, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}
