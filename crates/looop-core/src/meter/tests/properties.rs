//! What holds of every stream.

use proptest::prelude::*;

use super::super::session_file::{Agent, SessionFile};
use super::super::{Meter, Micros, Prices, Spec, Usage};
use super::{fed, figures, metered, recorded};
use crate::meter::Format;

/// One stream of each format.
const STREAMS: [&str; 7] = [
    recorded!("streams/claude-2.1.325.jsonl"),
    recorded!("streams/claude-partial-2.1.325.jsonl"),
    recorded!("streams/claude-warm.jsonl"),
    recorded!("streams/codex-mcp.jsonl"),
    recorded!("streams/opencode-1.18.33.jsonl"),
    recorded!("streams/pi-0.87.1.jsonl"),
    recorded!("streams/gemini-0.61.0.jsonl"),
];

fn not_above(less: &Usage, more: &Usage) -> bool {
    less.usd.unwrap_or_default() <= more.usd.unwrap_or_default()
        && less.tokens_in <= more.tokens_in
        && less.tokens_out <= more.tokens_out
        && less.tokens_cached <= more.tokens_cached
}

/// On every recording whose estimate by prices is right, each count and the dollars only grow, and none is ever above
/// the final figure.
#[test]
fn figures_grow_up_to_the_final_ones() {
    for output in STREAMS {
        let last = metered(output).usage().clone();
        let mut meter = Meter::new(Spec::default(), Prices::shipped());
        let mut before = meter.now();
        for line in output.lines() {
            meter.line(line.as_bytes());
            let now = meter.now();
            assert!(not_above(&before, &now) && not_above(&now, &last), "{before:?} {now:?} {last:?}");
            before = now;
        }
    }
}

proptest! {
    /// Bytes in any pieces never break a meter, and count for nothing.
    #[test]
    fn no_line_breaks_a_meter(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            let mut meter = Meter::new(Spec { format, ..Spec::default() }, Prices::shipped());
            for piece in &pieces {
                meter.line(piece);
            }
            prop_assert_eq!(meter.now().tokens(), 0);
        }
    }

    /// Cut at any byte: what is torn counts for nothing, and tokens are at most those of the whole stream.
    #[test]
    fn a_torn_stream_is_at_most_the_whole(which in 0..STREAMS.len(), cuts in prop::collection::vec(0..1000usize, 0..4)) {
        let bytes = STREAMS[which].as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut * bytes.len() / 1000).collect();
        places.sort_unstable();
        let mut torn = Meter::new(Spec::default(), Prices::shipped());
        let mut from = 0;
        for to in places.into_iter().chain([bytes.len()]) {
            bytes[from..to].split(|byte| *byte == b'\n').for_each(|line| torn.line(line));
            from = to;
        }
        let (torn, whole) = (torn.now(), metered(STREAMS[which]).usage().clone());
        prop_assert!(torn.tokens() <= whole.tokens(), "{torn:?} {whole:?}");
    }

    /// Events of known kinds with any numbers in the places of counts and dollars: nothing breaks, nothing overflows,
    /// and the figures of two streams of steps one after the other are their sum.
    #[test]
    fn any_numbers_are_survived_and_steps_add_up(steps in prop::collection::vec((0u64..1 << 40, 0u64..1 << 40, 1u64..1 << 40), 0..8), at in 0usize..8) {
        let line = |(input, output, micros): &(u64, u64, u64)| format!(
            r#"{{"type":"step_finish","sessionID":"s","part":{{"cost":{}.{:06},"tokens":{{"input":{input},"output":{output}}}}}}}"#,
            micros / 1_000_000, micros % 1_000_000,
        );
        let lines: Vec<String> = steps.iter().map(line).collect();
        let (head, tail) = lines.split_at(at.min(lines.len()));
        let of = |lines: &[String]| figures(&fed(Spec::default(), &lines.join("\n")).now());
        let (all, head, tail) = (of(&lines), of(head), of(tail));
        let sum: u64 = steps.iter().map(|(_, _, micros)| micros).sum();
        prop_assert_eq!(all.0.unwrap_or(0), sum);
        prop_assert_eq!(all.0.unwrap_or(0), head.0.unwrap_or(0) + tail.0.unwrap_or(0));
        prop_assert_eq!((all.1, all.2), (head.1 + tail.1, head.2 + tail.2));
    }

    /// The same for what session files hold, with the greatest numbers there are.
    #[test]
    fn the_greatest_numbers_are_survived(counts in prop::collection::vec(prop_oneof![Just(u64::MAX), any::<u64>()], 4..12)) {
        let mut files = [Agent::Claude, Agent::Codex, Agent::Pi].map(|agent| SessionFile::new(agent, Prices::shipped()));
        for (id, count) in counts.iter().enumerate() {
            let usage = format!(r#"{{"input_tokens":{count},"output_tokens":{count},"cached_input_tokens":{count},"input":{count},"output":{count},"cost":{{"total":1e300}}}}"#);
            let lines = [
                format!(r#"{{"type":"assistant","message":{{"id":"{id}","model":"claude-opus-5-5","usage":{usage}}}}}"#),
                format!(r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{usage}}}}}}}"#),
                format!(r#"{{"type":"message","message":{{"role":"assistant","model":"gpt-5","usage":{usage}}}}}"#),
            ];
            for (file, line) in files.iter_mut().zip(&lines) {
                let before = file.usage();
                file.line(line.as_bytes());
                prop_assert!(not_above(&before, &file.usage()));
            }
        }
        prop_assert_eq!(files[2].usage().usd, Some(Micros::new(u64::MAX)));
    }
}
