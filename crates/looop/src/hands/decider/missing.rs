//! Whether a runner's program was not there, so that nothing can have been called.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use looop_session::{Done, Ended};

/// Commands that only prepare for a program.
pub(crate) const HARMLESS: [&str; 7] = ["cat", "cd", "echo", "export", "mkdir", "printf", "true"];
/// Words that stand before a program.
const BEFORE: [&str; 2] = ["command", "exec"];
/// Words of the shell that can run anything.
const SHELL: [&str; 33] = [
    "!", ".", "[[", "bash", "builtin", "case", "coproc", "do", "done", "elif", "else", "env", "esac", "eval",
    "fi", "for", "function", "if", "in", "nice", "nohup", "select", "setsid", "sh", "source", "sudo", "then",
    "time", "timeout", "trap", "until", "while", "xargs",
];

/// Whether it is certain that the program of a command was never run: the shell says that it could not run something,
/// nothing was printed, and all that the command runs is either not there or only prepares for what is not.
pub(super) fn is_missing(command: &str, (env, cwd): (&[(String, String)], &Path), done: &Done) -> bool {
    let refused = matches!(done.ended, Ended::Exited(126 | 127)) && done.stdout_total == 0;
    // What the shell is told to read first may define anything.
    let altered = env.iter().any(|(name, _)| name == "BASH_ENV" || name.starts_with("BASH_FUNC_"));
    if !refused || altered {
        return false;
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value.as_str());
    let is_there = |program: &str| {
        if program.contains('/') {
            return is_program(&cwd.join(program));
        }
        std::env::split_paths(path).any(|folder| is_program(&cwd.join(folder).join(program)))
    };
    let Some(programs) = programs(command) else { return false };
    let mut rest = programs.iter().filter(|program| !HARMLESS.contains(&program.as_str())).peekable();
    rest.peek().is_some() && rest.all(|program| !SHELL.contains(&program.as_str()) && !is_there(program))
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// What a command runs, command by command; nothing where that cannot be read off it.
pub(crate) fn programs(command: &str) -> Option<Vec<String>> {
    let pieces = pieces(command)?;
    let named = pieces.iter().filter(|words| !words.is_empty()).map(|words| {
        let is_setting = |word: &str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
        let program = words.iter().find(|word| !is_setting(word) && !BEFORE.contains(&word.as_str()))?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "./_-+".contains(c);
        program.chars().all(plain).then(|| program.clone())
    });
    named.collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The words of each command, quotes taken off; nothing where other commands are within.
fn pieces(command: &str) -> Option<Vec<Vec<String>>> {
    let (mut pieces, mut word, mut quote) = (vec![Vec::new()], String::new(), None);
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            // A file that is read is no command.
            (None | Some('"'), '$') if letters.peek() == Some(&'(') => {
                letters.next();
                letters.next_if_eq(&'<')?;
                letters.by_ref().find(|letter| *letter == ')')?;
                word.push('$');
            }
            // Nor is a variable, as long as it holds no other.
            (None | Some('"'), '$') if letters.peek() == Some(&'{') => {
                letters.next();
                let plain = |letter: &char| letter.is_ascii_alphanumeric() || "_:+=-".contains(*letter);
                while letters.next_if(plain).is_some() {}
                letters.next_if_eq(&'}')?;
                word.push('$');
            }
            (None | Some('"'), '`' | '\\') | (None, '(' | ')' | '{' | '}') => return None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ' | '\t' | ';' | '&' | '|' | '\n') => {
                let last = pieces.last_mut()?;
                last.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                if !matches!(letter, ' ' | '\t') {
                    pieces.push(Vec::new());
                }
            }
            (Some(_) | None, _) => word.push(letter),
        }
    }
    pieces.last_mut()?.extend(Some(word).filter(|word| !word.is_empty()));
    quote.is_none().then_some(pieces)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::PRESETS;

    fn done(code: i32, stdout_total: u64) -> Done {
        let (stdout, stderr) = (Vec::new(), Vec::new());
        let (ended, took) = (Ended::Exited(code), Duration::ZERO);
        Done { ended, stdout, stdout_total, stderr, stderr_total: 0, took }
    }

    fn missing(command: &str, ended: &Done) -> bool {
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        is_missing(command, (&env, Path::new("/")), ended)
    }

    #[test]
    fn every_known_agent_is_found_to_be_missing() {
        for preset in PRESETS {
            let tick = ["prompt_file", "schema_file", "strict_schema_file", "budget_usd"]
                .iter()
                .fold(preset.tick.to_owned(), |tick, name| {
                    tick.replace(&format!("{{{{{name}}}}}"), "'/x/y'")
                });
            let tick = tick.replace(preset.name, "no-such-agent");
            assert!(missing(&tick, &done(127, 0)), "{tick}");
        }
    }

    #[test]
    fn only_what_is_certain_counts() {
        let table = [
            ("no-such -p", 127, 0, true),
            ("no-such -p", 1, 0, false),
            ("no-such -p", 127, 1, false),
            ("/no/such 'a | b'", 127, 0, true),
            ("A=1 exec no-such", 127, 0, true),
            ("cat x | no-such", 127, 0, true),
            ("cd x && no-such\n", 127, 0, true),
            ("ls && no-such", 127, 0, false),
            ("no-such || sleep 1", 127, 0, false),
            ("eval no-such", 127, 0, false),
            ("no-such $(ls)", 127, 0, false),
            ("no-such \"`ls`\"", 127, 0, false),
            ("$AGENT -p", 127, 0, false),
            ("no-such ${KEY:+--bare} -p", 127, 0, true),
            ("${AGENT:-no-such} -p", 127, 0, false),
            ("no-such ${KEY:+$(ls)}", 127, 0, false),
            ("(no-such)", 127, 0, false),
            ("no-such 'open", 127, 0, false),
            ("echo x", 127, 0, false),
            ("sh -c no-such", 127, 0, false),
            ("", 127, 0, false),
        ];
        for (command, code, printed, expected) in table {
            assert_eq!(missing(command, &done(code, printed)), expected, "{command}");
        }
        let env = [("PATH".to_owned(), "/bin".to_owned()), ("BASH_FUNC_x%%".to_owned(), String::new())];
        assert!(!is_missing("x", (&env, Path::new("/")), &done(127, 0)), "it may be a function");
    }
}
