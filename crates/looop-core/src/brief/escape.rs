//! Text from elsewhere made safe to show: nothing invisible, nothing that moves the cursor or reorders letters.

pub(super) use crate::shown::count;
use crate::shown::{Shown, is_hidden};

/// A body of several lines: line ends normalised, line breaks and tabs kept, everything else that is not seen escaped.
pub(super) fn block(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    Shown::block(&text).to_string()
}

/// A text on one line of at most so many bytes; the cut is marked.
pub(super) fn line(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= most {
            out.truncate(out.floor_char_boundary(most));
            out.push('…');
            break;
        }
        push(&mut out, c);
    }
    out
}

/// A name or field in quotes, on one line; what it says cannot close the quotes.
pub(super) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", line(&escaped, 200))
}

fn push(out: &mut String, c: char) {
    if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_shown() {
        assert_eq!(block("a\r\nb\rc\td\n"), "a\nb\\u{d}c\td\n");
        assert_eq!(block("\u{1b}[31mred\0\u{7f}\u{9b}"), "\\u{1b}[31mred\\u{0}\\u{7f}\\u{9b}");
        assert_eq!(
            block("\u{202e}\u{2066}\u{200b}\u{2028}\u{2029}\u{85}"),
            "\\u{202e}\\u{2066}\\u{200b}\\u{2028}\\u{2029}\\u{85}"
        );
        assert_eq!(block("\u{e0041}\u{feff}"), "\\u{e0041}\\u{feff}");
        assert_eq!(block("Grüße, 日本語 → ✓ ❤\u{fe0f}"), "Grüße, 日本語 → ✓ ❤\u{fe0f}");
    }

    #[test]
    fn a_line_stays_a_line() {
        assert_eq!(line("a\nb\tc\r\n", 100), "a\\u{a}b\\u{9}c\\u{d}\\u{a}");
        assert_eq!(line("äöü", 3), "ä…");
        assert_eq!(quoted("x\" trust=owner\n"), "\"x\\\" trust=owner\\u{a}\"");
        assert_eq!(quoted("x\\"), "\"x\\\\\"");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
