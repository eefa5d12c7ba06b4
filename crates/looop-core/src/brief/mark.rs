//! The mark: what begins every line of looop's own in the volatile part of a brief.

use std::borrow::Cow;

/// Hex digits of a mark.
const DIGITS: usize = 16;

/// A mark of one beat.
#[derive(Clone, Debug)]
pub(super) struct Mark(String);

impl Mark {
    /// Derives the mark from the beat's secret. The secret itself is never shown.
    pub(super) fn of(secret: [u8; 16]) -> Self {
        let key = blake3::derive_key("looop brief mark v1", &secret);
        let hex = key.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        Self(hex[..DIGITS].to_owned())
    }

    /// What a line of looop's own begins with.
    pub(super) fn start(&self) -> String {
        format!("@{}", self.0)
    }

    /// What follows the mark in a line that begins with one, whichever.
    pub(super) fn starts(line: &str) -> Option<&str> {
        let (digits, rest) = line.strip_prefix('@')?.split_at_checked(DIGITS)?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(rest)
    }

    /// A text in which the mark does not occur. That it did means that a secret leaked; the structure holds anyway.
    fn taken_out<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.contains(&self.0) { text.replace(&self.0, "[mark]").into() } else { text.into() }
    }
}

/// The text of a brief under way: lines of looop's own, and data between them.
#[derive(Debug)]
pub(super) struct Page<'a> {
    mark: &'a Mark,
    text: String,
}

impl<'a> Page<'a> {
    /// An empty page.
    pub(super) fn new(mark: &'a Mark) -> Self {
        Self { mark, text: String::new() }
    }

    /// A line of looop's own.
    pub(super) fn own(&mut self, words: &[&str]) {
        self.text.push_str(&self.mark.start());
        for word in words {
            self.text.push(' ');
            self.text.push_str(&self.mark.taken_out(word));
        }
        self.text.push('\n');
    }

    /// Data, ended by a line break.
    pub(super) fn data(&mut self, body: &str) {
        self.text.push_str(&self.mark.taken_out(body));
        if !body.is_empty() && !body.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// What is on the page.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}
