//! Which commands run an agent that costs money.

/// Agents that are known.
const AGENTS: [&str; 5] = ["claude", "codex", "opencode", "pi", "gemini"];
/// Words in front of a command that are not the command.
const BEFORE: [&str; 13] = [
    "bash", "command", "env", "exec", "if", "nice", "nohup", "setsid", "sh", "stdbuf", "sudo", "time",
    "while",
];

/// Whether a shell command runs one of the known agents, as far as that can be read off it.
pub fn names_agent(command: &str) -> bool {
    agent_of(command).is_some()
}

/// The known agent that a shell command runs, as far as that can be read off it.
pub fn agent_of(command: &str) -> Option<&'static str> {
    command.split([';', '|', '&', '(', ')', '{', '}', '\n', '`', '\'', '"']).find_map(|piece| {
        let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
        let mut words = piece.split_whitespace();
        let word =
            words.find(|word| !is_setting(word) && !word.starts_with('-') && !BEFORE.contains(word))?;
        AGENTS.into_iter().find(|agent| *agent == word.rsplit('/').next().unwrap_or(word))
    })
}

#[cfg(test)]
mod tests {
    use super::names_agent;

    #[test]
    fn agents_are_told_from_plain_commands() {
        let table = [
            ("claude -p x", true),
            ("A=1 /usr/bin/codex exec", true),
            ("cd x && exec pi @{{prompt_file}}", true),
            ("bash -c 'gemini -p hi'", true),
            ("nohup env -i opencode run", true),
            ("make test", false),
            ("cat claude.md", false),
            ("echo pi", false),
            ("./claude-mock", false),
            ("", false),
        ];
        for (command, expected) in table {
            assert_eq!(names_agent(command), expected, "{command}");
        }
    }
}
