//! A bill: dollars and tokens as they add up.

use serde_json::Value;

use super::micros::Pico;
use super::prices::Prices;
use super::tokens::Tokens;
use super::usage::{Source, Usage};
use crate::intake::stream::Format;

/// Longest model name that is kept.
const NAME: usize = 120;

/// What was spent, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bill {
    /// The dollars that are known.
    pub(super) usd: Pico,
    pub(super) tokens: Tokens,
    /// The model of the last item that names one.
    pub(super) model: Option<String>,
    /// Whether some item has tokens and no dollars.
    pub(super) unpriced: bool,
    /// Whether some dollars come from the price table.
    pub(super) estimated: bool,
    /// Whether there is any item at all.
    pub(super) any: bool,
}

impl Bill {
    /// An item whose dollars are stated. Zero dollars for tokens that were used is what agents say of models they have
    /// no price for: it counts as not stated.
    pub(super) fn reported(model: &str, tokens: Tokens, usd: Option<Pico>, prices: &Prices) -> Self {
        match usd.filter(|usd| !usd.is_zero() || tokens.is_zero()) {
            Some(usd) => Self { usd, tokens, model: name(model), any: true, ..Self::default() },
            None => Self::priced(model, tokens, prices),
        }
    }

    /// An item whose dollars come from the price table.
    pub(super) fn priced(model: &str, tokens: Tokens, prices: &Prices) -> Self {
        let usd = if tokens.is_zero() { Some(Pico::default()) } else { prices.cost(model, tokens) };
        Self {
            usd: usd.unwrap_or_default(),
            tokens,
            model: name(model),
            unpriced: usd.is_none(),
            estimated: !tokens.is_zero() && usd.is_some(),
            any: true,
        }
    }

    pub(super) fn add(&mut self, item: Self) {
        self.usd = self.usd.plus(item.usd);
        self.tokens = self.tokens.plus(item.tokens);
        self.model = item.model.or(self.model.take());
        self.unpriced |= item.unpriced;
        self.estimated |= item.estimated;
        self.any |= item.any;
    }

    pub(super) fn plus(&self, item: Self) -> Self {
        let mut sum = self.clone();
        sum.add(item);
        sum
    }

    /// What this cumulative bill has beyond an earlier one of the same session.
    pub(super) fn minus(&self, before: &Self) -> Self {
        Self { usd: self.usd.minus(before.usd), tokens: self.tokens.minus(before.tokens), ..self.clone() }
    }

    /// The bill as others see it.
    pub(super) fn usage(&self, format: Format) -> Usage {
        let source = match (self.any, self.estimated) {
            (false, _) => Source::None,
            (true, false) => Source::Stream(format),
            (true, true) => Source::Prices(format),
        };
        let known = self.any && (!self.unpriced || !self.usd.is_zero());
        Usage {
            usd: known.then(|| self.usd.ceil()),
            tokens_in: self.tokens.input.saturating_add(self.tokens.written),
            tokens_out: self.tokens.output,
            tokens_cached: self.tokens.cached,
            model: self.model.clone(),
            source,
        }
    }
}

/// Dollars in an event.
pub(super) fn dollars(value: Option<&Value>) -> Option<Pico> {
    value.and_then(Value::as_f64).and_then(Pico::from_dollars)
}

/// A model's name. Agents mark what they say themselves, such as an error, with a name in angle brackets.
fn name(model: &str) -> Option<String> {
    let real = !model.is_empty() && !model.starts_with('<');
    real.then(|| model.chars().take(NAME).collect())
}
