//! What is sent: the brief, and the moves as one tool that must be called.

use looop_core::brief;
use looop_core::intake::catalogue;
use looop_core::meter::Provider;
use serde_json::{Value, json};

use crate::config::Api;

/// The name of the tool.
pub(super) const TOOL: &str = "submit_decision";

/// The body of a call. What is the same in every beat comes first: the tool, then the fixed part of the brief.
pub(super) fn body(api: &Api, prompt: &str, workers: bool) -> Value {
    let (stable, rest) = brief::split(prompt);
    let schema = catalogue::tool_schema(workers);
    match api.provider {
        Provider::Anthropic => anthropic(api, (stable, rest), &schema),
        Provider::Openai => openai(api, (stable, rest), &schema),
    }
}

/// The mark says up to where a cache holds; an empty part may not carry one.
fn anthropic(api: &Api, (stable, rest): (&str, &str), schema: &Value) -> Value {
    let system = json!([{"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}}]);
    let mut body = json!({
        "model": api.model,
        "max_tokens": api.max_tokens,
        "stream": true,
        "tools": [{"name": TOOL, "description": "Your one move.", "input_schema": schema}],
        "tool_choice": {"type": "tool", "name": TOOL, "disable_parallel_tool_use": true},
        "messages": [{"role": "user", "content": rest}],
    });
    if !stable.is_empty() {
        body["system"] = system;
    }
    body
}

fn openai(api: &Api, (stable, rest): (&str, &str), schema: &Value) -> Value {
    let mut messages = vec![json!({"role": "user", "content": rest})];
    if !stable.is_empty() {
        messages.insert(0, json!({"role": "system", "content": stable}));
    }
    let function = json!({"name": TOOL, "description": "Your one move.", "parameters": schema});
    let mut body = json!({
        "model": api.model,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": TOOL}},
        "messages": messages,
    });
    // The provider itself knows the new word only, and many of those who speak like it the old one only.
    let limit = if api.base_url.is_none() { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = api.max_tokens.into();
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(provider: Provider, base_url: Option<&str>) -> Api {
        let base_url = base_url.map(str::to_owned);
        Api { provider, base_url, model: "m".to_owned(), key: None, max_tokens: 512 }
    }

    const BRIEF: &str = "fixed\n\n@0123456789abcdef MARK every line\n@0123456789abcdef SECTION NOW\n";

    #[test]
    fn the_stable_part_is_marked_for_the_cache_and_the_catalogue_is_there_once() {
        let sent = body(&api(Provider::Anthropic, None), BRIEF, true);
        assert_eq!(sent["system"][0]["text"], "fixed\n");
        assert_eq!(sent["system"][0]["cache_control"]["type"], "ephemeral");
        assert_eq!(sent["messages"][0]["content"], BRIEF.strip_prefix("fixed\n").unwrap());
        assert_eq!((&sent["max_tokens"], &sent["tool_choice"]["name"]), (&512.into(), &TOOL.into()));
        assert_eq!(sent.to_string().matches("- run_shell(").count(), 1);
        assert!(!body(&api(Provider::Anthropic, None), BRIEF, false).to_string().contains("start_worker"));
        assert!(body(&api(Provider::Anthropic, None), "plain", true).get("system").is_none());
    }

    #[test]
    fn chat_says_how_long_an_answer_may_be_in_the_words_of_the_server() {
        let theirs = body(&api(Provider::Openai, None), BRIEF, true);
        let local = body(&api(Provider::Openai, Some("http://127.0.0.1:1/v1")), BRIEF, true);
        assert_eq!((&theirs["max_completion_tokens"], &local["max_tokens"]), (&512.into(), &512.into()));
        assert!(theirs.get("max_tokens").is_none() && local.get("max_completion_tokens").is_none());
        assert_eq!(
            (&theirs["messages"][0]["role"], &theirs["messages"][1]["role"]),
            (&"system".into(), &"user".into())
        );
    }
}
