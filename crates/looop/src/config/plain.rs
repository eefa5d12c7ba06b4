//! Whether the command of a worker calls no model, as far as its text tells.
//!
//! A command is taken for plain if all programs that it seems to call are shells, programs known to call no model, or
//! shell scripts whose text names no agent and no provider of models and runs no program whose own code is out of
//! sight (an interpreter, a container). Any other program is unknown and counts as one that may spend.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use looop_core::admit::names_agent;
use looop_core::shell::{calls, is_of_the_shell};

/// Longest script that is read.
const LONGEST: u64 = 256 << 10;

/// Words that tell of a model, wherever they stand in a script.
const MODELS: [&str; 29] = [
    "aider",
    "amp",
    "anthropic",
    "auggie",
    "bedrock",
    "chatgpt",
    "claude",
    "cline",
    "codex",
    "copilot",
    "crush",
    "cursor",
    "deepseek",
    "droid",
    "gemini",
    "goose",
    "gpt",
    "grok",
    "groq",
    "llama",
    "llm",
    "mistral",
    "ollama",
    "openai",
    "opencode",
    "openrouter",
    "openhands",
    "qwen",
    "vertex",
];

/// Shells, which run a script that can be read.
const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Programs that call no model themselves. What they run is among the programs of the command.
const KNOWN: &[&str] = &[
    "[",
    "awk",
    "base64",
    "basename",
    "cat",
    "cmp",
    "column",
    "comm",
    "cp",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "env",
    "expr",
    "false",
    "fgrep",
    "file",
    "fold",
    "git",
    "grep",
    "head",
    "htop",
    "id",
    "jq",
    "less",
    "ln",
    "ls",
    "man",
    "mkdir",
    "mv",
    "nano",
    "nice",
    "nl",
    "nohup",
    "od",
    "paste",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rm",
    "sed",
    "seq",
    "setsid",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "stdbuf",
    "tac",
    "tail",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "tty",
    "uname",
    "uniq",
    "vim",
    "wc",
    "whoami",
    "xxd",
];

/// Programs that run code which a script does not show.
const OPAQUE: [&str; 17] = [
    "bun", "bunx", "deno", "docker", "lua", "node", "npm", "npx", "perl", "php", "pipx", "podman", "pnpm",
    "ruby", "ssh", "uv", "uvx",
];

/// Whether a command calls no model, as far as can be told.
pub(crate) fn calls_no_model(command: &str) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let command = at_home(command, home.as_deref());
    // A program that only the running shell knows may be anything.
    if command.contains(['$', '`']) || names_model(&command) {
        return false;
    }
    calls(&command).iter().all(|program| is_plain(program, &command))
}

/// The command with the home folder in place.
fn at_home(command: &str, home: Option<&Path>) -> String {
    let Some(home) = home.and_then(Path::to_str) else { return command.to_owned() };
    let command = command.replace("${HOME}/", &format!("{home}/")).replace("$HOME/", &format!("{home}/"));
    command.replace(" ~/", &format!(" {home}/"))
}

fn is_plain(program: &str, command: &str) -> bool {
    if SHELLS.contains(&program) {
        return script_of(program, command).is_none_or(|script| is_plain_script(&script));
    }
    if is_opaque(program) {
        return false;
    }
    if program.contains('/') {
        return is_plain_script(Path::new(program));
    }
    // These run a text that is not shown.
    let hides = matches!(program, "." | "eval" | "source");
    KNOWN.contains(&program)
        || is_of_the_shell(program) && !hides
        || on_path(program).is_some_and(|path| is_plain_script(&path))
}

/// The script that a shell is given, if it is given one.
pub(crate) fn script_of(shell: &str, command: &str) -> Option<PathBuf> {
    let is_shell = |word: &str| word.rsplit('/').next() == Some(shell) && SHELLS.contains(&shell);
    let mut words = command.split_whitespace().skip_while(|word| !is_shell(word)).skip(1);
    let first = words.find(|word| !word.starts_with('-'))?;
    let inside = command.split_whitespace().any(|word| word.starts_with('-') && word.ends_with('c'));
    // The text after -c is among the programs of the command.
    (!inside).then(|| PathBuf::from(first.trim_matches(['\'', '"'])))
}

/// Whether a file is a shell script that names no model.
fn is_plain_script(path: &Path) -> bool {
    let Some(text) = read(path) else { return false };
    let first = text.lines().next().unwrap_or_default();
    let line = first.strip_prefix("#!").map(|line| line.replace('/', " "));
    let by_shell = line.is_none_or(|line| line.split_whitespace().any(|word| SHELLS.contains(&word)));
    by_shell && !names_model(&text) && !calls(&text).iter().any(|name| is_opaque(name))
}

fn is_opaque(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    OPAQUE.contains(&name) || name.starts_with("python")
}

fn read(path: &Path) -> Option<String> {
    // A relative path is looked up where the worker runs, which is not known yet.
    let path = fs::canonicalize(path).ok().filter(|_| path.is_absolute())?;
    path.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= LONGEST)?;
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

fn names_model(text: &str) -> bool {
    let mut words = text.split(|char: char| !char.is_ascii_alphanumeric());
    names_agent(text) || words.any(|word| MODELS.contains(&word.to_ascii_lowercase().as_str()))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn shell_scripts_that_name_no_model_are_told_from_what_may_spend() {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            path.display().to_string()
        };
        let plain = script(
            "plain",
            "#!/bin/sh\ncolor=$(\"$LOOOP_BIN\" ask --prompt x)\necho \"$color\" > out\nmake\n",
        );
        let bare = script("bare.sh", "echo it is done\n");
        let agent = script("agent.sh", "#!/bin/bash\nexec claude \"$1\"\n");
        let curl = script("curl.sh", "curl https://api.openai.com/v1/chat\n");
        let hidden = script("hidden.sh", "python3 /somewhere/tool.py\n");
        let python = script("tool", "#!/usr/bin/env python3\nprint(1)\n");
        let binary = script("binary", "\u{7f}ELF");
        let table = [
            (format!("bash {plain} {{{{prompt_file}}}}"), true),
            (format!("bash '{bare}' {{{{prompt_file}}}}"), true),
            (format!("{plain} {{{{prompt_file}}}}"), true),
            (format!("cat {{{{prompt_file}}}} && sh {plain}"), true),
            ("bash -c 'cat {{prompt_file}}; sleep 1'".to_owned(), true),
            ("cat {{prompt_file}}".to_owned(), true),
            ("echo '{\"action\":\"noop\"}'".to_owned(), true),
            ("eval x".to_owned(), false),
            (format!("bash {agent} {{{{prompt_file}}}}"), false),
            (format!("sh {curl} {{{{prompt_file}}}}"), false),
            (format!("sh {hidden} {{{{prompt_file}}}}"), false),
            (format!("{python} {{{{prompt_file}}}}"), false),
            ("python3 tool.py {{prompt_file}}".to_owned(), false),
            ("bash no-such-script.sh {{prompt_file}}".to_owned(), false),
            ("claude {{prompt_file}}".to_owned(), false),
            ("no-such-agent {{prompt_file}}".to_owned(), false),
            ("$AGENT {{prompt_file}}".to_owned(), false),
            (format!("sh {plain} | my-agent {{{{prompt_file}}}}"), false),
        ];
        for (command, expected) in table {
            assert_eq!(calls_no_model(&command), expected, "{command}");
        }
        assert!(!is_plain_script(Path::new(&format!("{binary}-not-there"))));
        assert_eq!(at_home("sh $HOME/a ~/b", Some(Path::new("/h"))), "sh /h/a /h/b");
    }
}
