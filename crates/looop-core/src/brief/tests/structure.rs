//! A parser of briefs, stricter than any reader.

use super::super::mark::Mark;
use super::super::{Brief, split};
use super::world::SECRET;

/// A small parser of a brief: its sections, notes and fences in order. It panics where the structure is broken: data
/// outside a fence, a fence in a fence, a mark anywhere but at the start of a line. Every character that some reader
/// might take for the end of a line counts as one.
pub(super) fn structure(brief: &Brief) -> Vec<String> {
    let start = Mark::of(SECRET).start();
    let (fixed, rest) = brief.parts();
    assert!(!fixed.contains(&start));
    assert_eq!(split(&brief.render()), (fixed, rest));
    let mut found = Vec::new();
    let mut within = false;
    let breaks =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    for line in rest.split(breaks) {
        let Some(own) = line.strip_prefix(&start) else {
            assert!(within || line.is_empty(), "data outside a fence: {line:?}");
            assert!(!line.contains(&start[1..]), "the mark stands in data: {line:?}");
            continue;
        };
        match own.trim_start().split_once(' ').map_or((own.trim_start(), ""), |(word, rest)| (word, rest)) {
            ("MARK", _) => assert!(found.is_empty()),
            ("SECTION", title) => found.push(format!("== {title}")),
            ("NOTE", _) => assert!(!within),
            ("BEGIN", head) => {
                assert!(!within, "a fence in a fence");
                within = true;
                found.push(head_of(head));
            }
            ("END", _) => {
                assert!(within, "an end without a beginning");
                within = false;
            }
            (other, _) => panic!("{other:?}"),
        }
    }
    assert!(!within, "a fence stays open");
    found
}

/// What a BEGIN line says in looop's own words: the kind of data and its trust, whatever the name is.
fn head_of(head: &str) -> String {
    let (what, rest) = match head.split_once(" \"") {
        Some((what, rest)) if !what.contains("trust=") => (what, after_quotes(rest)),
        _ => head.split_once(" trust=").unwrap(),
    };
    let trust = rest.trim_start_matches(" trust=").split([',', ' ']).next().unwrap();
    format!("{what} {trust}")
}

fn after_quotes(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &text[at + 1..],
            _ => {}
        }
    }
    panic!("the quotes stay open: {text:?}");
}
