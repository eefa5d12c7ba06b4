//! One word: its literal value where it has one, and what is nested in it.

use super::screening::piece;
use super::{ansi, tame};
use brush_parser::word::{Parameter, ParameterExpr, SpecialParameter, WordPiece, WordPieceWithSource};
use brush_parser::{ParserOptions, WordParseError, word};

/// A stretch of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text that stands for itself, quotes removed.
    Text(String),
    /// Unquoted text with `*`, `?` or `[`.
    Glob(String),
    /// A leading `~`, of whomever.
    Home,
    /// A variable, by name.
    Variable(String),
    /// Anything else that is only known when it runs.
    Hidden,
}

/// A word as far as it is known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arg {
    raw: String,
    parts: Vec<Part>,
}

impl Arg {
    /// A word whose value is known.
    pub(super) fn known(text: &str) -> Self {
        Self { raw: text.to_owned(), parts: vec![Part::Text(text.to_owned())] }
    }

    /// A word of which only the spelling is known.
    pub(super) fn hidden(raw: &str) -> Self {
        Self { raw: raw.to_owned(), parts: vec![Part::Hidden] }
    }

    /// Its value, if that is known.
    pub(super) fn literal(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None })
            .collect()
    }

    /// Its value as far as it is known from the start, globs as they are written, and whether that is all of it.
    pub(super) fn known_start(&self) -> (String, bool) {
        let mut start = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) | Part::Glob(text) => start.push_str(text),
                Part::Home | Part::Variable(_) | Part::Hidden => return (start, false),
            }
        }
        (start, true)
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// As it is spelled in the text.
    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// As it is quoted in a finding.
    pub(super) fn shown(&self) -> String {
        piece(&self.raw)
    }

    /// The same word without the empty stretch that a quote opens.
    pub(super) fn without_quotes(&self) -> Self {
        let is_empty = |part: &Part| matches!(part, Part::Text(text) if text.is_empty());
        let parts = self.parts.iter().filter(|part| !is_empty(part)).cloned().collect();
        Self { raw: self.raw.clone(), parts }
    }

    /// The same word without its first stretch.
    pub(super) fn without_first(&self) -> Self {
        Self { raw: self.raw.clone(), parts: self.parts.get(1..).unwrap_or_default().to_vec() }
    }

    /// The same word without its first `count` bytes of known text.
    pub(super) fn without_start(&self, count: usize) -> Self {
        let mut parts = self.parts.clone();
        if let Some(Part::Text(text) | Part::Glob(text)) = parts.first_mut() {
            *text = text.get(count..).unwrap_or_default().to_owned();
        }
        if matches!(parts.first(), Some(Part::Text(text)) if text.is_empty()) && parts.len() > 1 {
            parts.remove(0);
        }
        Self { raw: self.raw.get(count..).unwrap_or_default().to_owned(), parts }
    }
}

/// What is nested in a word and runs when the word is expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// The text of a command substitution.
    Command(String),
    /// Text in which only substitutions matter: arithmetic, the inside of `${…}`.
    Expanded(String),
    /// The word cannot be read for sure, and why.
    Doubt(&'static str),
}

/// How a word is quoted from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A word of a command.
    Word,
    /// A pattern or expression, where parentheses and bars stand for themselves.
    Pattern,
    /// The body of a here-document, or arithmetic: quotes stand for themselves.
    Body,
}

/// Takes a word apart.
pub(super) fn read(raw: &str, mode: Mode) -> (Arg, Vec<Inner>) {
    let mut reader = Reader { raw, mode, parts: Vec::new(), inner: Vec::new(), bare: String::new() };
    if let Some(why) = tame::refuse_word(raw) {
        reader.inner.push(Inner::Doubt(why));
        return (Arg::hidden(raw), reader.inner);
    }
    let Ok(pieces) = pieces(raw, mode) else {
        reader.inner.push(Inner::Doubt("holds a word that cannot be read"));
        return (Arg::hidden(raw), reader.inner);
    };
    reader.pieces(&pieces, mode == Mode::Body);
    reader.finish()
}

fn pieces(raw: &str, mode: Mode) -> Result<Vec<WordPieceWithSource>, WordParseError> {
    let options = ParserOptions::default();
    if mode == Mode::Body { word::parse_heredoc(raw, &options) } else { word::parse(raw, &options) }
}

struct Reader<'a> {
    raw: &'a str,
    mode: Mode,
    parts: Vec<Part>,
    inner: Vec<Inner>,
    /// All unquoted text, to see a brace expansion that is partly quoted.
    bare: String,
}

impl Reader<'_> {
    fn pieces(&mut self, pieces: &[WordPieceWithSource], quoted: bool) {
        for piece in pieces {
            self.piece(piece, quoted);
        }
    }

    fn piece(&mut self, piece: &WordPieceWithSource, quoted: bool) {
        match &piece.piece {
            WordPiece::Text(text) => self.text(text, piece.end_index, quoted),
            WordPiece::SingleQuotedText(text) => self.literal(text),
            WordPiece::AnsiCQuotedText(text) => match ansi::decode(text) {
                Some(text) => self.literal(&text),
                None => self.parts.push(Part::Hidden),
            },
            WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                self.literal("");
                self.pieces(pieces, true);
            }
            WordPiece::EscapeSequence(text) => self.literal(text.strip_prefix('\\').unwrap_or(text)),
            WordPiece::TildeExpansion(_) => self.parts.push(Part::Home),
            WordPiece::ParameterExpansion(expr) => self.parameter(expr, piece, quoted),
            WordPiece::CommandSubstitution(command) => self.nested(Inner::Command(command.clone())),
            WordPiece::BackquotedCommandSubstitution(command) => {
                self.nested(Inner::Command(unquote_ticks(command, quoted)));
            }
            WordPiece::ArithmeticExpression(expr) => {
                self.shift(&expr.value);
                self.nested(Inner::Expanded(expr.value.clone()));
            }
        }
    }

    fn nested(&mut self, inner: Inner) {
        self.inner.push(inner);
        self.parts.push(Part::Hidden);
    }

    fn literal(&mut self, text: &str) {
        // A subscript is evaluated even where its text came out of quotes: `x='a[$(…)]'; (( x ))`.
        if text.contains("[$(") || text.contains("[`") {
            self.inner.push(Inner::Doubt("hides a substitution in a subscript"));
        }
        self.parts.push(Part::Text(text.to_owned()));
    }

    fn text(&mut self, text: &str, end: usize, quoted: bool) {
        let next = self.raw.as_bytes().get(end).copied().unwrap_or(b' ');
        if text.ends_with('$') && matches!(next, b'(' | b'{' | b'[') || text.contains('`') {
            self.inner.push(Inner::Doubt("holds a substitution that cannot be read"));
        }
        if quoted {
            return self.literal(text);
        }
        if self.mode == Mode::Word && is_more_than_a_word(text) {
            self.inner.push(Inner::Doubt("quotes in a way that cannot be read"));
        }
        self.bare.push_str(text);
        let globs = text.contains(['*', '?']) || (text.contains('[') && text != "[");
        self.parts.push(if globs { Part::Glob(text.to_owned()) } else { Part::Text(text.to_owned()) });
    }

    /// A shift in arithmetic looks like a here-document to the tokenizer.
    fn shift(&mut self, text: &str) {
        if text.contains("<<") {
            self.inner.push(Inner::Doubt("shifts in arithmetic, which reads like a here-document"));
        }
    }

    fn parameter(&mut self, expr: &ParameterExpr, piece: &WordPieceWithSource, quoted: bool) {
        let source = self.raw.get(piece.start_index..piece.end_index).unwrap_or_default();
        let inside = source.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        self.shift(inside);
        if quoted && inside.contains('\'') {
            self.inner.push(Inner::Doubt("quotes inside a quoted ${…}"));
        }
        if matches!(expr, ParameterExpr::Transform { .. }) && inside.ends_with('P') {
            self.inner.push(Inner::Doubt("expands a value as a prompt, which runs what is in it"));
        }
        if inside.contains(['$', '`', '(']) {
            self.inner.push(Inner::Expanded(inside.to_owned()));
        }
        self.parts.push(named(expr).map_or(Part::Hidden, Part::Variable));
    }

    fn finish(mut self) -> (Arg, Vec<Inner>) {
        let braces = self.bare.contains('{') && self.bare.contains('}');
        if self.mode == Mode::Word && braces && (self.raw.contains(',') || self.raw.contains("..")) {
            self.parts = vec![Part::Hidden];
        }
        (Arg { raw: self.raw.to_owned(), parts: self.parts }, self.inner)
    }
}

/// Unquoted text with a blank or an operator in it is no single word: the tokenizer and the reader disagree.
fn is_more_than_a_word(text: &str) -> bool {
    let extended = ["?(", "*(", "+(", "@(", "!("].iter().any(|start| text.contains(start));
    text.contains([' ', '\t', '\n', ';', '&', '<', '>']) || (text.contains(['(', ')', '|']) && !extended)
}

/// The variable that is expanded as it is.
fn named(expr: &ParameterExpr) -> Option<String> {
    if let ParameterExpr::Parameter { parameter, indirect: false } = expr {
        return name_of(parameter);
    }
    if let ParameterExpr::UseDefaultValues {
        parameter, indirect: false, default_value: Some(default), ..
    } = expr
    {
        let name = name_of(parameter)?;
        return (name == "TMPDIR" && (default == "/tmp" || default == "/var/tmp")).then_some(name);
    }
    None
}

fn name_of(parameter: &Parameter) -> Option<String> {
    match parameter {
        Parameter::Named(name) => Some(name.clone()),
        Parameter::Special(SpecialParameter::LastBackgroundProcessId) => Some("!".to_owned()),
        Parameter::Special(_)
        | Parameter::Positional(_)
        | Parameter::NamedWithIndex { .. }
        | Parameter::NamedWithAllIndices { .. } => None,
    }
}

/// Backslashes in backquotes quote themselves, `$` and, inside double quotes, `"`. Those of backquotes are gone already.
fn unquote_ticks(command: &str, quoted: bool) -> String {
    let mut out = String::new();
    let mut rest = command.chars().peekable();
    while let Some(char) = rest.next() {
        let escapes = char == '\\'
            && rest.peek().is_some_and(|next| matches!(next, '\\' | '$') || (quoted && *next == '"'));
        out.push(if escapes { rest.next().unwrap_or(char) } else { char });
    }
    out
}
