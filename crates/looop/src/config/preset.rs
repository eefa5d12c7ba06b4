//! Command lines of the agents we know, and which of them are installed.

use std::{env::split_paths, os::unix::fs::PermissionsExt, path::Path};

use super::layers::Env;

/// How a known agent is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunnerPreset {
    /// The program, and the name of its runner.
    pub name: &'static str,
    /// One decision: without tools and with a small system prompt where the agent can; the prompt comes on stdin or as
    /// a file, never as an argument, since an argument is limited to 128 KiB.
    pub tick: &'static str,
    /// A worker in a terminal that nobody watches.
    pub interactive: &'static str,
    /// What one should know before using it.
    pub note: &'static str,
}

/// Every agent we know, in the order in which they are offered.
pub const PRESETS: &[RunnerPreset] = &[
    RunnerPreset {
        name: "claude",
        tick: "claude -p --bare --tools '' --no-session-persistence --max-budget-usd 1 \
               --system-prompt 'Answer with one JSON object.' --output-format stream-json --verbose",
        interactive: "claude --dangerously-skip-permissions \"Read {{prompt_file}} and do what it says.\"",
        note: "--bare signs in with ANTHROPIC_API_KEY only; leave it out to use a subscription.",
    },
    RunnerPreset {
        name: "codex",
        tick: "codex exec --json --ephemeral --skip-git-repo-check -s read-only -",
        interactive: "codex --dangerously-bypass-approvals-and-sandbox \"Read {{prompt_file}} and do what it says.\"",
        note: "codex reports tokens, not dollars.",
    },
    RunnerPreset {
        name: "opencode",
        tick: "opencode run --format json",
        interactive: "opencode --prompt \"Read {{prompt_file}} and do what it says.\"",
        note: "opencode keeps its tools while it decides, and makes one request more than its output shows.",
    },
    RunnerPreset {
        name: "pi",
        tick: "pi -p --mode json --no-tools --no-session -ne -ns -nc \
               --system-prompt 'Answer with one JSON object.' @{{prompt_file}}",
        interactive: "pi @{{prompt_file}}",
        note: "add --provider and --model to choose a model.",
    },
    RunnerPreset {
        name: "gemini",
        tick: "gemini --skip-trust --approval-mode plan --output-format stream-json -p 'Answer with one JSON object.'",
        interactive: "gemini --yolo --skip-trust -i \"Read {{prompt_file}} and do what it says.\"",
        note: "gemini reports tokens, not dollars.",
    },
];

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static RunnerPreset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Which of the known agents are on the `PATH` of that environment, in the order in which they are offered.
pub fn found_on_path(env: &Env) -> Vec<&'static str> {
    let Some(path) = env.get("PATH") else { return Vec::new() };
    let folders: Vec<_> = split_paths(path).filter(|folder| folder.is_absolute()).collect();
    let installed = |name: &&str| folders.iter().any(|folder| is_program(&folder.join(name)));
    PRESETS.iter().map(|preset| preset.name).filter(installed).collect()
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
