//! One line of a terminal as it is written over: what stands there at the end is what counts.

use unicode_width::UnicodeWidthChar;

/// The second half of a wide character.
const HALF: char = '\0';
/// A longer line is broken, so that output without an end takes no memory.
const LONGEST: usize = 16 << 10;
/// A cursor is not moved beyond this column; printing may go on.
const FARTHEST: usize = 1000;

/// A line under construction.
#[derive(Debug, Default)]
pub(super) struct Line {
    cells: Vec<char>,
    /// Marks that stand on the character in this column, such as accents.
    marks: Vec<(usize, char)>,
    column: usize,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether it has to be broken before more is printed.
    pub(super) fn is_full(&self) -> bool {
        self.column >= LONGEST || self.marks.len() >= LONGEST
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Puts a character at the cursor, over what stands there.
    pub(super) fn print(&mut self, letter: char) {
        match letter.width() {
            None => {}
            Some(0) => self.marks.extend(self.column.checked_sub(1).map(|under| (under, letter))),
            Some(width) => {
                for (index, cell) in [letter, HALF].into_iter().take(width).enumerate() {
                    self.put(self.column + index, cell);
                }
                self.column += width.min(2);
            }
        }
    }

    /// A tab stays a tab at the end of a line, and elsewhere passes over a column.
    pub(super) fn tab(&mut self) {
        if self.column >= self.cells.len() {
            self.put(self.column, '\t');
        }
        self.column += 1;
    }

    fn put(&mut self, column: usize, cell: char) {
        if column >= self.cells.len() {
            self.cells.resize(column, ' ');
            self.cells.push(cell);
            return;
        }
        self.split(column, cell);
        self.cells[column] = cell;
        self.marks.retain(|(under, _)| *under != column);
    }

    /// Half of a wide character does not stand alone.
    fn split(&mut self, column: usize, cell: char) {
        if self.cells[column] == HALF && cell != HALF && column > 0 {
            self.cells[column - 1] = ' ';
        }
        if let Some(next) = self.cells.get_mut(column + 1).filter(|next| **next == HALF) {
            *next = ' ';
        }
    }

    pub(super) fn go_to(&mut self, column: usize) {
        self.column = column.min(FARTHEST);
    }

    pub(super) fn go_right(&mut self, columns: usize) {
        self.column = (self.column + columns).min(FARTHEST.max(self.column));
    }

    pub(super) fn go_left(&mut self, columns: usize) {
        self.column = self.column.saturating_sub(columns);
    }

    /// Erases from the cursor to the end.
    pub(super) fn cut(&mut self) {
        self.cells.truncate(self.column);
        self.marks.retain(|(under, _)| *under < self.column);
    }

    /// Erases so many columns at the cursor.
    pub(super) fn blank(&mut self, columns: usize) {
        let end = (self.column + columns).min(self.cells.len());
        self.blank_range(self.column, end);
    }

    /// Erases from the start to the cursor.
    pub(super) fn blank_head(&mut self) {
        self.blank_range(0, (self.column + 1).min(self.cells.len()));
    }

    fn blank_range(&mut self, from: usize, to: usize) {
        for column in from..to {
            self.put(column, ' ');
        }
    }

    /// Takes so many columns out at the cursor.
    pub(super) fn delete(&mut self, columns: usize) {
        let (from, to) = (self.column.min(self.cells.len()), (self.column + columns).min(self.cells.len()));
        if from < to {
            self.cells.drain(from..to);
            self.marks.retain(|(under, _)| *under < from);
        }
    }

    /// Makes room for so many columns at the cursor.
    pub(super) fn insert(&mut self, columns: usize) {
        if self.column < self.cells.len() {
            let blanks = std::iter::repeat_n(' ', columns.min(FARTHEST));
            self.cells.splice(self.column..self.column, blanks);
            self.cells.truncate(LONGEST);
            let at = self.column;
            self.marks.retain(|(under, _)| *under < at);
        }
    }

    /// Ends it: its text without what is blank at the end, and an empty line in its place.
    pub(super) fn take(&mut self) -> String {
        let mut text = String::with_capacity(self.cells.len());
        self.marks.sort_by_key(|(under, _)| *under);
        let mut marks = self.marks.iter().peekable();
        for (column, cell) in self.cells.iter().enumerate() {
            if *cell != HALF {
                text.push(*cell);
            }
            while let Some((_, mark)) = marks.next_if(|(under, _)| *under == column) {
                text.push(*mark);
            }
        }
        text.truncate(text.trim_end_matches([' ', '\t']).len());
        (self.column, self.cells, self.marks) = (0, std::mem::take(&mut self.cells), Vec::new());
        self.cells.clear();
        text
    }
}
