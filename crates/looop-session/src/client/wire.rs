//! The words of the socket, as a client says and hears them.

use serde::{Deserialize, Serialize};

use crate::kernel::Delivery;

/// The version that a client speaks.
pub(super) const VERSION: u32 = 2;
/// The version of hosts that know `hello` and `kill` only.
pub(super) const OLD: u32 = 1;

/// A request: the version and what is asked.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) v: u32,
    #[serde(flatten)]
    pub(super) ask: Ask<'a>,
}

/// What can be asked.
#[derive(Serialize, Clone, Copy)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Ask<'a> {
    Hello,
    Kill,
    Screen {
        ansi: bool,
    },
    Send {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        text: &'a str,
        submit: bool,
        echo: bool,
    },
    Key {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        keys: &'a [String],
    },
    Resize {
        cols: u16,
        rows: u16,
    },
    Detach,
    Pause,
    GoOn,
    Attach {
        #[serde(skip_serializing_if = "Option::is_none")]
        cols: Option<u16>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rows: Option<u16>,
        watch: bool,
        repaint: bool,
    },
}

/// What every reply has.
#[derive(Deserialize)]
pub(super) struct Reply {
    pub(super) v: u32,
    #[serde(default)]
    pub(super) ok: Option<bool>,
    #[serde(default)]
    pub(super) error: Option<String>,
}

/// Who answers.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The version that the host speaks.
    pub v: u32,
    /// The host's process number.
    #[serde(default)]
    pub pid: Option<i32>,
    /// The child's.
    #[serde(default)]
    pub child: Option<i32>,
    /// The program that the host is, such as `looop 0.1.0`.
    #[serde(default)]
    pub program: Option<String>,
    /// Whether the host submits a text only once it was seen to stand where it was typed.
    #[serde(default)]
    pub echo: bool,
}

/// What became of a text.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The stream offset before the first byte was typed.
    pub at: u64,
    /// Whether it arrived.
    pub delivery: Delivery,
    /// Whether its id was known: nothing was typed, and this is what became of it the first time.
    #[serde(default)]
    pub again: bool,
}

/// What became of keys.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keyed {
    /// The stream offset before the first one was pressed.
    pub at: u64,
    /// Whether their id was known: nothing was pressed.
    #[serde(default)]
    pub again: bool,
}

/// The reply to `detach`.
#[derive(Deserialize)]
pub(super) struct SentAway {
    pub(super) viewers: usize,
}

/// The reply to `attach`.
#[derive(Deserialize)]
pub(super) struct Begun {
    pub(super) at: u64,
    #[serde(default)]
    pub(super) cols: Option<u16>,
    #[serde(default)]
    pub(super) rows: Option<u16>,
}

/// A reply of which nothing more is wanted.
#[derive(Deserialize)]
pub(super) struct Done {}
