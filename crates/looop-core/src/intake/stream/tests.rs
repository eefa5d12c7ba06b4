use super::{beside, error, final_message, render};
use crate::intake::{Found, find};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/streams/", $name))
    };
}

const DECISION: &str = "fake model: README is stale";
const WRITTEN: &str = "Decision written to .decision.json";

/// A recorded stream that ends well: its text and a part of its final message.
const GOOD: &[(&str, &str)] = &[
    (recorded!("claude-2.1.325.jsonl"), WRITTEN),
    (recorded!("claude-bare-2.1.325.jsonl"), "Fake title"),
    (recorded!("claude-mcp.jsonl"), "ok, main"),
    (recorded!("claude-partial-2.1.325.jsonl"), WRITTEN),
    (recorded!("claude-resume-last.json"), DECISION),
    (recorded!("claude-resume-last.jsonl"), DECISION),
    (recorded!("claude-schema-2.1.325.jsonl"), DECISION),
    (recorded!("claude-warm.jsonl"), DECISION),
    (recorded!("codex-0.166.0.jsonl"), WRITTEN),
    (recorded!("codex-mcp.jsonl"), "ok, main"),
    (recorded!("codex-resume-0.166.0.jsonl"), WRITTEN),
    (recorded!("codex-schema-0.166.0.jsonl"), DECISION),
    (recorded!("gemini-0.61.0.jsonl"), WRITTEN),
    (recorded!("opencode-1.18.33.jsonl"), WRITTEN),
    (recorded!("opencode-mcp.jsonl"), "ok, main"),
    (recorded!("pi-0.87.1.jsonl"), WRITTEN),
    (recorded!("pi-anthropic-0.87.1.jsonl"), WRITTEN),
    (recorded!("pi-lean-0.87.1.jsonl"), DECISION),
    (recorded!("pi-old-0.73.1.jsonl"), WRITTEN),
    (recorded!("pi-responses-0.87.1.jsonl"), WRITTEN),
    (recorded!("fail/claude-cut.jsonl"), WRITTEN),
    (recorded!("fail/claude-e429.jsonl"), WRITTEN),
    (recorded!("fail/claude-e429claude.jsonl"), WRITTEN),
    (recorded!("fail/claude-text.jsonl"), DECISION),
    (recorded!("fail/codex-e429.jsonl"), WRITTEN),
    (recorded!("fail/codex-e429codex.jsonl"), WRITTEN),
    (recorded!("fail/codex-text.jsonl"), DECISION),
    (recorded!("fail/opencode-cut.jsonl"), WRITTEN),
    (recorded!("fail/opencode-e429.jsonl"), WRITTEN),
    (recorded!("fail/opencode-e429opencode.jsonl"), WRITTEN),
    (recorded!("fail/opencode-text.jsonl"), DECISION),
    (recorded!("fail/pi-e429.jsonl"), WRITTEN),
    (recorded!("fail/pi-e429pi.jsonl"), WRITTEN),
    (recorded!("fail/pi-text.jsonl"), DECISION),
];

/// A recorded stream that ends in an error: its text and a part of the error.
const BAD: &[(&str, &str)] = &[
    (
        recorded!("fail/claude-e401.jsonl"),
        "in the middle of a turn after retry 7 of 10: authentication_failed (status 401)",
    ),
    (recorded!("fail/claude-e401-maxretries1.jsonl"), "Invalid API key · Fix external API key (status 401)"),
    (recorded!("fail/claude-e529.jsonl"), "after retry 7 of 10: overloaded (status 529)"),
    (recorded!("fail/codex-cut.jsonl"), "stream disconnected before completion"),
    (recorded!("fail/codex-e401.jsonl"), "unexpected status 401 Unauthorized"),
    (recorded!("fail/codex-e529.jsonl"), "unexpected status 529"),
    (recorded!("fail/opencode-e401.jsonl"), "invalid x-api-key (status 401)"),
    (recorded!("fail/pi-cut.jsonl"), "Stream ended without finish_reason"),
    (recorded!("fail/pi-e401.jsonl"), "authentication_error"),
    (recorded!("fail/pi-e529.jsonl"), "Overloaded"),
];

#[test]
fn every_recorded_stream_is_in_a_table() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/streams");
    let count = |path: &str| {
        let files = std::path::Path::new(path).read_dir().unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.is_file()).count()
    };
    // Beside the two tables: one stream of several prompts, and one program that has no event stream.
    assert_eq!(count(folder) + count(&format!("{folder}/fail")), GOOD.len() + BAD.len() + 2);
}

#[test]
fn recorded_streams_that_end_well_have_their_final_message() {
    for (output, part) in GOOD {
        let start: String = output.chars().take(120).collect();
        assert_eq!(error(output), None, "{start}");
        let message = final_message(output).unwrap_or_else(|| panic!("{start}"));
        assert!(message.contains(part), "{message}");
        if *part == DECISION {
            assert!(
                matches!(find(&message), Found::One(value) if value["move"] == "start_worker"),
                "{message}"
            );
        }
        assert_eq!(final_message(&output.replace('\n', "\r\n")).as_deref(), Some(message.as_str()));
    }
}

#[test]
fn recorded_failures_are_errors_and_no_message() {
    for (output, part) in BAD {
        let said = error(output).unwrap_or_default();
        assert!(said.contains(part), "{said}");
        assert_eq!(final_message(output), None, "{said}");
    }
}

#[test]
fn a_stream_of_several_prompts_ends_with_the_last() {
    let output = recorded!("pi-rpc.jsonl");
    assert_eq!(error(output), None);
    assert!(final_message(output).is_some());
}

#[test]
fn what_is_no_stream_is_left_alone() {
    let aider = recorded!("aider-0.86.2.txt");
    assert_eq!((final_message(aider), error(aider)), (None, None));
    assert!(matches!(find(aider), Found::One(value) if value["why"] == DECISION));
    for plain in
        ["", "{\"action\":\"noop\"}\n", "{\"type\":\"error\",\"message\":\"x\"}", "{\"type\":3}", "[1]\n\0"]
    {
        assert_eq!((final_message(plain), error(plain)), (None, None), "{plain}");
    }
}

#[test]
fn every_cut_of_a_stream_is_an_error_or_tells_no_lie() {
    // A stream that is cut at any line has no message that the whole one would not have had on the way.
    for (output, part) in GOOD.iter().filter(|(_, part)| *part == DECISION) {
        let lines: Vec<&str> = output.lines().collect();
        for end in 0..lines.len() {
            let head = lines[..end].join("\n");
            assert!(final_message(&head).is_none_or(|message| message.contains(part)), "{head}");
        }
    }
}

#[test]
fn a_stream_that_stops_after_a_tool_call_is_an_error() {
    let streams = [
        (recorded!("claude-2.1.325.jsonl"), 3),
        (recorded!("codex-0.166.0.jsonl"), 5),
        (recorded!("opencode-1.18.33.jsonl"), 3),
        (recorded!("pi-0.87.1.jsonl"), 20),
        (recorded!("gemini-0.61.0.jsonl"), 4),
    ];
    for (output, lines) in streams {
        let head: Vec<&str> = output.lines().take(lines).collect();
        let head = head.join("\n");
        assert_eq!(error(&head).as_deref(), Some("the stream ends in the middle of a turn"), "{head}");
        assert_eq!(final_message(&head), None);
    }
}

#[test]
fn structured_output_wins_over_the_result_text() {
    let line = r#"{"structured_output":{"action":"noop"},"result":"prose","is_error":false,"subtype":"success","type":"result"}"#;
    assert_eq!(final_message(line).as_deref(), Some(r#"{"action":"noop"}"#));
}

#[test]
fn failed_results_of_claude_and_gemini_are_errors() {
    let claude = r#"{"type":"result","subtype":"error_max_budget_usd","is_error":false}"#;
    assert_eq!(error(claude).as_deref(), Some("error_max_budget_usd"));
    let gemini = r#"{"type":"result","status":"error","error":{"type":"Api","message":"quota"}}"#;
    assert_eq!(error(gemini).as_deref(), Some("quota"));
}

#[test]
fn gemini_joins_the_pieces_of_one_message() {
    let message =
        |text: &str| format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
    let lines = [
        message("thinking"),
        r#"{"type":"tool_use","tool_name":"x","tool_id":"1","parameters":{}}"#.to_owned(),
        message("a"),
        message("b"),
        r#"{"type":"result","status":"success","stats":{}}"#.to_owned(),
    ];
    assert_eq!(final_message(&lines.join("\n")).as_deref(), Some("ab"));
}

#[test]
fn events_become_lines_that_people_read() {
    let lines = |output: &str| output.lines().filter_map(render).collect::<Vec<_>>();
    let claude = lines(recorded!("claude-2.1.325.jsonl"));
    assert_eq!(claude[0], "session with claude-opus-5-5");
    assert!(claude[1].starts_with("→ Write "), "{claude:?}");
    assert_eq!(claude[3..], [WRITTEN.to_owned(), "done, $0.0741 in this session".to_owned()]);
    let codex = lines(recorded!("codex-mcp.jsonl"));
    assert_eq!(codex.last().map(String::as_str), Some("done, 20887 tokens in, 82 out"));
    assert!(codex.contains(&"→ ask Which branch?".to_owned()), "{codex:?}");
    let pi = lines(recorded!("pi-0.87.1.jsonl"));
    assert_eq!((pi.len(), pi.last().map(String::as_str)), (3, Some(WRITTEN)), "{pi:?}");
    assert!(lines(recorded!("opencode-1.18.33.jsonl")).contains(&WRITTEN.to_owned()));
    assert!(lines(recorded!("fail/opencode-e401.jsonl"))[0].starts_with("failed: invalid x-api-key"));
    assert!(lines(recorded!("gemini-0.61.0.jsonl")).contains(&WRITTEN.to_owned()));
    assert!(lines(recorded!("fail/codex-cut.jsonl"))[1].starts_with("error: Reconnecting... 1/5"));
    for (output, _) in GOOD.iter().chain(BAD) {
        for line in lines(output) {
            assert!(!line.starts_with("{\"type\""), "an event is shown as it came: {line}");
            assert!(!line.contains(['\n', '\u{1b}']) && line.chars().count() <= 2000, "{line}");
        }
    }
}

#[test]
fn what_is_beside_the_events_is_kept_as_it_is() {
    for (output, _) in GOOD.iter().chain(BAD).filter(|(output, _)| output.lines().count() > 1) {
        assert!(matches!(find(&beside(output)), Found::None), "an event is taken for a decision: {output}");
    }
    let event = r#"{"type":"result","subtype":"success","is_error":true,"result":"usage limit"}"#;
    assert_eq!(beside(&format!("{{\n\"action\":\n{event}\n\"noop\"}}")), "{\n\"action\":\n\"noop\"}");
}

#[test]
fn other_lines_stay_without_their_control_characters() {
    assert_eq!(render("\u{1b}[31m\tred\r").as_deref(), Some("[31m\tred"));
    assert_eq!(render("{\"action\":\"noop\"}").as_deref(), Some("{\"action\":\"noop\"}"));
    assert_eq!(render("").as_deref(), Some(""));
}
