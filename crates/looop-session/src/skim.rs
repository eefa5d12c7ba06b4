//! Skipping what scrolls away before anybody could see it.
//!
//! An emulator draws each letter, also those of the thousands of lines of a flood that are gone in the same instant.
//! When a stretch of output holds nothing but text, line ends, colours and what stays within a line, and twice as many
//! lines as the screen has rows, then nothing that stood on the screen before is left at its end: as many lines lead
//! down to the last row at most, and as many push all out. What comes before them needs not be drawn; only the colours
//! must be known there.

use std::collections::VecDeque;
use std::ops::Range;

const ESC: u8 = 0x1b;
/// Shorter stretches are drawn.
const WORTH: usize = 1024;

/// Where a stream of output is between two pieces.
#[derive(Debug, Default)]
pub(crate) struct Skim {
    state: State,
    /// Lines may scroll in a part of the screen only: then nothing is skipped.
    region: bool,
    run: Run,
}

/// Which part of a control sequence comes next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and `[`, and whether something came since.
    Sequence { bare: bool },
    /// In a string that a bell ends, or not.
    Words { bell: bool },
}

/// A stretch without surprises.
#[derive(Debug, Default)]
struct Run {
    start: usize,
    /// How many lines ended in it.
    lines: usize,
    /// Where a line begins at the left edge, and how many had ended by then; the last good one and all after it.
    cuts: VecDeque<(usize, usize)>,
}

impl Run {
    fn begin(&mut self, start: usize) {
        (self.start, self.lines) = (start, 0);
        self.cuts.clear();
    }

    /// A line ended just before `at`.
    fn line(&mut self, at: usize, at_left: bool, rows: usize) {
        self.lines += 1;
        if at_left {
            self.cuts.push_back((at, self.lines));
        }
        let enough = |cut: &(usize, usize)| self.lines - cut.1 >= 2 * rows;
        while self.cuts.get(1).is_some_and(enough) {
            self.cuts.pop_front();
        }
    }

    /// Where the last lines begin that replace a screen of so many rows.
    fn cut(&self, rows: usize) -> Option<usize> {
        let (at, ended) = self.cuts.front()?;
        (self.lines - ended >= 2 * rows && at - self.start >= WORTH).then_some(*at)
    }
}

impl Skim {
    /// The screen has another size, and lines scroll in all of it.
    pub(crate) fn resized(&mut self) {
        self.region = false;
    }

    /// Gives to `draw` what must be drawn of these bytes on a screen of so many rows.
    pub(crate) fn read(&mut self, bytes: &[u8], rows: usize, draw: &mut dyn FnMut(&[u8])) {
        // The rest of a letter belongs to what was drawn before it.
        self.run.begin(bytes.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count());
        let (mut drawn, mut at) = (0, 0);
        while at < bytes.len() {
            if self.state != State::Text {
                self.step(bytes[at]);
                at += 1;
                self.run.begin(at);
                continue;
            }
            at = self.text(bytes, at, rows);
            if let Some(length) = harmless(&bytes[at..]) {
                at += length;
            } else if at < bytes.len() {
                drawn = self.skip(bytes, drawn..at, rows, draw);
                self.state = State::Escape;
                at += 1;
            }
        }
        if self.state == State::Text {
            drawn = self.skip(bytes, drawn..at, rows, draw);
        }
        draw(&bytes[drawn..]);
    }

    /// Goes on to the next control sequence; says where it begins.
    fn text(&mut self, bytes: &[u8], from: usize, rows: usize) -> usize {
        let mut before = 0;
        for (index, byte) in bytes[from..].iter().enumerate() {
            match *byte {
                ESC => return from + index,
                b'\n' => self.run.line(from + index + 1, before == b'\r', rows),
                _ => {}
            }
            before = *byte;
        }
        bytes.len()
    }

    /// Skips what it can of the stretch that ends where the range does; says up to where all is drawn or skipped.
    fn skip(&self, bytes: &[u8], left: Range<usize>, rows: usize, draw: &mut dyn FnMut(&[u8])) -> usize {
        match self.run.cut(rows).filter(|cut| !self.region && has_letters(&bytes[*cut..left.end])) {
            Some(cut) => {
                draw(&bytes[left.start..self.run.start]);
                draw(&colours(&bytes[self.run.start..cut]));
                // The line that begins there begins at the left edge.
                draw(b"\r");
                cut
            }
            None => left.start,
        }
    }

    /// One byte of a control sequence that may do anything.
    fn step(&mut self, byte: u8) {
        const CAN: u8 = 0x18;
        const SUB: u8 = 0x1a;
        self.state = match (self.state, byte) {
            (_, ESC) => State::Escape,
            (_, CAN | SUB) | (State::Words { bell: true }, 7) => State::Text,
            (State::Escape, b'[') => State::Sequence { bare: true },
            (State::Escape, b']') => State::Words { bell: true },
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::Words { bell: false },
            (State::Escape, 0x30..=0x7e) => {
                self.region &= byte != b'c';
                State::Text
            }
            (State::Sequence { bare }, 0x40..=0x7e) => {
                self.region = if byte == b'r' { !bare } else { self.region };
                State::Text
            }
            (State::Sequence { .. }, _) => State::Sequence { bare: false },
            (state, _) => state,
        };
    }
}

/// Whether a line in this begins with a letter: the last one may be asked for again by a control sequence.
fn has_letters(bytes: &[u8]) -> bool {
    let mut begins = true;
    bytes.iter().any(|byte| std::mem::replace(&mut begins, *byte == b'\n') && (0x20..0x7f).contains(byte))
}

/// The length of the control sequence that begins here, if all it does is to colour, or to change its own line.
fn harmless(bytes: &[u8]) -> Option<usize> {
    let inner = bytes.strip_prefix(b"\x1b[")?;
    let count = inner.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
    matches!(inner.get(count), Some(b'm' | b'K' | b'C' | b'D' | b'G' | b'P' | b'X' | b'@'))
        .then_some(count + 3)
}

/// The control sequences in a stretch that tell the colours at its end.
fn colours(bytes: &[u8]) -> Vec<u8> {
    let mut told = Vec::new();
    let mut at = last_reset(bytes);
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == ESC) {
        at += next;
        let length = harmless(&bytes[at..]).unwrap_or(1);
        if bytes.get(at + length - 1) == Some(&b'm') {
            told.extend_from_slice(&bytes[at..at + length]);
        }
        at += length;
    }
    told
}

/// Where all colours were taken back last, or the beginning.
fn last_reset(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    while let Some(at) = bytes[..end].iter().rposition(|byte| *byte == ESC) {
        if matches!(&bytes[at..], [_, b'[', b'm', ..] | [_, b'[', b'0', b'm' | b';', ..]) {
            return at;
        }
        end = at;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(bytes: &[u8], rows: usize) -> Vec<u8> {
        let mut drawn = Vec::new();
        Skim::default().read(bytes, rows, &mut |piece| drawn.extend_from_slice(piece));
        drawn
    }

    fn lines(count: usize, end: &str) -> String {
        let lines: Vec<String> = (0..count).map(|number| format!("line number {number}{end}")).collect();
        lines.concat()
    }

    #[test]
    fn a_flood_is_skipped_but_for_its_last_lines_and_its_colours() {
        let text =
            format!("\x1b[1m\x1b[0m\x1b[31mred\x1b[Kder{}\x1b[4m{}", lines(500, "\r\n"), lines(12, "\r\n"));
        let seen = String::from_utf8(drawn(text.as_bytes(), 4)).unwrap();
        let expected = format!("\x1b[0m\x1b[31m\x1b[4m\r{}", &text[text.rfind("line number 4\r").unwrap()..]);
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_may_depend_on_the_screen_is_drawn() {
        for text in [
            lines(3, "\r\n"),
            lines(500, "\n"),
            format!("\x1b[2;5r{}", lines(500, "\r\n")),
            format!("\x1b]0;{}", lines(500, "\r\n")),
            format!("\x1bP{}", lines(500, "\r\n")),
            format!("\x1b[?{}", "1".repeat(5000)),
        ] {
            assert_eq!(drawn(text.as_bytes(), 4), text.as_bytes());
        }
        let text = format!("\x1b[2;5r\x1b[r{}\x1b[H{}", lines(500, "\r\n"), lines(2, "\r\n"));
        assert!(drawn(text.as_bytes(), 4).len() < 200);
    }

    proptest! {
        #[test]
        fn cutting_the_stream_anywhere_loses_nothing(cut in 0_usize..300) {
            let text = format!("é\x1b[31m世\x1b]2;t\x07\x1b[?25l{}", lines(20, "\r\n"));
            let bytes = text.as_bytes();
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let (mut skim, mut drawn) = (Skim::default(), Vec::new());
            skim.read(first, 100, &mut |piece| drawn.extend_from_slice(piece));
            skim.read(second, 100, &mut |piece| drawn.extend_from_slice(piece));
            prop_assert_eq!(drawn, bytes);
        }
    }
}
