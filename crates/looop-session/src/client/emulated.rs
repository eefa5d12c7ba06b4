//! A session's screen as a viewer keeps it, to be drawn on a terminal of any size.

use std::fmt::Write;

use vt100::{Cell, Color};

use crate::Size;
use crate::screen::Screen;

/// The screen of a session's terminal, emulated by whoever looks at it.
pub struct Emulated {
    screen: Screen,
}

/// What a terminal shows of a screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What draws each row, from the first column on, on a blank row without attributes. Colours are left set.
    pub rows: Vec<String>,
    /// Row and column of the cursor, from 0, where it is shown.
    pub cursor: Option<[u16; 2]>,
}

impl std::fmt::Debug for Emulated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulated").field("size", &self.size()).finish_non_exhaustive()
    }
}

impl Emulated {
    /// An empty screen of this size.
    pub fn new(size: Size) -> Self {
        Self { screen: Screen::new(size) }
    }

    /// The size of the session's terminal.
    pub fn size(&self) -> Size {
        self.screen.size()
    }

    /// Takes output. Questions in it are the host's to answer.
    pub fn show(&mut self, bytes: &[u8]) {
        self.screen.show(bytes);
    }

    /// Takes a repaint: what was shown before does not count any more.
    pub fn repaint(&mut self, bytes: &[u8]) {
        self.screen = Screen::new(self.size());
        self.screen.show(bytes);
    }

    /// The session's terminal has another size.
    pub fn resize(&mut self, size: Size) {
        self.screen.resize(size);
    }

    /// What so many columns and rows show: the left side of the rows, from the top on or, where the cursor is further
    /// down, up to its row.
    pub fn part(&self, cols: u16, rows: u16) -> Part {
        let Some(screen) = self.screen.emulator() else {
            return Part { rows: Vec::new(), cursor: Some([0, 0]) };
        };
        let Size { cols: all_cols, rows: all_rows } = self.size();
        let (cols, rows) = (cols.min(all_cols), rows.min(all_rows));
        let (row, col) = screen.cursor_position();
        let top = (row + 1).saturating_sub(rows);
        let draw = |row| drawn((0..cols).map_while(|col| screen.cell(row, col)));
        // A cursor behind the last column waits there to wrap.
        let col = col.min(all_cols - 1);
        let cursor = (!screen.hide_cursor() && col < cols).then_some([row - top, col]);
        Part { rows: (top..top + rows).map(draw).collect(), cursor }
    }
}

/// What draws these cells. Blank ones at the end are left out.
fn drawn<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let (mut text, mut length, mut before) = (String::new(), 0, String::new());
    let mut cells = cells.peekable();
    while let Some(cell) = cells.next() {
        let attributes = attributes(cell);
        if attributes != before {
            write!(text, "\x1b[0{attributes}m").unwrap_or_default();
            before = attributes;
        }
        let fits = !cell.is_wide() || cells.next_if(|next| next.is_wide_continuation()).is_some();
        match cell.contents() {
            // One that is twice as wide does not fit where its other half is cut off.
            contents if cell.has_contents() && fits => text.push_str(contents),
            _ => text.push(' '),
        }
        if cell.has_contents() || !before.is_empty() {
            length = text.len();
        }
    }
    text.truncate(length);
    text
}

/// How a cell is shown, as parameters of a sequence, each behind a semicolon.
fn attributes(cell: &Cell) -> String {
    let mut text = String::new();
    let set = [
        (cell.bold(), ";1"),
        (cell.dim(), ";2"),
        (cell.italic(), ";3"),
        (cell.underline(), ";4"),
        (cell.inverse(), ";7"),
    ];
    text.extend(set.iter().filter(|(is_set, _)| *is_set).map(|(_, parameter)| *parameter));
    for (base, color) in [(38, cell.fgcolor()), (48, cell.bgcolor())] {
        match color {
            Color::Default => Ok(()),
            // The first eight as every terminal knows them.
            Color::Idx(index @ ..8) => write!(text, ";{}", base - 8 + u16::from(index)),
            Color::Idx(index) => write!(text, ";{base};5;{index}"),
            Color::Rgb(red, green, blue) => write!(text, ";{base};2;{red};{green};{blue}"),
        }
        .unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn showing(text: &str) -> Emulated {
        let mut emulated = Emulated::new(Size { cols: 12, rows: 4 });
        emulated.show(text.as_bytes());
        emulated
    }

    #[test]
    fn the_row_of_the_cursor_is_in_the_part() {
        let mut emulated = showing("one\r\ntwo\r\nthree\r\nfour");
        assert_eq!(emulated.part(4, 2), Part { rows: vec!["thre".into(), "four".into()], cursor: None });
        emulated.show(b"\x1b[2;1H");
        let top = Part { rows: vec!["one".into(), "two".into()], cursor: Some([1, 0]) };
        assert_eq!(emulated.part(4, 2), top);
        assert_eq!(emulated.part(4, 1), Part { rows: vec!["two".into()], cursor: Some([0, 0]) });
        emulated.show(b"\x1b[?25l");
        assert_eq!(emulated.part(4, 2).cursor, None);
    }

    #[test]
    fn a_larger_terminal_shows_all() {
        let part = showing("twelve char.\r\ntwo").part(80, 24);
        assert_eq!(
            part,
            Part { rows: ["twelve char.", "two", "", ""].map(str::to_owned).to_vec(), cursor: Some([1, 3]) }
        );
        assert_eq!(showing("").part(80, 24).cursor, Some([0, 0]));
    }

    #[test]
    fn half_of_a_wide_letter_is_not_shown() {
        let emulated = showing("a世界");
        assert_eq!(emulated.part(3, 4).rows[0], "a世");
        assert_eq!(emulated.part(4, 4).rows[0], "a世 ");
        assert_eq!(emulated.part(5, 4).rows[0], "a世界");
    }

    #[test]
    fn what_is_drawn_looks_the_same() {
        for text in [
            "plain \x1b[1;31mred\x1b[m and",
            "\x1b[38;5;200;48;2;1;2;3mx\x1b[7my\x1b[27;3;4mz",
            "\x1b[44mblue\x1b[K\x1b[m",
            "  \x1b[2mdim\x1b[22m é世\u{301}",
            "\x1b[97;107mbright",
        ] {
            let emulated = showing(text);
            let rows = emulated.part(12, 4).rows;
            let again = showing(&rows[0]);
            let (first, second) = (emulated.screen.emulator().unwrap(), again.screen.emulator().unwrap());
            for col in 0..12 {
                assert_eq!(
                    first.cell(0, col).map(|cell| (cell.contents().trim_end().to_owned(), attributes(cell))),
                    second.cell(0, col).map(|cell| (cell.contents().trim_end().to_owned(), attributes(cell))),
                    "{text:?} became {:?}, column {col}",
                    rows[0]
                );
            }
        }
    }

    #[test]
    fn a_repaint_replaces_all() {
        let mut emulated = showing("old\r\nold\x1b[31m");
        emulated.repaint(b"\x1b[Hnew");
        assert_eq!(emulated.part(12, 4).rows, ["new", "", "", ""]);
        emulated.resize(Size { cols: 6, rows: 2 });
        assert_eq!((emulated.size(), emulated.part(12, 4).rows.len()), (Size { cols: 6, rows: 2 }, 2));
    }
}
