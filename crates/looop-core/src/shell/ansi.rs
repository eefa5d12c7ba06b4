//! The text of a `$'…'` word.

/// Decodes the inside of `$'…'`. Nothing if it holds a byte that is no text, or a NUL.
pub(super) fn decode(inner: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = inner.chars().peekable();
    while let Some(char) = rest.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        let Some(escaped) = rest.next() else {
            out.push('\\');
            break;
        };
        match escaped {
            'x' => out.push(number(&mut rest, 16, 2, 0)?),
            'u' => out.push(number(&mut rest, 16, 4, 0)?),
            'U' => out.push(number(&mut rest, 16, 8, 0)?),
            '0'..='7' => out.push(number(&mut rest, 8, 2, escaped.to_digit(8)?)?),
            // Control characters: nobody writes a program's name with them.
            'c' => return None,
            other => out.push_str(&simple(other)),
        }
    }
    Some(out)
}

fn simple(escaped: char) -> String {
    match escaped {
        'n' => "\n".to_owned(),
        't' => "\t".to_owned(),
        'r' => "\r".to_owned(),
        'a' => "\u{7}".to_owned(),
        'b' => "\u{8}".to_owned(),
        'e' | 'E' => "\u{1b}".to_owned(),
        'f' => "\u{c}".to_owned(),
        'v' => "\u{b}".to_owned(),
        '\\' | '\'' | '"' | '?' => escaped.to_string(),
        other => format!("\\{other}"),
    }
}

/// Reads up to `most` further digits. A value above ASCII that was given as a byte is no character of its own.
fn number(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    start: u32,
) -> Option<char> {
    let mut value = start;
    let mut digits = 0;
    while digits < most {
        let Some(digit) = rest.peek().and_then(|char| char.to_digit(radix)) else { break };
        value = value.checked_mul(radix)?.checked_add(digit)?;
        digits += 1;
        rest.next();
    }
    let byte = most <= 2;
    if value == 0 || (byte && value > 0x7f) {
        return None;
    }
    char::from_u32(value)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_decoded() {
        for (inner, text) in [
            ("rm", Some("rm")),
            (r"\x72\x6d", Some("rm")),
            (r"\162\155", Some("rm")),
            (r"\u0072m", Some("rm")),
            (r"a\'b\\c\n", Some("a'b\\c\n")),
            (r"\q", Some("\\q")),
            (r"\x00", None),
            (r"\xff", None),
            (r"\cA", None),
        ] {
            assert_eq!(decode(inner).as_deref(), text, "{inner}");
        }
    }
}
