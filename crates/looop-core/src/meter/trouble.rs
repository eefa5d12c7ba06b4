//! Trouble: what an agent says of its provider while it goes on trying. Agents try again for minutes or for ever, and some
//! say so on standard error alone.

use serde_json::Value;

use super::limit::{self, Limited};
use super::unreached;
use crate::intake::stream::{Format, text};
use crate::model::moves::one_line;
use crate::time::Now;

/// Longest text of a trouble.
const TEXT: usize = 300;
/// So often gemini takes another of its models before it is known that it goes round in circles: it has two or three.
const FALLBACKS: u32 = 4;

/// Why the calls of an agent get no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The provider says "not now".
    Limited(Limited),
    /// The provider cannot be reached. The text is what the agent says.
    Unreached(String),
    /// The provider fails. The text is what the agent says.
    Failing(String),
}

/// What an agent has said of its provider since the last answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles {
    /// The last thing that it said.
    said: Option<String>,
    /// How often it took another model.
    fallbacks: u32,
}

impl Troubles {
    /// Takes in an event of the stream.
    pub(super) fn tell(&mut self, format: Format, kind: &str, event: &Value) {
        match retry(format, kind, event) {
            Some(said) => self.said = Some(one_line(&said, TEXT)),
            None if is_answer(format, kind, event) => *self = Self::default(),
            None => {}
        }
    }

    /// Takes in a line of standard error. Gives what the agent says of its provider there, if it does.
    pub(super) fn tell_error(&mut self, format: Option<Format>, line: &str) -> Option<String> {
        let said = match format {
            None | Some(Format::Opencode) => of_opencode(line),
            Some(Format::Gemini) => self.of_gemini(line),
            Some(Format::Claude | Format::Codex | Format::Pi) => None,
        }?;
        let said = one_line(&said, TEXT);
        self.said = Some(said.clone());
        Some(said)
    }

    /// What is in the way of an answer, if something is.
    pub(super) fn now(&self, now: &Now) -> Option<Trouble> {
        let said = self.said.as_ref()?;
        Some(match limit::read(said, now) {
            Some(limited) => Trouble::Limited(limited),
            None if unreached::is_offline(said) => Trouble::Unreached(said.clone()),
            None => Trouble::Failing(said.clone()),
        })
    }

    /// gemini takes another model when the quota of one is used up, and begins anew where no other is left.
    fn of_gemini(&mut self, line: &str) -> Option<String> {
        if line.starts_with("Model fallback activated") {
            self.fallbacks = self.fallbacks.saturating_add(1);
            return (self.fallbacks >= FALLBACKS)
                .then(|| "quota exceeded: gemini goes from one of its models to the other".to_owned());
        }
        let (attempt, said) = line.strip_prefix("Attempt ")?.split_once(" failed")?;
        attempt.bytes().all(|byte| byte.is_ascii_digit()).then(|| {
            let said = said.trim_start_matches([':', '.', ' ']);
            said.replace("Retrying with backoff... ", "").trim_start_matches("Error: ").to_owned()
        })
    }

    /// Whether the agent goes round in circles, so that waiting helps nobody.
    pub(super) fn is_endless(&self) -> bool {
        self.fallbacks >= FALLBACKS
    }
}

/// What an event says of a call that is made again.
fn retry(format: Format, kind: &str, event: &Value) -> Option<String> {
    match (format, kind) {
        (Format::Claude, "system") if text(event, "/subtype") == "api_retry" => {
            let status = event["error_status"].as_u64().map(|status| format!(" (status {status})"));
            Some(format!("{}{}", text(event, "/error"), status.unwrap_or_default()))
        }
        (Format::Codex, "error") => Some(text(event, "/message").to_owned()),
        (Format::Pi, "auto_retry_start") => Some(text(event, "/errorMessage").to_owned()),
        (Format::Claude | Format::Codex | Format::Opencode | Format::Pi | Format::Gemini, _) => None,
    }
}

/// Whether an event comes of an answer.
fn is_answer(format: Format, kind: &str, event: &Value) -> bool {
    match format {
        Format::Claude => kind == "stream_event",
        Format::Codex => {
            kind == "turn.completed" || (kind.starts_with("item.") && text(event, "/item/type") != "error")
        }
        Format::Opencode => kind != "error",
        Format::Pi => kind == "message_update",
        Format::Gemini => kind == "tool_use" || text(event, "/role") == "assistant",
    }
}

/// A line of opencode's own log, as it prints it with `--print-logs`.
fn of_opencode(line: &str) -> Option<String> {
    let (_, rest) = line.split_once(" level=ERROR ")?;
    let (_, said) = rest.split_once(" error.error=\"")?;
    Some(said.trim_end_matches('"').replace("\\\"", "\""))
}

/// Whether what opencode says is that a call got no answer, and not that an answer broke off.
pub(super) fn is_refused_call(said: &str) -> bool {
    said.starts_with("AI_APICallError")
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::*;

    fn now() -> Now {
        Now { wall: 1_794_816_000_000, up: 0, boot: 0, zone: TimeZone::UTC }
    }

    fn after(format: Format, events: &[Value]) -> Option<Trouble> {
        let mut troubles = Troubles::default();
        for event in events {
            troubles.tell(format, text(event, "/type"), event);
        }
        troubles.now(&now())
    }

    fn after_lines(format: Option<Format>, lines: &[&str]) -> Option<Trouble> {
        let mut troubles = Troubles::default();
        for line in lines {
            drop(troubles.tell_error(format, line));
        }
        troubles.now(&now())
    }

    #[test]
    fn what_each_agent_says_while_it_tries_again() {
        let codex = |message: &str| json!({ "type": "error", "message": message });
        let offline = codex("Reconnecting... waiting for network (Connection failed: error sending request)");
        assert!(matches!(after(Format::Codex, &[offline]), Some(Trouble::Unreached(_))));
        let limited = codex("Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)");
        let Some(Trouble::Limited(limited)) = after(Format::Codex, &[limited]) else { panic!() };
        assert_eq!(limited.until, None);
        let cut = codex("Reconnecting... 2/5 (stream disconnected before completion: x)");
        assert!(matches!(after(Format::Codex, &[cut]), Some(Trouble::Failing(_))));
        let claude =
            json!({ "type": "system", "subtype": "api_retry", "error_status": 429, "error": "rate_limit" });
        assert!(matches!(after(Format::Claude, &[claude]), Some(Trouble::Limited(_))));
        let message = "429: {\"message\":\"Rate limit reached for requests per day (RPD). Please try again in 2h0m0s.\"}";
        let pi = json!({ "type": "auto_retry_start", "attempt": 1, "errorMessage": message });
        let Some(Trouble::Limited(limited)) = after(Format::Pi, &[pi]) else { panic!() };
        assert_eq!(limited.until, Some(now().wall + 7_200_000));
    }

    #[test]
    fn an_answer_ends_the_trouble_and_nothing_else_does() {
        let said = json!({ "type": "error", "message": "Reconnecting... 1/5 (stream disconnected)" });
        let warning =
            json!({ "type": "item.completed", "item": { "type": "error", "message": "no metadata" } });
        let item = json!({ "type": "item.completed", "item": { "type": "reasoning", "text": "hm" } });
        assert!(after(Format::Codex, &[said.clone(), warning]).is_some());
        assert_eq!(after(Format::Codex, &[said, item]), None);
        let retry = json!({ "type": "auto_retry_start", "attempt": 1, "errorMessage": "Connection error." });
        let begun = json!({ "type": "message_start", "message": { "role": "assistant" } });
        assert!(matches!(after(Format::Pi, &[retry, begun]), Some(Trouble::Unreached(_))));
    }

    const LOG: &str = "timestamp=2026-11-16T08:14:30.928Z level=ERROR run=140ecd20 message=\"stream error\" providerID=fake error.error=\"AI_APICallError: Cannot connect to API: Unable to connect. (cause: \\\"x\\\")\"";

    #[test]
    fn standard_error_of_opencode_and_gemini() {
        let Some(Trouble::Unreached(said)) = after_lines(None, &[LOG]) else { panic!() };
        assert_eq!(said, "AI_APICallError: Cannot connect to API: Unable to connect. (cause: \"x\")");
        assert_eq!(after_lines(Some(Format::Claude), &[LOG]), None, "it is opencode's");
        assert_eq!(after_lines(None, &["level=ERROR error.error=\"x\"", "some words"]), None);
        let attempt = "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {\"error\":{\"type\":\"rate_limit_error\"}}";
        assert!(matches!(after_lines(Some(Format::Gemini), &[attempt]), Some(Trouble::Limited(_))));
        let fetch = "Attempt 1 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request";
        let Some(Trouble::Unreached(said)) = after_lines(Some(Format::Gemini), &[fetch]) else { panic!() };
        assert_eq!(said, "exception TypeError: fetch failed sending request");
        assert_eq!(after_lines(Some(Format::Gemini), &["Attempt to read failed"]), None);
    }

    #[test]
    fn gemini_may_take_another_model_and_may_not_go_round_in_circles() {
        let fallback = "Model fallback activated: switching from unknown to gemini-3-flash-preview";
        assert_eq!(after_lines(Some(Format::Gemini), &[fallback; 2]), None);
        assert!(matches!(after_lines(Some(Format::Gemini), &[fallback; 9]), Some(Trouble::Limited(_))));
    }
}
