//! gemini: `--output-format stream-json`.

use serde_json::Value;

use super::story::{Story, call_line, text};

pub(super) fn knows(kind: &str, event: &Value) -> bool {
    match kind {
        "init" => event.get("session_id").is_some() && event.get("model").is_some(),
        "message" => event.get("role").is_some() && event.get("content").is_some(),
        "tool_use" => event.get("tool_name").is_some(),
        "tool_result" => event.get("tool_id").is_some(),
        "result" => event.get("status").is_some() && event.get("subtype").is_none(),
        "error" => event.get("severity").is_some(),
        _ => false,
    }
}

pub(super) fn tell(story: &mut Story, kind: &str, event: &Value) {
    match kind {
        "init" => story.open = true,
        "message" if text(event, "/role") == "assistant" => story.say_part("turn", text(event, "/content")),
        // What is said after a tool call is a new message.
        "message" | "tool_use" | "tool_result" => story.part_of = None,
        "error" => story.retry = Some(text(event, "/message").to_owned()),
        "result" => (story.open, story.error) = (false, failure(event)),
        _ => {}
    }
}

fn failure(event: &Value) -> Option<String> {
    let said = match (text(event, "/error/message"), text(event, "/error")) {
        ("", "") => "the run failed",
        ("", said) | (said, _) => said,
    };
    (text(event, "/status") != "success").then(|| said.to_owned())
}

pub(super) fn line(kind: &str, event: &Value) -> Option<String> {
    match kind {
        "message" if text(event, "/role") == "assistant" => Some(text(event, "/content").to_owned()),
        "tool_use" => Some(call_line(text(event, "/tool_name"), &event["parameters"])),
        "tool_result" => Some(format!("← {}", text(event, "/status"))),
        "error" => Some(format!("{}: {}", text(event, "/severity"), text(event, "/message"))),
        "result" => {
            Some(failure(event).map_or_else(|| done(&event["stats"]), |error| format!("failed: {error}")))
        }
        _ => None,
    }
}

fn done(stats: &Value) -> String {
    let count = |key: &str| stats[key].as_u64().unwrap_or(0);
    format!("done, {} tokens in, {} out", count("input_tokens"), count("output_tokens"))
}
