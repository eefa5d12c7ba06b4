//! Runs that no model answered: every request was refused, or reached nobody, which costs nothing. claude and pi say so
//! in figures of their own; of the others it is read off their errors.

use serde_json::Value;

use super::{limit, trouble, unreached};
use crate::intake::stream::{Format, text};

/// What the events of a run say of it so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refused {
    /// Whether a request was refused or reached nobody.
    any: bool,
    /// Whether a model may have read one.
    doubt: bool,
    /// Whether a request may have been made at all.
    asked: bool,
}

impl Refused {
    /// Whether it is sure that no model has read anything.
    pub(super) fn is_sure(self) -> bool {
        self.any && !self.doubt
    }

    /// Whether an event shows that a request may have been made.
    pub(super) fn may_have_asked(self) -> bool {
        self.asked
    }

    /// Takes in what an agent says on standard error of a call that it makes again.
    pub(super) fn tell_error(&mut self, said: &str) {
        let refused = is_refusal(said) || trouble::is_refused_call(said);
        self.asked = true;
        self.any |= refused;
        self.doubt |= !refused;
    }

    pub(super) fn tell(&mut self, format: Format, kind: &str, event: &Value) {
        let refused = match (format, kind) {
            (Format::Codex, "error") => Some(is_refusal(text(event, "/message"))),
            (Format::Codex, "turn.failed") => Some(is_refusal(text(event, "/error/message"))),
            (Format::Codex, _) if kind.starts_with("item.") => {
                (text(event, "/item/type") != "error").then_some(false)
            }
            (Format::Opencode, "error") => {
                let status = event["error"]["data"]["statusCode"].as_u64();
                Some(is_status(status) || is_refusal(text(event, "/error/data/message")))
            }
            // The body of a refusal is JSON; what went wrong on the way is told in words.
            (Format::Gemini, "result") if text(event, "/status") != "success" => {
                let error = text(event, "/error/message");
                Some(error.starts_with("[API Error: {") || is_refusal(error))
            }
            (Format::Gemini, "message") => (text(event, "/role") == "assistant").then_some(false),
            (Format::Gemini, "tool_use" | "error") | (Format::Opencode, _) => Some(false),
            (Format::Claude | Format::Codex | Format::Pi | Format::Gemini, _) => None,
        };
        self.asked |= begins(format, kind, event);
        self.any |= refused == Some(true);
        self.doubt |= refused == Some(false);
    }
}

/// Whether an event comes when a request is made, or after that. All but opencode print one before they make any.
fn begins(format: Format, kind: &str, event: &Value) -> bool {
    match format {
        Format::Claude => kind != "system",
        Format::Codex => kind != "thread.started" && text(event, "/item/type") != "error",
        Format::Pi => kind != "session",
        Format::Opencode | Format::Gemini => kind != "error",
    }
}

/// Whether an error says that the provider refused a request, or could not be reached.
fn is_refusal(error: &str) -> bool {
    let status = error.split_once("unexpected status ").map(|(_, rest)| rest);
    let number = status.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    is_status(number) || limit::speaks_of_one(error) || unreached::says_so(error)
}

fn is_status(status: Option<u64>) -> bool {
    status.is_some_and(|status| (400..600).contains(&status))
}
