//! What a run used.

use std::fmt;

use super::micros::Micros;
use crate::intake::stream::Format;

/// Dollars and tokens of a run so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Dollars, rounded up to a millionth. Nothing where not one of the used tokens has a price.
    pub usd: Option<Micros>,
    /// Tokens read at full price or written to a cache.
    pub tokens_in: u64,
    /// Tokens that the model wrote, thoughts included.
    pub tokens_out: u64,
    /// Tokens read from a cache. They are not part of `tokens_in`.
    pub tokens_cached: u64,
    /// The model, where the stream or the runner names it.
    pub model: Option<String>,
    /// Where the dollars come from.
    pub source: Source,
}

impl Usage {
    /// All tokens that a model read or wrote, as a cap of tokens counts them.
    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_cached).saturating_add(self.tokens_out)
    }
}

impl Default for Usage {
    /// Nothing, and nothing known of it.
    fn default() -> Self {
        let (usd, model, source) = (None, None, Source::None);
        Self { usd, tokens_in: 0, tokens_out: 0, tokens_cached: 0, model, source }
    }
}

/// Where the dollars of a usage come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The stream says nothing of usage so far.
    None,
    /// The runner is declared to cost nothing.
    Free,
    /// The stream states them.
    Stream(Format),
    /// The stream states tokens; some or all dollars come from the price table.
    Prices(Format),
    /// The runner's `cost` names where they stand.
    Spec,
    /// The provider states tokens; the dollars come from the price table.
    Api,
}

/// The way a source is written into the log.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Free => f.write_str("free"),
            Self::Stream(format) => f.write_str(format.name()),
            Self::Prices(format) => write!(f, "{} prices", format.name()),
            Self::Spec => f.write_str("cost spec"),
            Self::Api => f.write_str("api prices"),
        }
    }
}

/// What a stream that ended says of its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metered {
    /// The whole run is accounted for, and all of it has a price.
    Exact(Usage),
    /// The stream ends in the middle of a call: what is known is a lower bound.
    AtLeast(Usage),
    /// The stream states no usage, or usage that has no price. What is known is in it.
    Unmetered(Usage),
    /// No model has answered anything: it cost nothing.
    Unanswered(Usage),
}

impl Metered {
    /// What is known, whatever it is worth.
    pub fn usage(&self) -> &Usage {
        match self {
            Self::Exact(usage) | Self::AtLeast(usage) | Self::Unmetered(usage) | Self::Unanswered(usage) => {
                usage
            }
        }
    }
}
