//! claude: `--output-format stream-json` and `json`.

use serde_json::Value;

use super::story::{Story, call_line, content_text, text};

pub(super) fn knows(kind: &str, event: &Value) -> bool {
    match kind {
        "system" => event.get("subtype").is_some(),
        "assistant" | "user" => event.get("message").is_some(),
        "stream_event" => event.get("event").is_some(),
        "rate_limit_event" => event.get("rate_limit_info").is_some(),
        "result" => event.get("subtype").is_some() || event.get("is_error").is_some(),
        _ => false,
    }
}

pub(super) fn tell(story: &mut Story, kind: &str, event: &Value) {
    match kind {
        "system" if text(event, "/subtype") == "api_retry" => story.retry = Some(retry(event)),
        "system" if text(event, "/subtype") == "init" => story.open = true,
        "assistant" => {
            story.open = true;
            story.say(content_text(&event["message"]["content"]));
        }
        "result" => {
            story.open = false;
            story.error = failure(event);
            match event.get("structured_output") {
                None | Some(Value::Null) => story.say(text(event, "/result").to_owned()),
                Some(value) => story.say(value.to_string()),
            }
        }
        _ => {}
    }
}

/// After a failure of the API `subtype` can still be "success".
fn failure(event: &Value) -> Option<String> {
    let subtype = text(event, "/subtype");
    let failed = event["is_error"].as_bool().unwrap_or(false) || subtype.starts_with("error");
    let said = match text(event, "/result") {
        "" if subtype.is_empty() => "the run failed",
        "" => subtype,
        said => said,
    };
    let status =
        event["api_error_status"].as_u64().map(|status| format!(" (status {status})")).unwrap_or_default();
    failed.then(|| format!("{said}{status}"))
}

fn retry(event: &Value) -> String {
    let count = |key: &str| event[key].as_u64().unwrap_or(0);
    let status =
        event["error_status"].as_u64().map(|status| format!(" (status {status})")).unwrap_or_default();
    format!("retry {} of {}: {}{status}", count("attempt"), count("max_retries"), text(event, "/error"))
}

pub(super) fn line(kind: &str, event: &Value) -> Option<String> {
    match kind {
        "system" => match text(event, "/subtype") {
            "init" => Some(format!("session with {}", text(event, "/model"))),
            "api_retry" => Some(retry(event)),
            _ => None,
        },
        "assistant" => {
            let parts = event["message"]["content"].as_array()?;
            Some(parts.iter().filter_map(part).collect::<Vec<_>>().join(" "))
        }
        "user" => {
            let parts = event["message"]["content"].as_array()?;
            let results = parts.iter().filter(|part| text(part, "/type") == "tool_result");
            let texts: Vec<String> = results.map(|part| content_text(&part["content"])).collect();
            (!texts.is_empty()).then(|| format!("← {}", crate::model::moves::one_line(&texts.join(" "), 200)))
        }
        "result" => {
            let cost = event["total_cost_usd"].as_f64().unwrap_or(0.0);
            Some(match failure(event) {
                Some(error) => format!("failed: {error}"),
                None => format!("done, ${cost:.4} in this session"),
            })
        }
        _ => None,
    }
}

fn part(part: &Value) -> Option<String> {
    match text(part, "/type") {
        "text" => Some(text(part, "/text").to_owned()),
        "tool_use" => Some(call_line(text(part, "/name"), &part["input"])),
        _ => None,
    }
}
