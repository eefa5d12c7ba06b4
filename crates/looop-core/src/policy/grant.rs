//! Grants: what a decider's commands get of the person's.

use serde::Serialize;
use serde::ser::Serializer;

use super::pattern::Pattern;
use super::shipped;

/// One grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Grant {
    /// A folder or file that every box shows.
    Path(PathGrant),
    /// What the commands of one pattern get.
    Command(CommandGrant),
    /// What the commands of one program get that looop ships patterns for.
    Program(ProgramGrant),
}

/// A folder or file that every box shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PathGrant {
    /// Absolute, or below `~/`.
    pub path: String,
    /// Whether it may be written, but for its `.git`.
    pub write: bool,
    /// Whether it may also be written where the brief showed what strangers wrote.
    #[serde(skip_serializing_if = "OnTaint::asks")]
    pub tainted: OnTaint,
}

/// What the commands of one pattern get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandGrant {
    /// The commands.
    pub command: Pattern,
    /// What they get.
    #[serde(flatten)]
    pub gives: Gives,
    /// Whether they run unasked where the brief showed what strangers wrote.
    #[serde(skip_serializing_if = "OnTaint::asks")]
    pub tainted: OnTaint,
}

/// What the shipped commands of a program get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProgramGrant {
    /// The program's base name.
    pub program: String,
    /// What they get.
    #[serde(flatten)]
    pub gives: Gives,
}

/// What a command gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gives {
    /// Variables of the person's environment.
    pub env: Vec<String>,
    /// Files and folders of the person that it may read.
    pub read: Vec<String>,
    /// What it reaches of the network.
    pub net: Net,
}

/// What a command reaches of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Net {
    /// Nothing.
    #[default]
    Closed,
    /// These hosts; `*.` in front stands for any name below one.
    Hosts(Vec<String>),
    /// Everything.
    Open,
}

impl Serialize for Net {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Closed => serializer.serialize_bool(false),
            Self::Hosts(hosts) => hosts.serialize(serializer),
            Self::Open => serializer.serialize_str("open"),
        }
    }
}

/// What becomes of a granted command where the brief showed what strangers wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTaint {
    /// It asks.
    #[default]
    Ask,
    /// It runs.
    Allow,
}

impl OnTaint {
    /// Whether it asks.
    pub fn asks(&self) -> bool {
        *self == Self::Ask
    }
}

impl Grant {
    /// The program that it is about; a path is about none.
    pub fn program(&self) -> Option<&str> {
        match self {
            Self::Path(_) => None,
            Self::Command(grant) => Some(grant.command.program()),
            Self::Program(grant) => Some(&grant.program),
        }
    }

    /// The grants of commands that this one stands for.
    pub fn commands(&self) -> Vec<CommandGrant> {
        match self {
            Self::Path(_) => Vec::new(),
            Self::Command(grant) => vec![grant.clone()],
            Self::Program(grant) => shipped::commands(grant),
        }
    }
}

/// What a grant gives nobody, if it stands for no command: the reason.
pub fn gives_nothing(grant: &Grant) -> Option<String> {
    let Grant::Program(ProgramGrant { program, .. }) = grant else { return None };
    if !grant.commands().is_empty() {
        return None;
    }
    Some(if shipped::by_host(program) {
        format!("no command of {program} is granted: name the hosts, as net = [\"example.org\"]")
    } else {
        format!(
            "no command of {program} is granted: write command = [\"{program}\", …], a pattern of its words"
        )
    })
}
