//! How a runner is metered.

use crate::intake::stream::Format;

/// What is known of a runner before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// The format of its stream; else the first known line tells.
    pub format: Option<Format>,
    /// The model it is started with, for streams that do not name it.
    pub model: Option<String>,
    /// Where its dollars come from.
    pub cost: Cost,
}

/// Where the dollars of a runner come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// From the stream, by its format.
    #[default]
    Stream,
    /// From lines that a person named.
    Line(LineCost),
    /// It costs nothing.
    Free,
}

/// Lines that state dollars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCost {
    /// The value of the line's `type`.
    pub kind: String,
    /// JSON pointer to the dollars, a number or a number in a text.
    pub pointer: String,
    /// Whether the lines add up.
    pub mode: Mode,
}

/// How the figures of several lines belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each line states its own part.
    Sum,
    /// Each line states all so far; the greatest counts.
    Total,
}
