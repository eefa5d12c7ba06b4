//! Recorded streams, to the last token.

use super::super::{Format, Metered, Micros, Price, Prices, Source, Spec};
use super::{Figures, fed, figures, metered, recorded};
use crate::meter::Meter;

/// How a stream ends.
#[derive(Debug, PartialEq)]
enum End {
    Exact,
    Unmetered,
}
use End::{Exact, Unmetered};

const fn usd(micros: u64, tokens_in: u64, tokens_out: u64, tokens_cached: u64) -> Figures {
    (Some(micros), tokens_in, tokens_out, tokens_cached)
}

const fn tokens(tokens_in: u64, tokens_out: u64, tokens_cached: u64) -> Figures {
    (None, tokens_in, tokens_out, tokens_cached)
}

const NOTHING: Figures = tokens(0, 0, 0);

/// The figures were computed apart from this program, in decimal arithmetic: for claude the sum of
/// `model_usage_since_last_result[].costUSD` over the results (of `modelUsage` where that is missing), for opencode the
/// sum of `step_finish.part.cost`, for pi the sum of `message.usage.cost.total` over `message_end` of the assistant, all
/// rounded up to a millionth. For codex and gemini the last usage, less what was cached. For pi, for instance:
/// `jq -s 'map(select(.type=="message_end" and .message.role=="assistant").message.usage.cost.total)|add'`.
const STREAMS: &[(&str, &str, End, Figures)] = &[
    ("aider", recorded!("streams/aider-0.86.2.txt"), Unmetered, NOTHING),
    ("claude", recorded!("streams/claude-2.1.325.jsonl"), Exact, usd(74_079, 17_786, 87, 5_973)),
    ("claude", recorded!("streams/claude-bare-2.1.325.jsonl"), Exact, usd(1_172, 248, 9, 0)),
    ("claude", recorded!("streams/claude-mcp.jsonl"), Exact, usd(72_928, 17_740, 39, 5_936)),
    ("claude", recorded!("streams/claude-partial-2.1.325.jsonl"), Exact, usd(72_776, 17_520, 76, 5_880)),
    // It does not say what is new, so that the whole session counts.
    ("claude", recorded!("streams/claude-resume-last.json"), Exact, usd(96_148, 23_647, 78, 0)),
    ("claude", recorded!("streams/claude-resume-last.jsonl"), Exact, usd(48_184, 11_851, 39, 0)),
    ("claude", recorded!("streams/claude-schema-2.1.325.jsonl"), Exact, usd(2_408, 347, 51, 0)),
    ("claude", recorded!("streams/claude-warm.jsonl"), Exact, usd(144_600, 35_565, 117, 0)),
    ("codex", recorded!("streams/codex-0.166.0.jsonl"), Unmetered, tokens(14_874, 130, 5_004)),
    ("codex", recorded!("streams/codex-mcp.jsonl"), Unmetered, tokens(15_640, 82, 5_247)),
    // A resumed thread states what it used in all.
    ("codex", recorded!("streams/codex-resume-0.166.0.jsonl"), Unmetered, tokens(19_860, 163, 10_019)),
    ("codex", recorded!("streams/codex-schema-0.166.0.jsonl"), Unmetered, tokens(9_981, 69, 0)),
    ("claude", recorded!("streams/fail/claude-cut.jsonl"), Exact, usd(218_987, 53_385, 93, 17_931)),
    ("claude", recorded!("streams/fail/claude-e401-maxretries1.jsonl"), Exact, usd(0, 0, 0, 0)),
    ("claude", recorded!("streams/fail/claude-e401.jsonl"), Unmetered, NOTHING),
    ("claude", recorded!("streams/fail/claude-e429.jsonl"), Exact, usd(74_160, 17_796, 89, 5_978)),
    ("claude", recorded!("streams/fail/claude-e429claude.jsonl"), Exact, usd(74_225, 17_802, 91, 5_981)),
    ("claude", recorded!("streams/fail/claude-e529.jsonl"), Unmetered, NOTHING),
    ("claude", recorded!("streams/fail/claude-text.jsonl"), Exact, usd(48_052, 11_818, 39, 0)),
    ("codex", recorded!("streams/fail/codex-cut.jsonl"), Unmetered, NOTHING),
    ("codex", recorded!("streams/fail/codex-e401.jsonl"), Exact, usd(0, 0, 0, 0)),
    ("codex", recorded!("streams/fail/codex-e429.jsonl"), Unmetered, tokens(14_886, 130, 5_008)),
    ("codex", recorded!("streams/fail/codex-e429codex.jsonl"), Unmetered, tokens(14_891, 130, 5_010)),
    ("codex", recorded!("streams/fail/codex-e529.jsonl"), Exact, usd(0, 0, 0, 0)),
    ("codex", recorded!("streams/fail/codex-text.jsonl"), Unmetered, tokens(9_878, 69, 0)),
    ("opencode", recorded!("streams/fail/opencode-cut.jsonl"), Unmetered, NOTHING),
    ("opencode", recorded!("streams/fail/opencode-e401.jsonl"), Exact, usd(0, 0, 0, 0)),
    ("opencode", recorded!("streams/fail/opencode-e429.jsonl"), Exact, usd(37_798, 11_618, 118, 3_911)),
    (
        "opencode",
        recorded!("streams/fail/opencode-e429opencode.jsonl"),
        Exact,
        usd(37_850, 11_625, 120, 3_914),
    ),
    ("opencode", recorded!("streams/fail/opencode-text.jsonl"), Exact, usd(23_733, 7_706, 41, 0)),
    ("pi", recorded!("streams/fail/pi-cut.jsonl"), Unmetered, NOTHING),
    ("pi", recorded!("streams/fail/pi-e401.jsonl"), Exact, usd(0, 0, 0, 0)),
    ("pi", recorded!("streams/fail/pi-e429.jsonl"), Exact, usd(8_538, 2_233, 107, 780)),
    ("pi", recorded!("streams/fail/pi-e429pi.jsonl"), Exact, usd(8_539, 2_233, 107, 781)),
    ("pi", recorded!("streams/fail/pi-e529.jsonl"), Exact, usd(0, 0, 0, 0)),
    ("pi", recorded!("streams/fail/pi-text.jsonl"), Exact, usd(4_971, 1_452, 41, 0)),
    ("gemini", recorded!("streams/gemini-0.61.0.jsonl"), Unmetered, tokens(25_128, 89, 0)),
    ("opencode", recorded!("streams/opencode-1.18.33.jsonl"), Exact, usd(37_725, 11_609, 115, 3_908)),
    ("opencode", recorded!("streams/opencode-mcp.jsonl"), Exact, usd(36_918, 11_636, 56, 3_899)),
    ("pi", recorded!("streams/pi-0.87.1.jsonl"), Exact, usd(8_526, 2_229, 107, 779)),
    ("pi", recorded!("streams/pi-anthropic-0.87.1.jsonl"), Exact, usd(8_163, 2_252, 78, 787)),
    ("pi", recorded!("streams/pi-lean-0.87.1.jsonl"), Exact, usd(849, 78, 41, 0)),
    ("pi", recorded!("streams/pi-old-0.73.1.jsonl"), Exact, usd(8_487, 2_182, 114, 769)),
    // It states zero dollars for tokens of a model that it has no price for.
    ("pi", recorded!("streams/pi-responses-0.87.1.jsonl"), Unmetered, tokens(2_216, 129, 772)),
    ("pi", recorded!("streams/pi-rpc.jsonl"), Exact, usd(14_186, 3_788, 141, 2_356)),
];

fn end(metered: &Metered) -> Option<End> {
    match metered {
        Metered::Exact(_) => Some(Exact),
        Metered::Unmetered(_) => Some(Unmetered),
        Metered::AtLeast(_) | Metered::Unanswered(_) => None,
    }
}

#[test]
fn every_recorded_stream_is_metered_exactly() {
    for (at, (name, output, expected, sums)) in STREAMS.iter().enumerate() {
        let metered = metered(output);
        assert_eq!(
            (end(&metered).as_ref(), figures(metered.usage())),
            (Some(expected), *sums),
            "{at} {name}"
        );
    }
}

#[test]
fn no_recorded_stream_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/streams");
    let count = |path: &str| {
        let files = std::path::Path::new(path).read_dir().unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.is_file()).count()
    };
    assert_eq!(count(folder) + count(&format!("{folder}/fail")), STREAMS.len());
}

#[test]
fn what_is_known_beforehand_is_what_is_found_out() {
    for (name, output, ..) in STREAMS {
        let known = Format::ALL.into_iter().find(|format| format.name() == *name);
        let spec = Spec { format: known, ..Spec::default() };
        assert_eq!(figures(fed(spec, output).finish().usage()), figures(metered(output).usage()), "{name}");
    }
}

/// A price of its own for the model of the recordings.
fn with_price(model: &str, output: &str) -> Metered {
    let price = Price {
        input: Micros::new(1_250_000),
        output: Micros::new(10_000_000),
        cached_read: Some(Micros::new(125_000)),
        cache_write: None,
    };
    let prices = Prices::shipped().with([("fake".to_owned(), price)]);
    let mut meter = Meter::new(Spec { model: Some(model.to_owned()), ..Spec::default() }, prices);
    output.lines().for_each(|line| meter.line(line.as_bytes()));
    meter.finish()
}

#[test]
fn streams_without_dollars_are_priced() {
    // 14,874 × 1.25 + 130 × 10 + 5,004 × 0.125 = 20,518 micro-dollars, and the like.
    let table = [
        ("gpt-5-codex", recorded!("streams/codex-0.166.0.jsonl"), Format::Codex, 20_518),
        ("gpt-5-codex", recorded!("streams/codex-mcp.jsonl"), Format::Codex, 21_026),
        ("", recorded!("streams/gemini-0.61.0.jsonl"), Format::Gemini, 32_300),
        ("", recorded!("streams/pi-responses-0.87.1.jsonl"), Format::Pi, 4_157),
    ];
    for (model, output, format, micros) in table {
        let Metered::Exact(usage) = with_price(model, output) else { panic!("{model} {format:?}") };
        assert_eq!((usage.usd, usage.source), (Some(Micros::new(micros)), Source::Prices(format)));
    }
}

#[test]
fn the_model_and_the_source_are_named() {
    let usage = |output| metered(output).usage().clone();
    let claude = usage(recorded!("streams/claude-2.1.325.jsonl"));
    assert_eq!(
        (claude.model.as_deref(), claude.source.to_string().as_str()),
        (Some("claude-opus-5-5"), "claude")
    );
    assert_eq!(claude.tokens(), 17_786 + 87 + 5_973);
    let refused = usage(recorded!("streams/fail/claude-e401-maxretries1.jsonl"));
    assert_eq!((refused.model, refused.source), (None, Source::Stream(Format::Claude)));
    assert_eq!(usage(recorded!("streams/pi-lean-0.87.1.jsonl")).model.as_deref(), Some("fake-model"));
    let Metered::Exact(codex) = with_price("gpt-5-codex", recorded!("streams/codex-mcp.jsonl")) else {
        panic!()
    };
    assert_eq!(
        (codex.model.as_deref(), codex.source.to_string().as_str()),
        (Some("gpt-5-codex"), "codex prices")
    );
}

#[test]
fn what_was_refused_costs_nothing_unless_something_was_read() {
    let codex = recorded!("streams/fail/codex-e401.jsonl");
    let limit =
        r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 3 PM."}}"#;
    let limited = [codex.lines().take(3).collect::<Vec<_>>().join("\n"), limit.to_owned()].join("\n");
    assert_eq!(end(&metered(&limited)), Some(Exact));
    let cut = r#"{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion)"}"#;
    let opencode = recorded!("streams/fail/opencode-e401.jsonl");
    let step = r#"{"type":"step_start","sessionID":"s","part":{}}"#;
    let gemini = |error: &str| {
        let init = r#"{"type":"init","session_id":"s","model":"gemini-3.1-pro"}"#;
        let result = serde_json::json!({"type":"result","status":"error","error":{"message":error},"stats":{"total_tokens":0}});
        format!("{init}\n{result}")
    };
    assert_eq!(end(&metered(&gemini("[API Error: {\"error\":{\"code\":401}}]"))), Some(Exact));
    let read = [
        format!("{cut}\n{codex}"),
        format!("{codex}\n{{\"type\":\"item.completed\",\"item\":{{\"type\":\"agent_message\"}}}}"),
        format!("{step}\n{opencode}"),
        gemini("[API Error: exception TypeError: terminated]"),
        recorded!("streams/fail/codex-cut.jsonl").to_owned(),
    ];
    for output in read {
        assert_eq!(end(&metered(&output)), Some(Unmetered), "{output}");
    }
}

/// As the agents print it, from the first request on.
#[test]
fn what_reached_nobody_or_was_not_signed_costs_nothing() {
    let codex = |error: &str| {
        let started = r#"{"type":"thread.started","thread_id":"t"}"#;
        let warning = r#"{"type":"item.completed","item":{"type":"error","message":"no metadata"}}"#;
        let retry = serde_json::json!({"type":"error","message":error});
        [started, warning, r#"{"type":"turn.started"}"#, &retry.to_string()].join("\n")
    };
    let gemini = |error: &str| {
        let result = serde_json::json!({"type":"result","status":"error","error":{"message":error},"stats":{"total_tokens":0}});
        format!("{}\n{result}", r#"{"type":"init","session_id":"s","model":"auto"}"#)
    };
    let pi = |error: &str| {
        let usage = serde_json::json!({"input":0,"output":0,"cost":{"total":0}});
        let message = serde_json::json!({"role":"assistant","content":[],"usage":usage,"stopReason":"error","errorMessage":error});
        let end = serde_json::json!({"type":"message_end","message":message});
        format!("{}\n{end}", r#"{"type":"agent_start"}"#)
    };
    let opencode = |error: &str| {
        serde_json::json!({"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":error}}})
            .to_string()
    };
    let unanswered = [
        codex("Reconnecting... waiting for network (Connection failed: error sending request)"),
        codex(
            "Reconnecting... 2/5 (stream disconnected before completion: Connection refused (os error 111))",
        ),
        codex("Missing environment variable: `FAKE_KEY`."),
        gemini("[API Error: exception TypeError: fetch failed sending request]"),
        gemini("[API Error: You have exhausted your daily quota on this model.]\nPlease wait"),
        pi("Connection error."),
        opencode("Cannot connect to API: Unable to connect. Is the computer able to access the url?"),
    ];
    for output in unanswered {
        let Metered::Exact(usage) = metered(&output) else { panic!("{output}") };
        assert_eq!(figures(&usage), usd(0, 0, 0, 0), "{output}");
    }
    let broke_off = [
        codex("stream disconnected before completion: stream closed before response.completed"),
        gemini("[API Error: terminated]"),
        pi("Stream ended without finish_reason"),
        opencode("The answer could not be parsed"),
    ];
    for output in broke_off {
        assert_eq!(end(&metered(&output)), Some(Unmetered), "{output}");
    }
}

#[test]
fn a_stream_tells_whether_a_request_may_have_been_made() {
    let table = [
        ("", false),
        (r#"{"type":"session","version":3,"cwd":"/"}"#, false),
        ("{\"type\":\"session\",\"version\":3,\"cwd\":\"/\"}\n{\"type\":\"agent_start\"}", true),
        (r#"{"type":"thread.started","thread_id":"t"}"#, false),
        ("{\"type\":\"thread.started\"}\n{\"type\":\"turn.started\"}", true),
        (r#"{"type":"system","subtype":"init"}"#, false),
        (r#"{"type":"init","session_id":"s","model":"m"}"#, true),
        (r#"{"type":"error","sessionID":"s","error":{}}"#, false),
        (r#"{"type":"step_start","sessionID":"s"}"#, true),
        ("unknown option --json", false),
    ];
    for (output, asked) in table {
        assert_eq!(fed(Spec::default(), output).may_have_asked(), asked, "{output}");
    }
}

#[test]
fn calls_that_do_not_say_what_they_used_are_counted() {
    let step =
        r#"{"type":"step_finish","sessionID":"s","part":{"reason":"unknown","tokens":{"input":0},"cost":0}}"#;
    assert_eq!(fed(Spec::default(), &[step; 3].join("\n")).unstated(), 3);
    assert_eq!(fed(Spec::default(), recorded!("streams/opencode-1.18.33.jsonl")).unstated(), 0);
    assert!(fed(Spec::default(), recorded!("streams/fail/pi-cut.jsonl")).unstated() > 0);
}

#[test]
fn a_stream_that_is_cut_off_is_a_lower_bound() {
    let cut =
        |output: &str, lines: usize| metered(&output.lines().take(lines).collect::<Vec<_>>().join("\n"));
    // The first message began with 11,813 tokens at $4 a million and one of output at $20.
    let Metered::AtLeast(claude) = cut(recorded!("streams/claude-2.1.325.jsonl"), 3) else { panic!() };
    assert_eq!(figures(&claude), usd(47_272, 11_813, 1, 0));
    assert_eq!(claude.source, Source::Prices(Format::Claude));
    // With partial messages the 61 tokens of the first answer are known before the result.
    let partial = recorded!("streams/claude-partial-2.1.325.jsonl");
    let lines = partial.lines().position(|line| line.contains("message_delta")).unwrap() + 1;
    let Metered::AtLeast(claude) = cut(partial, lines) else { panic!() };
    assert_eq!(figures(&claude), usd(47_780, 11_640, 61, 0));
    let Metered::AtLeast(opencode) = cut(recorded!("streams/opencode-1.18.33.jsonl"), 4) else { panic!() };
    assert_eq!(figures(&opencode), usd(24_573, 7_701, 98, 0));
    // Between two messages nothing is open.
    let pi = recorded!("streams/pi-anthropic-0.87.1.jsonl");
    let ends = pi.lines().position(|line| line.contains("message_end") && line.contains("toolUse")).unwrap();
    assert!(
        matches!(cut(pi, ends + 1), Metered::Exact(usage) if figures(&usage) == usd(5_340, 1_465, 63, 0))
    );
    let starts =
        pi.lines().enumerate().filter(|(_, line)| line.contains("\"message_start\"")).last().unwrap();
    let Metered::AtLeast(usage) = cut(pi, starts.0 + 1) else { panic!() };
    assert_eq!(figures(&usage), usd(7_953, 2_252, 64, 787));
    let codex = recorded!("streams/codex-0.166.0.jsonl");
    assert!(matches!(cut(codex, 6), Metered::Unmetered(usage) if figures(&usage) == NOTHING));
}
