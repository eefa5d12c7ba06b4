//! The screen of a session that is only watched, drawn on a terminal of any size.
//!
//! What a session prints fits a terminal of its own size alone: elsewhere it wraps and scrolls in other places. Whoever
//! attaches gives the session the size of their terminal; whoever watches touches nothing. So the session's screen is
//! emulated here, and as much of it is drawn as there is room for.

use std::fmt::Write;

use crate::ops::drive::{Emulated, Part, Size};

/// A watched screen, and what of it is on the terminal.
pub(super) struct Watched {
    session: String,
    screen: Emulated,
    /// What was drawn last; None if all has to be drawn.
    drawn: Option<Drawn>,
}

#[derive(PartialEq, Eq)]
struct Drawn {
    /// Columns and rows of the terminal.
    size: (u16, u16),
    rows: Vec<String>,
    cursor: Option<[u16; 2]>,
}

impl Watched {
    /// The empty screen of a session's terminal of this size.
    pub(super) fn new(session: &str, size: Size) -> Self {
        Self { session: session.to_owned(), screen: Emulated::new(size), drawn: None }
    }

    /// Takes output.
    pub(super) fn show(&mut self, bytes: &[u8]) {
        self.screen.show(bytes);
    }

    /// Takes the whole screen.
    pub(super) fn repaint(&mut self, bytes: &[u8]) {
        self.screen.repaint(bytes);
    }

    /// The session's terminal has another size.
    pub(super) fn resize(&mut self, size: Size) {
        self.screen.resize(size);
        self.forget_drawn();
    }

    /// The person's terminal has another size, or something else was shown on it.
    pub(super) fn forget_drawn(&mut self) {
        self.drawn = None;
    }

    /// What brings a terminal of this size from what was drawn last to the screen as it is. If only a part is shown the
    /// last row says so, and how to leave; else it says how to leave where `hint` is set.
    pub(super) fn draw(&mut self, (cols, rows): (u16, u16), hint: bool) -> String {
        let all = self.screen.size();
        let is_cut = cols < all.cols || rows < all.rows;
        let room = if is_cut { rows.saturating_sub(1).max(1) } else { rows };
        let Part { rows: mut lines, cursor } = self.screen.part(cols, room);
        if is_cut || hint {
            let part = if is_cut {
                format!(" · {}x{} of {}x{}", cols.min(all.cols), room.min(all.rows), all.cols, all.rows)
            } else {
                String::new()
            };
            let line = format!(" {}{part} · q leaves ", self.session);
            lines.resize(usize::from(rows), String::new());
            if let Some(last) = lines.last_mut() {
                *last = format!("\x1b[7m{}", line.chars().take(usize::from(cols)).collect::<String>());
            }
        }
        let now = Drawn { size: (cols, rows), rows: lines, cursor };
        let before = self.drawn.take().filter(|before| before.size == now.size);
        let text = if before.as_ref() == Some(&now) { String::new() } else { change(before.as_ref(), &now) };
        self.drawn = Some(now);
        text
    }
}

/// What draws the rows that changed, and puts the cursor where it is.
fn change(before: Option<&Drawn>, now: &Drawn) -> String {
    let mut text = String::from("\x1b[?25l");
    if before.is_none() {
        text.push_str("\x1b[m\x1b[2J");
    }
    let old = before.map_or(&[][..], |before| before.rows.as_slice());
    let blank = String::new();
    for row in 0..now.rows.len().max(old.len()) {
        let (was, is) = (old.get(row).unwrap_or(&blank), now.rows.get(row).unwrap_or(&blank));
        if was != is {
            // Erased first: behind the last column nothing can be erased without the character in it.
            write!(text, "\x1b[{};1H\x1b[m\x1b[2K{is}\x1b[m", row + 1).unwrap_or_default();
        }
    }
    if let Some([row, col]) = now.cursor {
        write!(text, "\x1b[{};{}H\x1b[?25h", row + 1, col + 1).unwrap_or_default();
    }
    text
}
