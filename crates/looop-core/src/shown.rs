//! Text from elsewhere, made safe to print: nothing in it acts on a terminal, reorders letters or is invisible.

use std::fmt;

/// A text that can be written to a terminal. Control, bidirectional and invisible characters are escaped in it, as
/// `\u{1b}`; only [`Shown::coloured`] adds a sequence that a terminal acts on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    /// A text of several lines: line breaks and tabs stay.
    pub fn block(text: &str) -> Self {
        Self(escaped(text, |c| is_hidden(c) && !matches!(c, '\n' | '\t')))
    }

    /// A text that stays on one line: line breaks and tabs are escaped, too.
    pub fn line(text: &str) -> Self {
        Self(escaped(text, is_hidden))
    }

    /// The beginning of a text of several lines, of at most so many characters, and how many more there are.
    pub fn head(text: &str, most: usize) -> (Self, usize) {
        match text.char_indices().nth(most) {
            None => (Self::block(text), 0),
            Some((at, _)) => (Self::block(&text[..at]), text[at..].chars().count()),
        }
    }

    /// JSON on one line. What is hidden is escaped as JSON has it, so that the value stays the same.
    pub fn json(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            if is_hidden(c) {
                let mut units = [0; 2];
                out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            } else {
                out.push(c);
            }
        }
        Self(out)
    }

    /// The same in a colour, given as the number of a terminal's graphic rendition.
    #[must_use]
    pub fn coloured(self, code: u8) -> Self {
        Self(format!("\u{1b}[{code}m{self}\u{1b}[0m"))
    }

    /// Two after each other, with a space between them.
    #[must_use]
    pub fn then(self, next: &Self) -> Self {
        Self(format!("{self} {next}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A count with separated thousands.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn escaped(text: &str, hides: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| !matches!(c, ' '..='~') && hides(*c)) {
        out.push_str(&text[from..at]);
        out.extend(c.escape_unicode());
        from = at + c.len_utf8();
    }
    out.push_str(&text[from..]);
    out
}

/// Characters that are not seen, or that change how others are seen: controls, line separators, zero-width and
/// direction marks, fillers, and the tags and variation selectors that can carry a hidden text.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
                | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_escaped_and_all_else_stays() {
        let text = "a\u{1b}[2J\r\nb\tc\u{202e}d\u{200b}\u{e0041}\u{9b}";
        assert_eq!(
            Shown::block(text).as_str(),
            "a\\u{1b}[2J\\u{d}\nb\tc\\u{202e}d\\u{200b}\\u{e0041}\\u{9b}"
        );
        assert_eq!(Shown::line("a\nb\tc").as_str(), "a\\u{a}b\\u{9}c");
        assert_eq!(Shown::block("Grüße, 日本語 → ✓ ❤\u{fe0f}").as_str(), "Grüße, 日本語 → ✓ ❤\u{fe0f}");
        assert_eq!(Shown::line("x").coloured(31).as_str(), "\u{1b}[31mx\u{1b}[0m");
    }

    #[test]
    fn json_is_the_same_value() {
        let value = serde_json::json!({"a\u{202e}": "\u{1b}\u{7f}\u{e0041}\u{200b}ä\n"});
        let shown = Shown::json(&value.to_string());
        assert_eq!(shown.as_str(), "{\"a\\u202e\":\"\\u001b\\u007f\\udb40\\udc41\\u200bä\\n\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(shown.as_str()).unwrap(), value);
    }

    #[test]
    fn a_head_says_how_much_more_there_is() {
        assert_eq!(Shown::head("äöü", 3), (Shown::block("äöü"), 0));
        assert_eq!(Shown::head("äöü", 1), (Shown::block("ä"), 2));
    }
}
