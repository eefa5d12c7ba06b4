//! What happened: counted, and told line by line where somebody wants to read it.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::clock::Clock;

/// Longest line of a tale.
const LONGEST: usize = 400;

/// The tale of one storm.
#[derive(Clone, Debug, Default)]
pub struct Tale {
    /// How often each kind of thing happened.
    pub counts: BTreeMap<&'static str, u64>,
    /// The lines, if they are wanted.
    pub lines: Option<Vec<String>>,
}

impl Tale {
    /// Counts something.
    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// How often something happened.
    pub fn counted(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Tells a line. What it says is only made up if somebody reads it.
    pub fn tell<T: Display>(&mut self, clock: &Clock, line: impl FnOnce() -> T) {
        let Some(lines) = &mut self.lines else { return };
        let seconds = clock.t / 1000;
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let mut text = format!("{hours:02}:{minutes:02}:{rest:02}.{:03} {}", clock.t % 1000, line());
        if let Some((cut, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(cut);
        }
        lines.push(text);
    }

    /// Adds what another storm counted.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }
}
