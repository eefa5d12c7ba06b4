//! opencode: `run --format json`.

use serde_json::Value;

use super::story::{Story, call_line, text};

pub(super) fn knows(kind: &str, event: &Value) -> bool {
    let own = matches!(kind, "step_start" | "step_finish" | "text" | "tool_use" | "reasoning" | "error");
    own && event.get("sessionID").is_some()
}

pub(super) fn tell(story: &mut Story, kind: &str, event: &Value) {
    match kind {
        "step_start" => (story.open, story.error) = (true, None),
        "text" => story.say_part(text(event, "/part/messageID"), text(event, "/part/text")),
        "error" => story.error = Some(failure(event)),
        // There is no closing event: the reason of the last step tells whether that was all.
        "step_finish" => match text(event, "/part/reason") {
            "tool-calls" => story.open = true,
            reason @ ("length" | "content-filter" | "error") => {
                story.open = false;
                story.error = Some(format!("the model stopped: {reason}"));
            }
            _ => story.open = false,
        },
        _ => {}
    }
}

fn failure(event: &Value) -> String {
    let status = event["error"]["data"]["statusCode"].as_u64();
    let status = status.map(|status| format!(" (status {status})")).unwrap_or_default();
    match (text(event, "/error/data/message"), text(event, "/error/name")) {
        ("", "") => "the session failed".to_owned(),
        ("", name) => format!("{name}{status}"),
        (said, _) => format!("{said}{status}"),
    }
}

pub(super) fn line(kind: &str, event: &Value) -> Option<String> {
    match kind {
        "text" | "reasoning" => Some(text(event, "/part/text").to_owned()),
        "tool_use" => Some(call_line(text(event, "/part/tool"), &event["part"]["state"]["input"])),
        "error" => Some(format!("failed: {}", failure(event))),
        "step_finish" => {
            let cost = event["part"]["cost"].as_f64().unwrap_or(0.0);
            Some(format!("step done ({}), ${cost:.4}", text(event, "/part/reason")))
        }
        _ => None,
    }
}
