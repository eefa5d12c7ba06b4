//! codex: `exec --json`.

use serde_json::Value;

use super::story::{Story, call_line, text};

pub(super) fn knows(kind: &str, event: &Value) -> bool {
    let bare = || event.get("message").is_some() && event.as_object().is_some_and(|map| map.len() == 2);
    kind == "thread.started"
        || kind.starts_with("turn.")
        || kind.starts_with("item.")
        || (kind == "error" && bare())
}

pub(super) fn tell(story: &mut Story, kind: &str, event: &Value) {
    match kind {
        "turn.started" => story.open = true,
        // An item of type "error" may be a mere warning; the turn says how it ended.
        "item.completed" if text(event, "/item/type") == "agent_message" => {
            story.say(text(event, "/item/text").to_owned());
        }
        "error" => story.retry = Some(text(event, "/message").to_owned()),
        "turn.completed" => (story.open, story.error) = (false, None),
        "turn.failed" => {
            story.open = false;
            story.error = Some(failure(event));
        }
        _ => {}
    }
}

fn failure(event: &Value) -> String {
    match text(event, "/error/message") {
        "" => "the turn failed".to_owned(),
        said => said.to_owned(),
    }
}

pub(super) fn line(kind: &str, event: &Value) -> Option<String> {
    let item = &event["item"];
    match (kind, text(item, "/type")) {
        ("item.completed", "agent_message" | "reasoning") => Some(text(item, "/text").to_owned()),
        ("item.completed", "error") => Some(format!("warning: {}", text(item, "/message"))),
        ("item.started", "command_execution") => Some(format!("→ shell {}", text(item, "/command"))),
        ("item.started", "mcp_tool_call") => Some(call_line(text(item, "/tool"), &item["arguments"])),
        ("item.completed", "command_execution") => {
            let code = item["exit_code"].as_i64().map_or_else(String::new, |code| format!("exit {code} "));
            Some(format!("← {code}{}", text(item, "/aggregated_output")))
        }
        ("item.completed", "file_change") => Some("→ changed files".to_owned()),
        ("turn.completed", _) => {
            let count = |key: &str| event["usage"][key].as_u64().unwrap_or(0);
            Some(format!("done, {} tokens in, {} out", count("input_tokens"), count("output_tokens")))
        }
        ("error", _) => Some(format!("error: {}", text(event, "/message"))),
        ("turn.failed", _) => Some(format!("failed: {}", failure(event))),
        _ => None,
    }
}
