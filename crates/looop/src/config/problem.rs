//! One thing that is wrong with the settings: where it stands, and what to say about it.

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
};

/// What is wrong with one key, one variable, or the syntax of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub place: Place,
    /// The full key, such as `runners.pi.tick`; empty where the file could not be parsed.
    pub key: String,
    /// What is wrong.
    pub complaint: Complaint,
}

/// Where a setting was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line of a file, and the part of it that is meant.
    Line {
        /// The file.
        file: PathBuf,
        /// The line, counted from one.
        line: usize,
        /// The line and a row of carets below it.
        snippet: String,
    },
    /// A file whose parser keeps no positions: the key has to do.
    File(PathBuf),
    /// An environment variable.
    Variable(&'static str),
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Complaint {
    /// The file is not TOML, JSON or UTF-8 at all.
    Syntax(String),
    /// No such key, with advice where a known one is near.
    UnknownKey(Option<String>),
    /// A key or value that is known and will come, but is not built yet.
    NotYet(Option<String>),
    /// A value of another type than the key takes.
    WrongType {
        /// What the key takes.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A value of the right type that cannot be meant.
    BadValue(String),
}

impl Place {
    /// The place of a span in a text; without a span only the file is known.
    pub(super) fn in_file(file: &Path, text: &str, span: Option<&Range<usize>>) -> Place {
        let Some(span) = span else { return Place::File(file.to_path_buf()) };
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[..line_start].matches('\n').count() + 1;
        let end = text.ceil_char_boundary(span.end).clamp(start, line_end.max(start));
        let column = text[line_start..start].chars().count();
        let width = text[start..end].chars().count().max(1);
        let snippet = snippet(line, &text[line_start..line_end], column, width);
        Place::Line { file: file.to_path_buf(), line, snippet }
    }
}

/// The line with carets below what is meant. Long lines are shown around it; control characters cannot act.
fn snippet(number: usize, line: &str, column: usize, width: usize) -> String {
    const WIDEST: usize = 96;
    const BEFORE: usize = 40;
    let from = if column + width <= WIDEST { 0 } else { column.saturating_sub(BEFORE) };
    let shown: String = line.trim_end().chars().skip(from).take(WIDEST).map(harmless).collect();
    let carets = "^".repeat(width.min(WIDEST - (column - from).min(WIDEST - 1)));
    let gutter = number.to_string().len();
    let indent = " ".repeat(column - from);
    format!("  {number} | {shown}\n  {:gutter$} | {indent}{carets}", "")
}

/// A text of unknown origin on one line, short, and without characters that a terminal would obey.
pub(super) fn clean(text: &str) -> String {
    const LONGEST: usize = 400;
    let more = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    text.chars().take(LONGEST).map(harmless).chain(more.chars()).collect()
}

fn harmless(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = if self.key.is_empty() { String::new() } else { format!("`{}`", self.key) };
        match &self.place {
            Place::Line { file, line, snippet } => {
                write!(f, "{}:{line}: {}\n{snippet}", file.display(), clean(&self.complaint.about(&subject)))
            }
            Place::File(file) => write!(f, "{}: {}", file.display(), clean(&self.complaint.about(&subject))),
            Place::Variable(name) => f.write_str(&clean(&self.complaint.about(name))),
        }
    }
}

impl Complaint {
    fn about(&self, subject: &str) -> String {
        match self {
            Complaint::Syntax(message) => message.clone(),
            Complaint::UnknownKey(None) => format!("{subject} is not a known key"),
            Complaint::UnknownKey(Some(advice)) => format!("{subject} is not a known key; {advice}"),
            Complaint::NotYet(None) => format!("{subject} is not available in this version yet"),
            Complaint::NotYet(Some(value)) => {
                format!("{subject}: {value} is not available in this version yet")
            }
            Complaint::WrongType { expected, found } => {
                format!("{subject}: expected {expected}, found {found}")
            }
            Complaint::BadValue(reason) => format!("{subject}: {reason}"),
        }
    }
}
