//! Whether a text stands where it was typed.
//!
//! Terminal programs do not say whether they took a text, so the screen is read as a person reads it. Before Enter the
//! text is found at the cursor, or a few rows above it where a program parks the cursor below its composer, and it must
//! not have stood there before it was typed. After Enter it is looked for again: if it stands at the same distance from
//! the cursor it was not taken. Blanks, frames and the place where a line wraps do not count.

use std::hash::{DefaultHasher, Hash, Hasher};

use unicode_width::UnicodeWidthChar;

/// How much of the end of a text is looked for: enough to be its own, little enough to be on the screen.
const TAIL: usize = 32;
/// How many rows above the cursor it may stand.
const REACH: u16 = 8;
/// A prompt before a text that stands above the cursor has at most so many characters.
const PROMPT: usize = 3;
/// What stands for a prompt at the beginning of a row.
const MARKS: [char; 11] = ['>', '›', '❯', '»', '→', '$', '%', '#', '❱', '*', '!'];
/// What stands at the sides of a field.
const SIDES: [char; 8] = ['|', '│', '┃', '║', '▌', '▐', '▎', '▏'];

/// How the program that has the terminal reads what is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reads {
    /// By lines, which the terminal itself shows: nothing is read before Enter.
    #[default]
    Lines,
    /// By keys, and it asked to be told of pastes: a text comes as one piece.
    Pastes,
    /// By keys, and shows them itself if it is a composer.
    Keys,
    /// What is typed is not shown, or each key is taken by itself: no text belongs there.
    Blindly,
}

/// What the screen shows of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// Whether the tail of the text stands at the cursor or just above it.
    pub stands: bool,
    /// How many rows above the cursor it ends.
    pub up: u16,
    /// Whether the row beneath is an empty line of the same field, as after a line break that was typed into it.
    pub open: bool,
    /// Tells this row, as it stands, from others.
    pub mark: u64,
    /// Row and column of the cursor.
    pub cursor: (u16, u16),
    /// How what is typed is read.
    pub reads: Reads,
}

impl Look {
    /// Whether the text stands where it did not stand before it was typed.
    pub fn is_echo(self, before: Self) -> bool {
        self.stands && (!before.stands || self.mark != before.mark || self.cursor != before.cursor)
    }

    /// Whether a first character of this width was shown at the cursor, and nothing else happened there.
    pub(super) fn is_first_echo(self, before: Self, width: usize) -> bool {
        let column = usize::from(before.cursor.1) + width;
        let advanced = self.cursor.0 == before.cursor.0 && usize::from(self.cursor.1) == column;
        self.is_echo(before) && self.up == 0 && advanced
    }

    /// Whether the text still stands where it stood before Enter.
    ///
    /// If it was not seen there, only one at the cursor counts. One that stands above it was echoed, as by every
    /// terminal that a program reads line by line, or is part of a conversation.
    pub(super) fn is_left(self, before: Self) -> bool {
        let moved = before.up.saturating_add(1);
        match (before.stands, self.stands) {
            (_, false) => false,
            (true, true) => self.up == before.up || self.open && self.up == moved,
            (false, true) => self.up == 0 || self.open && self.up == 1,
        }
    }
}

/// Cuts a text after the first character that shows.
pub(super) fn split_first(text: &str) -> (&str, &str) {
    let shows = |c: char| !squeezed(c.encode_utf8(&mut [0; 4])).is_empty();
    let end = text.char_indices().find(|(_, c)| shows(*c)).map(|(at, c)| at + c.len_utf8());
    text.split_at(end.unwrap_or(text.len()))
}

/// How many cells a text of one line takes.
pub(super) fn cells(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// What to look for on the screen: the end of the last line that has something to see.
pub fn tail_of(text: &str) -> String {
    let seen = text.lines().rev().map(squeezed).find(|line| !line.is_empty());
    last(&seen.unwrap_or_default(), TAIL)
}

/// Looks for the tail of a text on a screen of these lines, with the cursor at this row and column.
///
/// A row of the screen is a line; the column counts cells, so that a wide character is two. Where a program shows
/// something like `[Pasted text #1 +12 lines]` for a long text, that counts as the text.
pub fn look(lines: &[String], cursor: (u16, u16), tail: &str) -> Look {
    let whole = look_in(lines, cursor, tail);
    match field(lines, cursor) {
        Some((start, end)) if !whole.stands => {
            let clipped: Vec<String> = lines.iter().map(|line| cut(line, start, end).to_owned()).collect();
            let column = u16::try_from(start).map_or(0, |start| cursor.1.saturating_sub(start));
            Look { cursor, ..look_in(&clipped, (cursor.0, column), tail) }
        }
        Some(_) | None => whole,
    }
}

/// Looks for it in whole rows.
fn look_in(lines: &[String], cursor: (u16, u16), tail: &str) -> Look {
    let needle = last(&squeezed(tail), TAIL);
    let nothing = Look { cursor, ..Look::default() };
    if needle.is_empty() {
        return nothing;
    }
    for up in 0..=cursor.0.min(REACH) {
        let row = usize::from(cursor.0 - up);
        let line = lines.get(row).map_or("", String::as_str);
        let content = squeezed(if up == 0 { left_of(line, cursor.1) } else { line });
        if content.is_empty() {
            continue;
        }
        if is_placeholder(&content) || ends_with(&lines[..row], content.clone(), &needle, up == 0) {
            let open = up > 0 && is_open(lines, row, cursor);
            return Look { stands: true, up, open, mark: mark(row, line), ..nothing };
        }
        // Another text is being typed at the cursor, or in a composer above it.
        if up == 0 || content.starts_with(MARKS) {
            break;
        }
    }
    nothing
}

fn mark(row: usize, line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (row, line).hash(&mut hasher);
    hasher.finish()
}

/// Whether this row, with what wraps into it from above, ends with the text.
///
/// Away from the cursor a short text must be all that follows a prompt, or every "y" would be found in some word.
fn ends_with(above: &[String], mut content: String, needle: &str, at_cursor: bool) -> bool {
    let long = needle.chars().count();
    for line in above.iter().rev().take(TAIL) {
        if content.chars().count() >= long {
            break;
        }
        content.insert_str(0, &squeezed(line));
    }
    let Some(before) = content.strip_suffix(needle) else { return false };
    let prompt = before.chars().count() <= PROMPT && !before.contains(char::is_alphanumeric);
    at_cursor || long == TAIL || prompt
}

/// Whether a program shows this for a text that was pasted.
fn is_placeholder(content: &str) -> bool {
    let Some((_, inner)) = content.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) else {
        return false;
    };
    inner.to_lowercase().starts_with("paste")
}

/// Whether the row beneath this one is an empty line of the same field. If the cursor is in it, it must stand beneath
/// the beginning of the text: a terminal that merely echoes Enter puts it into the first column.
fn is_open(lines: &[String], row: usize, cursor: (u16, u16)) -> bool {
    let beneath = lines.get(row + 1).map_or("", String::as_str);
    let empty = beneath.chars().all(|c| c.is_whitespace() || SIDES.contains(&c));
    let column = text_column(&lines[row]);
    empty && (row + 1 != usize::from(cursor.0) || column > 0 && column == usize::from(cursor.1))
}

/// In which cell the text of a row begins, after frame and prompt.
fn text_column(line: &str) -> usize {
    let framed = |c: char| c.is_whitespace() || is_frame(c);
    let text = line.trim_start_matches(framed).trim_start_matches(MARKS).trim_start();
    line[..line.len() - text.len()].chars().map(width).sum()
}

/// The columns of the field that the cursor is in, where others stand beside it: the panes of a screen that is split.
fn field(lines: &[String], cursor: (u16, u16)) -> Option<(usize, usize)> {
    let line = lines.get(usize::from(cursor.0))?;
    let (mut start, mut cell) = (0, 0);
    for c in line.chars() {
        if SIDES.contains(&c) {
            if cell >= usize::from(cursor.1) {
                return Some((start, cell));
            }
            start = cell + width(c);
        }
        cell += width(c);
    }
    (start > 0).then_some((start, usize::MAX))
}

/// What stands between these columns.
fn cut(line: &str, start: usize, end: usize) -> &str {
    let bound = |cells: usize| u16::try_from(cells).map_or(line, |cells| left_of(line, cells));
    let (before, until) = (bound(start).len(), bound(end).len());
    if start == 0 { &line[..until] } else { line.get(before..until).unwrap_or_default() }
}

/// What is left of this column.
fn left_of(line: &str, column: u16) -> &str {
    let mut cell = 0;
    for (index, c) in line.char_indices() {
        if cell >= usize::from(column) {
            return &line[..index];
        }
        cell += width(c);
    }
    line
}

/// A text without blanks, frames and what has no width of its own.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !is_frame(*c) && width(*c) > 0).collect()
}

/// Lines, corners and blocks.
fn is_frame(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{259f}')
}

fn width(c: char) -> usize {
    c.width().unwrap_or(0)
}

fn last(text: &str, count: usize) -> String {
    text.chars().skip(text.chars().count().saturating_sub(count)).collect()
}
