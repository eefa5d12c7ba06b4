//! One command as it would be run: a program and its words.

use super::screening::{Danger, Finding, piece};
use super::word::Arg;

/// What a command reads as its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) enum Input {
    /// Nothing.
    #[default]
    Nothing,
    /// What another command or a file gives it.
    Given,
    /// Text that is known.
    Text(String),
}

/// A command that is about to be judged.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The base name of the program.
    pub(super) name: String,
    pub(super) args: Vec<Arg>,
    pub(super) input: Input,
}

impl Call {
    /// The command as it is quoted in a finding.
    pub(super) fn shown(&self) -> String {
        let words: Vec<&str> =
            std::iter::once(self.name.as_str()).chain(self.args.iter().map(Arg::raw)).take(12).collect();
        piece(&words.join(" "))
    }

    /// The words that are no options, with their places; `valued` options take the next word along.
    pub(super) fn operands(&self, valued: &[&str]) -> Vec<(usize, &Arg)> {
        let mut found = Vec::new();
        let (mut at, mut only_operands) = (0, false);
        while let Some(arg) = self.args.get(at) {
            let (start, _) = arg.known_start();
            if only_operands || !start.starts_with('-') || start == "-" {
                found.push((at, arg));
            } else if start == "--" {
                only_operands = true;
            } else if valued.contains(&start.as_str()) {
                at += 1;
            }
            at += 1;
        }
        found
    }

    /// The first operands as text, up to `most`; a word that hides its value ends the list with `None`.
    pub(super) fn verbs(&self, valued: &[&str], most: usize) -> Vec<Option<String>> {
        self.operands(valued).into_iter().take(most).map(|(_, arg)| arg.literal()).collect()
    }

    /// Whether a long option is given, alone or with `=value`.
    pub(super) fn has_long(&self, long: &str) -> bool {
        self.before_dashes()
            .any(|text| text.strip_prefix(long).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    }

    /// Whether a short option is given, also within a cluster such as `-rf`.
    pub(super) fn has_short(&self, short: char) -> bool {
        self.before_dashes()
            .any(|text| text.starts_with('-') && !text.starts_with("--") && text[1..].contains(short))
    }

    /// The value of an option: the next word, what follows `=`, or what is glued to a short one.
    pub(super) fn value(&self, names: &[&str]) -> Option<Arg> {
        self.args.iter().enumerate().find_map(|(at, arg)| {
            let (start, _) = arg.known_start();
            names.iter().find_map(|name| {
                if start == *name {
                    return Some(self.args.get(at + 1).cloned().unwrap_or_else(|| Arg::known("")));
                }
                let rest = start.strip_prefix(name)?;
                if let Some(value) = rest.strip_prefix('=').filter(|_| name.starts_with("--")) {
                    return Some(arg.without_start(start.len() - value.len()));
                }
                (!name.starts_with("--")).then(|| arg.without_start(name.len()))
            })
        })
    }

    /// Whether any word hides its value.
    pub(super) fn hides(&self) -> bool {
        self.args.iter().any(|arg| arg.literal().is_none())
    }

    fn before_dashes(&self) -> impl Iterator<Item = String> {
        self.args.iter().map(|arg| arg.known_start().0).take_while(|text| text != "--")
    }
}

/// What the rules say about a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict {
    pub(super) findings: Vec<Finding>,
    /// Destructive commands that are fine only because their folder is scratch.
    pub(super) in_scratch: Vec<String>,
    /// Whether something is written to a temporary folder.
    pub(super) shared: bool,
}

impl Verdict {
    pub(super) fn add(&mut self, danger: Danger, what: impl Into<String>) {
        if danger != Danger::Plain {
            self.findings.push(Finding { danger, what: what.into() });
        }
    }

    pub(super) fn unknown(&mut self, what: impl Into<String>) {
        self.add(Danger::Unknown, what);
    }

    pub(super) fn destructive(&mut self, what: impl Into<String>) {
        self.add(Danger::Destructive, what);
    }
}
