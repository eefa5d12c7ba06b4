//! What came of looking at a shell text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How many findings are kept; the first ones say enough.
const FINDINGS: usize = 48;
/// How long a reason may be, in characters.
const REASON: usize = 300;
/// How much of a piece of text is quoted in a finding, in characters.
const PIECE: usize = 60;

/// How far a shell text can be trusted to stay within scratch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Danger {
    /// It runs the programs that it names, and nothing is known against it.
    #[default]
    Plain,
    /// Its text does not tell what it does.
    Unknown,
    /// It removes, overwrites or changes something outside scratch.
    Destructive,
}

/// One thing that is unknown or destructive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is; never plain.
    pub danger: Danger,
    /// A sentence fragment for a person, with the piece of text that is meant.
    pub what: String,
}

/// What a shell text would do, as far as its grammar tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screening {
    /// The programs that it runs: base names, sorted, each once. Shell builtins and functions defined in the text
    /// itself are left out. A program outside the usual folders keeps its path, so that `./gh` is not taken for `gh`.
    pub programs: BTreeSet<String>,
    /// What is unknown or destructive about it, each with the piece of text that is meant.
    pub findings: Vec<Finding>,
    /// Whether it writes to a temporary folder, which is its own only where it is confined.
    pub shared: bool,
    /// Whether it may look at what is granted to its programs: it lists variables, or opens files that are not its own.
    pub peeks: bool,
    /// The names in it, and how often each is there.
    pub names: BTreeMap<String, usize>,
    /// Those of them that stand in the words of one of its programs, by program.
    pub given: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Screening {
    /// The worst of the findings.
    pub fn danger(&self) -> Danger {
        self.findings.iter().map(|finding| finding.danger).max().unwrap_or_default()
    }

    /// Adds what another text would do.
    pub fn merge(&mut self, other: Self) {
        self.programs.extend(other.programs);
        self.peeks |= other.peeks;
        self.shared |= other.shared;
        add(&mut self.names, other.names);
        for (program, names) in other.given {
            add(self.given.entry(program).or_default(), names);
        }
        for finding in other.findings {
            self.note(finding);
        }
    }

    /// The findings as one line for a person, the worst first, at most 300 characters.
    pub fn reason(&self) -> String {
        let mut worst_first: Vec<&Finding> = self.findings.iter().collect();
        worst_first.sort_by_key(|finding| std::cmp::Reverse(finding.danger));
        let parts: Vec<&str> = worst_first.iter().map(|finding| finding.what.as_str()).collect();
        shorten(&parts.join("; "), REASON)
    }

    /// Keeps a finding once. A full list still takes one that is worse than all in it.
    pub(super) fn note(&mut self, finding: Finding) {
        if finding.danger == Danger::Plain || self.findings.contains(&finding) {
            return;
        }
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        } else if finding.danger > self.danger() {
            self.findings.truncate(FINDINGS - 1);
            self.findings.push(finding);
        }
    }
}

fn add(counts: &mut BTreeMap<String, usize>, more: BTreeMap<String, usize>) {
    for (name, count) in more {
        *counts.entry(name).or_default() += count;
    }
}

/// A piece of text as it is quoted in a finding: on one line, short.
pub(super) fn piece(text: &str) -> String {
    shorten(text, PIECE)
}

fn shorten(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (count, char) in text.chars().enumerate() {
        if count + 1 == most && text.chars().nth(most).is_some() {
            out.push('…');
            break;
        }
        if char.is_control() {
            // Writing into a string cannot fail.
            if char == '\n' || char == '\t' {
                out.push(' ');
            } else {
                write!(out, "\\x{:02x}", u32::from(char)).unwrap_or_default();
            }
        } else {
            out.push(char);
        }
    }
    out
}
