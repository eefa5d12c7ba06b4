//! The words of the socket: one JSON object a line, each saying its version.
//!
//! A request without a version is of version 1, which knows `hello` and `kill`; it is answered in kind. After `attach`
//! both sides speak in frames, see [`super::frame`].

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::kernel::{Answer, Delivery};
use crate::{Shot, Size};

/// The newest version we speak.
pub(super) const NEWEST: u32 = 2;

/// What a caller is told that does not know the word for it.
const NOT_TYPED: &str = "the text was not submitted: it was not seen to stand where it was typed";

/// What a caller wants.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Wish {
    /// Who are you?
    Hello,
    /// End all that the child started.
    Kill {
        /// Whether the session says itself that it is done: its end counts as a good one.
        #[serde(default)]
        done: bool,
    },
    /// What is on the screen?
    Screen {
        #[serde(default)]
        ansi: bool,
    },
    /// Type a text.
    Send {
        #[serde(default)]
        id: Option<String>,
        text: String,
        #[serde(default)]
        submit: bool,
        /// Whether the caller knows that a text may be `not_typed`.
        #[serde(default)]
        echo: bool,
    },
    /// Press keys.
    Key {
        #[serde(default)]
        id: Option<String>,
        keys: Vec<String>,
    },
    /// Give the terminal another size.
    Resize(Size),
    /// Send all viewers away.
    Detach,
    /// Stop all of it.
    Pause,
    /// Let it run again.
    GoOn,
    /// See what is printed from now on, and type unless `watch`.
    Attach {
        #[serde(default)]
        cols: Option<u16>,
        #[serde(default)]
        rows: Option<u16>,
        #[serde(default)]
        watch: bool,
        #[serde(default)]
        repaint: bool,
    },
}

/// Only the version of a line.
#[derive(Deserialize, Debug)]
struct Versioned {
    #[serde(default)]
    v: Option<u32>,
}

impl Wish {
    /// Whether it changes what the session does, which is for a person or the loop to say.
    pub(super) fn takes_a_person(&self) -> bool {
        match self {
            Self::Hello | Self::Screen { .. } | Self::Attach { watch: true, .. } => false,
            Self::Kill { .. }
            | Self::Send { .. }
            | Self::Key { .. }
            | Self::Resize(_)
            | Self::Detach
            | Self::Pause
            | Self::GoOn
            | Self::Attach { .. } => true,
        }
    }
}

/// What the host answers.
#[derive(Serialize, Debug, Default)]
pub(super) struct Reply {
    pub(super) v: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) child: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) program: Option<&'static str>,
    /// Whether a text is submitted only once it was seen to stand where it was typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) echo: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delivery: Option<Delivery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) again: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) viewers: Option<usize>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<Size>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) shot: Option<Shot>,
}

impl Reply {
    /// It is done.
    pub(super) fn done(v: u32) -> Self {
        Self { v, ok: Some(true), ..Self::default() }
    }

    /// It is not done.
    pub(super) fn refused(v: u32, why: &dyn Display) -> Self {
        Self { v, ok: Some(false), error: Some(why.to_string()), ..Self::default() }
    }

    /// What became of an input.
    pub(super) fn answered(v: u32, answer: Answer, knows_echo: bool) -> Self {
        let done = Self::done(v);
        match answer {
            Answer::Done => done,
            Answer::Sent { delivery: Delivery::NotTyped, .. } if !knows_echo => Self::refused(v, &NOT_TYPED),
            Answer::Sent { at, delivery, again } => {
                Self { at: Some(at), delivery: Some(delivery), again: Some(again), ..done }
            }
            Answer::Keyed { at, again } => Self { at: Some(at), again: Some(again), ..done },
            Answer::Refused(why) => Self::refused(v, &why),
        }
    }

    /// As a line.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// Reads a line: the version to answer in, and the wish or why it is none.
pub(super) fn parse(line: &[u8]) -> (u32, Result<Wish, String>) {
    let version = match serde_json::from_slice::<Versioned>(line) {
        Ok(Versioned { v }) => v.unwrap_or(1),
        Err(error) => return (NEWEST, Err(error.to_string())),
    };
    if !(1..=NEWEST).contains(&version) {
        return (NEWEST, Err(format!("version {version} is not known, this host speaks 1 to {NEWEST}")));
    }
    (version, serde_json::from_slice(line).map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_both_versions_are_understood() {
        let wish = |line: &str| parse(line.as_bytes());
        assert_eq!(wish(r#"{"do":"kill"}"#), (1, Ok(Wish::Kill { done: false })));
        assert_eq!(wish(r#"{"do":"kill","done":true}"#), (1, Ok(Wish::Kill { done: true })));
        assert_eq!(wish(r#"{"v":1,"do":"hello"}"#), (1, Ok(Wish::Hello)));
        assert_eq!(
            wish(r#"{"v":2,"do":"resize","cols":80,"rows":24,"more":true}"#),
            (2, Ok(Wish::Resize(Size { cols: 80, rows: 24 })))
        );
        assert_eq!(wish(r#"{"v":2,"do":"go_on"}"#), (2, Ok(Wish::GoOn)));
        let send = Wish::Send { id: None, text: "a".into(), submit: true, echo: false };
        assert_eq!(wish(r#"{"v":2,"do":"send","text":"a","submit":true}"#), (2, Ok(send)));
        for (line, version, part) in [
            (r#"{"v":3,"do":"kill"}"#, 2, "version 3"),
            (r#"{"v":2,"do":"dance"}"#, 2, "dance"),
            (r#"{"v":2,"do":"send"}"#, 2, "text"),
            ("nonsense", 2, "expected"),
        ] {
            let (said, outcome) = wish(line);
            assert_eq!(said, version, "{line}");
            assert!(outcome.unwrap_err().contains(part), "{line}");
        }
    }

    #[test]
    fn a_reply_holds_what_it_must_and_nothing_else() {
        let text = |reply: Reply| String::from_utf8(reply.line()).unwrap();
        assert_eq!(text(Reply::done(2)), "{\"v\":2,\"ok\":true}\n");
        let size = Some(Size { cols: 3, rows: 4 });
        let reply = Reply { at: Some(9), size, ..Reply::done(2) };
        assert_eq!(text(reply), "{\"v\":2,\"ok\":true,\"at\":9,\"cols\":3,\"rows\":4}\n");
        let answer = Answer::Sent { at: 5, delivery: Delivery::Unseen, again: false };
        let sent = "{\"v\":2,\"ok\":true,\"at\":5,\"delivery\":\"unseen\",\"again\":false}\n";
        assert_eq!(text(Reply::answered(2, answer, false)), sent);
        let answer = Answer::Sent { at: 5, delivery: Delivery::NotTyped, again: false };
        let sent = "{\"v\":2,\"ok\":true,\"at\":5,\"delivery\":\"not_typed\",\"again\":false}\n";
        assert_eq!(text(Reply::answered(2, answer.clone(), true)), sent);
        assert!(text(Reply::answered(2, answer, false)).starts_with("{\"v\":2,\"ok\":false,\"error\":"));
    }
}
