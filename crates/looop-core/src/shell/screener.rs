//! The state of one screening, and the way of a single command through it.

use super::call::{Call, Input, Verdict};
use super::screening::{Danger, Finding, Screening, piece};
use super::word::{self, Arg, Inner, Mode};
use super::{builtin, parse, peek, rules, wrap};
use std::collections::BTreeSet;

/// How often a text inside a text is parsed again.
const TEXTS: usize = 8;
/// How many words and commands are looked at in all.
const WORK: usize = 20_000;
/// How much text is parsed in all, nested texts included.
const BYTES: usize = 512 * 1024;

/// Folders whose programs are known by their base name.
const FOLDERS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
];

/// Words of the grammar: as a command's name they mean that the parser did not see what they stand for.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "time", "until", "while", "{", "}",
];

/// How the program of a command is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// Functions, builtins, then programs.
    Shell,
    /// Builtins, then programs.
    NoFunctions,
    /// Programs only.
    Program,
}

/// What is known while a text is walked.
#[derive(Debug, Default)]
pub(super) struct Screener {
    pub(super) out: Screening,
    /// Functions that the text defines for sure, at its top.
    pub(super) functions: BTreeSet<String>,
    /// Those of them whose definition has been walked past.
    pub(super) defined: BTreeSet<String>,
    /// The functions whose bodies are being walked, from the outside.
    pub(super) inside: Vec<String>,
    /// How many pipes and background lists are around this command.
    pub(super) beside: usize,
    /// What a command reads if it is not redirected.
    pub(super) input: Input,
    /// Whether the text leaves its folder, and how sure that is.
    pub(super) away: Danger,
    /// Destructive commands that are fine only in scratch.
    in_scratch: Vec<String>,
    depth: usize,
    work: usize,
    bytes: usize,
}

impl Screener {
    /// Ends the screening.
    pub(super) fn finish(mut self) -> Screening {
        for what in std::mem::take(&mut self.in_scratch) {
            let danger = self.away;
            self.note(danger, format!("{what} after the text has left its folder"));
        }
        self.out.peeks |= self.away != Danger::Plain;
        self.out
    }

    /// How many texts are around this one.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn note(&mut self, danger: Danger, what: impl Into<String>) {
        self.out.note(Finding { danger, what: what.into() });
    }

    pub(super) fn unknown(&mut self, what: impl Into<String>) {
        self.note(Danger::Unknown, what);
    }

    pub(super) fn destructive(&mut self, what: impl Into<String>) {
        self.note(Danger::Destructive, what);
    }

    /// Whether there is still work to be spent; says so once it is not.
    pub(super) fn spend(&mut self, work: usize) -> bool {
        self.work += work;
        if self.work > WORK {
            self.unknown("the text is too large to be looked at");
        }
        self.work <= WORK
    }

    /// Screens text that a shell would run, at any depth.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes += text.len();
        peek::text(self, text);
        if self.depth >= TEXTS || self.bytes > BYTES {
            return self.unknown("holds text within text too deep to follow");
        }
        match parse::program(text) {
            Ok(program) => {
                // Functions of a text of its own are gone after it.
                let (functions, defined) = (self.functions.clone(), self.defined.clone());
                self.depth += 1;
                self.program(&program);
                self.depth -= 1;
                (self.functions, self.defined) = (functions, defined);
            }
            Err(why) => self.unknown(format!("`{}` {why}", piece(text))),
        }
    }

    /// Takes a word apart and screens what is nested in it.
    pub(super) fn word(&mut self, raw: &str, mode: Mode) -> Arg {
        if !self.spend(1) {
            return Arg::hidden(raw);
        }
        let (arg, inner) = word::read(raw, mode);
        for inner in inner {
            self.inner(raw, inner);
        }
        arg
    }

    fn inner(&mut self, raw: &str, inner: Inner) {
        match inner {
            Inner::Command(text) => {
                let input = std::mem::take(&mut self.input);
                self.text(&text);
                self.input = input;
            }
            Inner::Expanded(text) => {
                self.depth += 1;
                if self.depth > TEXTS {
                    self.unknown("holds text within text too deep to follow");
                } else {
                    self.word(&text, Mode::Body);
                }
                self.depth -= 1;
            }
            Inner::Doubt(why) => self.unknown(format!("`{}` {why}", piece(raw))),
        }
    }

    /// Screens one command, given as its words.
    pub(super) fn call(&mut self, words: &[Arg], lookup: Lookup, input: Input) {
        let Some((head, args)) = words.split_first() else { return };
        if !self.spend(1) {
            return;
        }
        let Some(name) = head.literal().filter(|name| !name.is_empty()) else {
            return self.unknown(format!("`{}` hides which program it runs", head.shown()));
        };
        if RESERVED.contains(&head.raw()) && name != "[" {
            return self.unknown(format!("`{}` cannot be parsed", head.shown()));
        }
        let call = Call { name, args: args.to_vec(), input };
        if lookup == Lookup::Shell && self.functions.contains(&call.name) {
            self.function_call(&call.name);
        } else if lookup != Lookup::Program && builtin::is_builtin(&call.name) {
            peek::builtin(self, &call);
            builtin::run(self, &call);
        } else {
            self.run(call);
        }
    }

    fn function_call(&mut self, name: &str) {
        if self.inside.iter().any(|outer| outer == name) && self.beside > 0 {
            self.destructive(format!("{name} starts itself over and over"));
        }
        if self.inside.is_empty() && !self.defined.contains(name) {
            self.out.programs.insert(name.to_owned());
        }
    }

    fn run(&mut self, mut call: Call) {
        if let Some((folder, base)) = call.name.rsplit_once('/') {
            if !FOLDERS.contains(&folder) {
                self.out.programs.insert(call.name.clone());
                return self.unknown(format!("{} is a program that is not shown", piece(&call.name)));
            }
            call.name = base.to_owned();
        }
        if self.inside.contains(&call.name) && self.beside > 0 {
            self.destructive(format!("{} starts itself over and over", call.name));
        }
        self.out.programs.insert(call.name.clone());
        peek::program(self, &call);
        wrap::open(self, &call);
        let mut verdict = Verdict::default();
        rules::judge(&call, &mut verdict);
        self.take(verdict);
    }

    /// Takes what the rules found.
    pub(super) fn take(&mut self, verdict: Verdict) {
        for finding in verdict.findings {
            self.out.note(finding);
        }
        self.out.shared |= verdict.shared;
        self.in_scratch.extend(verdict.in_scratch);
        self.in_scratch.truncate(16);
    }

    /// Screens text that runs on another machine: what it does counts, its programs are not ours.
    pub(super) fn elsewhere(&mut self, text: &str) {
        let mut there =
            Self { depth: self.depth + 1, bytes: self.bytes, away: Danger::Destructive, ..Self::default() };
        there.text(text);
        self.work += there.work;
        self.bytes = there.bytes;
        for finding in there.finish().findings {
            self.out.note(finding);
        }
    }
}
