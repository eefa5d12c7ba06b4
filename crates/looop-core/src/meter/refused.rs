//! Runs that were refused: every request was turned away before a model read it, which costs nothing. claude and pi say
//! so in figures of their own; of the others it is read off their errors.

use serde_json::Value;

use super::limit;
use crate::intake::stream::{Format, text};

/// What the events of a run say of it so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refused {
    /// Whether a request was turned away.
    any: bool,
    /// Whether a model may have read one.
    doubt: bool,
}

impl Refused {
    /// Whether it is sure that no model has read anything.
    pub(super) fn is_sure(self) -> bool {
        self.any && !self.doubt
    }

    pub(super) fn tell(&mut self, format: Format, kind: &str, event: &Value) {
        let refused = match (format, kind) {
            (Format::Codex, "error") => Some(is_refusal(text(event, "/message"))),
            (Format::Codex, "turn.failed") => Some(is_refusal(text(event, "/error/message"))),
            (Format::Codex, _) if kind.starts_with("item.") => {
                (text(event, "/item/type") != "error").then_some(false)
            }
            (Format::Opencode, "error") => Some(is_status(event["error"]["data"]["statusCode"].as_u64())),
            // The body of a refusal is JSON; what went wrong on the way is told in words.
            (Format::Gemini, "result") if text(event, "/status") != "success" => {
                Some(text(event, "/error/message").starts_with("[API Error: {"))
            }
            (Format::Gemini, "message") => (text(event, "/role") == "assistant").then_some(false),
            (Format::Gemini, "tool_use" | "error") | (Format::Opencode, _) => Some(false),
            (Format::Claude | Format::Codex | Format::Pi | Format::Gemini, _) => None,
        };
        self.any |= refused == Some(true);
        self.doubt |= refused == Some(false);
    }
}

/// Whether an error says that the provider turned a request away.
fn is_refusal(error: &str) -> bool {
    let status = error.split_once("unexpected status ").map(|(_, rest)| rest);
    let number = status.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    is_status(number) || limit::speaks_of_one(error)
}

fn is_status(status: Option<u64>) -> bool {
    status.is_some_and(|status| (400..600).contains(&status))
}
