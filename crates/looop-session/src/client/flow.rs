//! Output as text for patterns: everything that was printed, in the order it was printed, without escape sequences.

use regex::Regex;
use vte::{Params, Parser, Perform};

/// So much text is looked at in one piece; a longer match is not found.
const WINDOW: usize = 64 << 10;

/// A match in the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    /// What matched.
    pub text: String,
    /// What its groups matched, from the first on.
    pub groups: Vec<Option<String>>,
    /// The stream offset after it: what comes next is looked for from here.
    pub end: u64,
}

/// Looks for a pattern in output that comes in pieces.
///
/// Nothing is written over here: a carriage return that goes back begins a new line, and so does a move to another row.
/// Memory is bounded, whatever comes.
pub struct Flow {
    parser: Parser,
    text: Text,
    at: u64,
}

/// What the parser works on.
#[derive(Default)]
struct Text {
    so_far: String,
    /// Where in the text each byte of output that added to it ends, and its stream offset.
    ends: Vec<(usize, u64)>,
    returned: bool,
    /// A match begins here or later: a line whose start is gone must not look like a whole one.
    begin: usize,
}

impl Flow {
    /// Looks from this stream offset on.
    pub fn new(at: u64) -> Self {
        Self { parser: Parser::new(), text: Text::default(), at }
    }

    /// The stream offset up to which everything was looked at.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Takes the next bytes; says whether the pattern matches in what was seen so far.
    ///
    /// A match that ended before the last call was given then, so the caller stops at the first one, or goes on with a
    /// new flow from its end.
    pub fn find(&mut self, bytes: &[u8], pattern: &Regex) -> Option<Match> {
        bytes.chunks(WINDOW).find_map(|piece| {
            self.take(piece);
            let found = self.search(pattern);
            self.text.trim();
            found
        })
    }

    /// Goes over bytes that are missing.
    pub fn skip_to(&mut self, at: u64) {
        *self = Self::new(at);
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let before = self.text.so_far.len();
            self.parser.advance(&mut self.text, std::slice::from_ref(byte));
            self.at += 1;
            if self.text.so_far.len() != before {
                self.text.mark(self.at);
            }
        }
    }

    fn search(&self, pattern: &Regex) -> Option<Match> {
        let found = pattern.captures_at(&self.text.so_far, self.text.begin)?;
        let whole = found.get(0)?;
        let index = self.text.ends.partition_point(|(end, _)| *end < whole.end());
        let groups = found.iter().skip(1).map(|group| group.map(|group| group.as_str().to_owned()));
        Some(Match {
            text: whole.as_str().to_owned(),
            groups: groups.collect(),
            end: self.text.ends.get(index).map_or(self.at, |(_, at)| *at),
        })
    }
}

impl std::fmt::Debug for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flow").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Text {
    /// The text ends where the output has this offset.
    fn mark(&mut self, at: u64) {
        let end = self.so_far.len();
        while self.ends.last().is_some_and(|(last, _)| *last >= end) {
            self.ends.pop();
        }
        self.ends.push((end, at));
    }

    fn push(&mut self, letter: char) {
        if std::mem::take(&mut self.returned) {
            self.break_line();
        }
        self.so_far.push(letter);
    }

    /// Takes the last character back.
    fn pop(&mut self) {
        if !self.so_far.ends_with('\n') && self.so_far.len() > self.begin {
            self.so_far.pop();
        }
    }

    fn break_line(&mut self) {
        if !self.so_far.is_empty() && !self.so_far.ends_with('\n') {
            self.so_far.push('\n');
        }
    }

    /// Keeps the last part, from the start of a line where there is one.
    fn trim(&mut self) {
        if self.so_far.len() <= WINDOW {
            return;
        }
        let mut from = self.so_far.len() - WINDOW;
        while !self.so_far.is_char_boundary(from) {
            from += 1;
        }
        let line = self.so_far[from..].find('\n').map(|end| from + end + 1);
        let from = line.unwrap_or(from);
        self.so_far.drain(..from);
        self.begin = line.map_or_else(|| self.so_far.chars().next().map_or(0, char::len_utf8), |_| 0);
        self.ends.retain(|(end, _)| *end > from);
        self.ends.iter_mut().for_each(|(end, _)| *end -= from);
    }
}

impl Perform for Text {
    fn print(&mut self, letter: char) {
        self.push(letter);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => {
                self.returned = false;
                self.so_far.push('\n');
            }
            b'\r' => self.returned = true,
            b'\t' => self.push('\t'),
            // A character that is taken back was not meant.
            0x08 => self.pop(),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        let first = params.iter().next().and_then(|param| param.first()).copied().unwrap_or(0);
        match (intermediates, action) {
            // Programs move over blanks instead of printing them.
            ([], 'C') => (0..first.clamp(1, 1000)).for_each(|_| self.push(' ')),
            ([], 'G') if first > 1 => self.push(' '),
            ([], 'A' | 'B' | 'E' | 'F' | 'G' | 'H' | 'f' | 'd') => self.returned = true,
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        if intermediates.is_empty() && matches!(byte, b'D' | b'E' | b'M') {
            self.returned = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> Regex {
        regex::RegexBuilder::new(text).multi_line(true).build().unwrap()
    }

    fn found(output: &str, text: &str) -> Option<(String, u64)> {
        Flow::new(0).find(output.as_bytes(), &pattern(text)).map(|found| (found.text, found.end))
    }

    #[test]
    fn patterns_see_what_was_printed() {
        let table = [
            ("hello world", "world", Some(("world", 11))),
            ("hel\x1b[31mlo wor\x1b[0mld", "hello world", Some(("hello world", 20))),
            ("10%\r20%\r30%", "20%", Some(("20%", 7))),
            ("one\r\ntwo\r\n", "^two$", Some(("two", 8))),
            ("one\r\ntwo", "one\ntwo", Some(("one\ntwo", 8))),
            ("a\x1b[1Cb", "a b", Some(("a b", 6))),
            ("typ0\x08o", "typo", Some(("typo", 6))),
            ("name: ", "name: $", Some(("name: ", 6))),
            ("done\r    \r", "done", Some(("done", 4))),
            ("\x1b]0;secret\x07shown", "secret", None),
            ("wör\u{301}d", "r\u{301}d", Some(("r\u{301}d", 7))),
            ("ab", "abc", None),
        ];
        for (output, text, expected) in table {
            assert_eq!(
                found(output, text),
                expected.map(|(m, at): (&str, u64)| (m.to_owned(), at)),
                "{output:?}"
            );
        }
    }

    #[test]
    fn groups_are_given() {
        let found = Flow::new(5).find(b"port 8080 (tcp)", &pattern(r"port (\d+)(x)?")).unwrap();
        assert_eq!(found.groups, [Some("8080".to_owned()), None]);
        assert_eq!(found.end, 5 + 9);
    }

    #[test]
    fn the_window_is_bounded_and_lines_keep_their_start() {
        let mut flow = Flow::new(0);
        for _ in 0..100 {
            assert_eq!(flow.find(&[b"x".repeat(10_000), b"\n".to_vec()].concat(), &pattern("^y")), None);
            assert!(flow.text.so_far.len() <= WINDOW && flow.text.ends.len() <= WINDOW);
        }
        assert_eq!(flow.find(b"no\xc3", &pattern("noé$")), None);
        assert_eq!(flow.find(b"\xa9", &pattern("^noé$")).unwrap().end, flow.at());
        let mut flow = Flow::new(0);
        assert_eq!(flow.find(&b"z".repeat(500_000), &pattern("^y")), None);
        assert_eq!(flow.find(b"z", &pattern("^z")), None);
        assert!(flow.text.so_far.len() <= WINDOW);
    }

    proptest! {
        /// However the output is cut, the match is the same, and what follows its end holds no part of it.
        #[test]
        fn cuts_do_not_matter(words in proptest::collection::vec("[a-c]{1,3}|\r|\n|\x1b\\[1m|世|\u{8}", 0..40), cut in 1_usize..7) {
            let bytes = words.concat().into_bytes();
            let pattern = pattern("ab|世c");
            let mut flow = Flow::new(0);
            let pieces = bytes.chunks(cut).find_map(|piece| flow.find(piece, &pattern));
            let by_one = {
                let mut flow = Flow::new(0);
                bytes.chunks(1).find_map(|piece| flow.find(piece, &pattern))
            };
            if let (Some(pieces), Some(by_one)) = (&pieces, &by_one) {
                prop_assert!(pieces.end >= by_one.end);
                prop_assert!(pieces.end <= bytes.len() as u64);
            }
            // A backspace may take away what a finer cut showed for a moment; nothing else may.
            prop_assert!(pieces.is_none() || by_one.is_some());
        }
    }
}
