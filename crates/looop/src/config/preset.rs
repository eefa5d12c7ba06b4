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
    /// A worker in a terminal that nobody watches: it starts without a dialog, also in a new home and in a new folder,
    /// and changes nothing in the settings of the person.
    pub interactive: &'static str,
    /// What earlier versions wrote for `tick`. A configuration that still has it means the present command.
    pub former_ticks: &'static [&'static str],
    /// The same for `interactive`.
    pub former: &'static [&'static str],
    /// What one should know before using it.
    pub note: &'static str,
}

/// Every agent we know, in the order in which they are offered.
pub const PRESETS: &[RunnerPreset] = &[
    RunnerPreset {
        name: "claude",
        tick: "CLAUDE_CODE_MAX_RETRIES=${CLAUDE_CODE_MAX_RETRIES:-2} claude -p ${ANTHROPIC_API_KEY:+--bare} --tools '' --no-session-persistence --max-budget-usd {{budget_usd}} \
               --system-prompt 'Decide.' --json-schema \"$(<{{schema_file}})\" --output-format stream-json \
               --include-partial-messages --verbose",
        // IS_DEMO skips all dialogs of a first start. In a home where nobody has set claude up there is nobody who allowed
        // the key, so it is passed by a helper; elsewhere what claude is signed in with counts.
        interactive: "IS_DEMO=1 claude --dangerously-skip-permissions --settings \"$([ -z \"$ANTHROPIC_API_KEY\" ] || \
                      grep -qs hasCompletedOnboarding \"${CLAUDE_CONFIG_DIR:-$HOME}/.claude.json\" && echo '{}' || \
                      echo '{\"apiKeyHelper\":\"echo $ANTHROPIC_API_KEY\"}')\" \"Read {{prompt_file}} and do what it says.\"",
        former_ticks: &[],
        former: &["claude --dangerously-skip-permissions \"Read {{prompt_file}} and do what it says.\""],
        note: "with ANTHROPIC_API_KEY set it runs --bare, which needs the key; else it uses the subscription it is signed in with.",
    },
    RunnerPreset {
        name: "codex",
        tick: "echo Decide. > system.md && codex exec --json --ephemeral --skip-git-repo-check -s read-only \
               -c model_instructions_file=system.md -c include_permissions_instructions=false \
               -c include_environment_context=false -c web_search=disabled -c features.shell_tool=false \
               -c features.unified_exec=false -c features.view_image=false -c features.goals=false \
               -c features.multi_agent=false -c features.multi_agent_v2=false --output-schema {{strict_schema_file}} -",
        interactive: "codex -c \"projects={\\\"$PWD\\\"={trust_level=\\\"trusted\\\"}}\" -c check_for_update_on_startup=false \
                      --dangerously-bypass-approvals-and-sandbox \"Read {{prompt_file}} and do what it says.\"",
        former_ticks: &[],
        former: &[
            "codex --dangerously-bypass-approvals-and-sandbox \"Read {{prompt_file}} and do what it says.\"",
        ],
        note: "codex reports tokens; dollars need its model, from -m, from its own settings or as model = \"…\" here.",
    },
    RunnerPreset {
        name: "opencode",
        // While it tries again it says so in its log alone.
        tick: "OPENCODE_CONFIG_CONTENT='{\"agent\":{\"looop\":{\"mode\":\"primary\",\"prompt\":\"Decide.\",\"tools\":{\"*\":false}}}}' \
               opencode run --print-logs --log-level ERROR --format json --agent looop --title looop",
        interactive: "OPENCODE_DISABLE_AUTOUPDATE=1 opencode --auto --prompt \"Read {{prompt_file}} and do what it says.\"",
        former_ticks: &[
            "OPENCODE_CONFIG_CONTENT='{\"agent\":{\"looop\":{\"mode\":\"primary\",\"prompt\":\"Decide.\",\"tools\":{\"*\":false}}}}' \
                       opencode run --format json --agent looop --title looop",
        ],
        former: &["opencode --prompt \"Read {{prompt_file}} and do what it says.\""],
        note: "add -m provider/model to choose a model.",
    },
    RunnerPreset {
        name: "pi",
        tick: "pi -p --mode json --no-tools --no-session -ne -ns -nc \
               --system-prompt 'Answer with one JSON object.' @{{prompt_file}}",
        interactive: "pi --approve @{{prompt_file}}",
        former_ticks: &[],
        former: &["pi @{{prompt_file}}"],
        note: "add --provider and --model to choose a model.",
    },
    RunnerPreset {
        name: "gemini",
        // That it takes another of its models, and another, it says with --debug alone.
        tick: "mkdir .gemini && echo '{\"tools\":{\"core\":[\"list_directory\"]}}' > .gemini/settings.json && \
               echo Decide. > .gemini/system.md && GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_SYSTEM_MD=1 gemini --debug --skip-trust --approval-mode plan -e none \
               --output-format stream-json -p 'Answer with one JSON object.'",
        interactive: "gemini --yolo --skip-trust -i \"Read {{prompt_file}} and do what it says.\"",
        former_ticks: &[
            "mkdir .gemini && echo '{\"tools\":{\"core\":[\"list_directory\"]}}' > .gemini/settings.json && \
               echo Decide. > .gemini/system.md && GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_SYSTEM_MD=1 gemini --skip-trust --approval-mode plan -e none \
               --output-format stream-json -p 'Answer with one JSON object.'",
        ],
        former: &[],
        note: "gemini reports tokens, not dollars.",
    },
];

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static RunnerPreset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The present command for what an earlier version wrote as the command of a decision.
pub(super) fn renewed_tick(tick: &str) -> Option<&'static str> {
    let known = PRESETS.iter().find(|preset| preset.former_ticks.contains(&tick))?;
    Some(known.tick)
}

/// The present command for what an earlier version wrote as the command of a worker.
pub(super) fn renewed(interactive: &str) -> Option<&'static str> {
    let known = PRESETS.iter().find(|preset| preset.former.contains(&interactive))?;
    Some(known.interactive)
}

/// Which of the known agents are on the `PATH` of that environment, in the order in which they are offered.
pub fn found_on_path(env: &Env) -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).filter(|name| installed(env, name)).collect()
}

/// Whether a program is on the `PATH` of that environment.
pub(super) fn installed(env: &Env, name: &str) -> bool {
    let Some(path) = env.get("PATH") else { return false };
    split_paths(path).filter(|folder| folder.is_absolute()).any(|folder| is_program(&folder.join(name)))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
