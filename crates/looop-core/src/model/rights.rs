//! Rights: authorship gives them. What a person wrote runs as the person, what a decider wrote runs confined.

use serde::{Deserialize, Serialize};

/// With whose rights something runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rights {
    /// With the person's, in their environment.
    #[default]
    Person,
    /// Confined, with a listed environment and what was granted.
    Confined(Granted),
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
}

/// What a confined command gets besides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Granted {
    /// Variables of the person's environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Files and folders that it may read although they are hidden else; `~` is the person's home.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Whether it reaches the network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub net: bool,
}
