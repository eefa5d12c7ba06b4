//! Which agent a worker's command runs, where that agent keeps its sessions in files that are looked at.

use looop_core::meter::session_file::Agent;
use serde_json::Value;

use super::decider::{HARMLESS, programs};
use crate::config::PRESETS;

/// Words of a command that lead an agent's files elsewhere, or stop it from keeping any.
const ELSEWHERE: [&str; 6] =
    ["HOME=", "CLAUDE_CONFIG_DIR=", "PI_CODING_AGENT_DIR=", "--no-session", "--session-dir", "--ephemeral"];

/// The agent of a worker's start, if its command runs that agent alone, as the person, with its files in the usual
/// place: if there is no file of it, it has asked nothing.
pub(super) fn agent_of(spec: &Value) -> Option<Agent> {
    named(&program_of(spec)?)
}

/// Whether a worker's start runs opencode alone, with its database in the usual place.
pub(super) fn runs_opencode(spec: &Value) -> bool {
    program_of(spec).is_some_and(|program| program == "opencode")
}

/// The one program that a worker's start runs, as the person, with its files in the usual place.
fn program_of(spec: &Value) -> Option<String> {
    let confined = spec.pointer("/notes/confined").is_some();
    let command = spec.get("argv")?.as_array()?.last()?.as_str().filter(|_| !confined)?;
    if let Some(preset) = PRESETS.iter().find(|preset| is_filled(preset.interactive, command)) {
        return Some(preset.name.to_owned());
    }
    if ELSEWHERE.iter().any(|word| command.contains(word)) {
        return None;
    }
    let programs = programs(command)?;
    let mut rest = programs.iter().filter(|program| !HARMLESS.contains(&program.as_str()));
    let (Some(program), None) = (rest.next(), rest.next()) else { return None };
    Some(program.rsplit('/').next().unwrap_or_default().to_owned())
}

/// Whether a command is this template with a file in its place.
fn is_filled(template: &str, command: &str) -> bool {
    let Some((before, after)) = template.split_once("{{prompt_file}}") else { return false };
    command.len() >= before.len() + after.len() && command.starts_with(before) && command.ends_with(after)
}

fn named(program: &str) -> Option<Agent> {
    match program {
        "claude" => Some(Agent::Claude),
        "codex" => Some(Agent::Codex),
        "pi" => Some(Agent::Pi),
        "gemini" => Some(Agent::Gemini),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_agent_that_keeps_its_files_where_they_are_looked_for_is_known() {
        let of = |command: &str| agent_of(&json!({ "argv": ["bash", "-c", command] }));
        let table = [
            ("claude --dangerously-skip-permissions \"Read '/x/prompt.md' and do it.\"", Some(Agent::Claude)),
            ("A=1 exec /opt/codex --no-daemon \"Read x\"", Some(Agent::Codex)),
            ("pi @'/x/prompt.md'", Some(Agent::Pi)),
            ("gemini --yolo -i x", Some(Agent::Gemini)),
            ("opencode --prompt x", None),
            ("pi --no-session @x", None),
            ("CODEX_HOME=/y codex x", None),
            ("claude x; codex y", None),
            ("ssh host claude x", None),
            ("claude \"$(cat x)\"", None),
        ];
        for (command, expected) in table {
            assert_eq!(of(command), expected, "{command}");
        }
        for preset in PRESETS {
            let command = preset.interactive.replace("{{prompt_file}}", "'/x/prompt.md'");
            assert_eq!(of(&command), named(preset.name), "{command}");
        }
        let confined = json!({ "argv": ["bwrap", "pi @x"], "notes": { "confined": "bwrap" } });
        assert_eq!(agent_of(&confined), None);
    }
}
