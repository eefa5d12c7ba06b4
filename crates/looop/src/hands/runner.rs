//! Which command a worker runs, and why it may have none.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::task::Task;
use crate::config::{Config, Template};

/// First words of a shell command that are no programs.
const SHELL_WORDS: [&str; 32] = [
    ".", ":", "!", "alias", "builtin", "case", "cd", "command", "declare", "eval", "exec", "exit", "export",
    "for", "function", "if", "let", "local", "popd", "pushd", "read", "select", "set", "shopt", "source",
    "time", "trap", "type", "ulimit", "umask", "until", "while",
];

/// The command of a worker, and the runner whose it is.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) runner: Option<String>,
    pub(crate) command: Template,
}

/// The command that a task means, or why it has none. Looks at the configuration alone.
pub(crate) fn agent(config: &Config, task: &Task) -> Result<Agent, String> {
    let told = match (task.prompt.trim().is_empty(), task.answers.is_empty()) {
        (false, _) => Some("prompt"),
        (true, false) => Some("answer"),
        (true, true) => None,
    };
    if let Some(runner) = &task.runner
        && !config.runners.contains_key(runner.as_str())
    {
        return Err(unknown(config, runner));
    }
    if let Some(command) = &task.command {
        let command = Template::new(command).map_err(|reason| format!("the command has {reason}"))?;
        if let Some(told) = told.filter(|_| !command.takes_prompt_file()) {
            return Err(format!(
                "the command does not contain {{{{prompt_file}}}}, so the {told} would reach nobody"
            ));
        }
        return Ok(Agent { runner: task.runner.clone(), command });
    }
    let runner = task.runner.as_deref().or_else(|| config.worker_runner()).ok_or_else(nobody)?;
    let interactive = config.runners.get(runner).and_then(|runner| runner.interactive.clone());
    let command = interactive.ok_or_else(|| {
        format!("runner \"{runner}\" cannot run a worker: runners.{runner}.interactive is not set")
    })?;
    let command = match &task.model {
        Some(model) => command.with_model(model).ok_or_else(|| {
            format!("the command of runner \"{runner}\" runs no agent that takes a model, and the goal says {model}")
        })?,
        None => command,
    };
    if told.is_none() {
        return Err(format!("there is no prompt, and runner \"{runner}\" would have nothing to do"));
    }
    Ok(Agent { runner: Some(runner.to_owned()), command })
}

fn unknown(config: &Config, runner: &str) -> String {
    let names: Vec<&str> = config.runners.keys().map(crate::config::RunnerName::as_str).collect();
    let known =
        if names.is_empty() { "none is".to_owned() } else { format!("known are {}", names.join(", ")) };
    format!("runner \"{runner}\" is not configured; {known}")
}

fn nobody() -> String {
    "no configured runner can run a worker: set runners.<name>.interactive in config.toml, or give a command"
        .to_owned()
}

/// Why the runner's program cannot be started with this environment, as far as that can be seen.
pub(crate) fn missing(agent: &Agent, env: &[(String, String)]) -> Option<String> {
    let runner = agent.runner.as_ref()?;
    let program = program(agent.command.as_str())?;
    find(program, env).is_none().then(|| format!("{program} of runner \"{runner}\" is not on the PATH"))
}

/// The file of a program, as far as that can be told. One that depends on a working directory is taken as it is.
pub(crate) fn find(program: &str, env: &[(String, String)]) -> Option<PathBuf> {
    let value = |name: &str| env.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value);
    let there = |file: PathBuf| is_program(&file).then_some(file);
    match program.strip_prefix("~/") {
        Some(below) => there(Path::new(value("HOME")).join(below)),
        None if program.starts_with('/') => there(program.into()),
        None if program.contains('/') => Some(program.into()),
        None => std::env::split_paths(value("PATH")).map(|folder| folder.join(program)).find_map(there),
    }
}

/// The program that a shell command begins with, where that is plain to see.
pub(crate) fn program(command: &str) -> Option<&str> {
    let is_setting = |word: &&str| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    };
    let word = command.split_whitespace().find(|word| !is_setting(word))?;
    let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+/~@".contains(&b));
    (is_plain && !SHELL_WORDS.contains(&word)).then_some(word)
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use looop_core::model::plan::Author;

    use super::*;
    use crate::config::{Env, from_bytes};
    use crate::hands::task::Told;

    fn config(text: &str) -> Config {
        let file = (Path::new("config.toml"), text.as_bytes());
        from_bytes(Some(file), &Env::default()).unwrap().config
    }

    fn reason(config: &Config, task: &Task) -> String {
        agent(config, task).unwrap_err()
    }

    const TWO: &str = "default = [\"builtin\", \"b\"]\n[runners.a]\ninteractive = \"a {{prompt_file}}\"\n\
                       [runners.b]\ntick = \"b\"\ninteractive = \"b {{prompt_file}}\"\n[runners.c]\ntick = \"c\"\n";

    #[test]
    fn the_deciders_come_before_the_other_runners() {
        assert_eq!(config(TWO).worker_runner(), Some("b"));
        assert_eq!(config("[runners.a]\ninteractive = \"a {{prompt_file}}\"\n").worker_runner(), Some("a"));
        let tick_only = config("default = \"c\"\n[runners.c]\ntick = \"c\"\n");
        assert_eq!(tick_only.worker_runner(), None);
        assert!(reason(&tick_only, &Task::new("w~1", "do it", Author::Person)).contains("interactive"));
    }

    #[test]
    fn refusals_say_why() {
        let task = Task::new("w~1", "do it", Author::Person);
        let with = |runner: Option<&str>, command: Option<&str>| Task {
            runner: runner.map(str::to_owned),
            command: command.map(str::to_owned),
            ..task.clone()
        };
        let config = config(TWO);
        assert_eq!(
            reason(&config, &with(Some("d"), None)),
            "runner \"d\" is not configured; known are a, b, c"
        );
        assert_eq!(
            reason(&config, &with(Some("c"), None)),
            "runner \"c\" cannot run a worker: runners.c.interactive is not set"
        );
        assert!(reason(&config, &with(None, Some("cat"))).ends_with("the prompt would reach nobody"));
        assert!(
            reason(&config, &with(None, Some("cat {{prompt}}"))).contains("unknown placeholder {{prompt}}")
        );
        assert!(reason(&config, &Task { prompt: " ".to_owned(), ..task.clone() }).contains("no prompt"));
        let mut bare = Task { prompt: String::new(), ..with(None, Some("cat")) };
        assert!(agent(&config, &bare).unwrap().runner.is_none());
        let (ask, question, answer) = ("w-1".to_owned(), "?".to_owned(), "!".to_owned());
        bare.answers.push(Told { ask, question, answer });
        assert!(reason(&config, &bare).ends_with("the answer would reach nobody"));
        assert_eq!(agent(&config, &task).unwrap().runner.as_deref(), Some("b"));
    }

    #[test]
    fn the_program_is_the_first_plain_word() {
        let table = [
            ("claude --x", Some("claude")),
            ("A=1 B_2=x claude", Some("claude")),
            ("~/bin/pi @f", Some("~/bin/pi")),
            ("exec claude", None),
            ("(claude)", None),
            ("\"my agent\" x", None),
            ("$AGENT x", None),
            ("", None),
        ];
        for (command, expected) in table {
            assert_eq!(program(command), expected, "{command}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_missed() {
        let config = config("[runners.a]\ninteractive = \"no-such-agent {{prompt_file}}\"\n");
        let found = agent(&config, &Task::new("w~1", "do it", Author::Person)).unwrap();
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        assert_eq!(missing(&found, &env).unwrap(), "no-such-agent of runner \"a\" is not on the PATH");
        let bash = Agent { command: Template::new("bash {{prompt_file}}").unwrap(), ..found };
        assert_eq!(missing(&bash, &env), None);
    }
}
