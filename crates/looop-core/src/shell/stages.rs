//! A plain pipeline: commands of plain words, joined by `|`, and nothing else of the shell.
//!
//! Such a text means the same without a shell, so that looop can start each command by itself. Everything that a shell
//! would expand, redirect, assign, match or run otherwise makes a text no plain pipeline, and the reason is named.

use thiserror::Error;

/// Why a text is no plain pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotPlain {
    /// There is no command, or none on one side of a `|`.
    #[error("a command is missing")]
    Missing,
    /// A character that is not shown.
    #[error("it contains a character that is not shown")]
    Hidden,
    /// More than one line.
    #[error("it has more than one line")]
    Lines,
    /// More commands than one pipeline may have.
    #[error("it has more than {MOST} commands")]
    Long,
    /// A quote that is not closed, or a backslash at the end.
    #[error("a quote or a backslash is not closed")]
    Open,
    /// `$` or a backquote, which the shell replaces.
    #[error("`{0}` is an expansion")]
    Expansion(char),
    /// `<` or `>`.
    #[error("`{0}` is a redirection")]
    Redirection(char),
    /// Another operator of the shell.
    #[error("`{0}` is an operator of the shell")]
    Operator(&'static str),
    /// A character that the shell may match with file names or expand, and that is not quoted.
    #[error("`{0}` is not quoted")]
    Unquoted(char),
    /// A `#` at the start of a word.
    #[error("it has a comment")]
    Comment,
    /// A variable is set.
    #[error("`{0}` sets a variable")]
    Assignment(String),
    /// A word of the shell's grammar, or a command of the shell itself.
    #[error("`{0}` is a word of the shell")]
    Word(String),
}

/// Most commands of a pipeline.
const MOST: usize = 16;

/// Words of the grammar where a command begins, and commands that only the shell has: none of them is a program.
const OF_THE_SHELL: &[&str] = &[
    ".",
    ":",
    "]]",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "then",
    "time",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// Settings of a shell that hold without one: nothing is expanded, and a pipeline fails with any of its commands.
const STRICT: [&str; 6] =
    ["set -e", "set -u", "set -eu", "set -o pipefail", "set -eo pipefail", "set -euo pipefail"];

/// Whether a word is no program but a word of the shell, where a command begins.
pub fn is_of_the_shell(word: &str) -> bool {
    OF_THE_SHELL.binary_search(&word).is_ok()
}

/// The commands of a plain pipeline, each as its words, or why the text is none.
pub fn stages(text: &str) -> Result<Vec<Vec<String>>, NotPlain> {
    let text = text.trim_matches([' ', '\t', '\n']);
    let mut split = Splitter::default();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\'' => split.single(&mut chars)?,
            '"' => split.double(&mut chars)?,
            // A backslash at the end of the text may have had a blank behind it that was cut off.
            '\\' => split.push(shown(chars.next().ok_or(NotPlain::Open)?)?),
            ' ' | '\t' => split.end_word(),
            '|' if chars.peek() == Some(&'|') => return Err(NotPlain::Operator("||")),
            '|' if chars.peek() == Some(&'&') => return Err(NotPlain::Operator("|&")),
            '|' => split.end_stage()?,
            '#' if split.word.is_none() => return Err(NotPlain::Comment),
            other => split.push(plain(other)?),
        }
    }
    split.end_stage()?;
    Ok(split.stages)
}

/// The one pipeline of a shell script, or why there is none: beside it there are only empty lines, comments, and settings
/// that hold for every pipeline without a shell.
pub fn script_stages(script: &str) -> Result<Vec<Vec<String>>, NotPlain> {
    let (first, rest) = script.split_once('\n').unwrap_or((script, ""));
    let interpreter = first.strip_prefix("#!").unwrap_or_default();
    let mut words = interpreter.split_whitespace().filter(|word| *word != "/usr/bin/env");
    let shell = words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    if !matches!(shell, "sh" | "bash" | "dash") || words.next().is_some() {
        return Err(NotPlain::Word(first.to_owned()));
    }
    let counts = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !STRICT.contains(&line)
    };
    let mut lines = rest.lines().filter(counts);
    let line = lines.next().ok_or(NotPlain::Missing)?;
    if lines.next().is_some() { Err(NotPlain::Lines) } else { stages(line) }
}

#[derive(Default)]
struct Splitter {
    stages: Vec<Vec<String>>,
    stage: Vec<String>,
    /// The word that is being read; a quote begins one even if nothing is in it.
    word: Option<String>,
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

impl Splitter {
    fn push(&mut self, char: char) {
        self.word.get_or_insert_default().push(char);
    }

    fn single(&mut self, chars: &mut Chars<'_>) -> Result<(), NotPlain> {
        self.word.get_or_insert_default();
        loop {
            match chars.next().ok_or(NotPlain::Open)? {
                '\'' => return Ok(()),
                char => self.push(quoted(char)?),
            }
        }
    }

    fn double(&mut self, chars: &mut Chars<'_>) -> Result<(), NotPlain> {
        self.word.get_or_insert_default();
        loop {
            match chars.next().ok_or(NotPlain::Open)? {
                '"' => return Ok(()),
                char @ ('$' | '`') => return Err(NotPlain::Expansion(char)),
                '\\' => match chars.next().ok_or(NotPlain::Open)? {
                    char @ ('$' | '`' | '"' | '\\') => self.push(char),
                    '\n' => return Err(NotPlain::Lines),
                    char => {
                        self.push('\\');
                        self.push(quoted(char)?);
                    }
                },
                char => self.push(quoted(char)?),
            }
        }
    }

    fn end_word(&mut self) {
        self.stage.extend(self.word.take());
    }

    fn end_stage(&mut self) -> Result<(), NotPlain> {
        self.end_word();
        if self.stages.len() == MOST {
            return Err(NotPlain::Long);
        }
        let stage = std::mem::take(&mut self.stage);
        match stage.first() {
            None => return Err(NotPlain::Missing),
            Some(program) if program.is_empty() => return Err(NotPlain::Missing),
            Some(program) if program.contains('=') => return Err(NotPlain::Assignment(program.clone())),
            // To bash a command that begins with % is one of its jobs.
            Some(program) if is_of_the_shell(program) || program.starts_with('%') => {
                return Err(NotPlain::Word(program.clone()));
            }
            Some(_) => self.stages.push(stage),
        }
        Ok(())
    }
}

/// A character outside quotes that stands for itself.
fn plain(char: char) -> Result<char, NotPlain> {
    match char {
        '$' | '`' => Err(NotPlain::Expansion(char)),
        '<' | '>' => Err(NotPlain::Redirection(char)),
        ';' => Err(NotPlain::Operator(";")),
        '&' => Err(NotPlain::Operator("&")),
        '(' => Err(NotPlain::Operator("(")),
        ')' => Err(NotPlain::Operator(")")),
        '*' | '?' | '[' | ']' | '{' | '}' | '~' | '!' => Err(NotPlain::Unquoted(char)),
        _ => shown(char),
    }
}

/// A character in quotes, where a line may end.
fn quoted(char: char) -> Result<char, NotPlain> {
    if char == '\n' { Ok(char) } else { shown(char) }
}

fn shown(char: char) -> Result<char, NotPlain> {
    match char {
        '\n' => Err(NotPlain::Lines),
        '\t' => Ok(char),
        char if crate::shown::is_hidden(char) => Err(NotPlain::Hidden),
        _ => Ok(char),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match stages(text) {
            Ok(stages) => format!("{stages:?}"),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn plain_words_and_quotes_are_read() {
        assert!(OF_THE_SHELL.is_sorted());
        let table: [(&str, &[&[&str]]); 14] = [
            ("gh pr list", &[&["gh", "pr", "list"]]),
            ("  gh\tpr  list \n", &[&["gh", "pr", "list"]]),
            (
                "gh pr list --json title | jq -r '.[].title'",
                &[&["gh", "pr", "list", "--json", "title"], &["jq", "-r", ".[].title"]],
            ),
            ("a|b|c", &[&["a"], &["b"], &["c"]]),
            ("a ''", &[&["a", ""]]),
            ("a \"\"b''c", &[&["a", "bc"]]),
            (r#"a "\$x \" \\ \n `"#, &[]),
            (r#"a "\$x \" \\ \n \`""#, &[&["a", "$x \" \\ \\n `"]]),
            (r"a \$x \| \\ b\ c", &[&["a", "$x", "|", "\\", "b c"]]),
            ("a 'x\ny' \"p\nq\"", &[&["a", "x\ny", "p\nq"]]),
            ("a x#y --k=v 'A=b'", &[&["a", "x#y", "--k=v", "A=b"]]),
            ("a '*?[~{!#;&<>$`'", &[&["a", "*?[~{!#;&<>$`"]]),
            ("a \"!*?[~{#;&<>'\"", &[&["a", "!*?[~{#;&<>'"]]),
            ("größe 'ü'", &[&["größe", "ü"]]),
        ];
        for (text, expected) in table {
            let expected: Vec<Vec<String>> =
                expected.iter().map(|stage| stage.iter().map(|word| (*word).to_owned()).collect()).collect();
            let read = stages(text);
            assert_eq!(read.clone().unwrap_or_default(), expected, "{text}: {read:?}");
        }
    }

    #[test]
    fn everything_else_is_named() {
        let table = [
            ("", "a command is missing"),
            ("|a", "a command is missing"),
            ("a |", "a command is missing"),
            ("a | | b", "a command is missing"),
            ("'' a", "a command is missing"),
            ("a\nb", "it has more than one line"),
            ("a \\\nb", "it has more than one line"),
            ("a \"b\\\nc\"", "it has more than one line"),
            ("a\rb", "it contains a character that is not shown"),
            ("a 'b\u{1}'", "it contains a character that is not shown"),
            ("a \u{202e}b", "it contains a character that is not shown"),
            ("a \u{7f}", "it contains a character that is not shown"),
            ("a 'b", "a quote or a backslash is not closed"),
            ("a \"b", "a quote or a backslash is not closed"),
            ("a \\", "a quote or a backslash is not closed"),
            ("a \\ ", "a quote or a backslash is not closed"),
            ("a $x", "`$` is an expansion"),
            ("a \"$x\"", "`$` is an expansion"),
            ("a $'x'", "`$` is an expansion"),
            ("a `x`", "``` is an expansion"),
            ("a \"`x`\"", "``` is an expansion"),
            ("a > b", "`>` is a redirection"),
            ("a 2>&1", "`>` is a redirection"),
            ("a <<< b", "`<` is a redirection"),
            ("a || b", "`||` is an operator of the shell"),
            ("a |& b", "`|&` is an operator of the shell"),
            ("a; b", "`;` is an operator of the shell"),
            ("a && b", "`&` is an operator of the shell"),
            ("a &", "`&` is an operator of the shell"),
            ("(a)", "`(` is an operator of the shell"),
            ("f() a", "`(` is an operator of the shell"),
            ("a *", "`*` is not quoted"),
            ("a b?", "`?` is not quoted"),
            ("[ a ]", "`[` is not quoted"),
            ("a {b,c}", "`{` is not quoted"),
            ("a ~/b", "`~` is not quoted"),
            ("! a", "`!` is not quoted"),
            ("a # b", "it has a comment"),
            ("#a", "it has a comment"),
            ("A=b c", "`A=b` sets a variable"),
            ("A+=b c", "`A+=b` sets a variable"),
            ("'A=b' c", "`A=b` sets a variable"),
            ("if a", "`if` is a word of the shell"),
            ("a | time b", "`time` is a word of the shell"),
            ("a | \"read\" b", "`read` is a word of the shell"),
            ("cd x", "`cd` is a word of the shell"),
            ("eval x", "`eval` is a word of the shell"),
            ("a | %1", "`%1` is a word of the shell"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text:?}");
        }
        assert_eq!(stages(&["a"; 16].join("|")).unwrap().len(), 16);
        assert_eq!(read(&["a"; 17].join("|")), "it has more than 16 commands");
    }

    #[test]
    fn a_script_of_one_pipeline_is_one() {
        let table = [
            ("#!/bin/sh\n# looop:trust=owner\n\ngh pr list | jq .\n", true),
            ("#!/usr/bin/env bash\ngh pr list", true),
            ("#!/bin/bash\nset -euo pipefail\ngh pr list", true),
            ("#!/bin/bash\nset -x\ngh pr list", false),
            ("#!/bin/sh -e\ngh pr list", false),
            ("#!/usr/bin/python3\ngh pr list", false),
            ("#!/bin/sh\ngh pr list\ngh pr list\n", false),
            ("#!/bin/sh\ngh pr 'li\nst'\n", false),
            ("#!/bin/sh\n", false),
            ("gh pr list", false),
            ("", false),
        ];
        for (script, expected) in table {
            let read = script_stages(script);
            assert_eq!(read.is_ok(), expected, "{script:?}: {read:?}");
        }
    }
}
