//! What a model says, put together from events.

use looop_core::meter::Provider;
use serde_json::Value;

/// Longest answer that is taken: more is no decision.
const LONGEST: usize = 2 << 20;

/// An answer so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The input of the tool, as JSON text.
    pub(super) tool: String,
    /// What it said beside that.
    pub(super) text: String,
    /// Why it refused, in its own words.
    pub(super) refusal: String,
    /// Why it ended, in the provider's words.
    pub(super) stop: Option<String>,
    /// The error that the answer ends in: its kind and its text.
    pub(super) error: Option<(String, String)>,
    /// Whether all of it came.
    pub(super) whole: bool,
    /// The part of the answer that is the first call of the tool.
    part: Option<u64>,
}

impl Answer {
    /// Takes in one event. Tells whether it is one at all.
    pub(super) fn event(&mut self, provider: Provider, event: &Value) -> bool {
        match provider {
            Provider::Anthropic => self.message(event),
            Provider::Openai => self.chat(event),
        }
    }

    /// Whether it is longer than any decision.
    pub(super) fn is_too_long(&self) -> bool {
        self.tool.len().saturating_add(self.text.len()) > LONGEST
    }

    fn message(&mut self, event: &Value) -> bool {
        match event["type"].as_str() {
            Some("content_block_start") => {
                let is_tool = event["content_block"]["type"] == "tool_use";
                self.part = self.part.or(event["index"].as_u64().filter(|_| is_tool));
            }
            Some("content_block_delta") => {
                let delta = &event["delta"];
                push(&mut self.text, &delta["text"]);
                if event["index"].as_u64() == self.part {
                    push(&mut self.tool, &delta["partial_json"]);
                }
            }
            Some("message_delta") => self.stop = word(&event["delta"]["stop_reason"]).or(self.stop.take()),
            Some("message_stop") => self.whole = true,
            Some("error") => self.fail(&event["error"]),
            Some(_) => {}
            None => return false,
        }
        true
    }

    fn chat(&mut self, event: &Value) -> bool {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            self.fail(&event["error"]);
            return true;
        }
        if !event["choices"].is_array() {
            return false;
        }
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        push(&mut self.text, &delta["content"]);
        push(&mut self.refusal, &delta["refusal"]);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or(0);
            if *self.part.get_or_insert(index) == index {
                push(&mut self.tool, &call["function"]["arguments"]);
            }
        }
        self.stop = word(&choice["finish_reason"]).or(self.stop.take());
        true
    }

    fn fail(&mut self, error: &Value) {
        let kind = word(&error["type"]).or_else(|| word(&error["code"])).unwrap_or_default();
        let text = word(&error["message"]).unwrap_or_else(|| error.to_string());
        self.error = Some((kind, text));
    }

    /// The stream has ended. Chat ends with a word of its own, and some servers leave even that out.
    pub(super) fn end(&mut self, provider: Provider) {
        self.whole |= provider == Provider::Openai && self.stop.is_some();
    }
}

fn push(to: &mut String, value: &Value) {
    to.push_str(value.as_str().unwrap_or_default());
}

fn word(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(provider: Provider, events: &[Value]) -> Answer {
        let mut answer = Answer::default();
        assert!(events.iter().all(|event| answer.event(provider, event)));
        answer.end(provider);
        answer
    }

    #[test]
    fn the_pieces_of_the_first_call_are_joined() {
        let block = |index: u64, kind: &str| json!({"type": "content_block_start", "index": index, "content_block": {"type": kind}});
        let piece = |index: u64, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"partial_json": text}});
        let said =
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so"}});
        let events = [
            json!({"type": "message_start", "message": {}}),
            block(0, "text"),
            said,
            block(1, "tool_use"),
            piece(1, "{\"a\""),
            json!({"type": "ping"}),
            block(2, "tool_use"),
            piece(2, "no"),
            piece(1, ":1}"),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ];
        let whole = answer(Provider::Anthropic, &events);
        assert_eq!((whole.tool.as_str(), whole.text.as_str(), whole.whole), ("{\"a\":1}", "so", true));
        assert!(!answer(Provider::Anthropic, &events[..9]).whole);
        let call = |index: u64, text: &str| json!({"choices": [{"delta": {"tool_calls": [{"index": index, "function": {"arguments": text}}]}}]});
        let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
        let chat = [call(0, "{"), call(1, "x"), call(0, "}"), json!({"choices": [], "usage": {}})];
        assert!(!answer(Provider::Openai, &chat).whole);
        let chat = [chat.to_vec(), vec![end]].concat();
        let chat = answer(Provider::Openai, &chat);
        assert_eq!((chat.tool.as_str(), chat.whole, chat.stop.as_deref()), ("{}", true, Some("tool_calls")));
    }

    #[test]
    fn errors_and_refusals_are_kept_and_what_is_no_event_is_told() {
        let overloaded =
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let broken = answer(Provider::Anthropic, &[overloaded]);
        assert_eq!(broken.error, Some(("overloaded_error".to_owned(), "Overloaded".to_owned())));
        let refused = json!({"choices": [{"delta": {"refusal": "I cannot"}, "finish_reason": "stop"}]});
        assert_eq!(answer(Provider::Openai, &[refused]).refusal, "I cannot");
        let mut other = Answer::default();
        assert!(!other.event(Provider::Anthropic, &json!({"choices": []})));
        assert!(!other.event(Provider::Openai, &json!({"type": "ping"})));
    }
}
