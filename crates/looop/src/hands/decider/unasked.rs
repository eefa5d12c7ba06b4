//! Whether an agent ended before it made a request: without a key, with an option that it does not know, at a question
//! that nobody can answer.

use looop_core::meter::Meter;
use looop_session::{Done, Ended};

use super::missing::{HARMLESS, programs};

/// The agents that print an event for each thing they do, and the words of a command that make them do so.
const STREAMING: [(&str, &str); 5] = [
    ("claude", "--output-format stream-json"),
    ("codex", "exec --json"),
    ("opencode", "--format json"),
    ("pi", "--mode json"),
    ("gemini", "--output-format stream-json"),
];

/// Whether it is certain that a command made no request: all that it runs is an agent that prints its events, the agent
/// exited with an error of its own accord, and no event shows that it had begun to ask.
pub(super) fn is_unasked(command: &str, done: &Done, meter: &Meter) -> bool {
    let gave_up = matches!(done.ended, Ended::Exited(code) if code != 0);
    gave_up && !meter.may_have_asked() && streams(command)
}

fn streams(command: &str) -> bool {
    let Some(programs) = programs(command) else { return false };
    let mut rest = programs.iter().filter(|program| !HARMLESS.contains(&program.as_str()));
    let (Some(program), None) = (rest.next(), rest.next()) else { return false };
    let name = program.rsplit('/').next().unwrap_or_default();
    let words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    STREAMING.iter().any(|(agent, option)| *agent == name && words.contains(option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PRESETS;

    #[test]
    fn every_preset_streams_and_little_else_is_known_to() {
        for preset in PRESETS {
            let tick = ["prompt_file", "schema_file", "strict_schema_file", "budget_usd"]
                .iter()
                .fold(preset.tick.to_owned(), |tick, name| {
                    tick.replace(&format!("{{{{{name}}}}}"), "'/x/y'")
                });
            assert!(streams(&tick), "{tick}");
        }
        let table = [
            ("/opt/bin/pi -p --mode  json", true),
            ("KEY=1 codex exec --json -", true),
            ("claude -p", false),
            ("claude -p --output-format json", false),
            ("pi --mode json || curl example.com", false),
            ("my-agent --mode json", false),
            ("bash -c 'pi --mode json'", false),
        ];
        for (command, expected) in table {
            assert_eq!(streams(command), expected, "{command}");
        }
    }
}
