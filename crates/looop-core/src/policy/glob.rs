//! Patterns of names and paths.

/// Whether a text matches a pattern: `*` stands for any number of characters but `/`, all else for itself.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut patterns = pattern.split('/');
    let mut texts = text.split('/');
    loop {
        match (patterns.next(), texts.next()) {
            (None, None) => return true,
            (Some(pattern), Some(text)) if segment(pattern, text) => {}
            _ => return false,
        }
    }
}

/// The same where neither has a `/`. The first place where a part fits is as good as any later one.
fn segment(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_is_anything_but_a_slash() {
        let table = [
            ("goals/*", "goals/a.md", true),
            ("goals/*", "goals/archive/a.md", false),
            ("*", "goals/a.md", false),
            ("*/*", "goals/a.md", true),
            ("*", "", true),
            ("a*", "a", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("ci-*-*", "ci-x-", true),
            ("ci-*-*", "ci-x", false),
            ("*b*c", "abcbc", true),
            ("*b*c", "abcb", false),
            ("A", "a", false),
            ("ab*bc", "abc", false),
            ("PLAYBOOK.md", "PLAYBOOK.md", true),
            ("a.c", "abc", false),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    /// The definition, slowly.
    fn slow(pattern: &[char], text: &[char]) -> bool {
        match (pattern.first(), text.first()) {
            (None, None) => true,
            (Some('*'), _) => {
                slow(&pattern[1..], text)
                    || text.first().is_some_and(|c| *c != '/') && slow(pattern, &text[1..])
            }
            (Some(one), Some(other)) if one == other => slow(&pattern[1..], &text[1..]),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn it_is_what_its_definition_says(pattern in "[ab/*]{0,7}", text in "[ab/]{0,7}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(glob(&pattern, &text), slow(&chars(&pattern), &chars(&text)));
        }
    }
}
