//! Cost specs, and shapes of lines that no recording has.

use serde_json::{Value, json};

use super::super::{Cost, LineCost, Metered, Micros, Mode, Source, Spec};
use super::{fed, figures, metered, recorded};

fn spec(mode: Mode) -> Spec {
    let cost = LineCost { kind: "bill".to_owned(), pointer: "/cost/usd".to_owned(), mode };
    Spec { cost: Cost::Line(cost), ..Spec::default() }
}

fn lines(events: &[Value]) -> String {
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

#[test]
fn a_cost_spec_says_where_the_dollars_stand() {
    let output = lines(&[
        json!({"type":"bill","cost":{"usd":0.5}}),
        json!({"type":"bill","cost":{"usd":"$0.25"}}),
        json!({"type":"other","cost":{"usd":9}}),
        json!({"type":"bill","cost":{"usd":-3}}),
        json!({"type":"bill","cost":{"usd":"much"}}),
        json!({"type":"bill"}),
    ]);
    for (mode, micros) in [(Mode::Sum, 750_000), (Mode::Total, 500_000)] {
        let Metered::Exact(usage) = fed(spec(mode), &output).finish() else { panic!() };
        assert_eq!((usage.usd, usage.source), (Some(Micros::new(micros)), Source::Spec));
    }
    assert!(
        matches!(fed(spec(Mode::Sum), "prose\n").finish(), Metered::Unmetered(usage) if usage.usd.is_none())
    );
    // The stream's own dollars do not count then; its tokens do.
    let claude = format!("{}{}", recorded!("streams/claude-2.1.325.jsonl"), output);
    let usage = fed(spec(Mode::Sum), &claude).finish().usage().clone();
    assert_eq!(figures(&usage), (Some(750_000), 17_786, 87, 5_973));
}

#[test]
fn what_is_free_costs_nothing_and_has_tokens() {
    let free = Spec { cost: Cost::Free, ..Spec::default() };
    let Metered::Exact(usage) = fed(free.clone(), recorded!("streams/codex-mcp.jsonl")).finish() else {
        panic!()
    };
    assert_eq!((figures(&usage), usage.source), ((Some(0), 15_640, 82, 5_247), Source::Free));
    assert!(matches!(fed(free, "prose").finish(), Metered::Exact(usage) if usage.usd == Some(Micros::ZERO)));
}

#[test]
fn older_results_of_claude_count_by_the_difference() {
    let result = |session: &str, usd: f64, tokens: u64| {
        let models = json!({"claude-opus-5-5":{"inputTokens":tokens,"outputTokens":1,"costUSD":usd}});
        let usage = json!({"input_tokens":tokens});
        json!({"type":"result","subtype":"success","is_error":false,"session_id":session,"total_cost_usd":usd,
            "usage":usage,"modelUsage":models})
    };
    let output = lines(&[result("a", 0.25, 10), result("a", 0.75, 30), result("b", 0.125, 5)]);
    assert_eq!(figures(metered(&output).usage()), (Some(875_000), 35, 2, 0));
    let mut bare = result("a", 0.25, 10);
    bare.as_object_mut().unwrap().remove("modelUsage");
    assert_eq!(figures(metered(&bare.to_string()).usage()), (Some(250_000), 10, 0, 0));
}

#[test]
fn the_model_that_cost_most_names_the_run() {
    let models = json!({
        "claude-opus-5-5":{"inputTokens":9,"outputTokens":1,"costUSD":0.5},
        "zz-haiku":{"inputTokens":100,"outputTokens":1,"cacheCreationInputTokens":7,"costUSD":0.01},
    });
    let result = json!({"type":"result","subtype":"success","model_usage_since_last_result":models});
    let Metered::Exact(usage) = metered(&result.to_string()) else { panic!() };
    assert_eq!(
        (usage.model.as_deref(), figures(&usage)),
        (Some("claude-opus-5-5"), (Some(510_000), 116, 2, 0))
    );
}

#[test]
fn a_result_without_figures_leaves_the_estimate() {
    let usage = json!({"input_tokens":1000,"output_tokens":10});
    let message = json!({"id":"m","model":"claude-opus-5-5","usage":usage});
    let said = json!({"type":"assistant","message":message});
    let result = json!({"type":"result","subtype":"success","is_error":false});
    let silent =
        json!({"type":"result","subtype":"success","is_error":false,"total_cost_usd":0,"modelUsage":{}});
    for end in [result, silent] {
        // The same message comes twice and counts once.
        let metered = metered(&lines(&[said.clone(), said.clone(), end]));
        assert!(
            matches!(&metered, Metered::AtLeast(usage) if figures(usage) == (Some(4_200), 1000, 10, 0)),
            "{metered:?}"
        );
    }
}

#[test]
fn parts_without_a_price_make_the_run_unmetered_and_the_rest_a_lower_bound() {
    let step = |cost: f64| {
        let tokens = json!({"input":10,"output":5,"reasoning":2,"cache":{"read":1,"write":4}});
        json!({"type":"step_finish","sessionID":"s","part":{"cost":cost,"tokens":tokens}})
    };
    let metered = metered(&lines(&[step(0.5), step(0.0)]));
    assert!(
        matches!(&metered, Metered::Unmetered(usage) if figures(usage) == (Some(500_000), 28, 14, 2)),
        "{metered:?}"
    );
}

#[test]
fn thoughts_count_once() {
    let step = |total: u64| {
        let tokens = json!({"total":total,"input":10,"output":5,"reasoning":2,"cache":{"read":1,"write":0}});
        json!({"type":"step_finish","sessionID":"s","part":{"cost":1,"tokens":tokens}})
    };
    for (total, output) in [(16, 5), (18, 7), (99, 7), (0, 5)] {
        assert_eq!(metered(&step(total).to_string()).usage().tokens_out, output, "{total}");
    }
    let counts = json!({"total_tokens":130,"input_tokens":100,"output_tokens":10,"cached":40});
    let stats = json!({"total_tokens":130,"models":{"gemini-2.5-pro":counts}});
    let result = json!({"type":"result","status":"success","stats":stats});
    // 60 × 1.25 + 40 × 0.125 + 30 × 10 = 380.
    assert_eq!(figures(metered(&result.to_string()).usage()), (Some(380), 60, 30, 40));
}

#[test]
fn turns_of_one_codex_thread_are_not_added() {
    let turn = |input: u64| {
        let usage = json!({"input_tokens":input,"cached_input_tokens":5,"output_tokens":3});
        lines(&[json!({"type":"turn.started"}), json!({"type":"turn.completed","usage":usage})])
    };
    assert_eq!(figures(metered(&[turn(10), turn(25)].concat()).usage()), (None, 20, 3, 5));
    // Less than before is another thread.
    assert_eq!(figures(metered(&[turn(25), turn(10)].concat()).usage()), (None, 25, 6, 10));
    let silent = json!({"type":"turn.completed","usage":{"input_tokens":0,"output_tokens":0}});
    assert_eq!(metered(&silent.to_string()).usage().source, Source::None);
}
