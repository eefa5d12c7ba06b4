//! How the conversation in a session file stands: whether a model has answered anything, and whether an answer may be
//! on its way.

use serde_json::Value;

use crate::intake::stream::text;

/// Requests in a row after which the ones before have failed.
const AGAIN: u32 = 2;

/// A conversation so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Talk {
    /// Whether a model has answered.
    answered: bool,
    /// Whether something was asked that has neither been answered nor failed.
    open: bool,
    /// Requests since the last answer.
    requests: u32,
}

impl Talk {
    /// Whether a model has answered nothing. While something is open, it may be answering.
    pub(super) fn is_unanswered(self, has_exited: bool) -> bool {
        !self.answered && (has_exited || !self.open)
    }

    fn ask(&mut self) {
        (self.open, self.requests) = (true, 0);
    }

    fn fail(&mut self) {
        self.open = false;
    }

    /// claude keeps what it says itself, such as an error, as a message of a model in angle brackets, and notes each
    /// request that it makes.
    pub(super) fn claude(&mut self, event: &Value) {
        match text(event, "/type") {
            "user" => self.ask(),
            "assistant" if text(event, "/message/model").starts_with('<') => self.fail(),
            "assistant" => self.answered = true,
            "cost-state" => self.answered |= event["totalCostUSD"].as_f64().is_some_and(|usd| usd > 0.0),
            "api-request" if text(event, "/querySource") == "repl_main_thread" => {
                self.requests += 1;
                self.open &= self.requests < AGAIN;
            }
            _ => {}
        }
    }

    /// codex keeps what the model said as items, and how each turn ended.
    pub(super) fn codex(&mut self, event: &Value) {
        let item = text(event, "/payload/type");
        match (text(event, "/type"), item) {
            ("event_msg", "task_started") => self.ask(),
            ("event_msg", "task_complete" | "turn_aborted") => self.fail(),
            ("response_item", "message") => self.answered |= text(event, "/payload/role") == "assistant",
            ("response_item" | "token_usage_record", _) => self.answered = true,
            ("event_msg", "token_count") => {
                self.answered |= event.pointer("/payload/info").is_some_and(|info| !info.is_null());
            }
            _ => {}
        }
    }

    /// pi keeps a failed request as a message that has used nothing; `lost` says whether that is not sure.
    pub(super) fn pi(&mut self, event: &Value, lost: bool) {
        match text(event, "/message/role") {
            "user" => self.ask(),
            "assistant" if text(event, "/message/stopReason") == "error" && !lost => self.fail(),
            "assistant" => self.answered = true,
            _ => {}
        }
    }

    /// gemini keeps answers, and not what has failed.
    pub(super) fn gemini(&mut self, has_answers: bool) {
        self.open = true;
        self.answered |= has_answers;
    }
}
