//! What tokens cost.

use std::collections::BTreeMap;

use super::micros::{Micros, Pico};
use super::tokens::Tokens;

/// The day on which the shipped prices were taken from the public price lists.
pub const PRICES_AS_OF: &str = "2026-11-15";

/// Dollars per million tokens of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Read.
    pub input: Micros,
    /// Written.
    pub output: Micros,
    /// Read from a cache; where nothing is said, as `input`.
    pub cached_read: Option<Micros>,
    /// Written to a cache; where nothing is said, as `input`.
    pub cache_write: Option<Micros>,
}

impl Price {
    fn cost(self, tokens: Tokens) -> Pico {
        let parts = [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cached, self.cached_read.unwrap_or(self.input)),
            (tokens.written, self.cache_write.unwrap_or(self.input)),
        ];
        parts.into_iter().fold(Pico::default(), |sum, (count, price)| sum.plus(Pico::of_tokens(count, price)))
    }
}

/// Prices by the beginning of a model's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// The prices that come with the program.
    pub fn shipped() -> Self {
        let row = |(name, input, output, cached, write): &Row| {
            let dear = |micros: u64| Some(Micros::new(micros)).filter(|price| *price > Micros::ZERO);
            let (cached_read, cache_write) = (dear(*cached), dear(*write));
            let (input, output) = (Micros::new(*input), Micros::new(*output));
            ((*name).to_owned(), Price { input, output, cached_read, cache_write })
        };
        Self(SHIPPED.iter().map(row).collect())
    }

    /// These prices with others in their place.
    #[must_use]
    pub fn with(mut self, others: impl IntoIterator<Item = (String, Price)>) -> Self {
        let lower = |(name, price): (String, Price)| (name.to_ascii_lowercase(), price);
        self.0.extend(others.into_iter().map(lower));
        self
    }

    /// The price of a model: that of the longest name that it begins with. A provider before a slash is passed over
    /// where the whole name has no price.
    pub fn of(&self, model: &str) -> Option<Price> {
        let model = model.to_ascii_lowercase();
        let mut rest = model.as_str();
        loop {
            if let Some(price) = self.longest(rest) {
                return Some(price);
            }
            (_, rest) = rest.split_once('/')?;
        }
    }

    fn longest(&self, model: &str) -> Option<Price> {
        let matching = self.0.iter().filter(|(name, _)| begins(model, name));
        matching.max_by_key(|(name, _)| name.len()).map(|(_, price)| *price)
    }

    /// What tokens of a model cost; nothing where it has no price.
    pub(super) fn cost(&self, model: &str, tokens: Tokens) -> Option<Pico> {
        self.of(model).map(|price| price.cost(tokens))
    }
}

/// Whether a model goes by a name: it is called so, or so with a date or a variant behind. Another version is another
/// model, whose price is not known: `gpt-5` is neither `gpt-55` nor `gpt-5.9`, `claude-opus-5` is not `claude-opus-5-9`.
fn begins(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let goes_on = rest.starts_with(|next: char| next.is_ascii_alphanumeric());
    let numbered = name.ends_with(|last: char| last.is_ascii_digit());
    let other = goes_on || (numbered && is_version(rest));
    !name.is_empty() && !other
}

/// Whether what follows a number is its next part, such as `.1` or `-5`. A date has more digits.
fn is_version(rest: &str) -> bool {
    let Some(next) = rest.strip_prefix(['.', '-']) else { return false };
    matches!(next.find(|next: char| !next.is_ascii_digit()).unwrap_or(next.len()), 1 | 2)
}

/// A name, then micro-dollars per million tokens: input, output, cache read, cache write; zero is "as input".
type Row = (&'static str, u64, u64, u64, u64);

/// List prices of the models that the presets run on.
const SHIPPED: &[Row] = &[
    ("claude-fable-5", 10_000_000, 50_000_000, 1_000_000, 12_500_000),
    ("claude-fable-5-1", 10_000_000, 50_000_000, 250_000, 12_500_000),
    ("claude-haiku-4-5", 1_000_000, 5_000_000, 100_000, 1_250_000),
    ("claude-opus-4", 15_000_000, 75_000_000, 1_500_000, 18_750_000),
    ("claude-opus-4-1", 15_000_000, 75_000_000, 1_500_000, 18_750_000),
    ("claude-opus-4-5", 5_000_000, 25_000_000, 500_000, 6_250_000),
    ("claude-opus-4-6", 5_000_000, 25_000_000, 500_000, 6_250_000),
    ("claude-opus-4-7", 5_000_000, 25_000_000, 500_000, 6_250_000),
    ("claude-opus-4-8", 5_000_000, 25_000_000, 500_000, 6_250_000),
    ("claude-opus-5", 5_000_000, 25_000_000, 500_000, 6_250_000),
    ("claude-opus-5-5", 4_000_000, 20_000_000, 200_000, 5_000_000),
    ("claude-sonnet-4", 3_000_000, 15_000_000, 300_000, 3_750_000),
    ("claude-sonnet-4-5", 3_000_000, 15_000_000, 300_000, 3_750_000),
    ("claude-sonnet-4-6", 3_000_000, 15_000_000, 300_000, 3_750_000),
    ("claude-sonnet-5", 2_000_000, 10_000_000, 200_000, 2_500_000),
    ("gemini-2.5-flash", 300_000, 2_500_000, 30_000, 0),
    ("gemini-2.5-flash-lite", 100_000, 400_000, 10_000, 0),
    ("gemini-2.5-pro", 1_250_000, 10_000_000, 125_000, 0),
    ("gemini-3-flash", 500_000, 3_000_000, 50_000, 0),
    ("gemini-3.1-flash-lite", 250_000, 1_500_000, 25_000, 0),
    ("gemini-3.1-pro", 2_000_000, 12_000_000, 200_000, 0),
    ("gemini-3.5-flash", 1_500_000, 9_000_000, 150_000, 0),
    ("gemini-3.5-flash-lite", 300_000, 2_500_000, 30_000, 0),
    ("gemini-3.6-flash", 750_000, 3_750_000, 75_000, 0),
    ("gemini-3.7-flash", 750_000, 3_750_000, 75_000, 0),
    ("gemini-3.8-flash", 750_000, 3_750_000, 75_000, 0),
    ("gpt-4.1", 2_000_000, 8_000_000, 500_000, 0),
    ("gpt-4.1-mini", 400_000, 1_600_000, 100_000, 0),
    ("gpt-4.1-nano", 100_000, 400_000, 25_000, 0),
    ("gpt-4o", 2_500_000, 10_000_000, 1_250_000, 0),
    ("gpt-4o-mini", 150_000, 600_000, 75_000, 0),
    ("gpt-5", 1_250_000, 10_000_000, 125_000, 0),
    ("gpt-5-mini", 250_000, 2_000_000, 25_000, 0),
    ("gpt-5-nano", 50_000, 400_000, 5_000, 0),
    ("gpt-5-pro", 15_000_000, 120_000_000, 0, 0),
    ("gpt-5.1", 1_250_000, 10_000_000, 125_000, 0),
    ("gpt-5.1-codex-mini", 250_000, 2_000_000, 25_000, 0),
    ("gpt-5.2", 1_750_000, 14_000_000, 175_000, 0),
    ("gpt-5.2-pro", 21_000_000, 168_000_000, 0, 0),
    ("gpt-5.3", 1_750_000, 14_000_000, 175_000, 0),
    ("gpt-5.4", 2_500_000, 15_000_000, 250_000, 0),
    ("gpt-5.4-mini", 750_000, 4_500_000, 75_000, 0),
    ("gpt-5.4-nano", 200_000, 1_250_000, 20_000, 0),
    ("gpt-5.4-pro", 30_000_000, 180_000_000, 0, 0),
    ("gpt-5.5", 5_000_000, 30_000_000, 500_000, 0),
    ("gpt-5.5-pro", 30_000_000, 180_000_000, 0, 0),
    ("gpt-5.6-luna", 200_000, 1_200_000, 20_000, 250_000),
    ("gpt-5.6-sol", 4_000_000, 20_000_000, 400_000, 5_000_000),
    ("gpt-5.6-terra", 2_000_000, 12_000_000, 200_000, 2_500_000),
    ("gpt-6-astra", 10_000_000, 50_000_000, 1_000_000, 12_500_000),
    ("gpt-6-luna", 100_000, 500_000, 10_000, 125_000),
    ("gpt-6-sol", 2_000_000, 10_000_000, 200_000, 2_500_000),
    ("o3", 2_000_000, 8_000_000, 500_000, 0),
    ("o3-mini", 1_100_000, 4_400_000, 550_000, 0),
    ("o3-pro", 20_000_000, 80_000_000, 0, 0),
    ("o4-mini", 1_100_000, 4_400_000, 275_000, 0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_name_tells_the_price() {
        let prices = Prices::shipped();
        let table = [
            ("claude-opus-5-5", Some(4_000_000)),
            ("claude-opus-5-5-20261001", Some(4_000_000)),
            ("claude-opus-5", Some(5_000_000)),
            ("claude-opus-4-1-20250805", Some(15_000_000)),
            ("Claude-Sonnet-4-5", Some(3_000_000)),
            ("anthropic/claude-haiku-4-5-20251001", Some(1_000_000)),
            ("openrouter/openai/gpt-5-codex", Some(1_250_000)),
            ("gpt-5.3-codex", Some(1_750_000)),
            ("gpt-5.1-codex-mini", Some(250_000)),
            ("gemini-2.5-flash-lite", Some(100_000)),
            ("gemini-2.5-flash-preview-09-2025", Some(300_000)),
            ("gpt-55", None),
            ("gpt-5o", None),
            ("gpt-5.9-codex", None),
            ("claude-opus-5-9", None),
            ("claude-opus-5-9-20270101", None),
            ("claude-opus-4-20250514", Some(15_000_000)),
            ("gpt-5-2025-08-07", Some(1_250_000)),
            ("claude-opus-5·", Some(5_000_000)),
            ("claude-opus", None),
            ("fake-model", None),
            ("my-claude-opus-5", None),
            ("", None),
            ("/", None),
        ];
        for (model, input) in table {
            assert_eq!(prices.of(model).map(|price| price.input.get()), input, "{model}");
        }
    }

    #[test]
    fn shipped_prices_are_in_order_and_make_sense() {
        assert!(SHIPPED.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (name, input, output, cached, write) in SHIPPED {
            assert!(input < output && cached < input && (*write == 0 || write > input), "{name}");
        }
        assert!(PRICES_AS_OF.parse::<jiff::civil::Date>().is_ok());
    }

    #[test]
    fn own_prices_win_and_new_models_get_one() {
        let price =
            Price { input: Micros::new(7), output: Micros::new(8), cached_read: None, cache_write: None };
        let own = [("GPT-5".to_owned(), price), ("local/qwen".to_owned(), price)];
        let prices = Prices::shipped().with(own);
        assert_eq!(prices.of("gpt-5-codex"), Some(price));
        assert_eq!(prices.of("gpt-5-mini").map(|price| price.input.get()), Some(250_000));
        assert_eq!((prices.of("local/qwen:7b"), prices.of("qwen")), (Some(price), None));
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let tokens = Tokens { input: 1_000_000, cached: 1_000_000, written: 1_000_000, output: 1_000_000 };
        let cost = |model| Prices::shipped().cost(model, tokens).map(|cost| cost.ceil().get());
        assert_eq!(cost("claude-opus-5-5"), Some(4_000_000 + 200_000 + 5_000_000 + 20_000_000));
        assert_eq!(cost("gpt-5-pro"), Some(3 * 15_000_000 + 120_000_000));
    }
}
