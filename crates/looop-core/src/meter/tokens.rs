//! Tokens of one call or of many.

use serde_json::Value;

/// How many tokens were read and written, by what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Read at full price.
    pub(super) input: u64,
    /// Read from a cache.
    pub(super) cached: u64,
    /// Read and written to a cache.
    pub(super) written: u64,
    /// Said, thoughts included.
    pub(super) output: u64,
}

impl Tokens {
    /// Reads the counts by the keys of a format, in the order of the fields. A count that is missing or no whole
    /// number is zero.
    pub(super) fn read(counts: &Value, [input, cached, written, output]: [&str; 4]) -> Self {
        Self {
            input: count(counts, input),
            cached: count(counts, cached),
            written: count(counts, written),
            output: count(counts, output),
        }
    }

    /// The same for a format whose input includes what was read from and written to a cache.
    pub(super) fn read_inclusive(counts: &Value, keys: [&str; 4]) -> Self {
        let read = Self::read(counts, keys);
        let cached = read.cached.min(read.input);
        let written = read.written.min(read.input - cached);
        Self { input: read.input - cached - written, cached, written, output: read.output }
    }

    pub(super) fn is_zero(self) -> bool {
        self == Self::default()
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_sub)
    }

    /// Count by count the greater one.
    pub(super) fn max(self, other: Self) -> Self {
        self.zip(other, u64::max)
    }

    fn zip(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            input: with(self.input, other.input),
            cached: with(self.cached, other.cached),
            written: with(self.written, other.written),
            output: with(self.output, other.output),
        }
    }
}

/// A count in an object; zero where it is missing or no whole number.
pub(super) fn count(counts: &Value, key: &str) -> u64 {
    counts.get(key).and_then(Value::as_u64).unwrap_or(0)
}
