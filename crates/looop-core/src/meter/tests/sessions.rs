//! Session files of workers.

use serde_json::json;

use super::super::session_file::{Agent, SessionFile};
use super::super::{Micros, Prices, Source};
use super::{Figures, figures, recorded};
use crate::meter::Format;

fn read(agent: Agent, lines: &str) -> SessionFile {
    let mut file = SessionFile::new(agent, Prices::shipped());
    lines.lines().for_each(|line| file.line(line.as_bytes()));
    file
}

/// Two runs of one session each, the second one resumed. The figures are those that the agents print themselves.
const FILES: &[(Agent, &str, Figures, Source)] = &[
    (
        Agent::Claude,
        recorded!("sessions/claude-2.1.325.jsonl"),
        (Some(97_856), 23_420, 91, 11_780),
        Source::Stream(Format::Claude),
    ),
    (
        // 19,860 × 1.25 + 163 × 10 + 10,019 × 0.125.
        Agent::Codex,
        recorded!("sessions/codex-0.166.0.jsonl"),
        (Some(27_708), 19_860, 163, 10_019),
        Source::Prices(Format::Codex),
    ),
    (
        // 0.005463 + 0.0027792 + 0.0028353.
        Agent::Pi,
        recorded!("sessions/pi-0.87.1.jsonl"),
        (Some(11_078), 2_978, 112, 1_545),
        Source::Stream(Format::Pi),
    ),
    (
        // 23,426 × 2 + 24 × 12, of two answers, one of which stands there twice.
        Agent::Gemini,
        recorded!("sessions/gemini-0.61.0.jsonl"),
        (Some(47_140), 23_426, 24, 0),
        Source::Prices(Format::Gemini),
    ),
];

#[test]
fn recorded_session_files_tell_what_was_used() {
    for (agent, lines, expected, source) in FILES {
        let usage = read(*agent, lines).usage();
        assert_eq!((figures(&usage), usage.source), (*expected, *source), "{agent:?}");
        assert!(usage.model.is_some() && !read(*agent, lines).is_unpriced(), "{agent:?}");
    }
}

/// Entries as the agents write them, in sessions of which some were answered.
#[test]
fn a_session_file_tells_whether_a_model_answered() {
    let claude_asks = r#"{"type":"user","message":{"role":"user"}}"#;
    let request = r#"{"type":"api-request","querySource":"repl_main_thread"}"#;
    let synthetic = r#"{"type":"assistant","message":{"id":"a","model":"<synthetic>","usage":{"input_tokens":0,"output_tokens":0}}}"#;
    let codex_asks = r#"{"type":"event_msg","payload":{"type":"task_started"}}"#;
    let codex_user = r#"{"type":"response_item","payload":{"type":"message","role":"user"}}"#;
    let codex_fails =
        r#"{"type":"event_msg","payload":{"type":"task_complete","error":{"message":"status 401"}}}"#;
    let reasoning = r#"{"type":"response_item","payload":{"type":"reasoning"}}"#;
    let pi_asks = r#"{"type":"message","message":{"role":"user"}}"#;
    let pi_fails = r#"{"type":"message","message":{"role":"assistant","usage":{"input":0},"stopReason":"error","errorMessage":"429: slow down"}}"#;
    let pi_breaks = r#"{"type":"message","message":{"role":"assistant","usage":{"input":0},"stopReason":"error","errorMessage":"Stream ended"}}"#;
    let gemini_asks = r#"{"$set":{"messages":[{"type":"user"}]}}"#;
    // The entries, and whether nothing was answered if the agent was ended, and if it exited.
    let table = [
        (Agent::Claude, vec![], (true, true)),
        (Agent::Claude, vec![claude_asks, request], (false, true)),
        (Agent::Claude, vec![claude_asks, request, request], (true, true)),
        (Agent::Claude, vec![claude_asks, request, synthetic], (true, true)),
        (Agent::Claude, vec![claude_asks, synthetic, claude_asks, request], (false, true)),
        (Agent::Claude, vec![recorded!("sessions/claude-2.1.325.jsonl"), synthetic], (false, false)),
        (Agent::Codex, vec![codex_asks, codex_user], (false, true)),
        (Agent::Codex, vec![codex_asks, codex_user, codex_fails], (true, true)),
        (Agent::Codex, vec![codex_asks, reasoning, codex_fails], (false, false)),
        (Agent::Codex, vec![recorded!("sessions/codex-0.166.0.jsonl")], (false, false)),
        (Agent::Pi, vec![pi_asks, pi_fails], (true, true)),
        (Agent::Pi, vec![pi_asks, pi_fails, pi_asks], (false, true)),
        (Agent::Pi, vec![pi_asks, pi_breaks], (false, false)),
        (Agent::Pi, vec![recorded!("sessions/pi-0.87.1.jsonl")], (false, false)),
        (Agent::Gemini, vec![gemini_asks], (false, true)),
        (Agent::Gemini, vec![recorded!("sessions/gemini-0.61.0.jsonl")], (false, false)),
    ];
    for (agent, lines, expected) in table {
        let file = read(agent, &lines.join("\n"));
        let found = (file.is_unanswered(false), file.is_unanswered(true));
        assert_eq!(found, expected, "{agent:?} {:.300}", lines.join("\n"));
    }
}

#[test]
fn figures_grow_with_the_file() {
    for (agent, lines, ..) in FILES {
        let mut file = read(*agent, "");
        assert_eq!((figures(&file.usage()), file.usage().source), ((None, 0, 0, 0), Source::None));
        let mut last = file.usage();
        for line in lines.lines() {
            file.line(line.as_bytes());
            // A line that is torn, as it is while it is being written, counts for nothing.
            file.line(&line.as_bytes()[..line.len() / 2]);
            let now = file.usage();
            assert!(now.usd >= last.usd && now.tokens() >= last.tokens(), "{agent:?} {line}");
            last = now;
        }
    }
}

#[test]
fn messages_of_claude_count_once_and_by_price_until_it_says_more() {
    let file = recorded!("sessions/claude-2.1.325.jsonl");
    let messages: Vec<&str> = file.lines().filter(|line| line.contains("\"type\":\"assistant\"")).collect();
    let twice: String = messages.iter().flat_map(|line| [*line, "\n", *line, "\n"]).collect();
    let usage = read(Agent::Claude, &twice).usage();
    // The price table agrees with claude to the millionth.
    assert_eq!(figures(&usage), (Some(97_856), 23_420, 91, 11_780));
    assert_eq!(usage.source, Source::Prices(Format::Claude));
}

#[test]
fn a_message_that_comes_again_counts_as_it_comes_last() {
    let line = |id: &str, output: u64| {
        let usage = json!({"input_tokens":1000,"output_tokens":output,"cache_creation_input_tokens":100});
        json!({"type":"assistant","message":{"id":id,"model":"claude-opus-5-5","usage":usage}}).to_string()
    };
    let lines =
        [line("a", 1), line("b", 1), line("a", 50), line("b", 20), line("", 1), line("", 1)].join("\n");
    assert_eq!(figures(&read(Agent::Claude, &lines).usage()), (Some(4 * 4_500 + 72 * 20), 4_400, 72, 0));
    // More messages than are told apart: none is lost.
    let many: Vec<String> = (0..1000).map(|id| line(&id.to_string(), 2)).collect();
    assert_eq!(
        figures(&read(Agent::Claude, &many.join("\n")).usage()),
        (Some(4_540_000), 1_100_000, 2_000, 0)
    );
}

#[test]
fn gemini_tells_less_than_it_asks_and_rewrites_what_it_told() {
    let answer = |id: &str, counts: serde_json::Value| json!({"id":id,"type":"gemini","model":"gemini-3.1-pro","tokens":counts});
    let one = answer("a", json!({"input":1000,"cached":400,"output":10,"thoughts":5,"tool":7}));
    let lines =
        [one.to_string(), json!({"$set":{"messages":[one, answer("b", json!({"input":100}))]}}).to_string()];
    let file = read(Agent::Gemini, &lines.join("\n"));
    assert_eq!(figures(&file.usage()), (Some((607 + 100) * 2 + 15 * 12 + 400 / 5), 707, 15, 400));
    assert!(file.leaves_out() && !read(Agent::Gemini, "").leaves_out());
    assert!(!read(Agent::Codex, recorded!("sessions/codex-0.166.0.jsonl")).leaves_out());
}

#[test]
fn a_lower_cost_state_does_not_undo_a_higher_one() {
    let state = |usd: f64| json!({"type":"cost-state","totalCostUSD":usd,"modelUsage":{}}).to_string();
    let lines = [state(0.5), state(0.25), "{\"type\":\"cost-state\"}".to_owned()].join("\n");
    assert_eq!(read(Agent::Claude, &lines).usage().usd.map(Micros::get), Some(500_000));
}

#[test]
fn a_codex_that_is_ended_by_its_own_tool_has_said_what_the_last_answer_cost() {
    let context = json!({"type":"turn_context","payload":{"model":"gpt-5-codex"}});
    let record = |input: u64| {
        let usage = json!({"input_tokens":input});
        json!({"type":"token_usage_record","payload":{"usage":{"input_tokens":7},"thread_token_usage":usage}})
    };
    let info = json!({"total_token_usage":{"input_tokens":1000}});
    let count = json!({"type":"event_msg","payload":{"type":"token_count","info":info}});
    let lines = [context, record(1000), count, record(3000)].map(|line| line.to_string()).join("\n");
    assert_eq!(figures(&read(Agent::Codex, &lines).usage()), (Some(3_750), 3000, 0, 0));
}

#[test]
fn a_turn_of_codex_costs_what_its_model_costs() {
    let turn = |model: &str, input: u64| {
        let context = json!({"type":"turn_context","payload":{"model":model}});
        let info = json!({"total_token_usage":{"input_tokens":input}});
        let count = json!({"type":"event_msg","payload":{"type":"token_count","info":info}});
        format!(
            "{context}\n{count}\n{count}\n{}\n",
            json!({"type":"event_msg","payload":{"type":"token_count","info":null}})
        )
    };
    let both = [turn("gpt-5-codex", 1000), turn("gpt-5.2-codex", 3000)].concat();
    assert_eq!(figures(&read(Agent::Codex, &both).usage()), (Some(1_250 + 3_500), 3000, 0, 0));
    let unknown = [both, turn("fake", 4000)].concat();
    assert!(read(Agent::Codex, &unknown).is_unpriced());
    assert_eq!(figures(&read(Agent::Codex, &unknown).usage()), (Some(4_750), 4000, 0, 0));
}
