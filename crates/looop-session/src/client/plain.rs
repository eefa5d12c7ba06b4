//! Output as lines for a person: without escape sequences, with what was written over resolved, safe on any terminal.

use vte::{Params, Parser, Perform};

use super::joint::Joint;
use super::line::Line;

/// Turns output into lines.
///
/// A carriage return, a backspace and moves within a line write over it, as on a terminal, so of a progress bar the last
/// state is left. A move to another row ends a line: what a program with a screen of its own draws comes out as the
/// pieces it drew, in order.
#[derive(Default)]
pub struct Plain {
    parser: Parser,
    joint: Joint,
    page: Page,
}

/// What the parser works on.
#[derive(Default)]
struct Page {
    line: Line,
    /// The row of the cursor, where the output told.
    row: Option<usize>,
    last: Option<char>,
    done: Vec<String>,
}

impl Plain {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes; gives the lines that ended in them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let Self { parser, joint, page } = self;
        joint.feed(bytes, |piece| parser.advance(page, piece));
        std::mem::take(&mut self.page.done)
    }

    /// The line that has no end yet, if there is anything on it.
    pub fn finish(&mut self) -> Option<String> {
        let text = self.page.line.take();
        Some(text).filter(|text| !text.is_empty())
    }
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").field("line", &self.page.line).finish_non_exhaustive()
    }
}

impl Page {
    fn end_line(&mut self) {
        let text = self.line.take();
        self.done.push(text);
    }

    fn feed_line(&mut self) {
        self.end_line();
        self.row = self.row.map(|row| row + 1);
    }

    /// The cursor is in this row now, if that is known.
    fn go_to_row(&mut self, row: Option<usize>) {
        if row.is_some() && row == self.row {
            return;
        }
        self.row = row;
        let column = self.line.column();
        if !self.line.is_empty() {
            self.end_line();
        }
        self.line.go_to(column);
    }

    fn erase_in_line(&mut self, what: u16) {
        match what {
            0 => self.line.cut(),
            1 => self.line.blank_head(),
            _ => {
                let column = self.line.column();
                self.line.go_to(0);
                self.line.cut();
                self.line.go_to(column);
            }
        }
    }

    fn put(&mut self, letter: char) {
        if self.line.is_full() {
            self.end_line();
        }
        self.line.print(letter);
    }
}

impl Perform for Page {
    fn print(&mut self, letter: char) {
        let letter = if is_deceptive(letter) { char::REPLACEMENT_CHARACTER } else { letter };
        self.last = Some(letter);
        self.put(letter);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.feed_line(),
            b'\r' => self.line.go_to(0),
            0x08 => self.line.go_left(1),
            b'\t' => {
                if self.line.is_full() {
                    self.end_line();
                }
                self.line.tab();
            }
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        let mut given = params.iter().map(|param| param.first().copied().unwrap_or(0));
        let (first, second) = (given.next().unwrap_or(0), given.next().unwrap_or(0));
        if !intermediates.is_empty() {
            // To and from the alternate screen.
            if intermediates == b"?" && matches!(action, 'h' | 'l') && matches!(first, 47 | 1047 | 1049) {
                self.go_to_row(None);
            }
            return;
        }
        let count = usize::from(first.max(1));
        match action {
            'C' | 'a' => self.line.go_right(count),
            'D' => self.line.go_left(count),
            'G' | '`' => self.line.go_to(count - 1),
            'H' | 'f' => {
                self.go_to_row(Some(count - 1));
                self.line.go_to(usize::from(second.max(1)) - 1);
            }
            'd' => self.go_to_row(Some(count - 1)),
            'A' => self.go_to_row(self.row.map(|row| row.saturating_sub(count))),
            'B' | 'e' => self.go_to_row(self.row.map(|row| row + count)),
            'E' | 'F' => {
                let row =
                    self.row.map(|row| if action == 'E' { row + count } else { row.saturating_sub(count) });
                self.go_to_row(row);
                self.line.go_to(0);
            }
            'K' => self.erase_in_line(first),
            'J' if first == 0 => self.line.cut(),
            'J' if first >= 2 && !self.line.is_empty() => self.go_to_row(None),
            'P' => self.line.delete(count),
            'X' => self.line.blank(count),
            '@' => self.line.insert(count),
            'b' => {
                if let Some(last) = self.last {
                    (0..count.min(1000)).for_each(|_| self.put(last));
                }
            }
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        match (intermediates, byte) {
            ([], b'D' | b'E') => self.feed_line(),
            ([], b'M' | b'c') => self.go_to_row(None),
            _ => {}
        }
    }
}

/// Characters that make a terminal show a text in another order than it has.
pub(super) fn is_deceptive(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut plain = Plain::new();
        let mut lines = plain.feed(bytes);
        lines.extend(plain.finish());
        lines
    }

    #[test]
    fn output_becomes_what_a_person_would_read() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("one\r\ntwo", &["one", "two"]),
            ("one\n\n\ntwo\n", &["one", "", "", "two"]),
            ("\x1b[1;31mred\x1b[0m and \x1b]0;title\x07plain\n", &["red and plain"]),
            ("10%\r20%\r100%\n", &["100%"]),
            ("downloading\rdone\x1b[K\n", &["done"]),
            ("downloading\rdone\n", &["doneloading"]),
            ("\x1b[2K\rfresh\n", &["fresh"]),
            ("abc\x08\x08X\n", &["aXc"]),
            ("bold\x08\x08\x08\x08bold\n", &["bold"]),
            ("a\x1b[3Cb\n", &["a   b"]),
            ("a\x1b[10Gb\n", &["a        b"]),
            ("\x1b[5;3Hfoo\x1b[5;10Hbar\x1b[6;1Hnext", &["  foo    bar", "next"]),
            ("old\x1b[2J\x1b[Hnew\n", &["old", "new"]),
            ("shell\x1b[?1049hvim\x1b[?1049lshell\n", &["shell", "     vim", "        shell"]),
            ("a\tb\n", &["a\tb"]),
            ("x\x1b[5b!\n", &["xxxxxx!"]),
            ("世界\r\x1b[2Cx\n", &["世x"]),
            ("世界\rx\n", &["x 界"]),
            ("e\u{301}té\n", &["e\u{301}té"]),
            ("abc\x1b[3D\x1b[1Pz\n", &["zc"]),
            ("abc\r\x1b[2@12\n", &["12abc"]),
            ("abc\r\x1b[2X\n", &["  c"]),
            ("a\x07b\x00c\x1b(Bd\n", &["abcd"]),
            ("\x1bP1;2|ignored\x1b\\shown\n", &["shown"]),
            ("abc\u{202e}def\n", &["abc\u{fffd}def"]),
            ("trailing   \r\n", &["trailing"]),
            ("unfinished \x1b[3", &["unfinished"]),
        ];
        for (output, expected) in table {
            assert_eq!(lines(output.as_bytes()), *expected, "{output:?}");
        }
        assert_eq!(lines(b"\xff\xfea\x80\n"), ["\u{fffd}\u{fffd}a"]);
    }

    #[test]
    fn an_endless_line_and_far_moves_take_no_memory() {
        let mut plain = Plain::new();
        let mut length = 0;
        for _ in 0..64 {
            length += plain.feed(&vec![b'x'; 64 << 10]).iter().map(String::len).sum::<usize>();
            assert!(plain.page.line.take().len() <= 16 << 10);
        }
        assert!(length > 1 << 20);
        assert!(lines(b"\x1b[65535Cx\x1b[65535Cx\x1b[65535@y\x1b[65535by\n")[0].len() < 5000);
        assert!(lines("e\u{301}".repeat(100_000).as_bytes()).len() > 2);
        assert!(lines("\u{301}\t".repeat(100_000).as_bytes()).len() > 2);
    }

    /// Text and pieces of sequences, more telling than noise.
    fn output() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            "[a-z 世\u{301}\r\n\t\u{8}]{0,6}".prop_map(String::into_bytes),
            ("[0-9;]{0,5}", "[?>]?", "[@-~]").prop_map(|(a, b, c)| format!("\x1b[{b}{a}{c}").into_bytes()),
            proptest::collection::vec(any::<u8>(), 0..5),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn lines_are_safe_and_do_not_depend_on_the_cuts(bytes in output(), cut in 1_usize..9) {
            let whole = lines(&bytes);
            let mut plain = Plain::new();
            let mut pieces: Vec<String> = bytes.chunks(cut).flat_map(|piece| plain.feed(piece)).collect();
            pieces.extend(plain.finish());
            prop_assert_eq!(&pieces, &whole);
            for line in whole {
                prop_assert!(!line.contains(|c: char| c.is_control() && c != '\t'), "{:?}", line);
            }
        }
    }
}
