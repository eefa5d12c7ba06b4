//! What something cost, as an entry says it.

use serde::{Deserialize, Serialize};

use crate::meter::Micros;

/// Money and tokens of one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// Local day that it counts for.
    pub day: String,
    /// Dollars.
    pub usd: f64,
    /// Where the figure comes from: `free`, `not charged` (no call was made), `reserved` (no receipt: settled in full), a stream format, a price table, a
    /// worker's own record. It ends with ` (at least)` where the figure is a lower bound.
    pub source: String,
    /// Tokens read.
    #[serde(default)]
    pub tokens_in: u64,
    /// Tokens written.
    #[serde(default)]
    pub tokens_out: u64,
    /// Tokens read from a cache.
    #[serde(default)]
    pub tokens_cached: u64,
    /// The model, where it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The runner, where it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runner: String,
    /// Of the dollars, those that no report accounts for: they were reserved, may have been spent, and count. Entries of
    /// earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreported_usd: Option<f64>,
}

/// The source of what is settled without a receipt.
pub const RESERVED: &str = "reserved";
/// The source of what costs nothing.
pub const FREE: &str = "free";
/// The source of a decide that provably made no call.
pub const NOT_CHARGED: &str = "not charged";
/// How the source ends of a receipt that is a lower bound.
pub const AT_LEAST: &str = " (at least)";

impl Spend {
    /// The dollars, exact. What is no amount counts as everything there is.
    pub fn micros(&self) -> Micros {
        Micros::from_dollars(self.usd).unwrap_or(Micros::new(u64::MAX))
    }

    /// Of the dollars, those that no report accounts for. An entry of an earlier version says so by its source only.
    pub fn unreported(&self) -> Micros {
        match self.unreported_usd {
            Some(usd) => Micros::from_dollars(usd).unwrap_or(self.micros()).min(self.micros()),
            None if self.source == RESERVED => self.micros(),
            None => Micros::ZERO,
        }
    }

    /// The model that it used and that has no price, if that is why no report accounts for the dollars.
    pub fn unpriced(&self) -> Option<&str> {
        let known = self.source == RESERVED && self.tokens() > 0 && !self.model.is_empty();
        (known && self.unreported() > Micros::ZERO).then_some(self.model.as_str())
    }

    /// Of the dollars, those that a report accounts for.
    pub fn reported(&self) -> Micros {
        self.micros().saturating_sub(self.unreported())
    }

    /// What it says in words, if it is about dollars.
    pub fn text(&self) -> Option<String> {
        let (reported, unreported, source) = (self.reported(), self.unreported(), &self.source);
        match (reported > Micros::ZERO, unreported > Micros::ZERO) {
            (false, false) => None,
            (true, false) => Some(format!("spent {reported} ({source})")),
            (false, true) => {
                let model = self.unpriced();
                let what = model.map_or_else(
                    || "reported no cost".to_owned(),
                    |model| format!("used {model}, which has no price"),
                );
                Some(format!("{what}; {unreported} was reserved and counts"))
            }
            (true, true) => Some(format!(
                "spent {reported} ({source}); {unreported} more was reserved and not reported, and counts"
            )),
        }
    }

    /// All tokens that a model read or wrote.
    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_cached).saturating_add(self.tokens_out)
    }
}
