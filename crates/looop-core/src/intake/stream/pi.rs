//! pi: `--mode json`, and its RPC mode, which has the same events.

use serde_json::Value;

use super::story::{Story, call_line, content_text, text};

pub(super) fn knows(kind: &str, event: &Value) -> bool {
    match kind {
        "session" => event.get("cwd").is_some() && event.get("version").is_some(),
        "message_start" | "message_end" | "turn_end" => event.get("message").is_some(),
        "message_update" => event.get("assistantMessageEvent").is_some(),
        "agent_start" | "agent_end" | "agent_settled" | "turn_start" => true,
        "auto_retry_start" | "auto_retry_end" => event.get("attempt").is_some(),
        "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => {
            event.get("toolName").is_some()
        }
        "entry_appended" => event.get("entry").is_some(),
        _ => false,
    }
}

pub(super) fn tell(story: &mut Story, kind: &str, event: &Value) {
    match kind {
        "agent_start" | "turn_start" => story.open = true,
        "agent_end" => story.open = false,
        // The same message is repeated in other events; its end counts.
        "message_end" if text(event, "/message/role") == "assistant" => {
            story.error = failure(&event["message"]);
            story.say(content_text(&event["message"]["content"]));
        }
        "auto_retry_end" if event["success"] == Value::Bool(false) => {
            story.error = Some(text(event, "/finalError").to_owned())
                .filter(|said| !said.is_empty())
                .or(story.error.take());
        }
        _ => {}
    }
}

fn failure(message: &Value) -> Option<String> {
    let reason = text(message, "/stopReason");
    match (reason, text(message, "/errorMessage")) {
        ("error" | "aborted" | "length", "") => Some(format!("the model stopped: {reason}")),
        ("error" | "aborted" | "length", said) => Some(said.to_owned()),
        _ => None,
    }
}

pub(super) fn line(kind: &str, event: &Value) -> Option<String> {
    let message = &event["message"];
    match kind {
        "message_end" if text(message, "/role") == "assistant" => match failure(message) {
            Some(error) => Some(format!("failed: {error}")),
            None => Some(content_text(&message["content"])),
        },
        "tool_execution_start" => Some(call_line(text(event, "/toolName"), &event["args"])),
        "tool_execution_end" => Some(format!("← {}", content_text(&event["result"]["content"]))),
        "auto_retry_start" => Some(format!("retry {}: {}", event["attempt"], text(event, "/errorMessage"))),
        _ => None,
    }
}
