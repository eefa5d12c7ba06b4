//! What a call of a model costs at most, before it is made.

use super::micros::{Micros, Pico};
use super::prices::Prices;

/// What one call costs at most, by the length of its brief: every byte counts as a token, since none is shorter, and
/// the answer as long as it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallBound {
    /// Dollars per million tokens that are read, at the dearest.
    input: Micros,
    /// What the longest answer costs per million tokens, and how long it is.
    output: (Micros, u64),
    /// Tokens that are read beside the brief.
    beside: u64,
}

impl CallBound {
    /// The bound of calls of a model, which read so many tokens beside the brief and answer with so many at most.
    /// Nothing where the model has no price.
    pub fn new(prices: &Prices, model: &str, beside: u64, answer: u64) -> Option<Self> {
        let price = prices.of(model)?;
        let input = price.input.max(price.cache_write.unwrap_or(price.input));
        Some(Self { input, output: (price.output, answer), beside })
    }

    /// What a call with a brief of so many bytes costs at most, rounded up.
    pub fn of(&self, brief: usize) -> Micros {
        let read = self.beside.saturating_add(u64::try_from(brief).unwrap_or(u64::MAX));
        let (price, answer) = self.output;
        Pico::of_tokens(read, self.input).plus(Pico::of_tokens(answer, price)).ceil()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_token_at_the_dearest_price() {
        let of = |model, brief| CallBound::new(&Prices::shipped(), model, 1, 1).map(|bound| bound.of(brief));
        // Written to the cache at $5 a million, answered at $20 a million.
        assert_eq!(of("claude-opus-5-5", 2), Some(Micros::new(35)));
        assert_eq!(of("claude-opus-5-5", 0), Some(Micros::new(25)));
        assert_eq!(of("fake", 2), None);
    }
}
