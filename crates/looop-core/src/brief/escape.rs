//! Text from elsewhere made safe to show: nothing invisible, nothing that moves the cursor or reorders letters.

/// A body of several lines: line ends normalised, line breaks and tabs kept, everything else that is not seen escaped.
pub(super) fn block(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| !matches!(c, ' '..='~' | '\n' | '\t') && is_hidden(*c))
    {
        out.push_str(&text[from..at]);
        out.extend(c.escape_unicode());
        from = at + c.len_utf8();
    }
    out.push_str(&text[from..]);
    out
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

/// A count with separated thousands.
pub(super) fn count(number: usize) -> String {
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

fn push(out: &mut String, c: char) {
    if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
}

/// Characters that are not seen, or that change how others are seen: controls, line separators, zero-width and
/// direction marks, fillers, and the tags and variation selectors that can carry a hidden text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
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
