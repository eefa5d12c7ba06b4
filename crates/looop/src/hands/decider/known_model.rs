//! Which model a command runs, for agents whose output does not name it.

use std::path::{Path, PathBuf};

use crate::config::Runner;

/// The model of a runner: as configured, as its command says, or as codex's own settings say.
pub(super) fn known_model(runner: &Runner, env: &[(String, String)]) -> Option<String> {
    let command = runner.tick.as_ref()?.as_str();
    let configured = runner.model.clone().or_else(|| in_command(command));
    let codex = || command.split_whitespace().any(|word| word == "codex" || word.ends_with("/codex"));
    configured.or_else(|| codex().then(|| of_codex(env)).flatten())
}

/// What follows `-m` or `--model` in a command.
fn in_command(command: &str) -> Option<String> {
    let bare = |word: &str| {
        let word = word.trim_matches(['\'', '"']);
        (!word.is_empty() && !word.contains(['$', '`', '{'])).then(|| word.to_owned())
    };
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        if word == "-m" || word == "--model" {
            return bare(words.next()?);
        }
        if let Some(model) = word.strip_prefix("--model=") {
            return bare(model);
        }
    }
    None
}

/// The model in codex's settings. What cannot be read names none, and the run counts as unmetered.
fn of_codex(env: &[(String, String)]) -> Option<String> {
    let variable =
        |name: &str| env.iter().find(|(key, _)| key == name).map(|(_, value)| PathBuf::from(value));
    let home = variable("CODEX_HOME").or_else(|| Some(variable("HOME")?.join(".codex")))?;
    let text = short_file(&home.join("config.toml"))?;
    text.parse::<toml::Table>().ok()?.get("model")?.as_str().map(str::to_owned)
}

fn short_file(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= 1 << 20).then(|| std::fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Template;

    fn model(command: &str, configured: Option<&str>, home: &Path) -> Option<String> {
        let runner = Runner {
            tick: Some(Template::tick(command).unwrap()),
            model: configured.map(str::to_owned),
            ..Runner::default()
        };
        known_model(&runner, &[("HOME".to_owned(), home.to_string_lossy().into_owned())])
    }

    #[test]
    fn the_settings_then_the_command_then_codex_say_it() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/config.toml"), "model = \"gpt-5\"\n[x]\nmodel = \"no\"\n")
            .unwrap();
        let table = [
            ("codex exec -", None, Some("gpt-5")),
            ("codex exec -m gpt-5-mini -", None, Some("gpt-5-mini")),
            ("codex exec --model='o3' -", None, Some("o3")),
            ("codex exec -m o3", Some("gpt-6-sol"), Some("gpt-6-sol")),
            ("pi -p --model \"$MODEL\"", None, None),
            ("gemini -p x", None, None),
        ];
        for (command, configured, expected) in table {
            assert_eq!(model(command, configured, home.path()).as_deref(), expected, "{command}");
        }
        assert_eq!(model("codex exec -", None, &home.path().join("absent")), None);
    }
}
