//! The screen of a session's terminal: what a person would see.

use std::fmt::Write;
use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};
use vt100::Parser;

use crate::Size;
use crate::client::joint::Joint;
use crate::kernel::{self, Look};
use crate::keys::Modes;
use crate::skim::Skim;

/// How much is answered to questions in one piece of output.
const MOST_ANSWERS: usize = 4096;

/// What stands on a screen, as `screen` answers it and as `screen.json` keeps it.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Shot {
    /// How many columns.
    pub cols: u16,
    /// How many rows.
    pub rows: u16,
    /// Row and column of the cursor, from 0.
    pub cursor: [u16; 2],
    /// Whether the cursor is hidden.
    pub hidden: bool,
    /// Whether the alternate screen is shown.
    pub alternate: bool,
    /// The window's title.
    pub title: String,
    /// The rows, from the top.
    pub lines: Vec<String>,
    /// What repaints it on a cleared terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ansi: Option<String>,
    /// How much had been printed in all.
    pub at: u64,
    /// How long nothing had been printed, in milliseconds.
    pub quiet_ms: u64,
    /// Whether pasted text is bracketed.
    pub paste: bool,
    /// How many viewers were attached.
    pub viewers: usize,
    /// The rows of the alternate screen as a full-screen program left it, where one did and has not come back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A terminal emulator that exists from the first output on: an idle session has none to pay for.
pub(crate) struct Screen {
    size: Size,
    parser: Option<Box<Parser<Listener>>>,
    skim: Skim,
    joint: Joint,
    /// What the alternate screen showed before it was left.
    left: Vec<String>,
}

impl Screen {
    /// An empty screen.
    pub(crate) fn new(size: Size) -> Self {
        Self { size, parser: None, skim: Skim::default(), joint: Joint::default(), left: Vec::new() }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Shows what was printed. Returns what a terminal answers to the questions in it.
    pub(crate) fn show(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Self { size, parser, skim, joint, left } = self;
        let parser = parser.get_or_insert_with(|| fresh(*size));
        let rows = usize::from(size.rows);
        let before = (leaving(bytes).is_some() && parser.screen().alternate_screen())
            .then(|| rows_of(parser.screen(), size.cols));
        joint.feed(bytes, |whole| {
            skim.read(whole, rows, &mut |piece| process(parser, piece, (size.cols, before.as_deref()), left));
        });
        if parser.screen().alternate_screen() {
            left.clear();
        }
        std::mem::take(&mut parser.callbacks_mut().answers)
    }

    /// Takes another size. What scrolled away does not come back.
    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
        self.skim.resized();
        if let Some(parser) = &mut self.parser {
            parser.screen_mut().clear_scrollback();
            let (rows, cols) = sides(size);
            parser.set_size(rows, cols);
        }
    }

    /// The emulator, from the first output on.
    pub(crate) fn emulator(&self) -> Option<&vt100::Screen> {
        self.parser.as_ref().map(|parser| parser.screen())
    }

    /// Whether pasted text is bracketed.
    pub(crate) fn brackets_paste(&self) -> bool {
        self.parser.as_ref().is_some_and(|parser| parser.screen().bracketed_paste())
    }

    /// Whether the cursor is hidden.
    pub(crate) fn hides_cursor(&self) -> bool {
        self.parser.as_ref().is_some_and(|parser| parser.screen().hide_cursor())
    }

    /// What keys send.
    pub(crate) fn modes(&self) -> Modes {
        self.parser.as_ref().map_or_else(Modes::default, |parser| Modes {
            application_cursor: parser.screen().application_cursor(),
            application_keypad: parser.screen().application_keypad(),
        })
    }

    /// What stands at the cursor, for whoever typed this text.
    pub(crate) fn look(&self, tail: &str) -> Look {
        let cursor = self.parser.as_ref().map_or((0, 0), |parser| parser.screen().cursor_position());
        kernel::look(&self.lines(), cursor, tail)
    }

    /// The rows, from the top, without what is blank at their ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Some(parser) = &self.parser else { return vec![String::new(); usize::from(self.size.rows)] };
        rows_of(parser.screen(), self.size.cols)
    }

    /// All that is on it.
    pub(crate) fn shot(&self, ansi: bool) -> Shot {
        let screen = self.parser.as_ref().map(|parser| parser.screen());
        let (row, col) = screen.map_or((0, 0), vt100::Screen::cursor_position);
        Shot {
            cols: self.size.cols,
            rows: self.size.rows,
            // A cursor behind the last column waits there to wrap.
            cursor: [row, col.min(self.size.cols - 1)],
            hidden: screen.is_some_and(vt100::Screen::hide_cursor),
            alternate: screen.is_some_and(vt100::Screen::alternate_screen),
            title: self.title().to_owned(),
            lines: self.lines(),
            ansi: ansi.then(|| self.repaint()),
            at: 0,
            quiet_ms: 0,
            paste: self.brackets_paste(),
            viewers: 0,
            left: self.left.clone(),
        }
    }

    /// What brings any terminal of this size to this state: screen, cursor, modes and title.
    pub(crate) fn repaint(&self) -> String {
        let Some(parser) = &self.parser else { return "\x1b[?1049l\x1b[m\x1b[H\x1b[J".to_owned() };
        let alternate = if parser.screen().alternate_screen() { 'h' } else { 'l' };
        let mut text = format!("\x1b[?1049{alternate}\x1b[r");
        text.push_str(&parser.screen().state_formatted());
        if !self.title().is_empty() {
            write!(text, "\x1b]2;{}\x07", self.title()).unwrap_or_default();
        }
        text
    }

    fn title(&self) -> &str {
        self.parser.as_ref().map_or("", |parser| parser.callbacks().title.as_str())
    }
}

/// What leaves the alternate screen.
const LEAVES: [&[u8]; 3] = [b"\x1b[?1049l", b"\x1b[?1047l", b"\x1b[?47l"];

/// Where the alternate screen is left, if it is.
fn leaving(bytes: &[u8]) -> Option<usize> {
    let mut escapes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\x1b').map(|(at, _)| at);
    escapes.find(|at| LEAVES.iter().any(|sequence| bytes[*at..].starts_with(sequence)))
}

/// Shows a piece of output and keeps what the alternate screen showed before it is left. A program that clears it first
/// is taken at what it showed before the output in which it leaves.
fn process(
    parser: &mut Parser<Listener>,
    piece: &[u8],
    (cols, before): (u16, Option<&[String]>),
    left: &mut Vec<String>,
) {
    let mut rest = piece;
    while let Some(at) = leaving(rest) {
        parser.process(&rest[..at]);
        if parser.screen().alternate_screen() {
            *left = rows_of(parser.screen(), cols);
            if left.iter().all(String::is_empty) {
                *left = before.unwrap_or_default().to_vec();
            }
        }
        let (sequence, more) =
            rest[at..].split_at(rest[at..].iter().position(|byte| *byte == b'l').map_or(0, |at| at + 1));
        parser.process(sequence);
        rest = more;
    }
    parser.process(rest);
}

/// The rows of a screen, without what is blank at their ends.
fn rows_of(screen: &vt100::Screen, cols: u16) -> Vec<String> {
    screen.rows(0, cols).map(|row| row.trim_end_matches(' ').to_owned()).collect()
}

fn fresh(size: Size) -> Box<Parser<Listener>> {
    let (rows, cols) = sides(size);
    Box::new(Parser::new_with_callbacks(rows, cols, 0, Listener::default()))
}

/// Rows and columns as the emulator wants them.
fn sides(size: Size) -> (NonZeroU16, NonZeroU16) {
    let at_least_one = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
    (at_least_one(size.rows), at_least_one(size.cols))
}

/// What the emulator leaves to us: the title, and questions to the terminal.
#[derive(Default)]
struct Listener {
    title: String,
    answers: Vec<u8>,
}

impl Listener {
    fn answer(&mut self, text: &str) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.extend_from_slice(text.as_bytes());
        }
    }
}

impl vt100::Callbacks for Listener {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        let text = String::from_utf8_lossy(title);
        self.title = text.chars().filter(|letter| !letter.is_control()).collect();
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        second: Option<u8>,
        params: &[&[u16]],
        letter: char,
    ) {
        let param = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        match (first, second, letter, param) {
            // A VT220 with colours.
            (None, None, 'c', 0) => self.answer("\x1b[?62;22c"),
            (None, None, 'n', 5) => self.answer("\x1b[0n"),
            (None, None, 'n', 6) => {
                let (row, col) = screen.cursor_position();
                let col = col.min(screen.size().1.get() - 1);
                self.answer(&format!("\x1b[{};{}R", row + 1, col + 1));
            }
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        match params {
            // Light on dark.
            [b"10", b"?"] => self.answer("\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
            [b"11", b"?"] => self.answer("\x1b]11;rgb:0000/0000/0000\x1b\\"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Size = Size { cols: 20, rows: 4 };

    fn shown(text: &str) -> Screen {
        let mut screen = Screen::new(SMALL);
        screen.show(text.as_bytes());
        screen
    }

    #[test]
    fn an_untouched_screen_is_blank() {
        let shot = Screen::new(SMALL).shot(true);
        assert_eq!(shot.lines, ["", "", "", ""]);
        assert_eq!((shot.cursor, shot.alternate, shot.paste), ([0, 0], false, false));
    }

    #[test]
    fn the_alternate_screen_wide_letters_and_the_title_are_seen() {
        let screen = shown("one\r\n\x1b]2;a title\x07\x1b[?2004h世界x");
        let shot = screen.shot(false);
        assert_eq!(shot.lines, ["one", "世界x", "", ""]);
        assert_eq!((shot.cursor, shot.paste, shot.ansi), ([1, 5], true, None));
        let screen = shown("one\x1b]2;busy\x07\x1b[?1049h\x1b[Htwo\x1b[?25l");
        let shot = screen.shot(false);
        assert_eq!((shot.lines[0].as_str(), shot.title.as_str()), ("two", "busy"));
        assert!(shot.alternate && shot.hidden);
    }

    #[test]
    fn what_a_full_screen_program_showed_last_is_kept_when_it_leaves() {
        let full = "one\r\n\x1b[?1049h\x1b[H\x1b[JA menu\x1b[2;1Hof things";
        let kept = ["A menu", "of things", "", ""];
        for leave in ["\x1b[?1049lbye", "\x1b[H\x1b[J\x1b[?1049lbye", "\x1b[?47lbye"] {
            let mut screen = shown(full);
            assert!(screen.shot(false).left.is_empty(), "it is shown");
            screen.show(leave.as_bytes());
            let shot = screen.shot(false);
            assert_eq!((shot.left.as_slice(), shot.alternate), (kept.map(str::to_owned).as_slice(), false));
            assert!(shot.lines.concat().contains("bye"), "{:?}", shot.lines);
            screen.show(b"\x1b[?1049h\x1b[H\x1b[Jmore");
            assert!(screen.shot(false).left.is_empty(), "another one has the screen");
        }
        // All of it in one piece of output, as a short program prints it.
        assert_eq!(shown(&format!("{full}\x1b[?1049lbye")).shot(false).left, kept);
        assert!(shown("plain\x1b[?1049l text").shot(false).left.is_empty(), "it was never entered");
    }

    #[test]
    fn questions_are_answered_where_they_stand() {
        let mut screen = Screen::new(SMALL);
        let answers = screen.show(b"ab\x1b[6n\r\n\x1b[6n\x1b[c\x1b[5n\x1b]10;?\x07\x1b]11;?\x1b\\");
        let expected = "\x1b[1;3R\x1b[2;1R\x1b[?62;22c\x1b[0n\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\\
                        \x1b]11;rgb:0000/0000/0000\x1b\\";
        assert_eq!(String::from_utf8(answers).unwrap(), expected);
        assert_eq!(screen.show(b"more"), b"");
        assert!(screen.show("\x1b[c".repeat(100_000).as_bytes()).len() < 2 * MOST_ANSWERS);
    }

    #[test]
    fn a_letter_that_comes_in_two_pieces_costs_nothing() {
        let text = "begin д д end 世界";
        for cut in 0..text.len() {
            let mut screen = Screen::new(SMALL);
            screen.show(&text.as_bytes()[..cut]);
            screen.show(&text.as_bytes()[cut..]);
            assert_eq!(screen.lines()[0], text, "cut at {cut}");
        }
    }

    #[test]
    fn growing_does_not_bring_back_what_scrolled_away() {
        let mut screen = shown("1\r\n2\r\n3\r\n4\r\n5\r\n6");
        screen.resize(Size { cols: 20, rows: 6 });
        assert_eq!(screen.lines(), ["3", "4", "5", "6", "", ""]);
        screen.resize(Size { cols: 20, rows: 2 });
        assert_eq!(screen.lines(), ["5", "6"]);
    }

    /// More lines than there are rows, in the ways in which they are printed.
    fn flood() -> impl Strategy<Value = Vec<u8>> {
        let end =
            proptest::sample::select(vec!["\r\n", "\r\n", "\n", "\x1b[K\r\n", "\x1b[0m\r\n", "\x1b[32m\r\n"]);
        ("[ -~世é]{0,60}", end, 1_usize..120)
            .prop_map(|(text, end, count)| (text + end).repeat(count).into_bytes())
    }

    /// Pieces that real programs print, and noise.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            "[a-z世界é🙂\u{301}\r\n\t\u{8}]{0,12}".prop_map(String::into_bytes),
            ("[0-9;:]{0,8}", "[ -/<=>?]?", "[@-~]")
                .prop_map(|(a, b, c)| format!("\x1b[{b}{a}{c}").into_bytes()),
            "[0-9]{1,2}(;[a-z?]{0,9})?".prop_map(|text| format!("\x1b]{text}\x07").into_bytes()),
            "[ -~]".prop_map(|letter| format!("\x1b{letter}").into_bytes()),
            proptest::sample::select(vec![
                &b"\x1b[?1049h"[..],
                b"\x1b[?1049l",
                b"\x1b[?6h",
                b"\x1b[2;3r",
                b"\x1b[999b"
            ])
            .prop_map(<[u8]>::to_vec),
            proptest::collection::vec(any::<u8>(), 0..6),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6 * ProptestConfig::default().cases))]

        /// Nobody can tell whether a flood was drawn or skipped.
        #[test]
        fn what_is_skipped_is_not_missed(
            pieces in proptest::collection::vec(prop_oneof![2 => flood(), 3 => piece()], 0..20),
            cuts in proptest::collection::vec(1_usize..4000, 1..8),
        ) {
            let mut screen = Screen::new(SMALL);
            let (mut drawn, mut joint) = (fresh(SMALL), Joint::default());
            let bytes = pieces.concat();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                screen.show(now);
                joint.feed(now, |whole| drawn.process(whole));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            let skimmed = screen.parser.as_ref().unwrap().screen();
            prop_assert_eq!(skimmed.state_formatted(), drawn.screen().state_formatted());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6 * ProptestConfig::default().cases))]

        /// Nothing that is printed may end the host, and a repaint shows the same.
        #[test]
        fn anything_can_be_printed_in_any_size(
            pieces in proptest::collection::vec((piece(), proptest::option::weighted(0.1, (2_u16..12, 2_u16..8))), 0..60),
        ) {
            let mut screen = Screen::new(SMALL);
            for (bytes, size) in pieces {
                screen.show(&bytes);
                if let Some((cols, rows)) = size {
                    screen.resize(Size { cols, rows });
                }
            }
            let shot = screen.shot(true);
            prop_assert_eq!(shot.lines.len(), usize::from(shot.rows));
            let mut other = Screen::new(screen.size());
            other.show(screen.repaint().as_bytes());
            let again = other.shot(false);
            prop_assert_eq!(&again.lines, &shot.lines);
            prop_assert_eq!((again.hidden, again.alternate, again.paste), (shot.hidden, shot.alternate, shot.paste));
        }
    }
}
