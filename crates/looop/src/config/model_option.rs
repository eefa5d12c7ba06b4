//! The model of a worker, in the option by which its agent takes it.

use std::ops::Range;

use super::template::Template;

/// The agents that we know, and the option of each.
const OPTIONS: [(&str, &str); 5] =
    [("claude", "--model"), ("codex", "-m"), ("opencode", "-m"), ("pi", "--model"), ("gemini", "-m")];
/// Words after which a command stands.
const BEFORE: [&str; 9] = ["command", "do", "env", "exec", "nice", "nohup", "setsid", "stdbuf", "then"];

impl Template {
    /// The command with this model, instead of the one that it names itself. Nothing where it runs none of the agents in
    /// a place where that is plain to see. The model is one plain word.
    pub(crate) fn with_model(&self, model: &str) -> Option<Self> {
        let text = self.as_str();
        let words = words(text);
        let (at, option) = words.iter().enumerate().find_map(|(at, word)| {
            let name = text[word.clone()].rsplit('/').next()?;
            let (_, option) = OPTIONS.iter().find(|(agent, _)| *agent == name)?;
            begins_command(text, &words[..at]).then_some((at, *option))
        })?;
        let mut with = format!("{} {option} {model}", &text[..words[at].end]);
        let mut from = words[at].end;
        for own in own_model(text, &words[at + 1..]) {
            with.push_str(text[from..own.start].trim_end());
            from = own.end;
        }
        with.push_str(&text[from..]);
        Self::new(&with).ok()
    }
}

/// The words of a shell command, split where nothing is quoted.
fn words(text: &str) -> Vec<Range<usize>> {
    let (mut words, mut start, mut quote) = (Vec::new(), None, None);
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, _) if letter.is_whitespace() => {
                words.extend(start.take().map(|start| start..at));
                continue;
            }
            (Some(_) | None, _) => {}
        }
        start.get_or_insert(at);
    }
    words.extend(start.map(|start| start..text.len()));
    words
}

/// Whether what follows these words is a program: they are settings of variables, or such words as `exec`, or end a
/// command.
fn begins_command(text: &str, before: &[Range<usize>]) -> bool {
    let is_setting = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let word = before.iter().rev().map(|word| &text[word.clone()]).find(|word| !is_setting(word));
    word.is_none_or(|word| BEFORE.contains(&word) || word.ends_with([';', '&', '|', '(', '{']))
}

/// Where the command names a model itself, up to where the next command begins.
fn own_model(text: &str, words: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let said = &text[word.clone()];
        if said.starts_with([';', '&', '|']) || said.ends_with(';') {
            break;
        }
        if said == "-m" || said == "--model" {
            found.extend(rest.next().map(|value| word.start..value.end));
        } else if said.starts_with("--model=") {
            found.push(word.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset::PRESETS;

    fn with(command: &str) -> Option<String> {
        Some(Template::new(command).unwrap().with_model("opus[1m]")?.as_str().to_owned())
    }

    #[test]
    fn every_preset_takes_a_model_in_its_own_option() {
        let options = ["--model", "-m", "-m", "--model", "-m"];
        for (preset, option) in PRESETS.iter().zip(options) {
            let with = with(preset.interactive).unwrap();
            let begins = format!("{} {option} opus[1m] ", preset.name);
            let rest = preset.interactive.split_once(&format!("{} ", preset.name)).unwrap();
            assert_eq!(with, format!("{}{begins}{}", rest.0, rest.1));
        }
    }

    #[test]
    fn the_model_of_the_command_gives_way_and_other_commands_take_none() {
        let table = [
            ("codex -m gpt-5 \"Read x\"", Some("codex -m opus[1m] \"Read x\"")),
            (
                "A=1 exec ~/bin/pi --provider y --model 'a b' @{{prompt_file}}",
                Some("A=1 exec ~/bin/pi --model opus[1m] --provider y @{{prompt_file}}"),
            ),
            (
                "cd /x && claude --model=sonnet --verbose {{prompt_file}}",
                Some("cd /x && claude --model opus[1m] --verbose {{prompt_file}}"),
            ),
            (
                "gemini -i \"use -m flash {{prompt_file}}\"",
                Some("gemini -m opus[1m] -i \"use -m flash {{prompt_file}}\""),
            ),
            (
                "opencode --prompt x; git commit -m done",
                Some("opencode -m opus[1m] --prompt x; git commit -m done"),
            ),
            ("cat claude.md {{prompt_file}}", None),
            ("echo claude {{prompt_file}}", None),
            ("\"my agent\" {{prompt_file}}", None),
            ("bash -c 'claude x'", None),
        ];
        for (command, expected) in table {
            assert_eq!(with(command).as_deref(), expected, "{command}");
        }
    }
}
