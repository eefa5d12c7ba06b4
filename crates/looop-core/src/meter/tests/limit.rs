//! Limits and when they end.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::meter::limit::{Limited, read};
use crate::meter::{Meter, Prices, Spec};
use crate::time::Now;

/// 2026-11-15 09:00 UTC, which is 10:00 for a person one hour east.
fn now() -> Now {
    let wall = "2026-11-15T09:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
    Now { wall, up: 0, boot: 0, zone: TimeZone::fixed(Offset::constant(1)) }
}

/// A text, and when the limit ends by it: nothing where none is said.
const LIMITS: &[(&str, Option<&str>)] = &[
    ("Claude AI usage limit reached|1794744000", Some("2026-11-15T12:00:00Z")),
    ("usage limit reached|1794744000000", Some("2026-11-15T12:00:00Z")),
    // Years ago, and years ahead: not believed.
    ("Claude AI usage limit reached|1731700000", None),
    ("Claude AI usage limit reached|1994744000", None),
    ("You've hit your session limit · resets 3pm (Europe/Berlin)", Some("2026-11-15T14:00:00Z")),
    ("You've hit your session limit · resets 3:30pm (UTC)", Some("2026-11-15T15:30:00Z")),
    ("You've hit your weekly limit · resets Nov 20 at 3pm", Some("2026-11-20T14:00:00Z")),
    ("You've hit your weekly limit · resets Nov 20, 12am", Some("2026-11-19T23:00:00Z")),
    ("5-hour limit reached ∙ resets 9am: usage limit", Some("2026-11-16T08:00:00Z")),
    // Five minutes ago is over and not tomorrow.
    ("usage limit, resets at 9:55 AM", Some("2026-11-15T08:55:00Z")),
    ("usage limit, resets 12pm", Some("2026-11-15T11:00:00Z")),
    (
        "You've hit your usage limit. Upgrade to Plus to continue, or try again at 3:05 PM.",
        Some("2026-11-15T14:05:00Z"),
    ),
    ("You've hit your usage limit. Try again at Nov 20th, 2026 3:05 PM.", Some("2026-11-20T14:05:00Z")),
    ("You've hit your usage limit. Try again in 3 days 2 hours 5 minutes.", Some("2026-11-18T11:05:00Z")),
    ("You've hit your usage limit. To get more access now, send a request to your admin", None),
    ("exceeded retry limit, last status: 429 Too Many Requests", None),
    (
        "Rate limit reached for gpt-5. Please try again in 1.898s. Visit https://x",
        Some("2026-11-15T09:00:02Z"),
    ),
    ("Rate limit reached. Please try again in 6m0s.", Some("2026-11-15T09:06:00Z")),
    ("Rate limit reached. Please try again in 120ms.", Some("2026-11-15T09:00:00.120Z")),
    ("429: {\"type\":\"rate_limit_error\",\"message\":\"slow down\"}", None),
    ("rate_limit (status 429)", None),
    ("HTTP 429, retry-after: 30", Some("2026-11-15T09:00:30Z")),
    ("error 429 {\"retry_after\": 12}", Some("2026-11-15T09:00:12Z")),
    ("{\"status\":\"RESOURCE_EXHAUSTED\",\"retryDelay\":\"34.07s\"}", Some("2026-11-15T09:00:35Z")),
    (
        "You have exhausted your capacity on this model. Your quota will reset after 2h14m5s.",
        Some("2026-11-15T11:14:05Z"),
    ),
    ("too many requests, resets at 2026-11-15T18:30:00Z", Some("2026-11-15T18:30:00Z")),
    ("too many requests until 2026-11-15T18:30:00+02:00.", Some("2026-11-15T16:30:00Z")),
    ("rate limit until 2026-11-15T18:30:00", Some("2026-11-15T17:30:00Z")),
    ("usage limit, resets 15:04", Some("2026-11-15T14:04:00Z")),
    ("usage limit, resets Feb 30 at 3pm", Some("2026-11-15T14:00:00Z")),
    ("usage limit, resets 99pm in 7", Some("2026-11-15T09:01:39Z")),
    ("usage limit, resets soon", None),
    ("rate limit: try again in 99999999999999999999 s", None),
    ("rate limit: try again in 9223372036854775807 days", None),
    ("rate limit reset ä 3 ∙", Some("2026-11-15T09:00:03Z")),
];

#[test]
fn limits_are_known_and_when_they_end() {
    for (text, until) in LIMITS {
        let limited = read(text, &now()).unwrap_or_else(|| panic!("{text}"));
        let until = until.map(|until| until.parse::<Timestamp>().unwrap());
        let said = limited.until.map(|at| Timestamp::from_millisecond(at).unwrap());
        assert_eq!((said, limited.text.as_str()), (until, *text), "{text}");
    }
}

#[test]
fn other_failures_are_no_limits() {
    let texts = [
        "",
        "Overloaded",
        "529: {\"type\":\"overloaded_error\"}",
        "unexpected status 401 Unauthorized: invalid x-api-key",
        "stream disconnected before completion",
        "error: 4290 files changed",
        "read 429 lines",
        "you have reached your destination",
        "context window limit",
    ];
    for text in texts {
        assert_eq!(read(text, &now()), None, "{text}");
    }
}

#[test]
fn a_zone_with_a_gap_has_its_times() {
    // At 02:30 on this day there is no such time: the clock jumps from 2 to 3.
    let wall = "2026-03-29T00:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let limited = read("usage limit, resets 2:30am", &Now { wall, up: 0, boot: 0, zone }).unwrap();
    assert_eq!(limited.until, Some("2026-03-29T01:30:00Z".parse::<Timestamp>().unwrap().as_millisecond()));
}

fn limited(lines: &[&str]) -> Option<Limited> {
    let mut meter = Meter::new(Spec::default(), Prices::shipped());
    for line in lines {
        meter.line(line.as_bytes());
    }
    meter.limited(&now())
}

#[test]
fn the_error_that_a_stream_ends_in_tells() {
    let init = r#"{"type":"system","subtype":"init"}"#;
    let event =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794744000}}"#;
    let failed =
        r#"{"type":"result","subtype":"success","is_error":true,"result":"You've hit your session limit"}"#;
    let fine = r#"{"type":"result","subtype":"success","is_error":false,"result":"the rate limit is 5"}"#;
    let until = |lines: &[&str]| limited(lines).map(|limited| limited.until);
    assert_eq!(until(&[init, event, failed]), Some(Some(1_794_744_000_000)));
    assert_eq!(until(&[init, failed]), Some(None));
    assert_eq!(until(&[init, event, fine]), None);
    let allowed = event.replace("rejected", "allowed_warning");
    assert_eq!(until(&[init, &allowed, failed]), Some(None));
    let codex = [
        r#"{"type":"turn.started"}"#,
        r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again in 1 hour."}}"#,
    ];
    assert_eq!(until(&codex), Some(Some(now().wall + 3_600_000)));
    let pi = r#"{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"429: slow down","usage":{}}}"#;
    assert_eq!(until(&[r#"{"type":"agent_start"}"#, pi]), Some(None));
    let opencode = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"slow","statusCode":429}}}"#;
    assert_eq!(until(&[opencode]), Some(None));
    let gemini =
        r#"{"type":"result","status":"error","error":{"message":"quota exceeded, retry in 5s"},"stats":{}}"#;
    assert_eq!(until(&[gemini]), Some(Some(now().wall + 5000)));
}

#[test]
fn plain_text_tells_by_its_last_line_that_does() {
    let lines = ["thinking", "429 lines", "Rate limit reached, try again in 20s", "bye", "\u{1b}[0m"];
    let said = limited(&lines).unwrap();
    assert_eq!((said.until, said.text.as_str()), (Some(now().wall + 20_000), lines[2]));
    assert_eq!(limited(&["all is well"]), None);
    let own = r#"{"error":{"code":429,"retry_after":7}}"#;
    assert_eq!(limited(&[own]).and_then(|limited| limited.until), Some(now().wall + 7000));
}
