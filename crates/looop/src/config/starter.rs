//! The config that `looop init` writes.

use super::preset::RunnerPreset;

/// A short commented `config.toml`: with an agent, recipes are tried first and the agent decides the rest; without
/// one the built-in rules decide alone. Folders of programs are shown in the sandbox.
pub fn render_starter(runner: Option<&RunnerPreset>, tools: &[String]) -> String {
    let (deciders, agent) = match runner {
        Some(preset) => (format!("[\"builtin\", \"{}\"]", preset.name), agent_table(preset)),
        None => ("\"builtin\"".to_owned(), NO_AGENT.to_owned()),
    };
    let tools = match tools {
        [] => "# sandbox_tools = [\"~/.cargo/bin\", \"~/.rustup\"]".to_owned(),
        tools => {
            let list: Vec<String> = tools.iter().map(|tool| toml_string(tool)).collect();
            format!("sandbox_tools = [{}]", list.join(", "))
        }
    };
    format!(
        "\
# Settings of this looop profile. `looop help config` lists every key; the environment beats this file.

# Who decides, in this order. \"builtin\" serves goals that carry a recipe and costs nothing.
default = {deciders}

# Durations are seconds, or \"500ms\", \"30s\", \"10m\", \"2h\", \"1d\".
interval = \"60s\"

# Paid decisions an hour, and dollars a day; 0 switches either off.
max_decides_per_hour = 120
# max_daily_usd = 10

# The home is empty for what a decider runs; these folders of programs are shown.
{tools}

# Run when you are needed; it gets LOOOP_MESSAGE, LOOOP_ID and LOOOP_KIND.
# notification = \"notify-send looop -- \\\"$LOOOP_MESSAGE\\\"\"
# ntfy = \"https://ntfy.sh/a-topic-only-you-know\"

{agent}"
    )
}

fn agent_table(preset: &RunnerPreset) -> String {
    format!(
        "\
# tick makes one decision. interactive starts a worker; nobody watches it, so it must not stop to ask.
# {note}
[runners.{name}]
tick = {tick}
interactive = {interactive}
",
        name = preset.name,
        note = preset.note,
        tick = toml_string(preset.tick),
        interactive = toml_string(preset.interactive),
    )
}

fn toml_string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

const NO_AGENT: &str = "\
# An agent can decide what no recipe covers; `looop init --runner claude` writes such a table.
# [runners.mine]
# tick = \"my-agent --json {{prompt_file}}\"
# interactive = \"my-agent {{prompt_file}}\"
";
