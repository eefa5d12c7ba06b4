//! How large a terminal is.

use serde::{Deserialize, Serialize};

/// The size of a terminal in cells.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// How many columns.
    pub cols: u16,
    /// How many rows.
    pub rows: u16,
}

/// Smaller is no terminal, larger is a mistake.
const RANGE: std::ops::RangeInclusive<u16> = 2..=1000;

impl Size {
    /// Whether a terminal can have it: both sides from 2 to 1000.
    pub fn is_possible(self) -> bool {
        RANGE.contains(&self.cols) && RANGE.contains(&self.rows)
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { cols: 100, rows: 30 }
    }
}
